"""Hand-worked ledgers and times of collectives; sources: nccl-tests PERFORMANCE.md, NCCL tuning.cc, scaling book."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.collectives.algorithm import _LatencyFigures
from ffplan.collectives.bottleneck import Line, solve, sustained_rate, totals
from ffplan.collectives.exchanges import _all_to_all, _rail_all_to_all, _send_receive, star
from ffplan.collectives.expert_dispatch import (
    Routing,
    _expected_hits,
    _expected_reach,
    _grouped_hits,
    _node_limited,
    copied,
    copying_fault,
    counted_copies,
    straight,
    token_bytes,
)
from ffplan.collectives.hfreduce import _one_way_ledger, _pipeline_hops, hfreduce
from ffplan.collectives.latency import _log_latency, _switch_latency, _tree_latency, ring_latency
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.rings import hierarchical, pod_ring, ring
from ffplan.collectives.switch_reduction import _nvls_tree, nvls, sharp
from ffplan.collectives.timing import CollectiveQuery, choices, time_grid
from ffplan.collectives.trees import PAT, pat, tree
from ffplan.collectives.volumes import _depth, _mean_tree_load, _nics_of, bus_factor, ring_steps
from ffplan.fabric.sizing.plan import LinkCut
from ffplan.node.resources import resources
from ffplan.validation.cases import System
from ffplan.validation.measured_system import CaseParts
from tests.support import document, host_named, library_named

if TYPE_CHECKING:
    from ffplan.base.array_math import Number


def library(name: str) -> Library:
    part = Catalog().entry(name).part
    assert isinstance(part, Library)
    return part


def use(lines: list[Line], kind: str) -> tuple[Number, Number]:
    """Return the use of the busiest resource of a kind, in and out."""
    return max(value for key, value in totals(lines).items() if key[0] == kind)


def test_bus_factors_of_nccl_tests() -> None:
    assert bus_factor("allreduce", 8) == pytest.approx(1.75)
    pieces = ("reduce-scatter", "all-gather", "all-to-all", "gather", "scatter")
    assert [bus_factor(op, 8) for op in pieces] == [0.875] * 5
    assert [bus_factor(op, 8) for op in ("broadcast", "reduce", "sendrecv")] == [1.0] * 3
    assert ring_steps("allreduce", 8) == 14
    assert ring_steps("all-gather", 8) == 7


def test_trees() -> None:
    assert [_mean_tree_load(n) for n in (1, 2, 4, 128)] == pytest.approx([0, 1, 1.5, 127 / 64])
    assert _depth(1) == 0
    assert np.asarray(_depth(np.array([8, 1024]))).tolist() == [3, 10]


def test_a_job_uses_its_share_of_the_nics() -> None:
    assert [_nics_of(8, 8, used) for used in (1, 4, 8)] == [1, 4, 8]
    assert _nics_of(4, 8, 1) == 1
    assert _nics_of(4, 4, 72) == 72  # 18 trays of one scale-up switch


def test_ring_on_dgx_h100() -> None:
    """Four nodes of eight: 2 x 31/32, of which an eighth through each NIC and the link that feeds it, the other seven
    hops of a node over NVLink."""
    lines = ring("allreduce", RankLayout(host=host_named("hgx-h100-8nic"), nodes=4, per_node=8))
    assert use(lines, "nvlink") == pytest.approx((1.9375 * 7 / 8, 1.9375 * 7 / 8))
    assert use(lines, "nic") == pytest.approx((1.9375 / 8, 1.9375 / 8))
    assert use(lines, "pcie_link") == pytest.approx((1.9375 / 8, 1.9375 / 8))
    alone = ring("allreduce", RankLayout(host=host_named("hgx-h100-8nic"), nodes=1, per_node=8))
    assert use(alone, "nvlink") == pytest.approx((1.75, 1.75))
    assert use(alone, "nic") == (0, 0)


def test_a_ring_without_forwarding_leaves_through_the_cpu() -> None:
    """DGX A100 has two GPUs at a PCIe switch. With four NICs groups of one or eight on a node are fine, of two and of
    four have no second GPU beside the NIC that they came in by, and NCCL before 2.12 goes through the CPU, 9 GiB/s.
    """
    bench = CaseParts(Catalog(), document("{}"))
    new = bench.host(System(server="dgx-a100-320gb", nics=4), ())
    old = replace(new, forwarding=False)
    assert new.beside == 2
    assert not RankLayout(
        host=replace(host_named("dgx-a100-320gb"), forwarding=False), nodes=4, per_node=4
    ).detour  # a NIC for every GPU
    detours = [RankLayout(host=old, nodes=4, per_node=ranks).detour for ranks in (1, 2, 4, 8)]
    assert [bool(item) for item in detours] == [False, True, True, False]
    assert not RankLayout(host=old, nodes=1, per_node=4).detour
    assert not RankLayout(host=new, nodes=4, per_node=4).detour
    lines = ring("allreduce", RankLayout(host=old, nodes=4, per_node=2))
    assert use(lines, "gpu_nic_peer") == pytest.approx((0, 1.75))
    slow = sustained_rate(resources(old), lines)
    assert slow == pytest.approx(9 * 1.073741824 / 1.75)
    assert sustained_rate(resources(new), ring("allreduce", RankLayout(host=new, nodes=4, per_node=2))) > 2 * slow
    assert "gpu_nic_peer" not in {name for name, _ in resources(new)}


def test_ring_over_pcie_meets_the_peer_limit_of_rome() -> None:
    """9 GiB/s over 2 x 1439/1440: the 4.83 GB/s that the paper measures at most."""
    host = host_named("fire-flyer-2-node")
    bound = solve(resources(host), ring("allreduce", RankLayout(host=host, nodes=180, per_node=8)))
    assert bound.binding.name == "gpu_nic_peer"
    assert bound.gbyte_s == pytest.approx(9 * 1.073741824 / (2 * 1439 / 1440))


def test_tree() -> None:
    """t = 2 from four nodes on; the GPU at the head of a PCIe chain moves 1 for the chain and 2 for the NIC."""
    lines = tree("allreduce", RankLayout(host=host_named("fire-flyer-2-node"), nodes=128, per_node=8))
    assert use(lines, "pcie_peer") == (3, 3)
    assert use(lines, "gpu_nic_peer") == (2, 2)
    on_nvlink = tree("allreduce", RankLayout(host=host_named("p4de-24xlarge"), nodes=2, per_node=8))
    assert use(on_nvlink, "nvlink") == (2, 2)
    assert use(on_nvlink, "nic") == (0.25, 0.25)  # two nodes send the message once, over four NICs


def test_reduction_in_switches() -> None:
    """(p + 1) / p inside; trees send twice between nodes, SHARP once."""
    host = host_named("hgx-h100-8nic")
    assert use(nvls("allreduce", RankLayout(host=host, nodes=1, per_node=8)), "nvls") == (1.125, 1.125)
    assert use(_nvls_tree("allreduce", RankLayout(host=host, nodes=128, per_node=8)), "nic") == (0.25, 0.25)
    assert use(sharp("allreduce", RankLayout(host=host, nodes=128, per_node=8)), "nic") == (0.125, 0.125)


def test_nvls_capacity_gives_back_its_bus_bandwidth() -> None:
    host = host_named("hgx-h100-8nic")
    rate = sustained_rate(resources(host), nvls("allreduce", RankLayout(host=host, nodes=1, per_node=8)))
    assert rate * 1.75 == pytest.approx(480)


def test_hierarchical() -> None:
    lines = hierarchical("allreduce", RankLayout(host=host_named("hgx-h100-8nic"), nodes=4, per_node=8))
    assert use(lines, "nvlink") == (1.75, 1.75)
    assert use(lines, "nic") == pytest.approx((1.5 / 8, 1.5 / 8))


def test_all_to_all() -> None:
    """32 ranks: 24 of 32 pieces leave the node; a quarter of a node's traffic is all that NICs do not carry."""
    host = host_named("hgx-h100-8nic")
    direct, rail = (
        _all_to_all("all-to-all", RankLayout(host=host, nodes=4, per_node=8)),
        _rail_all_to_all("all-to-all", RankLayout(host=host, nodes=4, per_node=8)),
    )
    assert use(direct, "nic") == use(rail, "nic") == (0.75, 0.75)
    assert use(direct, "nvlink_all") == pytest.approx((7 / 32, 7 / 32))
    assert use(rail, "nvlink_all") == pytest.approx((7 / 32 + 0.75 * 7 / 8,) * 2)
    cut = (LinkCut(name="leaf_uplinks", label="", sets=2, links=1, gbyte_s=1.0, mixed=0.5 * 0.75, leaves=8),)
    crossing = [
        use(ledger("all-to-all", RankLayout(host=host, nodes=4, per_node=8, zones=1, cuts=cut)), "leaf_uplinks")[0]
        for ledger in (_all_to_all, _rail_all_to_all)
    ]
    assert crossing[1] == pytest.approx(16 * 16 / 32)  # only what goes to the other leaf of the rail
    assert crossing[0] == pytest.approx(8 / 8 + 16 * 0.75 * 7 / 8)  # and all that changes rails


