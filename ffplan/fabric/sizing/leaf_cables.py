"""The number of cables to endpoints: whole leaf ports in use, each with a cable that is split at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import ceil_div, maximum, minimum, whole
from ffplan.fabric.sizing.endpoints import rails_of
from ffplan.fabric.sizing.leaf_fill import _railed, _unit_leaves, _unit_nodes

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.fat_tree import Tree


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
