"""Channels of a send, the fewest ranks of NVLS, and what a library counts for a call."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.collectives.latency import transfer_time
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, chosen, time_choices
from tests.support import host_named

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