def test_pat() -> None:
    """32 nodes, one rank each: 31/32 through the NIC, 3/4 out of each of four leaves; 8 + 5 x 14 us."""
    cut = (LinkCut(name="leaf_uplinks", label="", sets=4, links=1, gbyte_s=1.0),)
    job = RankLayout(host=host_named("hgx-h100-8nic"), nodes=32, per_node=1, cuts=cut)
    lines = pat("all-gather", job)
    assert use(lines, "leaf_uplinks") == (0.75, 0.75)
    assert use(lines, "nic") == pytest.approx((31 / 32, 31 / 32))
    filled = (replace(cut[0], held=0.3),)  # a tenth of the ranks on the last leaf, to which all others' pieces go
    assert use(pat("all-gather", replace(job, cuts=filled)), "leaf_uplinks") == pytest.approx((0.9, 0.9))
    library = Catalog().entry("nccl").part
    assert isinstance(library, Library)
    whole, inner = PAT.latency(_LatencyFigures(library, job, "all-gather", "pat", "simple", measured=True))
    assert whole == pytest.approx(8e-6 + 5 * 14e-6)
    assert inner == pytest.approx(8e-6)
    assert not PAT.possible(replace(job, per_node=8))


def test_all_to_all_over_pcie_shares_root_ports() -> None:
    """GPU5 and GPU6 on one port: 2 x 14/16 each way."""
    lines = _all_to_all("all-to-all", RankLayout(host=host_named("fire-flyer-2-node"), nodes=2, per_node=8))
    assert totals(lines)[("root_port", "cpu1-rp1")] == pytest.approx((1.75, 1.75))


