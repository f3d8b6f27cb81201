"""Parallel aggregated trees (PAT): all-gather and reduce-scatter in log2 steps, with one rank on each node.

Source:
    [1] NVIDIA/nccl v2.30.7, src/graph/tuning.cc: constants of its latency. NCCL has it from 2.23 on, for one rank on
        each node and protocol Simple (recalled); it is timed on request, since no measurement here has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.collectives.algorithm import Algorithm, Latency, _LatencyFigures
from ffplan.collectives.bottleneck import Line, _on_each, _on_memory, _on_nics, _on_ports
from ffplan.collectives.latency import _log_latency
from ffplan.collectives.volumes import bus_factor

if TYPE_CHECKING:
    from ffplan.collectives.rank_layout import RankLayout


def pat(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of parallel aggregated trees.

    A step sends to half the distance of the step before, and twice as many pieces: far away small messages go, near by
    large ones.

    Args:
        operation: reduce-scatter or all-gather.
        job: the ranks, one on each node.

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        (n - 1) / n in and out of every rank; out of each of S sets of neighbours that a link cut separates, (S - 1) / S

    Source:
        [1]; the sum over steps of distance n / 2, n / 4, ... with 1, 2, ... pieces of 1 / n each, and of those whose
        distance is at least a set.
    """
    host, load = job.host, bus_factor(operation, job.ranks)
    lines = _on_nics(job, "trees between nodes", load) + _on_memory(job, load, load)
    for cut in job.cuts:
        across = (cut.sets - 1) / cut.sets * job.several
        lines.append(Line("across a link cut", (cut.name, "0"), across, across))
    if host.joined:
        return lines
    per_nic = load * job.several / job.nics
    lines += _on_each("GPU to NIC over PCIe", "pcie_peer", host.gpus, load, load)
    lines += _on_each("GPU to NIC", "gpu_nic_peer", host.nic_ids, per_nic, per_nic)
    return lines + _on_ports(job, load, per_nic)


def _latency(figures: _LatencyFigures) -> Latency:
    return _log_latency(figures.base, figures.between, figures.job.nodes), figures.base + 0 * figures.job.nodes


PAT = Algorithm(
    "pat",
    ("reduce-scatter", "all-gather"),
    pat,
    _latency,
    possible=lambda job: (job.per_node == 1) & (job.nodes > 1),
    runs_on="one accelerator on each node, of several nodes",
    on_request=True,
)
