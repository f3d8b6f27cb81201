"""Times of NCCL by hand where they leave its own constants: LL128, pairs, exchanges, hops of rings over nodes."""

from __future__ import annotations

import pytest

from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, Timed, time_choices
from tests.support import host_named

MIB = 2**20


def timed(server: str, operation: str, size: float, *, nodes: int = 1, per_node: int = 8, protocol: str) -> Timed:
    """Return one choice, by ring or rail."""
    library = Catalog().entry("nccl").part
    assert isinstance(library, Library)
    algorithm = "rail" if operation == "all-to-all" else "ring"
    query = CollectiveQuery(operation=operation, library=library, algorithm=algorithm, protocol=protocol)
    (found,) = time_choices(query, RankLayout(host=host_named(server), nodes=nodes, per_node=per_node), size)
    return found


def test_ll128_takes_measured_latencies_and_is_chosen_by_its_own() -> None:
    """Allreduce of 4 MiB on 8 A100: 20 us a call, 6.6 + 14 x 1.5; 0.92 of 235 GB/s; the estimate has 14 + 14 x 1.9.
    LL takes 0.9 us a hop, and is chosen by 0.6."""
    found = timed("dgx-a100-640gb", "allreduce", 4 * MIB, protocol="ll128")
    stream = 1.75 * 4 * MIB / (0.92 * 235e9)
    inner = 6.6e-6 + 14 * 1.5e-6
    assert found.latency == pytest.approx(20e-6 + inner, rel=1e-9)
    assert found.time == pytest.approx(20e-6 + inner + stream + 0.3 * (inner * stream) ** 0.5, rel=1e-9)
    assert found.estimate == pytest.approx(20e-6 + 14e-6 + 14 * 1.9e-6 + stream, rel=1e-9)
    small = timed("dgx-a100-640gb", "allreduce", 1024.0, protocol="ll")
    assert small.latency == pytest.approx(20e-6 + 6.6e-6 + 14 * 0.9e-6, rel=1e-9)
    assert small.estimate == pytest.approx(20e-6 + 6.6e-6 + 14 * 0.6e-6 + small.stream, rel=1e-9)


def test_a_broadcast_counts_one_hop_of_a_node() -> None:
    """8.4 + 3.4 us on eight A100, whose rings pass the GPUs in one order; over two nodes every hop counts."""
    one = timed("dgx-a100-640gb", "broadcast", 64 * MIB, protocol="simple")
    assert one.latency == pytest.approx(20e-6 + 8.4e-6 + 3.4e-6, rel=1e-9)
    two = timed("dgx-a100-640gb", "broadcast", 64 * MIB, nodes=2, protocol="simple")
    assert two.latency == pytest.approx(20e-6 + 8.4e-6 + 14 * 7.6e-6 + 14e-6, rel=1e-9)


def test_a_pair_behind_a_switch_keeps_part_of_a_ring() -> None:
    """1 GiB on two of eight A100: 85 % of 235 GB/s, once; 20 + 8.4 + 2 x 3.4 us; four ranks keep the whole."""
    size = 1024 * MIB
    found = timed("dgx-a100-640gb", "allreduce", size, per_node=2, protocol="simple")
    assert found.stream == pytest.approx(size / (0.85 * 235e9), rel=1e-9)
    assert found.latency == pytest.approx(35.2e-6, rel=1e-9)
    four = timed("dgx-a100-640gb", "allreduce", size, per_node=4, protocol="simple")
    assert four.stream == pytest.approx(1.5 * size / 235e9, rel=1e-9)
    two_nodes = timed("dgx-a100-640gb", "all-gather", size, nodes=2, per_node=1, protocol="simple")
    assert two_nodes.stream == pytest.approx(
        timed("dgx-a100-640gb", "all-gather", size, nodes=2, per_node=1, protocol="ll128").stream * 0.92, rel=1e-9
    )


def test_a_pair_on_a_bridge_keeps_all_of_its_measured_rate() -> None:
    found = timed("fire-flyer-2-node-nvlink", "allreduce", 1024 * MIB, per_node=2, protocol="simple")
    assert found.stream == pytest.approx(1024 * MIB / 208e9, rel=1e-9)


def test_an_exchange_fills_slower_than_a_ring() -> None:
    """All-to-all of 64 MiB on eight H100, 8.4 + 3.4 us: 0.8 of the root of latency and stream; a ring 0.3."""
    found = timed("hgx-h100-8nic", "all-to-all", 64 * MIB, protocol="simple")
    latency = 8.4e-6 + 3.4e-6
    assert found.latency == pytest.approx(latency, rel=1e-9)
    assert found.time == pytest.approx(latency + found.stream + 0.8 * (latency * found.stream) ** 0.5, rel=1e-9)
    ring = timed("hgx-h100-8nic", "all-gather", 64 * MIB, protocol="simple")
    inner = 8.4e-6 + 7 * 3.4e-6
    assert ring.latency == pytest.approx(8e-6 + inner, rel=1e-9)
    assert ring.time == pytest.approx(8e-6 + inner + ring.stream + 0.3 * (inner * ring.stream) ** 0.5, rel=1e-9)


@pytest.mark.parametrize(("per_node", "hop"), [(4, 3.8e-6), (8, 7.6e-6), (2, 1.9e-6)])
def test_hops_of_a_ring_over_nodes_grow_with_the_gpus_of_a_node(per_node: int, hop: float) -> None:
    """Ten nodes, LL128: 10 p - 1 hops of which 9 between nodes at 4 us; 0.95 us for each GPU of a node inside."""
    found = timed("hgx-h100-8nic", "all-gather", 64 * MIB, nodes=10, per_node=per_node, protocol="ll128")
    inside = 10 * per_node - 1 - 9
    assert found.latency == pytest.approx(8e-6 + 6.6e-6 + inside * hop + 9 * 4e-6, rel=1e-9)
    if per_node < 8:  # with eight the time keeps to 88 % of NVLink's rate, the estimate to the NICs'
        assert found.estimate - found.stream * 0.92 * 48 / min(0.92 * 48, 36.7) == pytest.approx(
            8e-6 + 14e-6 + inside * 1.9e-6 + 9 * 4e-6, rel=1e-9
        )


def test_hops_stop_growing_at_eight_gpus_and_are_short_with_ll() -> None:
    """72 GPUs of a rack: 7.6 us as with eight, 6 a call; LL takes two hops of an allreduce, 2 x 1 us at least, on
    Intel."""
    rack = timed("gb200-nvl72-tray", "all-gather", 64 * MIB, nodes=2, per_node=72, protocol="ll128")
    assert rack.latency == pytest.approx(4e-6 + 6.6e-6 + 142 * 7.6e-6 + 4e-6, rel=1e-9)
    small = timed("hgx-h100-8nic", "all-gather", MIB, nodes=10, protocol="ll")
    assert small.latency == pytest.approx(8e-6 + 6.6e-6 + 70 * 2e-6 + 9 * 2.7e-6, rel=1e-9)
