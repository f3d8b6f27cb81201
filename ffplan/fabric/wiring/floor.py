"""Places of every node and switch, from a simple floor plan.

Nodes fill racks in the order of their leaves, racks fill rows. Leaf switches, and routers of a dragonfly, are in the
middle racks of the row where their first endpoint is, or of the nearest row with room. All other switches share
separate rows in the middle of the floor, where cables are shortest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Ints
from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.fabric.wiring.network import LEAF, ROLES, ROUTER
from ffplan.fabric.wiring.racks import nodes_per_rack

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.schema import Floor
    from ffplan.fabric.wiring.wiring import WiredFabric


@record
class Positions:
    """Place of every device, endpoints with their node: one row per device, switches first."""

    row: Ints
    rack: Ints
    """Rack within its row."""
    unit: Ints
    """Lowest rack unit, counted from 1."""
    rows: int


def _switches_per_rack(design: ResolvedDesign, floor: Floor, roles: Ints) -> int:
    """Return the number of switches in a rack that its units and its power allow.

    Switches of unlike power count as the one that draws most; those of unknown power by their units alone.

    Args:
        roles: roles of the switches that share racks, by number.

    Raises:
        InputError: if a single switch draws more than a rack may.
    """
    by_units = floor.rack_units // floor.switch_units
    models = [design.parts.switch_of(ROLES[role]) for role in np.unique(roles).tolist()]
    rated = [(figure.value, model.id) for model in models if (figure := model.power_max or model.power)]
    if not floor.power_per_rack or not rated or not max(rated)[0]:
        return by_units
    watts, switch = max(rated)
    by_power = int(floor.power_per_rack // watts)
    if by_power < 1:
        message = f"1 of `{switch}` needs {watts:,.0f} W; there are {floor.power_per_rack:,.0f} W a rack"
        remedy = "raise `power_per_rack`, or use switches that draw less"
        raise InputError(design.document.finding("fabric-floor", ("floor", "power_per_rack"), message, remedy))
    return min(by_units, by_power)


def _node_racks(design: ResolvedDesign, fabric: WiredFabric, floor: Floor) -> tuple[Ints, Ints, int]:
    """Return rack (numbered through) and unit of every endpoint's node, and the number of racks."""
    e = fabric.network.endpoints
    rack, unit = np.zeros(len(e), np.int64), np.zeros(len(e), np.int64)
    first = 0
    for position, group in enumerate(design.groups):
        per_rack, units = nodes_per_rack(design, group, floor), group.height
        members = np.flatnonzero(e.group == position)
        if not len(members):  # on another network, yet in racks
            first += -(-group.group.count // per_rack)
            continue
        # racks fill in the order of leaves, so nodes of a leaf stand close
        order = members[np.lexsort((e.port[members], e.slot[members], e.leaf[members]))]
        _, where = np.unique(e.node[order], return_index=True)
        place = np.empty(group.group.count, np.int64)
        place[e.node[order][np.sort(where)]] = np.arange(group.group.count)
        number = place[e.node[members]]
        rack[members] = first + number // per_rack
        unit[members] = 1 + number % per_rack * units
        first += -(-group.group.count // per_rack)
    return rack, unit, first


def _seat_leaves(preferred: Ints, rows: int, room: int) -> Ints:
    """Return the row of each leaf: the preferred one, or the nearest with room."""
    left = np.full(rows, room)
    seated = np.empty(len(preferred), np.int64)
    for number, row in enumerate(preferred.tolist()):
        free = np.flatnonzero(left > 0)
        best = int(free[np.abs(free - row).argmin()])
        left[best] -= 1
        seated[number] = best
    return seated


def positions(design: ResolvedDesign, fabric: WiredFabric) -> Positions:
    """Return the place of every device.

    Raises:
        InputError: if nodes or a switch do not fit a rack, or leaf switches do not fit the racks meant for them.
    """
    floor = design.spec.floor
    assert floor is not None
    network = fabric.network
    rack, unit, racks = _node_racks(design, fabric, floor)
    for_nodes = floor.racks_per_row - floor.switch_racks_per_row
    roles = network.switches.role
    holds = np.isin(roles, (LEAF, ROUTER))
    leaves, others = np.flatnonzero(holds), np.flatnonzero(~holds)
    leaf_rack, per_rack = (_switches_per_rack(design, floor, roles[part]) for part in (leaves, others))
    room = floor.switch_racks_per_row * leaf_rack
    node_rows = -(-racks // for_nodes) if for_nodes > 0 else 0
    if for_nodes < 1 or per_rack < 1 or node_rows * room < len(leaves):
        raise InputError(_no_switch_room(design, floor, len(leaves), node_rows * room, leaf_rack))
    upper_rows = -(-len(others) // (floor.racks_per_row * per_rack))
    # spines and cores go in the middle of the hall, where the longest cable is shortest
    before = node_rows // 2
    count, first = len(network.switches) + len(network.endpoints), len(network.switches)
    row_of, rack_of, unit_of = np.zeros((3, count), np.int64)
    place = Positions(row_of, rack_of, unit_of, node_rows + upper_rows)
    middle, column = for_nodes // 2, rack % for_nodes
    place.row[first:] = _shift(rack // for_nodes, before, upper_rows)
    # leaf racks are in the middle of their row; nodes right of them move on
    place.rack[first:] = np.where(column < middle, column, column + floor.switch_racks_per_row)
    place.unit[first:] = unit
    first_of = np.full(first, np.iinfo(np.int64).max)
    # a leaf prefers the row of its first node
    np.minimum.at(first_of, network.endpoints.leaf, rack // for_nodes)
    seated = _seat_leaves(np.minimum(first_of[leaves], node_rows - 1), node_rows, room)
    _stack(place, leaves, _shift(seated, before, upper_rows), _within(seated), middle, floor, per_rack=leaf_rack)
    if len(others):
        across = -(-len(others) // (upper_rows * per_rack))
        number = np.arange(len(others))
        row, inside = before + number // (across * per_rack), number % (across * per_rack)
        _stack(place, others, row, inside, (floor.racks_per_row - across) // 2, floor, per_rack=per_rack)
    return place


def _within(group: Ints) -> Ints:
    order = np.argsort(group, kind="stable")
    within = np.empty(len(group), np.int64)
    within[order] = np.arange(len(group)) - np.searchsorted(group[order], group[order], side="left")
    return within


def _stack(
    place: Positions, switches: Ints, row: Ints, number: Ints, rack: int, floor: Floor, *, per_rack: int
) -> None:
    """Place switches in the racks of their row from `rack` on, so many to a rack, from the top down."""
    place.row[switches] = row
    place.rack[switches] = rack + number // per_rack
    place.unit[switches] = floor.rack_units - (number % per_rack + 1) * floor.switch_units + 1


def _shift(row: Ints, before: int, inserted: int) -> Ints:
    """Return rows of nodes with the rows of switches inserted in the middle."""
    return np.where(row < before, row, row + inserted)


def _no_switch_room(design: ResolvedDesign, floor: Floor, leaves: int, room: int, per_rack: int) -> Finding:
    by_power = per_rack < floor.rack_units // floor.switch_units
    bound = f" at {floor.power_per_rack:,.0f} W a rack" if by_power else ""
    return design.document.finding(
        "fabric-floor",
        ("floor", "switch_racks_per_row"),
        f"{leaves:,} leaf switches do not fit the racks meant for them, which hold {room:,}{bound}",
        "raise `switch_racks_per_row`, or shorten the rows",
    )