def test_a_gather_comes_in_at_its_root_and_a_scatter_goes_out() -> None:
    """32 ranks on four nodes: 24 pieces of 32 come by the root's NIC, 7 over NVLink; a p5 has four NICs a GPU."""
    job = RankLayout(host=host_named("hgx-h100-8nic"), nodes=4, per_node=8)
    lines = star("gather", job)
    assert use(lines, "nic") == use(lines, "pcie_link") == (0.75, 0)
    assert use(lines, "nvlink_all") == (7 / 32, 0)
    assert use(lines, "hbm") == (31 / 32, 0)
    assert use(star("scatter", job), "nic") == (0, 0.75)
    assert use(star("scatter", job), "nvlink_all") == (0, 7 / 32)
    assert use(star("gather", replace(job, host=host_named("p5-48xlarge"))), "nic") == (0.75 / 4, 0)
    cut = (
        LinkCut(name="leaf_uplinks", label="", sets=2, links=1, gbyte_s=1.0),
        LinkCut(name="zones", label="", sets=2, links=1, gbyte_s=1.0),
    )
    cut = (replace(cut[0], leaves=8), cut[1])  # the root is on one of eight leaves whose links are counted
    lines = star("gather", replace(job, cuts=cut))
    assert use(lines, "zones") == (0.5, 0)  # half of the pieces are in the other zone
    assert use(lines, "leaf_uplinks") == pytest.approx((8 * (0.5 / 8 + 0.75 * 7 / 8), 0))  # other rails come up first
    full = star("gather", replace(job, cuts=(replace(cut[1], sets=2, held=0.75),)))
    assert use(full, "zones") == (0.25, 0)  # the root is among three of four nodes


