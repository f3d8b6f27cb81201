"""A design wired port by port, and its links by the names of their ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.design.resolved import ResolvedDesign
from ffplan.fabric.family import plan_fabric, plan_networks, wire
from ffplan.fabric.routing.link_loads import link_times
from ffplan.fabric.sizing.plan import FabricPlan
from ffplan.fabric.wiring.names import Names
from ffplan.fabric.wiring.network import TIERS
from ffplan.fabric.wiring.wiring import WiredFabric
from ffplan.results.fabric import LinkLoad

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Floats
    from ffplan.fabric.wiring.network import Network


@record
class WiredDesign:
    """A design with its fabric, sized once and wired."""

    design: ResolvedDesign
    plan: FabricPlan
    fabric: WiredFabric
    names: Names


def wire_design(design: ResolvedDesign) -> WiredDesign:
    """Return a design with its wired fabric.

    Raises:
        InputError: as `plan_fabric` does.
    """
    plan = plan_fabric(design)
    fabric = wire(design, plan)
    return WiredDesign(design, plan, fabric, Names(design, fabric))


def wired_networks(wired: WiredDesign) -> Iterator[WiredDesign]:
    """Yield the networks beside the compute fabric, in their order, as separate designs.

    Raises:
        InputError: if a network cannot hold what joins it.
    """
    switches = tuple(wired.names.switches())
    for network in plan_networks(wired.design, wired.plan):
        fabric = wire(network.design, network.plan)
        names = Names(network.design, fabric, network.name, switches)
        switches += tuple(names.switches())
        yield WiredDesign(network.design, network.plan, fabric, names)


def message_bytes(design: ResolvedDesign) -> float:
    """Return the bytes of a node that a design asks for: its message, or 1 GiB [byte]."""
    communication = design.spec.communication
    return communication.message_size if communication else float(2**30)


def _port_name(network: Network, names: Names, device: int, port: int) -> str:
    """Return a port as printed: `leaf-01/p3`, `leaf-01/p3/2` of a split one, or `compute-0001/nic0`."""
    first = len(network.switches)
    if device >= first:
        return "/".join(names.endpoint(device - first))
    return f"{names.switch(device)}/p{names.printed.name(device, port)}"


def _link_name(network: Network, names: Names, link: int) -> str:
    k = network.links
    lower = _port_name(network, names, int(k.a[link]), int(k.a_port[link]))
    return f"{lower} - {_port_name(network, names, int(k.b[link]), int(k.b_port[link]))}"


def tier_loads(wired: WiredDesign, load: Floats) -> tuple[LinkLoad, ...]:
    """Return the busiest link of each tier and direction, tiers from the endpoints up.

    Args:
        load: bytes on every directed link [byte], shape (2 * links,).
    """
    network, rows = wired.fabric.network, []
    time = link_times(network, load)
    for tier, name in enumerate(TIERS):
        links = np.flatnonzero(network.links.tier == tier)
        for way, direction in enumerate(("up", "down") if len(links) else ()):
            busiest = int(links[time[links, way].argmax()])
            rows.append(
                LinkLoad(
                    link=_link_name(network, wired.names, busiest),
                    tier=name,
                    direction=direction,
                    bytes=float(load[2 * busiest + way]),
                    time_s=float(time[busiest, way]),
                    mean_time_s=float(time[links, way].mean()),
                )
            )
    return tuple(rows)


def hottest(tiers: tuple[LinkLoad, ...]) -> LinkLoad:
    """Return the busiest link of all; of equal ones, the one nearest to the endpoints."""
    return max(tiers, key=lambda row: row.time_s)
