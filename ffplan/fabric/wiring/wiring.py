"""The wired fabric of a design, trees or dragonfly: every plane, zone, switch, endpoint and link, as arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Ints, ceil_div
from ffplan.base.record import record
from ffplan.fabric.sizing.endpoints import ports_per_plane
from ffplan.fabric.sizing.fat_tree import Tree
from ffplan.fabric.sizing.leaf_ports import _leaf_ports, _LeafPorts, _ports_in_plane
from ffplan.fabric.wiring.links import (
    _core_table,
    _CoreTable,
    _dragonfly_links,
    _pods_of_switches,
    _WiredDragonfly,
    _Wires,
    leaf_spine,
    spine_core,
)
from ffplan.fabric.wiring.network import (
    CORE,
    INTERZONE,
    LEAF,
    ROUTER,
    SPINE,
    TIERS,
    Network,
    _EndpointTable,
    _LinkTable,
    _SwitchTable,
    join,
)

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.low_diameter import _DragonflyShape
    from ffplan.fabric.sizing.plan import FabricPlan


@record
class WiredTree:
    """One tree of a wired fabric, with the tables that routing needs."""

    tree: Tree
    plane: int
    zone: int
    first_switch: int
    first_endpoint: int
    endpoints: int
    table: _CoreTable | None
    """Core of every spine uplink; three tiers only."""
    first_leaf_spine: int
    """Number of its first link from leaf to spine; they follow in the order of leaf and uplink."""
    first_spine_core: int
    """Number of its first link from spine to core; in the order of pod, group and link."""
    trunk_links: Ints
    """Numbers of its links to inter-zone switches."""
    trunk_leaf: Ints
    """Leaf of each of them, by number within the tree."""


@record
class WiredFabric:
    """A wired fabric and the trees it is made of."""

    family: str
    network: Network
    zones: int
    planes: int
    trees: tuple[WiredTree, ...] = ()
    """Plane by plane, zone by zone."""
    dragonflies: tuple[_WiredDragonfly, ...] = ()
    """Plane by plane."""
    interzone: int = 0
    """Inter-zone switches of each plane."""
    side_by_side: bool = False
    """True if every compute node is in every zone, so that zones carry its traffic in parallel, as planes do."""


def _make_links(a: Any, a_port: Any, b: Any, b_port: Any, tier: Any, rate: Any) -> _LinkTable:
    """Return links with their columns in the types of the table; tier and rate may be one for all."""
    count = len(a)
    return _LinkTable(
        a=np.asarray(a, np.int32),
        a_port=np.asarray(a_port, np.int16),
        b=np.asarray(b, np.int32),
        b_port=np.asarray(b_port, np.int16),
        tier=np.broadcast_to(np.asarray(tier, np.int8), count),
        gbyte_s=np.broadcast_to(np.asarray(rate, np.float32), count),
    )


def _shifted(wires: _Wires, first: int, tier: int, rate: float) -> _LinkTable:
    return _make_links(wires.a + np.int32(first), wires.a_port, wires.b + np.int32(first), wires.b_port, tier, rate)


def _tree_switches(tree: Tree, plane: int, zone: int, pods: Ints) -> _SwitchTable:
    counts = (tree.leaf, tree.spine, tree.core)
    total = sum(counts)
    return _SwitchTable(
        role=np.repeat(np.array([LEAF, SPINE, CORE], np.int8), counts),
        plane=np.full(total, plane, np.int16),
        zone=np.full(total, zone, np.int16),
        pod=pods,
        index=np.concatenate([np.arange(n, dtype=np.int32) for n in counts]),
    )


class _Builder:
    def __init__(self, link_rate: float) -> None:
        self.link_rate = link_rate
        self.switches: list[_SwitchTable] = []
        self.endpoints: list[_EndpointTable] = []
        self.parts: dict[int, list[_LinkTable]] = {0: [], 1: [], 2: [], 3: []}
        self.trees: list[WiredTree] = []
        self.switch_count = 0
        self.endpoint_count = 0
        self.wires: dict[int, tuple[_Wires, _Wires | None, _CoreTable | None, Ints]] = {}

    def tree(self, tree: Tree, plane: int, zone: int, seat: _LeafPorts, ports: Ints, rates: Any) -> None:
        """Add one tree; trees that are the same object share the work."""
        # planes are equal, so their trees are often one object
        if id(tree) not in self.wires:
            table = _core_table(tree) if tree.core else None
            self.wires[id(tree)] = (
                leaf_spine(tree) if tree.spine else _Wires(*(np.zeros(0, np.int32) for _ in range(4))),
                spine_core(tree, table) if table else None,
                table,
                _pods_of_switches(tree),
            )
        down, up, table, pods = self.wires[id(tree)]
        first = self.switch_count
        count = len(seat.node)
        self.switches.append(_tree_switches(tree, plane, zone, pods))
        self.endpoints.append(
            _EndpointTable(
                group=seat.group,
                node=seat.node,
                port=ports.astype(np.int16),
                plane=np.full(count, plane, np.int16),
                zone=np.full(count, zone, np.int16),
                leaf=seat.leaf + np.int32(first),
                slot=seat.slot,
            )
        )
        zeros = np.zeros(count, np.int16)
        self.parts[0].append(_make_links(np.zeros(count, np.int32), zeros, seat.leaf + first, seat.slot, 0, rates))
        self.parts[1].append(_shifted(down, first, 1, self.link_rate))
        if up is not None:
            self.parts[2].append(_shifted(up, first, 2, self.link_rate))
        nothing = np.zeros(0, np.int64)
        self.trees.append(
            WiredTree(
                tree=tree,
                plane=plane,
                zone=zone,
                first_switch=first,
                first_endpoint=self.endpoint_count,
                endpoints=count,
                table=table,
                first_leaf_spine=0,
                first_spine_core=0,
                trunk_links=nothing,
                trunk_leaf=seat.trunk_leaf,
            )
        )
        self.switch_count += tree.leaf + tree.spine + tree.core
        self.endpoint_count += count

    def inter_zone(self, plane: int, zones: int, switches: int, seat: list[_LeafPorts], rate: float) -> None:
        """Add the inter-zone switches of a plane and their links."""
        # every zone has as many links to each inter-zone switch
        per_switch = len(seat[0].trunk_leaf) // switches
        self.switches.append(
            _SwitchTable(
                role=np.full(switches, INTERZONE, np.int8),
                plane=np.full(switches, plane, np.int16),
                zone=np.full(switches, -1, np.int16),
                pod=np.full(switches, -1, np.int32),
                index=np.arange(switches, dtype=np.int32),
            )
        )
        for zone in range(zones):
            number = np.arange(len(seat[zone].trunk_leaf))
            first = self.trees[plane * zones + zone].first_switch
            self.parts[3].append(
                _make_links(
                    seat[zone].trunk_leaf + first,
                    seat[zone].trunk_slot,
                    # a zone's links take the switches in turn
                    self.switch_count + number % switches,
                    zone * per_switch + number // switches,
                    3,
                    rate,
                )
            )
        self.switch_count += switches

    def finish(self, radix_of: tuple[int, ...]) -> tuple[Network, tuple[WiredTree, ...]]:
        """Return the network and its trees, with link numbers filled in; `radix_of` are the ports of each role."""
        endpoint_links = join(self.parts[0])
        # endpoints are numbered behind all switches, whose number is known only now
        endpoint_links.a[:] = self.switch_count + np.arange(self.endpoint_count, dtype=np.int32)
        tables = [endpoint_links, *(join(parts) for parts in list(self.parts.values())[1:] if parts)]
        network = Network(
            endpoints=join(self.endpoints),
            switches=join(self.switches),
            links=join(tables),
            radix=max(radix_of),
            radix_of=radix_of,
        )
        first_link = len(endpoint_links)
        # links are numbered tier by tier, trees in order within a tier
        down = _running(first_link, self.parts[1])
        up = _running(down[-1], self.parts[2])
        trunk = _running(up[-1], self.parts[3])
        trees = []
        for number, tree in enumerate(self.trees):
            links = np.arange(trunk[number], trunk[number + 1]) if self.parts[3] else tree.trunk_links
            first = up[number] if self.parts[2] else up[0]
            trees.append(replace(tree, first_leaf_spine=down[number], first_spine_core=first, trunk_links=links))
        return network, tuple(trees)


def _running(start: int, parts: list[_LinkTable]) -> list[int]:
    """Return the number of the first link of each part, and the one after the last."""
    return [start, *(start + np.cumsum([len(part) for part in parts], dtype=np.int64)).tolist()]


def _ports(design: ResolvedDesign, tree: Tree) -> tuple[int, ...]:
    """Return the ports of a switch of each role; an unequally split leaf counts down and up together."""
    rule = tree.rule
    down, up = rule.splits
    whole = design.radix // down
    leaf = rule.radix
    if down != up and rule.tiers > 1:
        used = ceil_div(rule.downlinks, down)
        leaf = rule.downlinks + (whole - used) * up
    return leaf, rule.spine_ports, rule.core_ports, design.radix, design.radix


def wire_trees(design: ResolvedDesign, plan: FabricPlan) -> WiredFabric:
    """Return the wired trees of a design."""
    spec = design.spec.fabric
    trees = plan.trees
    builder = _Builder(design.link_gbyte_s)
    trunk = spec.inter_zone
    zone_seats = [_leaf_ports(design, tree, zone) for zone, tree in enumerate(trees)]
    for plane in range(design.planes):
        for zone, tree in enumerate(trees):
            seat = zone_seats[zone]
            ports, rate = _ports_in_plane(design, seat.group, seat.rail, plane)
            builder.tree(tree, plane, zone, seat, ports, rate)
        if trunk:
            builder.inter_zone(plane, spec.zones, trunk.switches, zone_seats, design.trunk_gbyte_s)
    network, wired = builder.finish(_ports(design, trees[0]))
    return WiredFabric(
        family=plan.family,
        network=network,
        trees=wired,
        zones=spec.zones,
        planes=design.planes,
        interzone=trunk.switches if trunk else 0,
        side_by_side=design.side_by_side,
    )


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
