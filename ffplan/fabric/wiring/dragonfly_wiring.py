"""From a design to its wired dragonfly: equal planes of groups of routers, as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Ints
from ffplan.base.record import record
from ffplan.fabric.sizing.endpoints import ports_per_plane
from ffplan.fabric.sizing.leaf_ports import _ports_in_plane
from ffplan.fabric.wiring.links import _dragonfly_links, _WiredDragonfly
from ffplan.fabric.wiring.network import ROUTER, TIERS, Network, _EndpointTable, _SwitchTable, join
from ffplan.fabric.wiring.wiring import WiredFabric, _make_links

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.low_diameter import _DragonflyShape
    from ffplan.fabric.sizing.plan import FabricPlan

INTRA_GROUP, INTER_GROUP = TIERS.index("intra_group"), TIERS.index("inter_group")


@record
class _Seats:
    group: Ints
    node: Ints
    port: Ints
    """Number of the node's port in this plane."""
    router: Ints
    slot: Ints


def _seats(design: ResolvedDesign, shape: _DragonflyShape) -> _Seats:
    """Fill groups of routers node by node, and inside a group router after router, rail by rail."""
    groups, nodes, rails = [], [], []
    for position, members in enumerate(design.groups):
        count, ports = members.group.count, ports_per_plane(design, members)
        groups.append(np.full(count * ports, position, np.int16))
        nodes.append(np.repeat(np.arange(count, dtype=np.int32), ports))
        rails.append(np.tile(np.arange(ports, dtype=np.int16), count))
    group, node, rail = np.concatenate(groups), np.concatenate(nodes), np.concatenate(rails)
    home = np.arange(len(node)) // shape.group_ports
    # rail by rail inside a group, so a router holds one rail of many nodes
    order = np.lexsort((node, rail, group, home))
    place = np.arange(len(node))
    return _Seats(
        group=group[order],
        node=node[order],
        port=rail[order],
        router=(place // shape.endpoints).astype(np.int32),
        slot=(place % shape.endpoints).astype(np.int16),
    )


def _switches(shape: _DragonflyShape, plane: int) -> _SwitchTable:
    count = shape.groups * shape.routers
    number = np.arange(count, dtype=np.int32)
    return _SwitchTable(
        role=np.full(count, ROUTER, np.int8),
        plane=np.full(count, plane, np.int16),
        zone=np.zeros(count, np.int16),
        pod=number // shape.routers,
        index=number % shape.routers,
    )


def wire_dragonfly(design: ResolvedDesign, plan: FabricPlan) -> WiredFabric:
    """Return the wired dragonfly of a design."""
    shape = plan.dragonfly
    assert shape is not None
    seats, inside = _seats(design, shape), _dragonfly_links(shape)
    routers, planes, count = shape.groups * shape.routers, design.planes, len(seats.node)
    endpoints, ends, between = [], [], []
    for plane in range(planes):
        port, rate = _ports_in_plane(design, seats.group, seats.port, plane)
        # endpoints are numbered behind all switches of all planes
        first, device = plane * routers, planes * routers + plane * count + np.arange(count)
        endpoints.append(
            _EndpointTable(
                group=seats.group,
                node=seats.node,
                port=port.astype(np.int16),
                plane=np.full(count, plane, np.int16),
                zone=np.zeros(count, np.int16),
                leaf=seats.router + np.int32(first),
                slot=seats.slot,
            )
        )
        ends.append(_make_links(device, np.zeros(count), seats.router + first, seats.slot, tier=0, rate=rate))
        tier = np.where(inside.inter_group, INTER_GROUP, INTRA_GROUP)
        between.append(
            _make_links(
                inside.a + first, inside.a_port, inside.b + first, inside.b_port, tier=tier, rate=design.link_gbyte_s
            )
        )
    switches = join([_switches(shape, plane) for plane in range(planes)])
    parts = tuple(
        _WiredDragonfly(
            shape=shape,
            first_switch=plane * routers,
            first_link=planes * count + plane * len(inside.a),
        )
        for plane in range(planes)
    )
    return WiredFabric(
        family=plan.family,
        network=Network(
            endpoints=join(endpoints), switches=switches, links=join([*ends, *between]), radix=design.radix
        ),
        zones=1,
        planes=planes,
        dragonflies=parts,
    )
