"""Closed forms against an independent construction, port by port, with networkx as the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.fabric.routing.cuts import _zone_cuts, between_zones
from ffplan.fabric.routing.degraded import _links_alive
from ffplan.fabric.sizing import formulas as f
from ffplan.fabric.sizing.fat_tree import _build_tree, _TreeRule
from ffplan.fabric.wiring.network import LEAF
from tests.fabrics import wire_tree

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools
    from ffplan.fabric.wiring.wiring import WiredFabric

RADIX = st.sampled_from([4, 6, 8, 12, 16, 40, 64])
RATIO = st.sampled_from([1.0, 1.5, 2.0, 3.0])
POLICY = st.sampled_from(["minimal", "per-rail-whole-pods", "equal-stripe"])


def wired(endpoints: int, leaf: int, spine: int, uplinks: int, downlinks: int) -> nx.MultiGraph[tuple[str, int]]:
    """Wire a two-tier tree: every leaf spreads its uplinks evenly over the spines."""
    graph: nx.MultiGraph[tuple[str, int]] = nx.MultiGraph()
    for endpoint in range(endpoints):
        graph.add_edge(("e", endpoint), ("l", endpoint // downlinks))
    for position in range(leaf):
        for uplink in range(uplinks):
            graph.add_edge(("l", position), ("s", uplink % spine))
    return graph


@given(RADIX, RATIO, st.data())
def test_a_two_tier_tree_can_be_wired_within_the_radix(radix: int, ratio: float, data: st.DataObject) -> None:
    uplinks = int(f.leaf_uplinks(radix, ratio))
    rule = _TreeRule(tiers=2, radix=radix, uplinks=uplinks, rails=1, core_policy="minimal")
    endpoints = data.draw(st.integers(1, min(rule.capacity, 600)))
    tree = _build_tree(rule, endpoints)
    graph = wired(endpoints, tree.leaf, tree.spine, uplinks, rule.downlinks)
    degrees = dict(graph.degree())
    assert max(degrees.values()) <= radix
    assert len([node for node in graph if node[0] == "l"]) == tree.leaf
    assert len([node for node in graph if node[0] == "s"]) == tree.spine
    assert sum(1 for a, b, _ in graph.edges if {a[0], b[0]} == {"l", "s"}) == tree.leaf_spine
    assert sum(radix - degrees[node] for node in graph if node[0] == "s") == tree.spare_spine_ports
    assert nx.is_connected(graph)
    per_spine = {degrees[node] for node in graph if node[0] == "s"}
    assert len(per_spine) == 1, "every spine carries the same number of links"


@given(st.sampled_from([4, 6, 8]), RATIO, st.data())
def test_bisection_is_what_max_flow_finds(radix: int, ratio: float, data: st.DataObject) -> None:
    """Full leaves, an even number of them, split in the middle: the split that crosses the spines most."""
    uplinks = int(f.leaf_uplinks(radix, ratio))
    rule = _TreeRule(tiers=2, radix=radix, uplinks=uplinks, rails=1, core_policy="minimal")
    leaves = 2 * data.draw(st.integers(1, radix // 2))
    tree = _build_tree(rule, leaves * rule.downlinks)
    graph = wired(tree.endpoints, tree.leaf, tree.spine, uplinks, rule.downlinks)
    flow: nx.DiGraph[object] = nx.DiGraph()
    for a, b, _ in graph.edges:
        for one, two in ((a, b), (b, a)):
            capacity = flow.edges[one, two]["capacity"] + 1 if flow.has_edge(one, two) else 1
            flow.add_edge(one, two, capacity=capacity)
    for endpoint in range(tree.endpoints):
        left = endpoint < tree.endpoints // 2
        flow.add_edge(*(("source", ("e", endpoint)) if left else (("e", endpoint), "sink")), capacity=1)
    assert nx.maximum_flow_value(flow, "source", "sink") == f.tree_bisection(tree.endpoints, tree.narrowest_links, 1)


@given(RADIX, RATIO, POLICY, st.integers(1, 8), st.data())
def test_a_three_tier_tree_has_ports_for_all_its_links(
    radix: int, ratio: float, policy: str, rails: int, data: st.DataObject
) -> None:
    rule = _TreeRule(tiers=3, radix=radix, uplinks=int(f.leaf_uplinks(radix, ratio)), rails=rails, core_policy=policy)
    endpoints = data.draw(st.integers(1, rule.capacity))
    tree = _build_tree(rule, endpoints)
    assert tree.leaf_ports >= endpoints
    assert tree.leaf_ports - endpoints < rule.downlinks
    assert tree.spare_spine_ports >= 0
    assert tree.spare_core_ports >= 0
    assert tree.core >= f.core_minimal(tree.spine_core, radix)


@given(RADIX, RATIO)
def test_leaf_uplinks_keep_the_oversubscription(radix: int, ratio: float) -> None:
    uplinks = int(f.leaf_uplinks(radix, ratio))
    assert (radix - uplinks) / uplinks <= ratio + 1e-9
    assert uplinks == 1 or (radix - uplinks + 1) / (uplinks - 1) > ratio


@given(st.lists(st.integers(1, 16_000), min_size=1, max_size=8))
def test_arrays_and_scalars_agree(endpoints: list[int]) -> None:
    e = np.array(endpoints)
    leaf = f.leaf_switches(e, 20)
    rest = np.minimum(leaf, 20)
    spine = f.pod_spines(rest, 20, rest, 40)
    scalar_leaf = [f.leaf_switches(n, 20) for n in endpoints]
    scalar_spine = [f.pod_spines(min(n, 20), 20, min(n, 20), 40) for n in scalar_leaf]
    assert leaf.tolist() == scalar_leaf
    assert spine.tolist() == scalar_spine
    assert f.core_equal_stripe(spine, 20, 20, 40).tolist() == [f.core_equal_stripe(n, 20, 20, 40) for n in scalar_spine]
    assert f.core_per_rail_whole_pods(
        e, 8, downlinks=20, uplinks=20, pod_leaves=20, spine_up=20, radix=40
    ).tolist() == [
        f.core_per_rail_whole_pods(n, 8, downlinks=20, uplinks=20, pod_leaves=20, spine_up=20, radix=40)
        for n in endpoints
    ]
    assert f._zone_bisection(e, 4, 1.0, 760.0, 380.0).tolist() == [
        f._zone_bisection(n, 4, 1.0, 760.0, 380.0) for n in endpoints
    ]


@given(RADIX, st.integers(1, 3))
def test_a_full_tree_matches_the_canonical_counts(radix: int, tiers: int) -> None:
    """Al-Fares et al., SIGCOMM 2008: k^3/4 hosts, k^2/2 leaf and spine switches each, k^2/4 cores."""
    rule = _TreeRule(
        tiers=tiers, radix=radix, uplinks=radix // 2 if tiers > 1 else 0, rails=1, core_policy="equal-stripe"
    )
    tree = _build_tree(rule, rule.capacity)
    canonical = {1: (1, 0, 0), 2: (radix, radix // 2, 0), 3: (radix**2 // 2, radix**2 // 2, radix**2 // 4)}
    assert (tree.leaf, tree.spine, tree.core) == canonical[tiers]
    assert tree.spare_spine_ports == tree.spare_core_ports == 0


def flow_out(fabric: WiredFabric, alive: Bools, pod: int) -> float:
    """Return the maximum flow from the endpoints of a pod to those of all others."""
    k, s, first = fabric.network.links, fabric.network.switches, len(fabric.network.switches)
    graph: nx.DiGraph[object] = nx.DiGraph()
    graph.add_nodes_from(["source", "sink"])
    for a, b, rate in k.rows(np.flatnonzero(alive), "a", "b", "gbyte_s"):
        if a >= first:
            a = "source" if s.pod[b] == pod else "sink"
        for one, two in ((a, b), (b, a)):
            had = graph.edges[one, two]["capacity"] if graph.has_edge(one, two) else 0.0
            graph.add_edge(one, two, capacity=had + rate)
    return float(nx.maximum_flow_value(graph, "source", "sink"))


@given(st.sampled_from([(4, 2), (6, 3), (6, 2), (8, 4)]), POLICY, st.integers(2, 4), st.data())
def test_what_leaves_the_pods_is_what_max_flow_finds(
    shape: tuple[int, int], policy: str, pods: int, data: st.DataObject
) -> None:
    """Full pods, some of whose spines, cores and links between these are lost: half of the flows out of each."""
    radix, uplinks = shape
    rule = _TreeRule(tiers=3, radix=radix, uplinks=uplinks, rails=1, core_policy=policy)
    one = rule.pod_leaves * rule.downlinks
    fabric = wire_tree(_build_tree(rule, pods * one), pods * one)
    k, s = fabric.network.links, fabric.network.switches
    switches = data.draw(st.lists(st.sampled_from(np.flatnonzero(s.role != LEAF).tolist()), max_size=8))
    links = data.draw(st.lists(st.sampled_from(np.flatnonzero(k.tier == 2).tolist()), max_size=8))
    alive = _links_alive(fabric.network, np.array(switches, np.int64), np.array(links, np.int64))
    healthy = np.ones_like(alive)
    short = [pods * one / 2 - sum(flow_out(fabric, mask, pod) for pod in range(pods)) / 2 for mask in (healthy, alive)]
    # links that no other pod could meet on the whole fabric stay between the halves of their own
    found = float(_zone_cuts(fabric, alive)[0, 0])
    if not short[0]:
        assert found == pytest.approx(pods * one / 2 - short[1])
    assert found <= float(_zone_cuts(fabric, healthy)[0, 0])


@given(st.lists(st.integers(0, 3), max_size=12), st.integers(1, 4))
def test_what_is_left_between_two_zones_is_what_max_flow_finds(lost: list[int], switches: int) -> None:
    """Three links of either zone at each switch between them, less what is lost."""
    rates = np.full(2 * switches, 3.0)
    np.subtract.at(rates, np.arange(len(lost)) % (2 * switches), np.array(lost, float))
    rates = np.maximum(rates, 0.0).reshape(2, switches)
    graph: nx.DiGraph[object] = nx.DiGraph()
    for switch in range(switches):
        graph.add_edge("one", switch, capacity=rates[0, switch])
        graph.add_edge(switch, "two", capacity=rates[1, switch])
    assert between_zones(rates) == nx.maximum_flow_value(graph, "one", "two")
