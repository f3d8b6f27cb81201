"""Trees of many designs at once: counts and oversubscription are arrays of one shape, everything else is one number.

The counts come from the functions that size a single design; designs that cannot be built are a mask here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import maximum, minimum
from ffplan.base.errors import InputError
from ffplan.fabric.sizing.endpoints import _nic_faults, _zone_demands
from ffplan.fabric.sizing.fat_tree import Tree, _build_tree, _TreeRule, _uplink_range
from ffplan.fabric.sizing.leaf_fill import _leaves_of, _railed
from ffplan.fabric.sizing.tree_plan import _assemble, _provisioned, _SizedTrees, base_rule

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Ints, Number
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan


def _trees(design: ResolvedDesign, rule: _TreeRule, ports: tuple[int, ...]) -> tuple[list[Tree], Bools]:
    """Return the tree of each zone, and a mask of designs whose trees all fit; larger trees are cut to fit."""
    most = rule.capacity // rule.downlinks
    trees: list[Tree] = []
    fits: Any = True
    for count in ports:
        size = count + design.trunk_links
        leaves = _leaves_of(design, rule, size)
        if leaves is None:
            leaves = -(-size // rule.downlinks)
        fits = fits & (leaves <= most) & (size <= rule.capacity)
        held = minimum(size, rule.capacity)
        # designs that do not fit are masked, yet their counts must stay within what the formulas accept
        cut = None if rule.tiers == 1 else maximum(minimum(leaves, most), 1)
        trees.append(_build_tree(rule, maximum(held, 1), cut))
    return trees, fits


def _chosen_rule(design: ResolvedDesign, base: _TreeRule, ports: tuple[int, ...], ratio: Number) -> _TreeRule:
    """Return the rule with the uplinks that need the fewest switches, as `tree_plan.tree_rule` chooses them."""
    if base.tiers == 1 or not bool((np.asarray(ratio) > 1).any()):
        return base
    least, unit = np.asarray(base.uplinks), design.spec.fabric.scalable_unit or 1
    if base.leaf_down is not None:
        return base
    step, limit = _uplink_range(base, unit)
    most = max(limit, int(least.max()))
    best: Number = np.inf
    chosen: Ints = least
    for uplinks in range(int(least.min()), most + 1, step):
        trees, fits = _trees(design, replace(base, uplinks=uplinks), ports)
        offered = fits & (uplinks >= least) & ((np.asarray(ratio) > 1) | (uplinks == least))
        offered &= uplinks <= np.maximum(limit, least)
        count = np.where(offered, sum(tree.switches for tree in trees), np.inf)
        # strictly less: of equal trees the one with the fewest uplinks stays
        chosen, best = np.where(count < best, uplinks, chosen), minimum(count, best)
    return replace(base, uplinks=chosen)  # type: ignore[arg-type]


REASONS = (
    "",
    "the trees have too few ports for the endpoints",
    "fewer nodes than zones",
    "a scalable unit does not fit on a leaf",
    "fewer access points than endpoints",
    "the inter-zone switches have too few ports",
)
"""Why a design of a grid cannot be built, by number."""


def plan_tree_grid(design: ResolvedDesign) -> tuple[FabricPlan, Ints]:
    """Return the trees of many designs, and why some of them cannot be built.

    Args:
        design: a design whose counts, oversubscription or rates are arrays of one shape.

    Returns:
        Counts as arrays, meaningless beside a reason; the numbers of the reasons in `REASONS`, 0 without one.

    Raises:
        InputError: for a fault that no values of the arrays can correct.
    """
    fabric = design.spec.fabric
    needs = _zone_demands(design)
    ports = _provisioned(design, needs)
    base = base_rule(design)
    rule = _chosen_rule(design, base, ports, fabric.oversubscription)
    trees, fits = _trees(design, rule, ports)
    why: Any = np.where(fits, 0, 1)

    def refuse(where: Any, number: int) -> None:
        nonlocal why
        # the first reason stays, as for a single design
        why = np.where((why == 0) & where, number, why)

    refuse(minimum(*needs.totals) <= 0, 2)
    if fabric.tiers > 1:
        per_leaf = design.rails_per_leaf if _railed(design) else 1
        refuse((fabric.scalable_unit or 1) * per_leaf > rule.downlinks, 3)
    if fabric.access_points is not None:
        refuse(fabric.access_points < design.planes * sum(needs.totals), 4)
    if fabric.inter_zone and fabric.zones * design.trunk_links > fabric.inter_zone.switches * base.radix:
        refuse(True, 5)
    return _assemble(design, _SizedTrees(rule, needs, ports, trees)), why


def check_divisible(design: ResolvedDesign) -> None:
    """Refuse faults that no counts can correct: NICs that planes or zones cannot share evenly.

    Raises:
        InputError: with a fault for every such node group.
    """
    faults = _nic_faults(design)
    if faults:
        raise InputError(*faults)
