"""Rings and exchanges over links of which pairs have unequal numbers, and nodes without what they need."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from ffplan.collectives.inside_node import exchange_factor, link_factor
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.trees import tree
from ffplan.node.host_copies import host_copies
from ffplan.node.link_graph import link_graph
from tests.support import host_named


def test_rings_and_exchanges_over_unequal_links() -> None:
    """Two full meshes of four with two links between: four links at most, 3.5 in the mean, two in rings."""
    links = [*combinations("abcd", 2), *combinations("efgh", 2), ("a", "e"), ("b", "f")]
    graph = link_graph("abcdefgh", links)
    assert graph is not None
    own = RankLayout(host=replace(host_named("hgx-h100-8nic"), links=graph), nodes=1, per_node=8)
    assert (graph.most, graph.mean, graph.rings) == (4, 3.5, 2)
    assert link_factor(own) == 4 / 2
    assert exchange_factor(own) == pytest.approx(graph.hops * 4 / 3.5)


def test_a_node_without_gpus_or_links_copies_nothing() -> None:
    own = host_named("fire-flyer-2-node")
    assert host_copies(replace(own, pcie=None)) is None
    assert host_copies(replace(own, gpus=())) is None


@pytest.mark.parametrize(("server", "apart"), [("fire-flyer-2-node", True), ("dgx-a100-320gb", False)])
def test_a_tree_s_chain_crosses_sockets_on_pcie_alone(server: str, apart: bool) -> None:
    """The chain of eight GPUs behind two sockets passes from one to the other once, each way."""
    lines = tree("allreduce", RankLayout(host=host_named(server), nodes=4, per_node=8))
    crossing = [line for line in lines if line.resource[0] == "socket_fabric"]
    assert [(line.inward, line.outward) for line in crossing] == ([(1.0, 1.0)] if apart else [])
