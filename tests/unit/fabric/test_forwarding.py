"""Forwarding tables followed by hand and against the routes that they were made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.fabric.routing import routing
from ffplan.fabric.routing.link_loads import flow_loads
from ffplan.fabric.routing.routing import Forwarding, Tracer
from ffplan.fabric.routing.traffic import Flows, _one_by_one
from ffplan.fabric.routing.tree_routing import TreeRouting
from ffplan.fabric.sizing.fat_tree import _build_tree, _TreeRule
from tests.fabrics import wire_tree

if TYPE_CHECKING:
    from ffplan.base.array_math import Ints
    from ffplan.fabric.wiring.wiring import WiredFabric


@pytest.fixture(scope="module")
def fabric() -> WiredFabric:
    """Four leaves with four endpoints each, and two spines with two links to each leaf."""
    rule = _TreeRule(tiers=2, radix=8, uplinks=4, rails=1, core_policy="minimal")
    return wire_tree(_build_tree(rule, 16), 16, 25.0)


def tables(fabric: WiredFabric) -> Forwarding:
    """Return the tables that static routing follows: destination-modulo, the same from every source."""
    k, count = fabric.network.links, len(fabric.network.switches)
    port = np.full((count, 16), -1, np.int16)
    src, dst = (axis.ravel() for axis in np.meshgrid(np.arange(16), np.arange(16), indexing="ij"))
    src, dst = src[src != dst], dst[src != dst]
    routes = TreeRouting(fabric).paths(src, dst).links
    for column in range(routes.shape[1]):
        used = routes[:, column] >= 0
        link, up = routes[used, column] // 2, routes[used, column] % 2 == 0
        at = np.where(up, k.a[link], k.b[link])
        out = np.where(up, k.a_port[link], k.b_port[link])
        inner = at < count
        port[at[inner], dst[used][inner]] = out[inner]
    return Forwarding(np.arange(count), np.arange(16), port)


def flows(src: Ints, dst: Ints) -> Flows:
    return Flows(src, dst, np.arange(1.0, len(src) + 1))


def test_tables_load_the_links_of_the_routes(fabric: WiredFabric, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "WALKERS", 7)  # several batches
    some = flows(np.array([0, 3, 5, 9, 15, 4, 4, 8]), np.array([1, 12, 5 + 8, 2, 0, 7, 11, 3]))
    load, lost = Tracer(fabric.network, tables(fabric)).flow_loads(some, 5)
    wanted, _ = flow_loads(TreeRouting(fabric), some.src, some.dst, some.nbytes)
    assert lost == 0
    assert load.tolist() == wanted.tolist()


def test_all_to_all_is_the_sum_of_its_flows(fabric: WiredFabric, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "WALKERS", 9)
    members = np.array([0, 1, 5, 6, 7, 14])
    load, lost = Tracer(fabric.network, tables(fabric)).all_to_all_loads(members, 3.0, 5)
    pairs = _one_by_one(members[:, None], np.zeros(16, np.int16), 15.0)
    wanted, _ = flow_loads(TreeRouting(fabric), pairs.src, pairs.dst, pairs.nbytes)
    assert lost == 0
    assert load.tolist() == wanted.tolist()


def test_switches_passed_are_counted(fabric: WiredFabric) -> None:
    """One switch to a neighbour, three to another leaf; nothing arrives by fewer than it takes."""
    leaf = fabric.network.endpoints.leaf
    tracer, dst = Tracer(fabric.network, tables(fabric)), np.array([1, 2, 12])
    _, passed = tracer.walk(leaf[np.zeros(3, np.int64)], dst, np.ones(3), 5)
    assert passed.tolist() == [1, 1, 3]
    load, passed = tracer.walk(leaf[np.zeros(3, np.int64)], dst, np.ones(3), 2)
    assert passed.tolist() == [1, 1, -1]
    assert load.sum() == 4  # two last links, and two of the three of the walk that was cut short


def test_holes_in_a_table_lose_flows(fabric: WiredFabric) -> None:
    own = tables(fabric)
    port = own.port.copy()
    port[fabric.network.endpoints.leaf[0], 12] = -1
    some = flows(np.array([0, 1, 4]), np.array([12, 12, 12]))
    _, lost = Tracer(fabric.network, Forwarding(own.switches, own.endpoints, port)).flow_loads(some, 5)
    assert lost == 2
    fewer = Forwarding(own.switches[1:], own.endpoints, own.port[1:])  # the first leaf has no table
    _, lost = Tracer(fabric.network, fewer).flow_loads(some, 5)
    assert lost == 2


def test_a_loop_ends(fabric: WiredFabric) -> None:
    """A spine that sends everything back down to the first leaf."""
    own = tables(fabric)
    port = own.port.copy()
    k, leaf = fabric.network.links, int(fabric.network.endpoints.leaf[0])
    for spine in (4, 5):
        back = np.flatnonzero((k.a == leaf) & (k.b == spine))
        port[spine, :] = k.b_port[back[0]]
    _, passed = Tracer(fabric.network, Forwarding(own.switches, own.endpoints, port)).walk(
        np.array([leaf]), np.array([12]), np.ones(1), 9
    )
    assert passed.tolist() == [-1]