def test_a_gather_over_pcie_enters_by_the_ports_of_nic_and_root() -> None:
    """16 ranks on two nodes: 8 pieces come through the NIC's port towards the CPU, all 15 leave it for the root; with
    bridges, one of them comes over the bridge."""
    job = RankLayout(host=host_named("fire-flyer-2-node"), nodes=2, per_node=8)
    found = totals(star("gather", job))
    assert found[("nic", "nic0")] == found[("gpu_nic_peer", "nic0")] == (0.5, 0)
    assert found[("pcie_peer", "gpu0")] == (7 / 16, 0)
    assert found[("socket_fabric", "0")] == (4 / 16, 0)
    ports = {port.id: port for port in job.host.ports}
    (root,) = (name for name, port in ports.items() if "gpu0" in port.gpus)
    (nic,) = (name for name, port in ports.items() if port.nics)
    assert found[("root_port", root)] == (0, 15 / 16)
    assert found[("root_port", nic)] == (0.5, 0)
    assert totals(star("scatter", job))[("root_port", root)] == (15 / 16, 0)
    bridged = totals(star("gather", replace(job, host=host_named("fire-flyer-2-node-nvlink"), adjacent=1.0)))
    first = host_named("fire-flyer-2-node-nvlink").pairs[0][0]
    assert bridged[("nvlink_copy", first)] == (1 / 16, 0)
    assert bridged[("pcie_peer", first)] == (6 / 16, 0)


def test_send_and_receive() -> None:
    lines = _send_receive("sendrecv", RankLayout(host=host_named("hgx-h100-8nic"), nodes=2, per_node=8))
    assert use(lines, "nic") == (1, 1)
    assert use(_send_receive("sendrecv", RankLayout(host=host_named("p5-48xlarge"), nodes=2, per_node=8)), "nic") == (
        0.25,
        0.25,
    )


def test_latencies_of_nccl() -> None:
    """LL ring on 8 GPUs 6.6 + 14 x 0.6; over two nodes of AMD hosts every inner hop takes 2 us at least."""
    assert ring_latency(6.6, 0.6, 2.7, 14, 0) == pytest.approx(15.0)
    assert ring_latency(6.6, 0.6, 2.7, 30, 2, overhead=2.0) == pytest.approx(6.6 + 28 * 2 + 2 * 2.7)
    assert ring_latency(8.4, 3.4, 14, 62, 6, overhead=3.0, plateau=1.4) == pytest.approx(
        1.4 * (8.4 + 56 * 3.4 + 6 * 14)
    )
    assert _log_latency(8, 14, 32) == pytest.approx(8 + 5 * 14)
    assert _tree_latency(6.8, 0.6, 5.0, 8, 4) == pytest.approx(6.8 + 2 * (7 * 0.6 + 2 * 5.0))
    assert _switch_latency(25, 20.9, 1024) == pytest.approx(25 + 2 * 10 * 20.9)
    assert [_switch_latency(25, 18, n, in_network=True) for n in (1, 4)] == [25, 43]


