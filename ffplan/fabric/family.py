"""Registry of fabric families: counts, wiring, routing, names and link cuts; and side networks.

Modules with arrays are imported on use: counting needs no arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.design.networks import network_design
from ffplan.design.resolved import ResolvedDesign, ResolvedNetwork
from ffplan.fabric.sizing import tree_plan
from ffplan.fabric.sizing.plan import FabricPlan, _dragonfly_cuts, _plan_dragonfly
from ffplan.fabric.sizing.tree_cuts import _tree_cuts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ffplan.base.array_math import Bools, Number
    from ffplan.fabric.routing.routing import Routing
    from ffplan.fabric.sizing.plan import LinkCut
    from ffplan.fabric.wiring.wiring import WiredFabric


@dataclass(frozen=True, slots=True, kw_only=True)
class _FabricFamily:
    names: tuple[str, ...]
    """Names of it in `fabric.family` of a design."""
    count: Callable[[ResolvedDesign], FabricPlan]
    """Sizes it for a design."""
    cuts: Callable[[ResolvedDesign, FabricPlan, Number, Number | None], tuple[LinkCut, ...]]
    """The links that a collective over some nodes in some zones crosses."""
    wire: Callable[[ResolvedDesign, FabricPlan], WiredFabric]
    """Wires it port by port."""
    route: Callable[[WiredFabric, Bools | None], Routing]
    """Routes flows over it, with the links that work."""


def _wire_trees(design: ResolvedDesign, plan: FabricPlan) -> WiredFabric:
    from ffplan.fabric.wiring.wiring import wire_trees

    return wire_trees(design, plan)


def _route_trees(fabric: WiredFabric, alive: Bools | None) -> Routing:
    from ffplan.fabric.routing.tree_routing import TreeRouting

    return TreeRouting(fabric, alive)


def _wire_dragonfly(design: ResolvedDesign, plan: FabricPlan) -> WiredFabric:
    from ffplan.fabric.wiring.wiring import wire_dragonfly

    return wire_dragonfly(design, plan)


def _route_dragonfly(fabric: WiredFabric, alive: Bools | None) -> Routing:
    from ffplan.fabric.routing.dragonfly_routing import _DragonflyRouting

    return _DragonflyRouting(fabric, alive)


TREES = _FabricFamily(
    names=("fat-tree", "rail-optimised", "top-of-rack", "rail-only"),
    count=tree_plan._plan_trees,
    cuts=_tree_cuts,
    wire=_wire_trees,
    route=_route_trees,
)
DRAGONFLY = _FabricFamily(
    names=("dragonfly",),
    count=_plan_dragonfly,
    cuts=_dragonfly_cuts,
    wire=_wire_dragonfly,
    route=_route_dragonfly,
)
FAMILIES = {name: family for family in (TREES, DRAGONFLY) for name in family.names}
"""Families by the name that a design gives."""


def plan_fabric(design: ResolvedDesign) -> FabricPlan:
    """Return the fabric that the design needs.

    Raises:
        InputError: if the fabric cannot hold the endpoints, NICs cannot be dealt evenly over planes and
            zones, or the inter-zone switches have too few ports.
    """
    return FAMILIES[design.spec.fabric.family].count(design)


def fabric_cuts(
    design: ResolvedDesign, plan: FabricPlan, nodes: Number, zones: Number | None = None
) -> tuple[LinkCut, ...]:
    """Return the links that a collective over `nodes` nodes crosses.

    Args:
        nodes: nodes of the job, any shape.
        zones: zones it is spread over evenly, in the shape of the nodes; it fills one after the other if omitted.
    """
    return FAMILIES[plan.family].cuts(design, plan, nodes, zones)


def wire(design: ResolvedDesign, plan: FabricPlan) -> WiredFabric:
    """Return the wired fabric of a design."""
    return FAMILIES[plan.family].wire(design, plan)


def routing_of(fabric: WiredFabric, alive: Bools | None = None) -> Routing:
    """Return the router of a wired fabric.

    Args:
        alive: which links still work, shape (links,); all of them if omitted.
    """
    return FAMILIES[fabric.family].route(fabric, alive)


@record
class NetworkPlan:
    """A side network."""

    network: ResolvedNetwork
    design: ResolvedDesign
    """The design as seen from the network: its fabric is the network."""
    plan: FabricPlan

    @property
    def name(self) -> str:
        """Name of the network."""
        return self.network.network.name


def plan_networks(design: ResolvedDesign, fabric: FabricPlan) -> tuple[NetworkPlan, ...]:
    """Return the side networks of a design, in their order.

    Raises:
        InputError: if a network cannot hold its nodes.
    """
    planned: list[NetworkPlan] = []
    for network in design.networks:
        switches = fabric.switches + switches_of(planned)
        seen = network_design(design, network, switches)
        planned.append(NetworkPlan(network, seen, plan_fabric(seen)))
    return tuple(planned)


def storage_network(design: ResolvedDesign, fabric: FabricPlan) -> NetworkPlan | None:
    """Return the network that carries the storage; None if the compute fabric does."""
    return next((network for network in plan_networks(design, fabric) if network.name == "storage"), None)


def switches_of(networks: Iterable[NetworkPlan]) -> int:
    """Return the switches of some networks [1]."""
    return sum(network.plan.switches for network in networks)


def links_of(networks: Iterable[NetworkPlan]) -> int:
    """Return the cables of some networks [1]."""
    return sum(network.plan.endpoint_cables + network.plan.inter_switch_cables for network in networks)
