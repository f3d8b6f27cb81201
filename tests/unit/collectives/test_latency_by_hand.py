"""Latencies, the time of a message, and the ledgers of trees and of switches that reduce, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ffplan.collectives.bottleneck import totals
from ffplan.collectives.latency import ring_latency, transfer_time
from ffplan.collectives.nccl import _Choice, choices
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.switch_reduction import _nvls_tree, nvls, sharp
from ffplan.collectives.trees import tree
from ffplan.fabric.sizing.plan import LinkCut
from tests.support import exactly, host_named, library_named

MIB = 2**20
H100, GB200, BRIDGED = "hgx-h100-8nic", "gb200-nvl72-tray", "fire-flyer-2-node-nvlink"
PLAIN = {"latency": 0.0, "inner_latency": 0.0, "fill": 0.0, "inner_most": 0.0, "hops": 0.0, "slot": 0.0}


def job(server: str, nodes: int, per_node: int, *cuts: LinkCut) -> RankLayout:
    return RankLayout(host=host_named(server), nodes=nodes, per_node=per_node, cuts=cuts)


def choice(server: str, nodes: int, per_node: int, algorithm: str, protocol: str = "simple") -> _Choice:
    """Return one choice of an allreduce."""
    layout = job(server, nodes, per_node)
    asked: dict[str, Any] = {"in_network": True, "algorithm": algorithm, "protocol": protocol}
    (found,) = choices(library_named("nccl"), layout, "allreduce", **asked)
    return found


def test_a_ring_over_nodes_has_a_least_hop_and_a_plateau() -> None:
    """Ten hops of which two between nodes: 5 + 8 x 1 + 2 x 10; 8 x 3 with a least of 3; twice that on a plateau."""
    assert ring_latency(5.0, 1.0, 10.0, 10.0, 2.0) == 33
    assert ring_latency(5.0, 0.5, 10.0, 10.0, 2.0) == 29
    assert ring_latency(5.0, 1.0, 10.0, 10.0, 2.0, overhead=3.0) == 49
    assert ring_latency(5.0, 4.0, 10.0, 10.0, 2.0, overhead=3.0) == 57
    assert ring_latency(5.0, 1.0, 10.0, 10.0, 2.0, overhead=3.0, plateau=2.0) == 98
    assert ring_latency(5.0, 1.0, 10.0, 10.0, 2.0, plateau=1.5) == 49.5
    assert ring_latency(5.0, 1.0, 10.0, 10.0, 1.0, overhead=3.0, plateau=2.0) == 84
    inside = ring_latency(5.0, 1.0, 10.0, np.array([10.0, 7.0]), np.zeros(2), overhead=3.0, plateau=2.0)
    assert np.asarray(inside).tolist() == [15, 12]


def test_latencies_of_nccl_on_four_nodes() -> None:
    """8 us a call on H100. Tree: 8.4 + 2 (7 x 4 + 2 x 14); NVLS 25, its trees 4 x 20.9 more, of which the choice
    counts 14, SHARP one hop of 18."""
    for algorithm, latency, counted, inner in (
        ("tree", 8.4 + 2 * (7 * 4 + 2 * 14), 8.4 + 2 * (7 * 4 + 2 * 14), 8.4 + 14 * 4),
        ("nvls-tree", 25 + 4 * 20.9, 25 + 4 * 14, 25),
        ("sharp", 25 + 18, 25 + 18, 25),
    ):
        found = choice(H100, 4, 8, algorithm)
        assert found.latency == exactly((8 + latency) * 1e-6)
        assert found.estimate_latency == exactly((8 + counted) * 1e-6)
        assert found.inner_latency == exactly(inner * 1e-6)
    assert choice(H100, 1, 8, "nvls").latency == exactly(33e-6)


def test_pieces_pass_nodes_in_slots_or_quarters() -> None:
    """1 GB/s: hops of a slot of 4 MB, or of a quarter of a message that is smaller than 16 MB."""
    common = {**PLAIN, "hops": 3.0, "slot": 4e6}
    assert transfer_time(100e6, 1e-9, **common) == exactly(100e-3 + 3 * 4e-3)
    assert transfer_time(16e6, 1e-9, **common) == exactly(16e-3 + 3 * 4e-3)
    assert transfer_time(8e6, 1e-9, **common) == exactly(8e-3 + 3 * 2e-3)
    assert transfer_time(8e6, 1e-9, **{**common, "latency": 5e-3}) == exactly(5e-3 + 8e-3 + 3 * 2e-3)


def test_filling_grows_with_the_root_of_the_message_up_to_its_most() -> None:
    """1 GB/s, 1 ms inside: 0.5 x the root of 1 ms x 4 ms is 1 ms; of 400 ms 10, of which 3 at most."""
    common = {**PLAIN, "latency": 2e-3, "inner_latency": 1e-3, "fill": 0.5, "inner_most": 3e-3}
    assert transfer_time(4e6, 1e-9, **common) == exactly(2e-3 + 4e-3 + 1e-3)
    assert transfer_time(400e6, 1e-9, **common) == exactly(2e-3 + 400e-3 + 3e-3)


def test_channels_fill_after_the_stream_that_they_limit() -> None:
    """64 MiB over two of up to four channels of 1 GB/s, in parts of 32 MiB; the link at 3 GB/s binds with four."""
    common = {**PLAIN, "inner_latency": 1e-3, "fill": 0.5, "inner_most": 1.0}
    given = {**common, "channel_per_byte": 1e-9, "channels_least": 1.0, "channels_most": 4.0, "part": 32.0 * MIB}
    for mib, stream in ((16, 16 * MIB / 1e9), (32, 32 * MIB / 1e9), (64, 64 * MIB / 2e9), (96, 96 * MIB / 3e9)):
        expected = stream + 0.5 * (1e-3 * stream) ** 0.5
        assert transfer_time(mib * MIB, 1 / 3e9, **given) == exactly(expected), mib
    most = transfer_time(2**40, 0.0, **{**PLAIN, **{name: given[name] for name in given if name not in PLAIN}})
    assert most == exactly(2**40 / 4e9)
    assert transfer_time(2**40, 1e-12, **PLAIN) == exactly(2**40 * 1e-12)  # channels limit nothing


@pytest.mark.parametrize(
    ("nodes", "per_node", "chain", "between"),
    [(1, 8, 2, 0), (1, 2, 1, 0), (2, 1, 0, 1), (3, 2, 1, 1.5), (4, 8, 2, 2), (9, 3, 2, 2)],
)
def test_a_tree_s_chain_and_its_node_between_others(nodes: int, per_node: int, chain: float, between: float) -> None:
    """The message twice in and out of the middle of a chain, once at its ends; as many NICs as ranks carry t (N)."""
    used = totals(tree("allreduce", job(H100, nodes, per_node)))
    assert used["nvlink", "gpu0"] == (chain, chain)
    assert used["hbm", "gpu0"] == (chain + between, chain + between)
    assert used["nic", "nic0"] == (between / per_node, between / per_node)


def test_a_tree_over_pcie_reaches_its_nic_from_the_head() -> None:
    """One NIC takes t (N) = 2 of the GPU at the head; a pair on a bridge passes no socket, but two of its pairs do."""
    used = totals(tree("allreduce", job(BRIDGED, 4, 8)))
    assert used["gpu_nic_peer", "nic0"] == (2, 2)
    assert used["socket_fabric", "0"] == (1, 1)
    assert totals(tree("allreduce", job(BRIDGED, 1, 2)))["socket_fabric", "0"] == (0, 0)
    assert totals(tree("allreduce", job(BRIDGED, 4, 1)))["socket_fabric", "0"] == (0, 0)
    assert ("socket_fabric", "0") not in totals(tree("allreduce", job(H100, 4, 8)))
    one = job(BRIDGED, 1, 8)
    one = replace(one, host=replace(one.host, sockets_with_gpus=1))
    assert ("socket_fabric", "0") not in totals(tree("allreduce", one))


@pytest.mark.parametrize(("nodes", "rate"), [(1, 370), (2, 96), (3, 96 / 1.5), (4, 48), (8, 48)])
def test_nccl_counts_few_nodes_of_a_tree_as_many(nodes: int, rate: float) -> None:
    """Two H100 on each node, with 48 GB/s of NIC each: t (N) is 1, 1.5 and 2; the tuner takes 2 at once, at 92 %,
    and at most 41.4 GB/s a channel on two nodes, 36 on more, both ways."""
    found = choice(H100, nodes, 2, "tree")
    assert 1e-9 / found.seconds_per_byte == exactly(rate)
    guess = 370 if nodes == 1 else 48
    most = {1: 370.0, 2: 41.4}.get(nodes, 36.0)
    assert 1e-9 / found.estimate_per_byte == exactly(min(0.92 * guess, most))


def test_a_plugin_that_counts_for_itself_sees_the_true_nodes() -> None:
    """A NIC whose plugin brings its own tuner: two nodes are two; without a correction the whole rate counts."""
    layout, library = job(H100, 2, 2), library_named("nccl").model_copy(update={"channel_limits": {}})
    tuned = tuple(nic.model_copy(update={"tuned": True}) for nic in layout.host.nics)
    own = replace(layout, host=replace(layout.host, nics=tuned))
    whole = library.model_copy(update={"tree_estimate": None})
    asked: dict[str, Any] = {"in_network": False, "algorithm": "tree", "protocol": "simple"}
    ((true,), (usual,), (plain,)) = (
        choices(given, ranks, "allreduce", **asked)
        for given, ranks in ((library, own), (library, layout), (whole, layout))
    )
    assert usual.estimate_per_byte == exactly(2 * true.estimate_per_byte)
    assert true.estimate_per_byte == exactly(true.seconds_per_byte / 0.92)
    assert plain.estimate_per_byte == exactly(0.92 * usual.estimate_per_byte)


CUT = LinkCut(name="leaf_uplinks", label="", sets=4, links=8, gbyte_s=400.0)


@pytest.mark.parametrize(
    ("ledger", "between", "across"),
    [(nvls, 0, 1.5), (_nvls_tree, 2, 1.5), (sharp, 1, 1)],
    ids=["nvls", "tree", "sharp"],
)
def test_switches_reduce_inside_and_between(ledger: Any, between: float, across: float) -> None:
    """Eight H100: 9 / 8 in and out of each. Trees cross a cut of four sets 2 (4 - 1) / 4 times, SHARP once."""
    used = totals(ledger("allreduce", job(H100, 4, 8, CUT)))
    assert used["nvls", "gpu7"] == used["hbm", "gpu7"] == (9 / 8, 9 / 8)
    assert used["nic", "nic0"] == (between / 8, between / 8)
    assert used["leaf_uplinks", "0"] == (across, across)
    assert totals(ledger("allreduce", job(H100, 4, 1, CUT)))["nvls", "gpu0"] == (0, 0)


@pytest.mark.parametrize(("nodes", "rate"), [(2, 480 * 9 / 14 / (9 / 8)), (3, 384 / 1.5), (4, 384 / 2)])
def test_trees_of_nvls_take_what_binds(nodes: int, rate: float) -> None:
    """480 GB/s of bus bandwidth on eight H100 are 308.6 in and out of each; NICs carry 384 for t (N) of a message."""
    found = choice(H100, nodes, 8, "nvls-tree")
    assert 1e-9 / found.seconds_per_byte == exactly(rate)
    shared = choice(H100, nodes, 8, "sharp")
    assert 1e-9 / shared.seconds_per_byte == exactly(0.93 * 480 * 9 / 14 / (9 / 8))


@pytest.mark.parametrize(("ranks", "busbw"), [(8, 840), (16, 850), (64, 850), (72, 850)])
def test_a_rack_reduces_at_its_most(ranks: int, busbw: float) -> None:
    """840 GB/s on eight GB200 are 540 in and out of each, so 953 on 16 and 1,029 on 64, of which 850 at most."""
    found = choice(GB200, 1, ranks, "nvls")
    assert found.seconds_per_byte == exactly(2 * (ranks - 1) / ranks / busbw * 1e-9)


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_a_node_without_a_known_most_reduces_at_its_links(ranks: int) -> None:
    """480 GB/s on eight H100 are 480 x 9 / 14 in and out of each, (p + 1) / p a byte on p."""
    found = choice(H100, 1, ranks, "nvls")
    assert found.seconds_per_byte == exactly((ranks + 1) / ranks / (480 * 9 / 14) * 1e-9)