def test_hfreduce_uses_every_resource_once_reckoned() -> None:
    """64 nodes: 2 x 63/64 through the mean NIC, 2 in and out of the port of GPU5 and GPU6; 24 operations at most."""
    lines, memory = hfreduce(RankLayout(host=host_named("fire-flyer-2-node"), nodes=64, per_node=8), nvlink=False)
    assert totals(lines)[("nic", "nic0")] == (63 / 32, 63 / 32)
    assert totals(lines)[("root_port", "cpu1-rp1")] == (2, 2)
    assert sum(line.operations for line in memory) == 24
    assert sum(totals(lines)[("host_memory", "0")]) * 2 == 20 + 2 * 63 / 32


def test_pipeline_of_hfreduce() -> None:
    """128 nodes: 14 stages, two more across zones; each passes 5.8 MB on at 24 GB/s, loaded 2 x 127/128 times."""
    assert [_pipeline_hops(128, zones, 2) for zones in (1, 2)] == [14, 16]
    assert [_pipeline_hops(128, zones, 2, 1) for zones in (1, 2)] == [7, 8]  # up the trees, or down


def test_halves_of_hfreduce() -> None:
    """Eight copies on four nodes, of which three send: 19.5 operations up, 3.75 down; the root copies once."""
    up = {line.step: line.operations for line in _one_way_ledger("reduce", 8, 2, 0.75)}
    assert up == {
        "D2H landing": 8,
        "CPU reduce-add": 8,
        "CPU reduce-add result": 1,
        "IB send, double binary tree": 0.75,
        "IB receive, double binary tree": 0.75,
        "reduce-add of received data": 0.75,
        "H2D": 0.25,
    }
    down = [(line.step, line.kind, line.operations) for line in _one_way_ledger("broadcast", 8, 2, 0.75)]
    assert down == [
        ("D2H landing", "write", 0.25),
        ("IB send, double binary tree", "read", 0.75),
        ("IB receive, double binary tree", "write", 0.75),
        ("H2D", "read", 2),
    ]
    job = RankLayout(host=host_named("fire-flyer-2-node"), nodes=4, per_node=8)
    one, memory = hfreduce(job, nvlink=False, operation="reduce")
    found = totals(one)
    assert found[("pcie_link", "gpu0")] == (1, 1)
    assert found[("pcie_link", "gpu1")] == (0, 1)
    assert use(one, "nic") == (0.75, 0.75)
    assert found[("root_port", "cpu1-rp1")] == (2, 0)  # GPU5 and GPU6, towards the CPU
    assert sum(line.operations for line in memory) == 2 * 8 + 2 + 2  # the busiest node sends all
    two = totals(hfreduce(job, nvlink=False, operation="broadcast")[0])
    assert two[("pcie_link", "gpu0")] == (1, 1)
    assert two[("pcie_link", "gpu1")] == (1, 0)
    assert two[("root_port", "cpu1-rp1")] == (0, 2)
    job = RankLayout(
        host=host_named("fire-flyer-2-node"), nodes=np.array([128.0]), per_node=np.array([8.0]), zones=np.array([1.0])
    )
    grid = time_grid(CollectiveQuery(operation="allreduce", library=library("hfreduce")), job, np.array([1e9, 8.0]))
    assert grid is not None
    stage = 5.8e6 * 2 * 127 / 128 / 24e9
    assert grid.pick(grid.time)[0, 0] == pytest.approx(1e9 / 8.1e9 + 14 * stage + 14 * 3.7e-6)
    assert grid.pick(grid.time)[0, 1] == pytest.approx(14 * 3.7e-6, rel=1e-3)  # a small message has small chunks


def test_tokens() -> None:
    assert token_bytes(7168, "dispatch") == 7168 + 224
    assert token_bytes(7168, "combine") == 14336
    assert _expected_hits(2, 4, 2, 1) == 1
    assert _expected_hits(2, 4, 2, 2) == pytest.approx(2 * (1 - 2 / 4 * 1 / 3))
    assert _expected_hits(4, 4, 1, 4) == 4  # every bin


