"""What holds of every wired fabric, whatever its size."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ffplan.fabric.sizing.fat_tree import Tree, _build_tree, _TreeRule
from ffplan.fabric.wiring.network import CORE, LEAF, SPINE, Network
from tests.fabrics import ports_used, wire_tree
from tests.support import examples

RADIX = st.sampled_from([4, 5, 6, 8, 10, 12, 40])
RATIO = st.sampled_from([1.0, 2.0, 3.0])
POLICY = st.sampled_from(["minimal", "per-rail-whole-pods", "equal-stripe"])


@st.composite
def trees(draw: st.DrawFn, most: int = 4000) -> Tree:
    tiers = draw(st.integers(1, 3))
    radix = draw(RADIX)
    from ffplan.fabric.sizing.formulas import leaf_uplinks

    uplinks = int(leaf_uplinks(radix, draw(RATIO))) if tiers > 1 else 0
    spine_ratio = draw(RATIO) if tiers == 3 else 1.0
    rule = _TreeRule(
        tiers=tiers,
        radix=radix,
        uplinks=uplinks,
        rails=draw(st.integers(1, 8)),
        core_policy=draw(POLICY),
        spine_ratio=spine_ratio,
    )
    return _build_tree(rule, draw(st.integers(1, min(most, rule.capacity))))


def ports(network: Network) -> np.ndarray:
    """Every port in use, as device * 4096 + port."""
    k = network.links
    return np.concatenate([k.a.astype(np.int64) * 4096 + k.a_port, k.b.astype(np.int64) * 4096 + k.b_port])


@given(trees())
@examples(200)
def test_no_port_is_used_twice_or_beyond_the_radix(tree: Tree) -> None:
    network = wire_tree(tree, tree.endpoints).network
    used = ports(network)
    assert len(np.unique(used)) == len(used)
    assert (used % 4096).max() < network.radix
    assert ports_used(network).max() <= network.radix
    assert network.links.a_port.min() >= 0
    assert network.links.b_port.min() >= 0


@given(trees())
@examples(200)
def test_counts_equal_the_closed_form(tree: Tree) -> None:
    network = wire_tree(tree, tree.endpoints).network
    assert [network.count(role) for role in (LEAF, SPINE, CORE)] == [tree.leaf, tree.spine, tree.core]
    counts = {"endpoint": tree.endpoints, "leaf_spine": tree.leaf_spine, "spine_core": tree.spine_core}
    assert network.links_by_tier() == {tier: count for tier, count in counts.items() if count}
    spare = network.radix - ports_used(network)
    for role, expected in ((SPINE, tree.spare_spine_ports), (CORE, tree.spare_core_ports)):
        assert spare[network.switches.role == role].sum() == expected
    roles = network.switches.role
    up, tier = network.links, network.links.tier
    assert (roles[up.a[tier == 1]] == LEAF).all()
    assert (roles[up.b[tier == 1]] == SPINE).all()
    assert (roles[up.a[tier == 2]] == SPINE).all()
    assert (roles[up.b[tier == 2]] == CORE).all()


@given(trees(most=600))
@examples(100)
def test_every_endpoint_reaches_every_other(tree: Tree) -> None:
    network = wire_tree(tree, tree.endpoints).network
    graph: nx.Graph[int] = nx.Graph(zip(network.links.a.tolist(), network.links.b.tolist(), strict=True))
    graph.add_nodes_from(range(len(network.switches) + len(network.endpoints)))
    assert nx.is_connected(graph)


@given(trees(most=3000))
@examples(150)
def test_every_core_reaches_every_full_pod(tree: Tree) -> None:
    """So that a packet that has reached any core can go down without going up again."""
    network = wire_tree(tree, tree.endpoints).network
    up = network.links.tier == 2
    if not up.any() or not tree.full_pods:
        return
    pod = network.switches.pod[network.links.a[up]]
    core = network.links.b[up] - (tree.leaf + tree.spine)
    reached = np.zeros((tree.core, tree.full_pods + 1), bool)
    reached[core, pod] = True
    assert reached[:, : tree.full_pods].all()
    if tree.last_pod is not None:
        assert reached[:, tree.full_pods].any()


@given(trees(most=2000))
@examples(100)
def test_a_leaf_has_as_many_links_to_each_spine_of_its_pod(tree: Tree) -> None:
    network = wire_tree(tree, tree.endpoints).network
    down = network.links.tier == 1
    pairs = network.links.a[down].astype(np.int64) * 65536 + network.links.b[down]
    leaf, count = np.unique(pairs, return_counts=True)
    in_full = network.switches.pod[leaf // 65536] < tree.full_pods
    for pod, own in ((tree.pod, in_full), (tree.last_pod, ~in_full)):
        if pod is not None and tree.spine and own.any():
            assert set(count[own]) == {tree.rule.uplinks // pod.spines}


@given(st.sampled_from([4, 6, 8]), st.integers(2, 3), st.data())
@examples(100)
def test_evenly_striped_trees_reach_full_bisection(radix: int, tiers: int, data: st.DataObject) -> None:
    """Max-flow between the first and the second half of the endpoints, whole leaves on either side."""
    rule = _TreeRule(tiers=tiers, radix=radix, uplinks=radix // 2, rails=1, core_policy="equal-stripe")
    most = rule.capacity // rule.downlinks // 2
    tree = _build_tree(rule, 2 * data.draw(st.integers(1, most)) * rule.downlinks)
    network = wire_tree(tree, tree.endpoints).network
    assert max_flow_between_halves(network) == tree.endpoints / 2


def max_flow_between_halves(network: Network) -> float:
    """The oracle: what networkx finds between the first and the second half of the endpoints."""
    flow: nx.DiGraph[object] = nx.DiGraph()
    for a, b in zip(network.links.a.tolist(), network.links.b.tolist(), strict=True):
        for one, two in ((a, b), (b, a)):
            capacity = flow.edges[one, two]["capacity"] + 1 if flow.has_edge(one, two) else 1
            flow.add_edge(one, two, capacity=capacity)
    first, count = len(network.switches), len(network.endpoints)
    for endpoint in range(count):
        edge = ("source", first + endpoint) if endpoint < count // 2 else (first + endpoint, "sink")
        flow.add_edge(*edge, capacity=1)
    return float(nx.maximum_flow_value(flow, "source", "sink"))
