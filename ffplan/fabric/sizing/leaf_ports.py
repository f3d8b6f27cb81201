"""Leaf and port of each endpoint and of each link to another zone, within one tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Floats, Ints
from ffplan.base.record import record
from ffplan.fabric.sizing.endpoints import _deal, ports_per_plane
from ffplan.fabric.sizing.leaf_fill import _railed, _unit_nodes

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.fat_tree import Tree


@record
class _LeafPorts:
    """Endpoints of one tree in the order of their wiring, and the leaf ports of its links to other zones."""

    group: Ints
    node: Ints
    rail: Ints
    """Number of the node's port in this plane."""
    leaf: Ints
    slot: Ints
    trunk_leaf: Ints
    trunk_slot: Ints

    def whole_ports(self, breakout: int) -> int:
        """Return the whole leaf ports that the endpoints are on [1]."""
        # leaf and port in one number: a port is below 2^16
        return len(np.unique(self.leaf.astype(np.int64) << 16 | self.slot // breakout))


def _members(design: ResolvedDesign, zone: int) -> list[tuple[int, int, int, int, int]]:
    """Return (group, first node, nodes, first rail, rails) of each group in one zone of one plane."""
    zones = design.spec.fabric.zones
    rows, start = [], 0
    for position, group in enumerate(design.groups):
        ports, count = ports_per_plane(design, group), group.group.count
        if group.group.zones == "every":
            rails = ports // zones
            rows.append((position, 0, count, zone * rails, rails))
            continue
        first = sum(_deal(count, zones, before, start) for before in range(zone))
        rows.append((position, first, _deal(count, zones, zone, start), 0, ports))
        start += count
    return rows


def _table(members: list[tuple[int, int, int, int, int]]) -> tuple[Ints, Ints, Ints]:
    """Return the columns (group, node, rail), rail by rail within each group."""
    groups, nodes, rails = [], [], []
    for group, first, count, first_rail, number in members:
        groups.append(np.full(count * number, group, np.int16))
        nodes.append(np.tile(np.arange(first, first + count, dtype=np.int32), number))
        rails.append(np.repeat(np.arange(first_rail, first_rail + number, dtype=np.int16), count))
    return np.concatenate(groups), np.concatenate(nodes), np.concatenate(rails)


def _packed(endpoints: int, trunks: int, leaves: int, downlinks: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return leaf and slot of each endpoint, and of each link to another zone.

    Links to other zones are spread evenly over the leaves, on their last downlinks; endpoints fill leaf after leaf.
    """
    # evenly over all leaves, so that no leaf loses many endpoints
    trunk_leaf = np.arange(trunks) * leaves // max(1, trunks)
    per_leaf = np.bincount(trunk_leaf, minlength=leaves)
    trunk_slot = downlinks - 1 - (np.arange(trunks) - np.searchsorted(trunk_leaf, trunk_leaf, side="left"))
    room = downlinks - per_leaf
    first = np.cumsum(room) - room
    taken = np.clip(endpoints - first, 0, room)
    leaf = np.repeat(np.arange(leaves, dtype=np.int32), taken)
    slot = np.arange(endpoints, dtype=np.int32) - np.repeat(first.astype(np.int32), taken)
    return leaf, slot, trunk_leaf, trunk_slot


def _rail_ports(tree: Tree, unit: int, shared: int, table: tuple[Ints, Ints, Ints], compute: Ints, trunks: int) -> Any:
    """Return the same for scalable units: rails that share a leaf on leaf s * leaves + rail // shared of unit s, all
    others on the free ports, parts of ports in use first."""
    leaves, downlinks = tree.rule.rails // shared, tree.rule.downlinks
    group, node, rail = table
    place = np.zeros(len(node), np.int64)
    inside = np.isin(group, compute)
    serial = node[inside]
    # unit by unit; within one, NIC r goes to the leaf of rail r
    leaf_of, turn = serial // unit * leaves + rail[inside] // shared, serial % unit * shared + rail[inside] % shared
    place[inside] = leaf_of * downlinks + turn
    free = np.ones((tree.leaf, downlinks), bool)
    free.ravel()[place[inside]] = False
    leaf, slot = np.nonzero(free)
    split = tree.rule.splits[0]
    used = np.add.reduceat(~free, np.arange(0, downlinks, split), axis=1) > 0
    # one whole port of each leaf, then the next: losing a leaf costs few
    order = np.lexsort((slot % split, leaf, slot // split, ~used[leaf, slot // split]))
    left = (leaf * downlinks + slot)[order]
    chosen = np.arange(trunks) * len(left) // max(1, trunks)
    trunk = left[chosen]
    left = np.delete(left, chosen)
    place[~inside] = left[: int((~inside).sum())]
    return place // downlinks, place % downlinks, trunk // downlinks, trunk % downlinks


def _leaf_ports(design: ResolvedDesign, tree: Tree, zone: int) -> _LeafPorts:
    """Return leaf and port of each endpoint in one zone of one plane."""
    trunks = design.trunk_links
    members = _members(design, zone)
    group, node, rail = _table(members)
    downlinks = tree.rule.downlinks
    if _railed(design) and tree.rule.tiers > 1:
        compute = [row for row in members if design.groups[row[0]].group.role == "compute"]
        serial = node.copy()
        start = 0
        for position, first, count, _, _ in compute:  # several compute groups share the units
            serial[group == position] += start - first
            start += count
        local = rail.copy()
        for position, _, _, first_rail, _ in members:
            local[group == position] -= first_rail
        numbers = np.array([row[0] for row in compute])
        unit, shared = _unit_nodes(design, tree.rule), design.rails_per_leaf
        placed = _rail_ports(tree, unit, shared, (group, serial, local), numbers, trunks)
    else:
        placed = _packed(len(node), trunks, tree.leaf, downlinks)
    leaf, slot, trunk_leaf, trunk_slot = placed
    return _LeafPorts(
        group=group,
        node=node,
        rail=rail,
        leaf=leaf.astype(np.int32),
        slot=slot.astype(np.int16),
        trunk_leaf=trunk_leaf.astype(np.int32),
        trunk_slot=trunk_slot.astype(np.int16),
    )


def _ports_in_plane(design: ResolvedDesign, group: Ints, rail: Ints, plane: int) -> tuple[Ints, Floats]:
    """Return the port of each endpoint on its node, and its rate [GB/s], both in the shape of the endpoints."""
    striped = design.stripes > 1
    per_plane = np.array([0 if striped else ports_per_plane(design, node_group) for node_group in design.groups])
    nic = rail + plane * per_plane[group]
    rate = np.zeros(len(nic))
    for position, node_group in enumerate(design.groups):
        members = group == position
        rate[members] = (
            np.asarray(node_group.nic_rates(design.port_gbyte_s, design.stripes))[nic[members]] / design.stripes
        )
    return (nic * design.stripes + plane if striped else nic), rate