def test_tokens_reach_at_most_their_groups() -> None:
    job = RankLayout(host=host_named("h800-8nic"), nodes=8, per_node=8)
    nodes, gpus = _expected_reach(job, Routing(tokens=1, hidden=1, top_k=8, experts=256, groups=4))
    assert nodes == pytest.approx(_expected_hits(4, 128, 32, 8))
    assert 3.6 < nodes < 4
    assert 7 < gpus < 8
    assert counted_copies(
        job, Routing(tokens=1, hidden=1, top_k=8, experts=256, groups=4), "node-limited"
    ) == pytest.approx(nodes)
    assert (
        counted_copies(
            RankLayout(host=host_named("h800-8nic"), nodes=1, per_node=8),
            Routing(tokens=1, hidden=1, top_k=8, experts=256, groups=4),
            "node-limited",
        )
        > 5
    )
    assert counted_copies(job, Routing(tokens=1, hidden=1, top_k=8, experts=256, groups=4), "straight") == 8
    assert use(_node_limited(job, Routing(tokens=1, hidden=1, top_k=8, experts=256, groups=4)), "nic")[
        0
    ] == pytest.approx(nodes * 7 / 8)
    assert use(straight(job, Routing(tokens=1, hidden=1, top_k=8, experts=256, groups=4), "dispatch"), "nic")[
        0
    ] == pytest.approx(7)


def routed(sms: int | None = None) -> Routing:
    return Routing(tokens=4096, hidden=7168, top_k=8, experts=256, groups=4, sms=sms)


def test_multiprocessors_copy_tokens() -> None:
    """Eight nodes: 3.6 of four nodes and 7.3 GPUs, so that 20 copy 0.89 times the tokens each; one node has no NIC."""
    assert copied(2.0, 4.0, 5.0) == 2
    job = RankLayout(host=host_named("h800-8nic"), nodes=8, per_node=8)
    nodes, gpus = _expected_reach(job, routed())
    assert use(_node_limited(job, routed(20)), "sm")[1] == pytest.approx((nodes * 7 / 8 + 2 * gpus) / 20)
    assert "sm" not in {kind for kind, _ in totals(_node_limited(job, routed()))}
    one = RankLayout(host=host_named("h800-8nic"), nodes=1, per_node=8)
    assert use(_node_limited(one, routed(4)), "sm")[1] == pytest.approx(2 * _expected_reach(one, routed())[1] / 4)


def test_few_multiprocessors_bound_tokens_and_many_do_not() -> None:
    """On eight H800 four move 4 x 38.7 GB/s, each token twice for every GPU; 20 leave it to NVLink."""
    deepep = library_named("deepep")
    job = RankLayout(host=host_named("h800-8nic"), nodes=1, per_node=8)

    def per_byte(sms: int | None) -> float:
        found = choices(CollectiveQuery(operation="dispatch", library=deepep, routing=routed(sms)), job)
        assert sms is None or [choice.algorithm for choice in found] == ["node-limited"]
        return float(found[0].seconds_per_byte)

    gpus = _expected_reach(job, routed())[1]
    assert per_byte(4) == pytest.approx(2 * gpus / (4 * 38.7e9))
    assert per_byte(None) == per_byte(20) == per_byte(132) < per_byte(7)


def test_multiprocessors_that_mean_nothing() -> None:
    assert copying_fault(host_named("h800-8nic"), 132) is None
    assert copying_fault(host_named("h800-8nic"), 133) == "`h800-sxm` has 132 multiprocessors"
    assert "take every multiprocessor" in str(copying_fault(host_named("h800-8nic"), 20, "straight"))
    assert "of `mi300x` copies is not known" in str(copying_fault(host_named("mi300x-8nic"), 20))


