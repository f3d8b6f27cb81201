"""Bridged pairs and full meshes inside a node, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.collectives.bottleneck import sustained_rate, totals
from ffplan.collectives.inside_node import (
    _axes_spanned,
    _bridged,
    _bridged_hops,
    _chain_lines,
    _exchange_factor,
    _link_factor,
    _one_pair,
    _ring_lines,
)
from ffplan.collectives.nccl import ALGORITHMS
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, chosen, time_choices
from ffplan.node.resources import resources
from tests.support import host_named

if TYPE_CHECKING:
    from ffplan.node.host import Host

GIB = 2.0**30


def job(host: Host, nodes: int, per_node: int, *, adjacent: bool = True) -> RankLayout:
    """Return a job of whole numbers."""
    return RankLayout(host=host, nodes=nodes, per_node=per_node, adjacent=1.0 * adjacent)


def seconds(host: Host, nodes: int, per_node: int, operation: str = "allreduce", library: str = "nccl") -> float:
    """Return the time of 1 GiB."""
    part = Catalog().entry(library).part
    assert isinstance(part, Library)
    return chosen(
        time_choices(CollectiveQuery(operation=operation, library=part), job(host, nodes, per_node), GIB)
    ).time


def test_pairs_are_used_by_even_numbers_of_neighbouring_ranks() -> None:
    host = host_named("fire-flyer-2-node-nvlink")
    assert [float(_bridged(job(host, 1, p))) for p in (1, 2, 3, 4, 8)] == [0, 1, 0, 1, 1]
    assert [float(_one_pair(job(host, n, 2))) for n in (1, 2)] == [1, 0]
    assert [float(_bridged_hops(job(host, 1, p))) for p in (1, 2, 8)] == [0, 1, 0.5]
    assert float(_bridged(job(host, 1, 4, adjacent=False))) == 0
    assert float(_bridged(job(replace(host, pairs=host.pairs[:1]), 1, 4))) == 0


def test_a_pair_reduces_over_its_bridge_alone() -> None:
    """Two ranks send and receive the message once: 208 GB/s of the bridge, nothing over PCIe."""
    host = host_named("fire-flyer-2-node-nvlink")
    used = totals(ALGORITHMS["ring"].ledger("allreduce", job(host, 1, 2)))
    assert used["nvlink", "gpu0"] == used["nvlink", "gpu1"] == (1, 1)
    assert used["pcie_peer", "gpu0"] == used["root_port", "cpu0-rp0"] == used["socket_fabric", "0"] == (0, 0)
    assert GIB / seconds(host, 1, 2) / 1e9 == pytest.approx(204, abs=1)
    assert GIB / seconds(host_named("fire-flyer-2-node"), 1, 2) / 1e9 == pytest.approx(16.1, abs=0.1)


def test_bridged_cards_use_pcie_one_way() -> None:
    """Four ranks, f = 1.5: the first of a pair receives over PCIe and sends over the bridge, the second vice versa."""
    host = host_named("fire-flyer-2-node-nvlink")
    used = totals(ALGORITHMS["ring"].ledger("allreduce", job(host, 1, 4)))
    assert (used["pcie_peer", "gpu0"], used["pcie_peer", "gpu1"]) == ((1.5, 0), (0, 1.5))
    assert (used["nvlink", "gpu0"], used["nvlink", "gpu1"]) == ((0, 1.5), (1.5, 0))
    assert (used["root_port", "cpu0-rp0"], used["root_port", "cpu0-rp1"]) == ((0, 1.5), (1.5, 0))
    assert used["root_port", "cpu1-rp1"] == (0, 0)  # GPU5 hands over to GPU6 below one port
    ring = totals(_ring_lines(job(host, 1, 4), "ring over PCIe", 1.5, 0.0))
    assert ring["pcie_peer", "gpu0"] == (1.5, 0)
    lines = ALGORITHMS["ring"].ledger("allreduce", job(host, 1, 4))
    assert sustained_rate(resources(host), lines) == pytest.approx(24 / 1.5)  # and not 32.4 / 3


def test_a_chain_crosses_pcie_between_pairs_only() -> None:
    host = host_named("fire-flyer-2-node-nvlink")
    alone = totals(ALGORITHMS["tree"].ledger("allreduce", job(host, 1, 2)))
    assert alone["pcie_peer", "gpu0"] == (0, 0)
    head = totals(_chain_lines(job(host, 4, 8), 2.0, 2.0, 0.0))["pcie_peer", "gpu0"]
    assert head == (2, 2)  # the NICs at the head, its neighbour across the bridge
    many = totals(ALGORITHMS["tree"].ledger("allreduce", job(host, 1, 8)))
    assert many["pcie_peer", "gpu0"] == many["nvlink", "gpu0"] == many["root_port", "cpu0-rp0"] == (1, 1)


def test_an_all_to_all_sends_one_piece_over_the_bridge() -> None:
    host = host_named("fire-flyer-2-node-nvlink")
    used = totals(ALGORITHMS["direct"].ledger("all-to-all", job(host, 1, 8)))
    assert used["nvlink_copy", "gpu0"] == (1 / 8, 1 / 8)
    assert used["pcie_peer", "gpu0"] == (6 / 8, 6 / 8)
    assert used["root_port", "cpu0-rp0"] == (6 / 8, 6 / 8)
    assert used["root_port", "cpu1-rp1"] == (12 / 8 - 2 / 8, 12 / 8 - 2 / 8)


def test_a_switch_gives_two_gpus_all_links() -> None:
    host = host_named("hgx-h100-8nic")
    assert _link_factor(job(host, 1, 2)) == 1
    used = totals(ALGORITHMS["ring"].ledger("allreduce", job(host, 1, 2)))
    assert used["nvlink", "gpu0"] == (1, 1)


def torus(*dims: int) -> Host:
    """Return a node whose GPUs sit in a torus, at the links of an MI300X."""
    return replace(host_named("mi300x-8nic"), mesh=False, torus=dims, scale_up_name="ICI")


def test_a_torus_carries_rings_on_every_axis_that_ranks_span() -> None:
    """TPU v5p, 16 x 20 x 28: a third of the links along one axis, all from 321 chips on; half on an open axis."""
    dims = (16, 20, 28)
    assert [_axes_spanned(dims, p)[0] for p in (8, 16, 17, 320, 321, 8960)] == [1, 1, 2, 2, 3, 3]
    host = torus(*dims)
    assert [float(_link_factor(job(host, 1, p))) for p in (8, 16, 320, 8960)] == [6, 3, 1.5, 1]
    assert float(_exchange_factor(job(host, 1, 8960))) == 4 + 5 + 7
    assert [_axes_spanned(dims, p)[1:] for p in (8, 16, 17, 320)] == [(1, 8), (0, 16), (1, 2), (0, 20)]
    assert float(_link_factor(job(host, 1, 17))) == 3 / 1.5  # one axis closed, the next begun
    assert float(_exchange_factor(job(torus(2, 2, 2), 1, 8))) == 1.5
    rates = [1 / float(_link_factor(job(host, 1, p))) for p in (2, 16, 17, 320, 321, 8960)]
    assert rates == sorted(rates)
    many = RankLayout(host=host, nodes=np.ones(4), per_node=np.array([8.0, 16.0, 320.0, 8960.0]))
    assert list(np.asarray(_link_factor(many))) == [6, 3, 1.5, 1]
    assert _exchange_factor(job(host_named("hgx-h100-8nic"), 1, 8)) == 1
    assert resources(host, (), 1.0)["nvlink_copy", "gpu0"].one_way[1] == pytest.approx(448 / 6)


def test_the_inner_ring_of_a_hierarchy_stays_on_the_bridge() -> None:
    """Two ranks on each of two nodes: scatter and gather cross the bridge alone."""
    host = host_named("fire-flyer-2-node-nvlink")
    used = totals(ALGORITHMS["hierarchical"].ledger("allreduce", job(host, 2, 2)))
    assert used["pcie_peer", "gpu0"] == (0, 0)
    assert used["nvlink", "gpu0"] == (1, 1)
    assert totals(ALGORITHMS["direct"].ledger("all-to-all", job(host, 2, 2)))["socket_fabric", "0"] == (0, 0)


def test_exchanges_on_an_open_axis_of_a_torus() -> None:
    """Six of eight along one of two axes: half of its links, two hops for the mean pair; all eight: two hops too."""
    assert _exchange_factor(job(torus(8, 8), 1, 6)) == 2 / (1 - 1 / 2) * 6 / 3
    assert _exchange_factor(job(torus(8, 8), 1, 8)) == 2 * 8 / 4


def test_ll128_needs_a_scale_up_switch_or_a_single_pair() -> None:
    host = host_named("fire-flyer-2-node-nvlink")
    part = Catalog().entry("nccl").part
    assert isinstance(part, Library)
    query = CollectiveQuery(operation="allreduce", library=part)
    found = {
        (nodes, ranks): "ll128" in {item.protocol for item in time_choices(query, job(host, nodes, ranks), 2.0**20)}
        for nodes, ranks in ((1, 2), (1, 4), (2, 2))
    }
    assert found == {(1, 2): True, (1, 4): False, (2, 2): False}


def test_nccl_takes_trees_over_two_or_three_nodes_for_trees_over_many() -> None:
    host = host_named("hgx-h100-8nic")
    part = Catalog().entry("nccl").part
    assert isinstance(part, Library)
    seen = ALGORITHMS["tree"].as_estimated
    assert seen is not None
    assert [seen(part, job(host, nodes, 8))[0].nodes for nodes in (1, 2, 3, 4, 9)] == [1, 4, 4, 4, 9]
