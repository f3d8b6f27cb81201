"""A design wired port by port: the basis of the studies of routes, ranks, failures and cables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.design.resolved import ResolvedDesign
from ffplan.fabric.family import plan_fabric, wire
from ffplan.fabric.networks import plan_networks
from ffplan.fabric.sizing.plan import FabricPlan
from ffplan.fabric.wiring.names import Names
from ffplan.fabric.wiring.wiring import WiredFabric

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    """Yield the networks beside the compute fabric, in their order, as designs of their own.

    Raises:
        InputError: where a network cannot hold what joins it.
    """
    switches = tuple(wired.names.switches())
    for network in plan_networks(wired.design, wired.plan):
        fabric = wire(network.design, network.plan)
        names = Names(network.design, fabric, network.name, switches)
        switches += tuple(names.switches())
        yield WiredDesign(network.design, network.plan, fabric, names)


def message_bytes(design: ResolvedDesign) -> float:
    """Return the bytes of a node that a design asks for: its message, or 1 GiB [byte]."""
    wanted = design.spec.communication
    return wanted.message_size if wanted else float(2**30)