def test_bins_that_groups_let_draws_hit() -> None:
    """Two bins of two groups each, one group taken: one bin. Two of four groups: one bin in one case of three."""
    assert _grouped_hits(2.0, 8, 4, 1, 2) == 1
    assert _grouped_hits(2.0, 8, 4, 2, 1) == 1
    both = 1 - 2 / 4 * 1 / 3  # two items of a pool of four, two of them in each bin
    assert _grouped_hits(2.0, 8, 4, 2, 2) == pytest.approx(1 / 3 * 1 + 2 / 3 * 2 * both)
    assert _grouped_hits(4.0, 8, 4, 2, 2) == pytest.approx(2 * both)
    assert _grouped_hits(8.0, 8, 4, 2, 2) == pytest.approx(2)
    assert _grouped_hits(3.0, 6, 1, 1, 2) == _expected_hits(3.0, 6, 2, 2)


@pytest.mark.parametrize("bins", [2, 4, 8, 16])
def test_grouped_hits_is_the_mean_over_draws(bins: int) -> None:
    """DeepSeek-V3's 8 of 256 experts from 4 of 8 groups, drawn at random."""
    dice = np.random.default_rng(7)
    groups = np.argsort(dice.random((4000, 8)), axis=1)[:, :4]
    picked = np.argsort(dice.random((4000, 128)), axis=1)[:, :8]
    experts = np.take_along_axis(groups, picked // 32, axis=1) * 32 + picked % 32
    hit = [len(np.unique(row // (256 // bins))) for row in experts]
    assert _grouped_hits(float(bins), 256, 8, 4, 8) == pytest.approx(np.mean(hit), rel=0.01)


def test_messages_that_the_host_posts_bound_tokens_that_go_straight() -> None:
    """128 tokens on two nodes of EFA: 4 of 8 copies cross, 512 messages of 0.5 us; InfiniBand posts itself."""
    routing = Routing(tokens=128, hidden=7168, top_k=8, experts=256, groups=4)
    deepep = Catalog().entry("deepep").part
    assert isinstance(deepep, Library)

    def taken(server: str, operation: str) -> float:
        job = RankLayout(host=host_named(server), nodes=2, per_node=8)
        query = CollectiveQuery(operation=operation, library=deepep, algorithm="straight", routing=routing)
        (choice,) = choices(query, job)
        return float(choice.seconds_per_byte) * routing.message_bytes(operation)

    assert taken("p5en-48xlarge", "dispatch") == pytest.approx(256e-6)
    assert taken("p5en-48xlarge", "combine") == pytest.approx(256e-6)
    assert taken("h800-8nic", "dispatch") < 90e-6


def test_pods_share_what_lies_between_their_gpu_and_nic() -> None:
    """Two GPUs to a switch: pods 1, 2 and 3 cross the second one's uplink, pods 2 and 3 the links between sockets."""
    host = host_named("p4d-24xlarge")
    pairs = tuple((f"gpu{n}", f"nic{n}") for n in range(4))
    lines = pod_ring(host, pairs, 1.0)
    assert totals(lines)[("socket_fabric", "0")] == (2, 2)
    assert totals(lines)[("pcie_switch", "cpu0-rp1")] == (3, 3)
    assert sustained_rate(resources(host), lines) == pytest.approx(13.5 / 3)  # below the 10 / 2 between sockets
    near = (("gpu0", "nic0"), ("gpu2", "nic1"))
    assert ("socket_fabric", "0") not in totals(pod_ring(host, near, 1.0))


def test_trees_over_two_nodes_are_taken_for_slow_but_by_a_plugin_that_knows() -> None:
    def chosen(server: str) -> str:
        job = RankLayout(host=host_named(server), nodes=np.array([2.0]), per_node=np.array([8.0]))
        grid = time_grid(CollectiveQuery(operation="allreduce", library=library("nccl")), job, np.array([2.0**30]))
        assert grid is not None
        return grid.choices[int(grid.chosen[0, 0])][0]

    assert chosen("dgx-a100-320gb") == "ring"
    assert chosen("p4de-24xlarge") == "tree"
