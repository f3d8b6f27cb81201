"""Ledgers, sends and uneven links by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.collectives.bottleneck import Line, _on_nic_ports, totals
from ffplan.collectives.hfreduce import _scale_up_groups
from ffplan.collectives.inside_node import _axes_spanned, _exchange_factor, _link_factor
from ffplan.collectives.latency import transfer_time
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, chosen, time_choices
from ffplan.collectives.trees import tree
from ffplan.node.host import Port, _link_graph
from ffplan.node.resources import host_copies
from tests.support import host_named

if TYPE_CHECKING:
    from ffplan.node.host import Host


def test_rings_and_exchanges_over_unequal_links() -> None:
    """Two full meshes of four with two links between: four links at most, 3.5 in the mean, two in rings."""
    links = [*combinations("abcd", 2), *combinations("efgh", 2), ("a", "e"), ("b", "f")]
    graph = _link_graph("abcdefgh", links)
    assert graph is not None
    own = RankLayout(host=replace(host_named("hgx-h100-8nic"), links=graph), nodes=1, per_node=8)
    assert (graph.most, graph.mean, graph.rings) == (4, 3.5, 2)
    assert _link_factor(own) == 4 / 2
    assert _exchange_factor(own) == pytest.approx(graph.hops * 4 / 3.5)


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


def job(host: Host, nodes: int, per_node: int) -> RankLayout:
    return RankLayout(host=host, nodes=nodes, per_node=per_node)


def port(gpus: tuple[str, ...], nics: tuple[str, ...], *, switch: bool) -> Port:
    return Port(id="p", socket="s", cpu="c", gpus=gpus, nics=nics, limits=None, pcie_switch=switch)


def test_lines_of_one_resource_add_up() -> None:
    one, two = ("a", "0"), ("b", "0")
    lines = [
        Line("x", one, 1.0, 2.0),
        Line("y", two, 5.0, 7.0),
        Line("z", one, 10.0, 20.0),
        Line("w", one, 100.0, 200.0),
    ]
    assert totals(lines) == {one: (111.0, 222.0), two: (5.0, 7.0)}
    assert totals([]) == {}


@pytest.mark.parametrize(
    ("own", "into", "out"),
    [
        (port(("g0",), ("n0", "n1"), switch=False), 0.5 + 2 * 0.25, 0.125 + 2 * 0.25),
        (port(("g0",), ("n0",), switch=True), 0.5, 0.125),  # behind a switch, GPU and NIC meet below the port
        (port((), ("n0",), switch=True), 0.5 + 0.25, 0.125 + 0.25),  # no GPU there to meet
    ],
)
def test_a_port_carries_what_passes_its_gpus_and_its_nics(own: Port, into: float, out: float) -> None:
    lines = _on_nic_ports(own, 0.5, 0.125, 0.25)
    assert [line.resource for line in lines] == [("root_port", "p"), ("pcie_switch", "p")]
    assert {(line.inward, line.outward) for line in lines} == {(into, out)}


def test_gpus_that_reduce_over_nvlink_first() -> None:
    """All of a switch, each bridged pair, and every GPU that has no bridge by itself."""
    assert _scale_up_groups(host_named("hgx-h100-8nic"), nvlink=True) == (8,)
    assert _scale_up_groups(host_named("hgx-h100-8nic"), nvlink=False) == (1,) * 8
    pairs = host_named("fire-flyer-2-node-nvlink")
    assert _scale_up_groups(pairs, nvlink=True) == (2, 2, 2, 2)
    assert _scale_up_groups(replace(pairs, pairs=pairs.pairs[:3]), nvlink=True) == (2, 2, 2, 1, 1)


def test_axes_of_a_torus() -> None:
    """Four by four: four ranks span one axis, open; eight one axis and two of the other; sixteen both, closed."""
    assert _axes_spanned((4, 4), 16)[:2] == (2, 0)
    spanned, opened, along = _axes_spanned((4, 4), 8)
    assert (float(spanned), float(opened), float(along)) == (2.0, 1.0, 2.0)
    plain = job(host_named("hgx-h100-8nic"), 1, 8)
    assert _exchange_factor(plain) == _link_factor(plain) == 1.0


MIB = 2.0**20
NCCL = Catalog().entry("nccl").part
PLAIN = {"latency": 0.0, "inner_latency": 0.0, "fill": 0.0, "inner_most": 0.0, "hops": 0.0, "slot": 0.0}


def send(size: float, *, least: float = 4.0, most: float = 32.0) -> float:
    """Return the time of a send at 640 GB/s with channels of 20."""
    return float(
        transfer_time(
            size, 1 / 640e9, channel_per_byte=1 / 20e9, channels_least=least, channels_most=most, part=16 * MIB, **PLAIN
        )
    )


@pytest.mark.parametrize(("mib", "channels"), [(1, 4), (64, 4), (65, 8), (128, 8), (129, 16), (512, 32), (4096, 32)])
def test_channels_double_piece_by_piece(mib: int, channels: int) -> None:
    assert send(mib * MIB) == pytest.approx(mib * MIB / (channels * 20e9))


def test_few_ranks_begin_with_more_channels() -> None:
    assert send(MIB, least=16.0) == pytest.approx(MIB / 320e9)
    assert send(4096 * MIB, most=8.0) == pytest.approx(4096 * MIB / 160e9)


def test_many_sizes_at_once() -> None:
    sizes = np.array([1, 64, 128, 512]) * MIB
    found = transfer_time(
        sizes, 1e-12, channel_per_byte=1 / 20e9, channels_least=4.0, channels_most=32.0, part=16 * MIB, **PLAIN
    )
    assert np.asarray(found) == pytest.approx(sizes / (np.array([4, 4, 8, 32]) * 20e9))


def timed(server: str, operation: str, gpus: int, size: float, nodes: int = 1) -> tuple[str, float]:
    assert isinstance(NCCL, Library)
    job = RankLayout(host=host_named(server), nodes=float(nodes), per_node=float(gpus), zones=1.0, cuts=())
    best = chosen(time_choices(CollectiveQuery(operation=operation, library=NCCL), job, size))
    return best.algorithm, best.time


def test_four_ranks_stay_with_rings() -> None:
    """NCCL 2.26 and 2.29 on four H100: 366 GB/s of bus bandwidth, the rate of its rings."""
    assert timed("hgx-h100-8nic", "allreduce", 4, 1024 * MIB)[0] == "ring"
    assert timed("hgx-h100-8nic", "allreduce", 8, 1024 * MIB)[0] == "nvls"


def test_sends_between_nodes() -> None:
    """Ten nodes of H100: 25 GB/s from one to four GPUs a node, 15 with eight."""
    size = 16 * 1024 * MIB
    for gpus, rate in ((1, 25e9), (4, 25e9), (8, 15e9)):
        assert timed("hgx-h100-8nic", "sendrecv", gpus, size, nodes=10)[1] == pytest.approx(size / rate, rel=0.01)


def test_sends_and_exchanges_take_no_time_of_a_call() -> None:
    """Eight B200, 1 KiB: sendrecv 9.5 us, all-to-all 11; allreduce 25, of which NCCL's constants are 15."""
    kib = 1024.0
    assert timed("hgx-b200-8nic", "sendrecv", 8, kib)[1] == pytest.approx(9.5e-6, rel=0.3)
    assert timed("hgx-b200-8nic", "all-to-all", 8, kib)[1] == pytest.approx(11.1e-6, rel=0.1)
    assert timed("hgx-b200-8nic", "allreduce", 8, kib)[1] == pytest.approx(25.5e-6, rel=0.1)


def test_reduction_in_the_switch_of_a_rack_keeps_to_its_most() -> None:
    """GB200: 840 GB/s of bus bandwidth on 8 GPUs; links would give 1,040 on 64, where 850 is the most measured."""
    size = 64 * 1024 * MIB
    for gpus, busbw in ((8, 840e9), (64, 850e9)):
        algorithm, time = timed("gb200-nvl72-tray", "allreduce", gpus, size)
        assert algorithm == "nvls"
        assert size / time * 2 * (gpus - 1) / gpus == pytest.approx(busbw, rel=0.03)
