"""A design wired port by port, and its links by the names of their ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.design.resolved import ResolvedDesign
from ffplan.fabric.family import plan_fabric, wire
from ffplan.fabric.networks import plan_networks
from ffplan.fabric.sizing.plan import FabricPlan
from ffplan.fabric.wiring.names import Names
from ffplan.fabric.wiring.network import TIERS
from ffplan.fabric.wiring.wiring import WiredFabric
from ffplan.results.fabric import LinkLoad

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.fabric.routing.link_loads import Outcome, TierLoad
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
    """Return the two ports that a link joins, the lower one first."""
    k = network.links
    lower = _port_name(network, names, int(k.a[link]), int(k.a_port[link]))
    return f"{lower} - {_port_name(network, names, int(k.b[link]), int(k.b_port[link]))}"


def link_load(network: Network, names: Names, load: TierLoad) -> LinkLoad:
    """Return the busiest link of a tier with its name."""
    return LinkLoad(
        link=_link_name(network, names, load.link),
        tier=load.tier,
        direction=load.direction,
        bytes=load.bytes,
        time_s=load.time_s,
        mean_time_s=load.mean_time_s,
    )


def hottest(network: Network, names: Names, result: Outcome) -> LinkLoad:
    """Return the busiest link of all with its name."""
    return link_load(network, names, max(result.tiers, key=lambda load: (load.time_s, -TIERS.index(load.tier))))
