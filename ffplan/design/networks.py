"""Side networks, each viewed as the fabric of a separate design, and servers with fewer NICs than in their file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.catalog.evidence import EfficiencyFigure
from ffplan.catalog.parts import Nic, Server
from ffplan.design.schema import NodeGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.catalog.evidence import PowerFigure
    from ffplan.catalog.parts import StorageServer
    from ffplan.design.resolved import ResolvedDesign, ResolvedGroup, ResolvedNetwork
    from ffplan.design.schema import NetworkPorts, OtherNetwork
    from ffplan.inputs.document import Document


CARRIED = {"storage": ("storage", "both")}
"""Values of a NIC slot's `network` that join a side network, by its name."""
SWITCHES = "switches"
"""Id used as server of switches that join a network as nodes."""


def _network_document(document: Document, position: int) -> Document:
    """Return the design's file with a network's fabric as `fabric`."""
    return replace(document, inside=("networks", position))


def _network_of(design: ResolvedDesign, name: str) -> ResolvedNetwork | None:
    return next((network for network in design.networks if network.network.name == name), None)


def _seated(group: ResolvedGroup, network: ResolvedNetwork, ports: int) -> ResolvedGroup:
    """Return a group with its ports on a network: its servers' NICs for it, else ports at its rate, named after
    the network."""
    carried: tuple[str, ...] = CARRIED.get(network.network.name, ())
    if isinstance(group.server, Server):  # a NIC for both is on the compute fabric
        carried = (network.network.name,)
    slots = [(slot.id, nic) for slot, nic in zip(group.server.nics, group.nics, strict=True) if slot.network in carried]
    rate = network.parts.switch.rate
    whole = EfficiencyFigure.model_construct(value=1.0, source="")
    port = Nic.model_construct(
        kind="nic", id="port", name="port", vendor="", sources={}, line_efficiency=whole, rate=rate
    )
    seats = (slots + [(f"{network.network.name}{number}", port) for number in range(ports)])[:ports]
    # a side network does not repeat nodes in every zone of the fabric
    spec = group.group.model_copy(update={"zones": "split"})
    names, nics = tuple(name for name, _ in seats), tuple(nic for _, nic in seats)
    return replace(group, group=spec, nics=nics, fabric_nics=tuple(range(ports)), port_names=names)


def _nic_faults(design: ResolvedDesign, network: ResolvedNetwork) -> Iterator[Finding]:
    """Yield storage servers with fewer NICs than ports on the storage network."""
    ports = network.network.ports.storage
    for group in design.groups:
        nics = sum(slot.network in CARRIED.get(network.network.name, ()) for slot in group.server.nics)
        if network.network.name == "storage" and group.group.role == "storage" and ports > nics:
            yield design.document.finding(
                "server-topology",
                ("networks", network.position, "ports", "storage"),
                f"{plural(ports, 'port')} of `{group.server.id}`, which has {plural(nics, 'NIC')} for storage",
                f"use {nics}, or a server with more NICs",
            )


def node_rate(design: ResolvedDesign, network: ResolvedNetwork) -> float:
    """Return the rate of a compute node on a network, one direction [GB/s]."""
    seen = network_design(design, network, 0)
    return float(sum(seen.compute.nic_rates(seen.port_gbyte_s, seen.stripes)))


def _switch_group(design: ResolvedDesign, network: ResolvedNetwork, ports: int, switches: int) -> ResolvedGroup:
    """Return the switches managed over a network, as a group of nodes."""
    spec = NodeGroup.model_construct(
        role="management", server=SWITCHES, count=switches, zones="split", per_rack=None, rack_units=None
    )
    place = replace(design.compute, group=spec, position=len(design.groups), accelerator=None)
    names = tuple(f"mgmt{number}" for number in range(ports))
    return replace(_seated(place, network, ports), port_names=names)


def network_design(design: ResolvedDesign, resolved: ResolvedNetwork, switches: int) -> ResolvedDesign:
    """Return the design with a side network as its fabric.

    Args:
        switches: switches of the compute fabric and of the networks before this one [1].
    """
    network: OtherNetwork = resolved.network
    ports: NetworkPorts = network.ports
    groups = [_seated(group, resolved, getattr(ports, group.group.role)) for group in design.groups]
    if ports.switches and switches:
        groups.append(_switch_group(design, resolved, ports.switches, switches))
    return replace(
        design,
        document=_network_document(design.document, resolved.position),
        spec=design.spec.model_copy(update={"fabric": network.fabric, "networks": (), "floor": None}),
        groups=tuple(group for group in groups if group.fabric_nics or group.group.role == "compute"),
        parts=resolved.parts,
        networks=(),
        cable_choices=(),
    )


def _spread_slots(slots: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the slots that keep their NIC, spread evenly in file order from the first.

    Args:
        slots: positions of the candidate NICs.
        count: how many stay [1].

    Equation:
        slot floor(i n / k) of n for NIC i of k

    Source:
        Definition.
    """
    return tuple(slots[place * len(slots) // count] for place in range(count))


def _less(figure: PowerFigure | None, watts: float) -> PowerFigure | None:
    """Reduce a power by the removed parts' power; its low and high ends move along."""
    if figure is None:
        return None
    # the range moves with the value, down to 0
    ends = {name: max(end - watts, 0.0) for name in ("low", "high") if (end := getattr(figure, name)) is not None}
    return figure.model_copy(update={"value": max(figure.value - watts, 0.0), **ends})


def _without_nics(
    server: Server | StorageServer, nics: tuple[Nic, ...], left_out: tuple[int, ...]
) -> tuple[Server | StorageServer, tuple[Nic, ...]]:
    """Return a server and its NICs without some slots, its powers reduced by their draw."""
    drawn = [nics[slot].power for slot in left_out]
    watts = sum(figure.value for figure in drawn if figure is not None)
    power = server.power.model_copy(
        update={name: _less(getattr(server.power, name), watts) for name in ("idle", "training", "maximum")}
    )
    kept = [slot for slot in range(len(nics)) if slot not in left_out]
    reduced = server.model_copy(update={"nics": tuple(server.nics[slot] for slot in kept), "power": power})
    return reduced, tuple(nics[slot] for slot in kept)
