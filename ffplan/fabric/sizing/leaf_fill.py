"""Filling of leaves, and the number of leaves and cables that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import ceil_div, choose, maximum, minimum, some, whole
from ffplan.design.tier_faults import RAILED
from ffplan.fabric.sizing import formulas
from ffplan.fabric.sizing.endpoints import rails_of

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


def _evenly_railed(design: ResolvedDesign) -> bool:
    """Return whether every node of a scalable unit fills as many ports of its leaves, and no link between zones takes
    ports among theirs."""
    compute = {rails_of(design, group) for group in design.groups if group.group.role == "compute"}
    return len(compute) == 1 and not design.trunk_links


def countable(design: ResolvedDesign) -> bool:
    """Return whether counts alone give the cables to endpoints; otherwise each port gets a place."""
    fabric = design.spec.fabric
    return fabric.breakout == 1 or fabric.tiers == 1 or not _railed(design) or _evenly_railed(design)


def _leaf_cables(design: ResolvedDesign, tree: Tree, by_group: tuple[int, ...], zone: int) -> int:
    """Return the whole leaf ports that endpoints of a tree use; each takes one cable, split at its end."""
    breakout = design.spec.fabric.breakout
    if breakout == 1:
        return sum(by_group)
    if not _railed(design) or tree.rule.tiers == 1:
        packed = _packed_cables(sum(by_group), design.trunk_links, tree.leaf, tree.rule.downlinks, breakout)
        return whole(packed)
    if not _evenly_railed(design):
        from ffplan.fabric.sizing.leaf_ports import _leaf_ports  # arrays, which other designs do without

        return _leaf_ports(design, tree, zone).whole_ports(breakout)
    ports = list(zip(by_group, (group.group.role == "compute" for group in design.groups), strict=True))
    compute = sum(count for count, inside in ports if inside)
    units, rest = divmod(ceil_div(compute, tree.rule.rails), _unit_nodes(design, tree.rule))
    leaves, per_leaf = _unit_leaves(design, tree.rule), design.rails_per_leaf
    partial = leaves * minimum(rest, 1)
    filled = [
        (units * leaves, _unit_nodes(design, tree.rule) * per_leaf),
        (partial, rest * per_leaf),
        (tree.leaf - units * leaves - partial, 0),
    ]
    others = sum(count for count, inside in ports if not inside)
    return whole(_railed_cables(filled, others, tree.rule.downlinks, breakout))


def _packed_cables(endpoints: Any, trunks: Any, leaves: Any, downlinks: Any, breakout: int) -> Any:
    """Return the whole leaf ports in use by endpoints that fill leaf after leaf.

    Args:
        endpoints: endpoint ports e [1].
        trunks: links to other zones t, spread evenly over the leaves [1].
        leaves: leaf switches n [1].
        downlinks: downlinks of a leaf d [1].
        breakout: parts of a port b [1].

    Equation:
        m = (n (e + 1) - 1) div (n d - t) leaves are full, ceil(m t / n) trunks are on them, t div n or one more on each

    Source:
        `leaf_ports.packed`: the first m leaves hold m d - ceil(m t / n) endpoints, at most e.
    """
    full = minimum(leaves, (leaves * (endpoints + 1) - 1) // maximum(leaves * downlinks - trunks, 1))
    before, per_leaf = ceil_div(full * trunks, leaves), trunks // leaves
    fewer = before - full * per_leaf  # leaves with a trunk more than the others
    rest = maximum(endpoints - (full * downlinks - before), 0)
    most, least = ceil_div(downlinks - per_leaf, breakout), ceil_div(downlinks - per_leaf - 1, breakout)
    return (full - fewer) * most + fewer * least + ceil_div(rest, breakout)


def _railed_cables(filled: list[tuple[Any, Any]], others: Any, downlinks: Any, breakout: int) -> Any:
    """Return the whole leaf ports in use by nodes that fill scalable units, and by others in the free ports.

    Args:
        filled: leaves and the ports of rails on each [1].
        others: endpoint ports of nodes outside the rails [1].
        downlinks: downlinks of a leaf d [1].
        breakout: parts of a port b [1].

    Equation:
        others take the free parts of ports in use, then whole ports of b parts, then the last ones of d mod b parts

    Source:
        `leaf_ports.leaf_ports` seats them in this order.
    """
    used, shared, free = 0, 0, 0
    for leaves, ports in filled:
        taken = ceil_div(ports, breakout)
        used = used + leaves * taken
        # parts of ports in use that others may still take
        shared = shared + leaves * (minimum(taken * breakout, downlinks) - ports)
        free = free + leaves * maximum(downlinks // breakout - taken, 0)
    left = maximum(others - shared, 0)
    on_whole = minimum(left, free * breakout)
    return used + ceil_div(on_whole, breakout) + ceil_div(left - on_whole, maximum(downlinks % breakout, 1))
