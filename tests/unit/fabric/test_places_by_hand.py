"""Places in racks, ports of leaves, trees of ranks and detours, worked out by hand on fabrics of a few devices."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.fabric.routing.dragonfly_routing import _best_mixture, _GroupTraffic, _minimal_loads, _valiant_loads
from ffplan.fabric.routing.traffic import _binary_tree, _crossing_pairs, _double_binary_tree, _joined_trees
from ffplan.fabric.routing.tree_routing import _CutTraffic
from ffplan.fabric.sizing.leaf_ports import _packed, _rail_ports
from ffplan.fabric.sizing.low_diameter import (
    _dragonfly_capacity,
    _dragonfly_global_links,
    _dragonfly_shape,
    _dragonfly_taper,
    _DragonflyShape,
    dragonfly_bisection,
    dragonfly_groups,
)
from ffplan.fabric.wiring.floor import Positions, _seat_leaves, _shift, _stack, _within
from ffplan.fabric.wiring.racks import nodes_per_rack
from tests.support import document


def floor(**changed: Any) -> Any:
    """Return racks of 42 units and 10 kW."""
    return SimpleNamespace(**{"rack_units": 42, "switch_units": 2, "power_per_rack": 10e3, **changed})


def per_rack(units: int, watts: Any, wanted: int | None = None, **changed: Any) -> Any:
    figures = {"maximum": None, "training": None, "other": None, **watts}
    power = SimpleNamespace(**{name: value and SimpleNamespace(value=value) for name, value in figures.items()})
    group: Any = SimpleNamespace(
        group=SimpleNamespace(per_rack=wanted),
        height=units,
        server=SimpleNamespace(power=power, id="box"),
        position=0,
    )
    limits = SimpleNamespace(limits=SimpleNamespace(power_per_rack=None))
    design: Any = SimpleNamespace(document=document("nodes:\n  - role: compute\n"), spec=limits)
    try:
        return nodes_per_rack(design, group, floor(**changed))
    except InputError as error:
        return error.findings[0].message


@pytest.mark.parametrize(
    ("units", "watts", "wanted", "changed", "found"),
    [
        (8, {"maximum": 1000.0}, None, {}, 5),  # 42 units hold five, 10 kW ten
        (4, {"maximum": 2000.0}, None, {}, 5),  # 10 kW hold five, 42 units ten
        (4, {"maximum": 2000.0, "training": 2500.0, "other": 100.0}, None, {}, 4),  # the most of what is known
        (4, {}, None, {}, 10),
        (4, {"maximum": 2000.0}, None, {"power_per_rack": None}, 10),
        (8, {"maximum": 1000.0}, 3, {}, 3),
        (8, {"maximum": 1000.0}, 5, {}, 5),
        (8, {"maximum": 1000.0}, 6, {}, "6 of `box` need 48 rack units; there are 42 rack units"),
        (4, {"maximum": 2000.0}, 6, {}, "6 of `box` need 12,000 W; there are 10,000 W a rack"),
        (48, {"maximum": 2000.0}, None, {}, "1 of `box` need 48 rack units; there are 42 rack units"),
        (4, {"maximum": 11e3}, None, {}, "1 of `box` need 11,000 W; there are 10,000 W a rack"),
    ],
)
def test_nodes_of_a_rack(units: int, watts: Any, wanted: int | None, changed: Any, found: Any) -> None:
    assert per_rack(units, watts, wanted, **changed) == found


def test_leaves_sit_in_their_row_or_the_nearest_with_room() -> None:
    """Two to a row: the third leaf of row 1 goes to row 0, which is as near as row 2 and comes first."""
    assert _seat_leaves(np.array([1, 1, 1, 1, 0, 2, 2]), 4, 2).tolist() == [1, 1, 0, 0, 2, 2, 3]


def test_switches_stand_from_the_top_down() -> None:
    """Racks of 6 units hold three switches of two; the fourth starts the next rack. Rows of switches are put in
    between, so that rows of nodes behind them move on."""
    row, rack, unit = (np.zeros(5, np.int64) for _ in range(3))
    place = Positions(row=row, rack=rack, unit=unit, rows=1)
    _stack(
        place,
        np.array([0, 1, 2, 4]),
        np.array([7, 7, 7, 7]),
        np.array([0, 1, 2, 3]),
        5,
        floor(rack_units=6),
        per_rack=3,
    )
    assert unit.tolist() == [5, 3, 1, 0, 5]
    assert rack.tolist() == [5, 5, 5, 0, 6]
    assert row.tolist() == [7, 7, 7, 0, 7]
    assert _shift(np.array([0, 1, 2, 3]), 2, 3).tolist() == [0, 1, 5, 6]
    assert _within(np.array([2, 0, 2, 0, 0, 1])).tolist() == [0, 0, 1, 1, 2, 0]


@pytest.mark.parametrize(
    ("endpoints", "trunks", "leaf", "slot", "trunk"),
    [
        (5, 0, [0, 0, 0, 0, 1], [0, 1, 2, 3, 0], []),
        (8, 1, [0, 0, 0, 1, 1, 1, 1, 2], [0, 1, 2, 0, 1, 2, 3, 0], [(0, 3)]),
        (6, 3, [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [(0, 3), (1, 3), (2, 3)]),
        (7, 5, [0, 0, 1, 1, 2, 2, 2], [0, 1, 0, 1, 0, 1, 2], [(0, 3), (0, 2), (1, 3), (1, 2), (2, 3)]),
        (0, 2, [], [], [(0, 3), (1, 3)]),
    ],
)
def test_endpoints_fill_leaves_before_links_to_other_zones(
    endpoints: int, trunks: int, leaf: list[int], slot: list[int], trunk: list[tuple[int, int]]
) -> None:
    """Three leaves of four downlinks; links to other zones take the last ones, spread over the leaves."""
    found = [item.tolist() for item in _packed(endpoints, trunks, 3, 4)]
    assert found[:2] == [leaf, slot]
    assert list(zip(*found[2:], strict=True)) == trunk


def test_units_have_a_leaf_for_each_rail() -> None:
    """Three nodes of two rails in units of two: nodes 0 and 1 on leaves 0 and 1, node 2 on leaves 2 and 3. A storage
    node and two links to another zone share what is free, one port of each leaf after the other."""
    tree: Any = SimpleNamespace(rule=SimpleNamespace(rails=2, downlinks=3, splits=(1, 1)), leaf=4)
    group, node = np.array([0] * 6 + [1]), np.array([0, 1, 2, 0, 1, 2, 0])
    rail = np.array([0, 0, 0, 1, 1, 1, 0])
    leaf, slot, trunk_leaf, trunk_slot = _rail_ports(tree, 2, 1, (group, node, rail), np.array([0]), 2)
    assert list(zip(leaf.tolist(), slot.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (2, 0),
        (1, 0),
        (1, 1),
        (3, 0),
        (3, 1),
    ]
    assert list(zip(trunk_leaf.tolist(), trunk_slot.tolist(), strict=True)) == [(2, 1), (1, 2)]
    leaf, slot, *_ = _rail_ports(tree, 1, 2, (group, node, rail), np.array([0]), 0)
    assert list(zip(leaf.tolist(), slot.tolist(), strict=True))[:6] == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]


@pytest.mark.parametrize(
    ("ranks", "parents"),
    [(1, [-1]), (2, [-1, 0]), (4, [-1, 2, 0, 2]), (7, [-1, 2, 4, 2, 0, 6, 4]), (8, [-1, 2, 4, 2, 0, 6, 4, 6]), (0, [])],
)
def test_the_first_tree(ranks: int, parents: list[int]) -> None:
    assert _binary_tree(ranks).tolist() == parents


def test_the_second_tree_is_mirrored_or_shifted() -> None:
    assert _double_binary_tree(4)[1].tolist() == [1, 3, 1, -1]
    assert _double_binary_tree(3).tolist() == [[-1, 2, 0], [1, -1, 0]]
    assert _double_binary_tree(1).tolist() == [[-1], [-1]]


@pytest.mark.parametrize("ranks", range(2, 40))
def test_a_rank_is_inner_in_one_tree_alone(ranks: int) -> None:
    """Each tree reaches all ranks from one root; but for one rank, what has children in one has none in the other."""
    trees = _double_binary_tree(ranks)
    inner = []
    for parent in trees:
        assert (parent < 0).sum() == 1
        for rank in range(ranks):
            steps = 0
            while rank >= 0:
                rank, steps = int(parent[rank]), steps + 1
            assert steps <= ranks.bit_length() + 1
        count = np.bincount(parent[parent >= 0], minlength=ranks)
        assert count.max() <= 2
        inner.append(count > 0)
    assert (inner[0] & inner[1]).sum() <= 1


@pytest.mark.parametrize(
    ("sizes", "pairs"), [([4, 4], 1), ([3, 5, 2], 2), ([4, 0, 4], 1), ([6], 0), ([], 0), ([1, 1, 1], 2)]
)
def test_one_pair_of_ranks_joins_neighbouring_zones(sizes: list[int], pairs: int) -> None:
    trees = _joined_trees(sizes)
    assert trees.shape == (2, sum(sizes))
    zone = np.repeat(np.arange(len(sizes)), sizes)
    assert _crossing_pairs(trees, zone) == pairs
    for parent in trees:
        if sum(sizes):
            assert (parent < 0).sum() == 1
            assert np.bincount(parent[parent >= 0], minlength=1).max() <= 2


SHAPE = _DragonflyShape(groups=3, endpoints=1, routers=2, global_links=1, pair_links=1)
"""Three groups of two routers with an endpoint and a global link each."""


def test_a_dragonfly_in_closed_form() -> None:
    """Radix 15: four endpoints and global links, eight routers; 33 groups of 32. Five groups have 8 links each."""
    assert _dragonfly_shape(15) == (4, 8, 4)
    assert _dragonfly_shape(14) == (3, 6, 3)
    assert (_dragonfly_capacity(15), dragonfly_groups(64, 15), dragonfly_groups(65, 15)) == (1056, 2, 3)
    assert dragonfly_groups(1, 15) == 2
    assert (_dragonfly_global_links(5, 15), _dragonfly_global_links(6, 15), _dragonfly_global_links(33, 15)) == (
        80,
        90,
        528,
    )
    assert dragonfly_bisection(4, 3, 8, 25.0, 1e9) == 4 * 3 * 25
    assert dragonfly_bisection(5, 3, 8, 25.0, 1e9) == (4 * 3 + 16) * 25
    assert dragonfly_bisection(5, 3, 7, 25.0, 1e9) == (4 * 3 + 12) * 25
    assert dragonfly_bisection(4, 3, 8, 25.0, 100.0) == 50
    assert _dragonfly_taper(32, 25.0, 16, 50.0) == 1.0
    assert SHAPE.group_ports == 2


def traffic(*flows: tuple[int, int, float]) -> _GroupTraffic:
    src, dst, nbytes = (np.array(item) for item in zip(*flows, strict=True))
    return _GroupTraffic.of_flows(SHAPE, src, dst, nbytes.astype(float))


def test_straight_and_round_about_through_three_groups() -> None:
    """Both routers of group 0 send 6 to group 1: 12 on its one link, or on the two links over group 2. In between each
    half is best."""
    flow = traffic((0, 2, 6.0), (1, 3, 6.0))
    first = 2 * 3  # directed links inside the groups
    short, long, best = (make(flow)[first:] for make in (_minimal_loads, _valiant_loads, _best_mixture))
    assert (short.sum(), short.max(), (short > 0).sum()) == (12.0, 12.0, 1)
    assert (long.sum(), long.max(), (long > 0).sum()) == (24.0, 12.0, 2)
    assert best.max() == pytest.approx(6.0)
    assert best.sum() == pytest.approx(18.0)


def test_traffic_within_a_group_stays_there() -> None:
    flow = traffic((0, 1, 5.0), (3, 2, 7.0))
    for make in (_minimal_loads, _valiant_loads, _best_mixture):
        load = make(flow)
        assert load.sum() == pytest.approx(12.0)
        assert (load[0], load[3]) == pytest.approx((5.0, 7.0))  # up from router 0, down from router 3
    assert not flow.out.any()


def test_traffic_of_all_to_all_is_that_of_its_flows() -> None:
    """One endpoint on each of six routers but the last, 2 bytes from each to each."""
    members = np.array([1, 1, 1, 1, 1, 0])
    listed = traffic(*((a, b, 2.0) for a in range(5) for b in range(5) if a != b))
    counted = _GroupTraffic.all_to_all(SHAPE, members, 2.0)
    assert counted.out.tolist() == listed.out.tolist()
    assert counted.back.tolist() == listed.back.tolist()
    for make in (_minimal_loads, _valiant_loads):
        assert make(counted) == pytest.approx(make(listed))


def test_bytes_that_cross_leaves_pods_and_zones() -> None:
    """Two zones of two leaves with two endpoints each, a pod to a leaf; flows within a leaf, a zone, and across."""
    leaf = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    wired = [SimpleNamespace(first_switch=at, tree=SimpleNamespace(leaf=2)) for at in (0, 2)]
    paths = [
        SimpleNamespace(wired=item, tree=item.tree, pods=2, plane=0, trunk_links=[9], pod_of=lambda leaves: leaves)
        for item in wired
    ]
    network = SimpleNamespace(
        endpoints=type("Ends", (), {"__len__": lambda _: 8, "leaf": leaf})(), switches=range(4), links=range(12)
    )
    router: Any = SimpleNamespace(
        fabric=SimpleNamespace(network=network), trees=paths, leaf=np.array([0, 0, 1, 1, 0, 0, 1, 1])
    )
    found = _CutTraffic(router)
    found.flows(np.array([0, 0, 0, 6]), np.array([1, 2, 4, 1]), np.array([1.0, 2.0, 4.0, 8.0]))
    assert found.ends.tolist() == [[7.0, 0, 0, 0, 0, 0, 8.0, 0], [0, 9.0, 2.0, 0, 4.0, 0, 0, 0]]
    assert [item.tolist() for item in found.leaf] == [[[2.0, 0], [0, 2.0]], [[0, 0], [0, 0]]]
    assert [item.tolist() for item in found.pod] == [[[2.0, 0], [0, 2.0]], [[0, 0], [0, 0]]]
    assert [item.tolist() for item in found.zone] == [[[4.0, 0], [8.0, 0]], [[0, 8.0], [4.0, 0]]]
    every = _CutTraffic(router)
    every.all_to_all([np.arange(4), np.arange(4, 6)], 1.0)
    assert every.ends.tolist() == [[5.0] * 6 + [0.0] * 2] * 2  # three here and two there; one here and four there
    assert [item.tolist() for item in every.leaf] == [[[4.0, 4.0]] * 2, [[0.0, 0.0]] * 2]
    assert [item.tolist() for item in every.zone] == [[[4.0, 4.0]] * 2, [[8.0, 0.0]] * 2]
