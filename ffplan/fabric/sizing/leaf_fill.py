"""Filling of leaves, and the number of leaves and cables that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import choose, maximum, some, whole
from ffplan.fabric.sizing import formulas

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.fat_tree import Pod, Tree, TreeRule


def railed(design: ResolvedDesign) -> bool:
    """True where leaves come in scalable units, one for each rail."""
    return design.spec.fabric.family == "rail-optimised"


def unit_nodes(design: ResolvedDesign, rule: TreeRule) -> int:
    """Return the nodes of a scalable unit: those whose NICs share one leaf on each rail."""
    return design.spec.fabric.scalable_unit or rule.downlinks


def leaves_of(design: ResolvedDesign, rule: TreeRule, ports: int) -> int | None:
    """Return the leaf switches of a tree whose leaves come in scalable units; None where they are as few as can be."""
    if not railed(design) or rule.tiers == 1:
        return None
    compute = [group for group in design.groups if group.group.role == "compute"]
    zones = design.spec.fabric.zones
    nodes = sum(g.group.count if g.group.zones == "every" else -(-g.group.count // zones) for g in compute)
    return whole(formulas.rail_leaves(nodes, unit_nodes(design, rule), rule.rails, ports, rule.downlinks))


def leaf_fill(design: ResolvedDesign, tree: Tree, by_group: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return (leaves, endpoints on each) of a tree with several leaves; nodes outside the rails count as on leaves of
    their own.

    Args:
        design: the design.
        tree: the tree.
        by_group: endpoint ports of each group.
    """
    rule = tree.rule
    room = rule.downlinks - -(-design.trunk_links // tree.leaf)
    roles = [group.group.role for group in design.groups]
    packed, found = sum(by_group), []
    if railed(design):
        compute = sum(ports for ports, role in zip(by_group, roles, strict=True) if role == "compute")
        packed -= compute
        units, rest = divmod(-(-compute // rule.rails), unit_nodes(design, rule))
        found = [(units * rule.rails, unit_nodes(design, rule)), (rule.rails, rest)]
    full, rest = divmod(packed, maximum(1, room))
    return [(leaves, each) for leaves, each in (*found, (full, room), (1, rest)) if some(leaves) and some(each)]


def leaf_cables(design: ResolvedDesign, tree: Tree, by_group: tuple[int, ...]) -> int:
    """Return the whole leaf ports that endpoints of a tree use; each takes one cable, split at its end."""
    breakout = design.spec.fabric.breakout
    if breakout == 1 or tree.rule.tiers == 1:
        return -(-sum(by_group) // breakout)
    return sum(leaves * -(-each // breakout) for leaves, each in leaf_fill(design, tree, by_group))


def whole_pairs(rule: TreeRule, pod: Pod, breakout: int) -> bool:
    """True where the links of a pod share whole ports at both ends: as many lead from each leaf to each spine, and in
    step."""
    return (rule.uplinks // maximum(pod.spines, 1) % breakout == 0) & (rule.downlinks % breakout == 0)


def tree_cables(tree: Tree, breakout: int) -> int:
    """Return the cables between the switches of a tree.

    Links between leaf and spine that share a whole port at both ends share a cable; where the halves of a port lead
    apart, and further up, each link has its own.
    """
    rule, cables = tree.rule, tree.spine_core
    pods = [(tree.pod, tree.full_pods), (tree.last_pod, 1)]
    for pod, count in pods:
        if pod is not None:
            shared = breakout == 1 or whole_pairs(rule, pod, breakout)
            cables += count * pod.leaves * rule.uplinks // choose(shared, breakout, 1)
    return cables
