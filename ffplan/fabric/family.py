"""Registry of fabric families: counts, wiring, routing, names and link cuts of each.

Modules with arrays are imported on use: counting needs no arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ffplan.fabric.sizing import dragonfly_plan, link_cuts, tree_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.base.array_math import Bools, Number
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.routing.routing import Routing
    from ffplan.fabric.sizing.link_cuts import LinkCut
    from ffplan.fabric.sizing.plan import FabricPlan
    from ffplan.fabric.wiring.wiring import WiredFabric


@dataclass(frozen=True, slots=True, kw_only=True)
class _FabricFamily:
    """One family."""

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
    from ffplan.fabric.wiring.dragonfly_wiring import wire_dragonfly

    return wire_dragonfly(design, plan)


def _route_dragonfly(fabric: WiredFabric, alive: Bools | None) -> Routing:
    from ffplan.fabric.routing.dragonfly_routing import _DragonflyRouting

    return _DragonflyRouting(fabric, alive)


TREES = _FabricFamily(
    names=("fat-tree", "rail-optimised", "top-of-rack", "rail-only"),
    count=tree_plan._plan_trees,
    cuts=link_cuts._tree_cuts,
    wire=_wire_trees,
    route=_route_trees,
)
DRAGONFLY = _FabricFamily(
    names=("dragonfly",),
    count=dragonfly_plan._plan_dragonfly,
    cuts=link_cuts._dragonfly_cuts,
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
        zones: zones it spans, in the shape of the nodes; as few as hold it if omitted.
    """
    return FAMILIES[plan.family].cuts(design, plan, nodes, zones)


def wire(design: ResolvedDesign, plan: FabricPlan) -> WiredFabric:
    """Return the wired fabric of a design.

    Args:
        plan: its fabric, sized.
    """
    return FAMILIES[plan.family].wire(design, plan)


def routing_of(fabric: WiredFabric, alive: Bools | None = None) -> Routing:
    """Return the router of a wired fabric.

    Args:
        alive: which links still work, shape (links,); all of them if omitted.
    """
    return FAMILIES[fabric.family].route(fabric, alive)
