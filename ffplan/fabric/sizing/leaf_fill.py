"""Filling of leaves, and the number of leaves and cables that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import ceil_div, choose, maximum, some, whole
from ffplan.design.tier_faults import RAILED
from ffplan.fabric.sizing import formulas

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.fat_tree import Pod, Tree, _TreeRule


def _railed(design: ResolvedDesign) -> bool:
    """True if leaves come in scalable units: one for each rail, or for the rails that share one."""
    return design.spec.fabric.family in RAILED


def _unit_nodes(design: ResolvedDesign, rule: _TreeRule) -> int:
    """Return the nodes of a scalable unit: those whose NICs share one leaf on each rail."""
    return design.spec.fabric.scalable_unit or maximum(rule.downlinks // design.rails_per_leaf, 1)


def _unit_leaves(design: ResolvedDesign, rule: _TreeRule) -> int:
    """Return the leaves of a scalable unit: one for each rail, or for the rails that share one."""
    return rule.rails // design.rails_per_leaf


def _leaves_of(design: ResolvedDesign, rule: _TreeRule, ports: int) -> int | None:
    """Return the leaf switches of a tree whose leaves come in scalable units; None for as few as possible."""
    if not _railed(design) or rule.tiers == 1:
        return None
    compute = [group for group in design.groups if group.group.role == "compute"]
    zones = design.spec.fabric.zones
    nodes = sum(g.group.count if g.group.zones == "every" else -(-g.group.count // zones) for g in compute)
    unit, leaves = _unit_nodes(design, rule), _unit_leaves(design, rule)
    return whole(formulas.rail_leaves(nodes, unit, leaves, ports, rule.downlinks))


def _leaf_fill(design: ResolvedDesign, tree: Tree, by_group: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return (leaves, endpoints on each) of a tree with several leaves; nodes outside the rails count as on leaves of
    their own."""
    rule = tree.rule
    # links to other zones take downlinks, spread evenly over the leaves
    room = rule.downlinks - -(-design.trunk_links // tree.leaf)
    roles = [group.group.role for group in design.groups]
    packed, filled = sum(by_group), []
    if _railed(design):
        compute = sum(ports for ports, role in zip(by_group, roles, strict=True) if role == "compute")
        packed -= compute
        leaves, unit, per_leaf = _unit_leaves(design, rule), _unit_nodes(design, rule), design.rails_per_leaf
        # a node has a port on every rail
        units, rest = divmod(-(-compute // rule.rails), unit)
        filled = [(units * leaves, unit * per_leaf), (leaves, rest * per_leaf)]
    full, rest = divmod(packed, maximum(1, room))
    return [
        (leaves, per_leaf) for leaves, per_leaf in (*filled, (full, room), (1, rest)) if some(leaves) and some(per_leaf)
    ]


def _pair_split(design: ResolvedDesign) -> int:
    """Return the links that a whole port holds at both ends of a link between leaf and spine; 1 if the two ends are
    split differently."""
    split = design.uplink_breakout
    return split if design.breakout_of("spine") == split else 1


def _module_splits(design: ResolvedDesign) -> tuple[int, int]:
    """Return the links that a module of optics serves at both ends [1]: between leaf and spine, or inside groups of a
    dragonfly; and between spine and core, or between groups."""
    spine = design.breakout_of("spine")
    return _pair_split(design), spine if spine == design.breakout_of("core") else 1


def _shared_modules(design: ResolvedDesign) -> tuple[int, int]:
    """Return the links that share a module at both ends, as `module_splits` has them [1].

    A module of optics serves a whole port, whichever way its halves lead; copper joins whole ports only.
    """
    return _module_splits(design) if design.parts.inter_switch_link.medium == "optics" else (1, 1)


def _parts_between(design: ResolvedDesign, cables: int, below: int, above: int) -> int:
    """Return the links between switches as bought [1], without links between zones."""
    down, up = _shared_modules(design)
    return cables if down == up == 1 else ceil_div(below, down) + ceil_div(above, up)


def _whole_pairs(rule: _TreeRule, pod: Pod, split: int) -> bool:
    """True if the links of a pod share whole ports at both ends: as many lead from each leaf to each spine, and in
    step."""
    # with one split for both ways, an odd number of downlinks would share a port with an uplink
    in_step = rule.splits[0] != rule.splits[1] or rule.downlinks % split == 0  # else uplinks begin on a whole port
    return (rule.uplinks // maximum(pod.spines, 1) % split == 0) & in_step


def _tree_cables(tree: Tree, split: int) -> int:
    """Return the cables between the switches of a tree.

    Links between leaf and spine that share a whole port at both ends share a cable; where the halves of a port lead
    apart, and further up, each link has its own.
    """
    rule, cables = tree.rule, tree.spine_core
    pods = [(tree.pod, tree.full_pods), (tree.last_pod, 1)]
    for pod, count in pods:
        if pod is not None:
            shared = split == 1 or _whole_pairs(rule, pod, split)
            cables = cables + count * pod.leaves * rule.uplinks // choose(shared, split, 1)
    return cables
