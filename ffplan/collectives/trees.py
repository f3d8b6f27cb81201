"""NCCL's trees: the double binary tree, and parallel aggregated trees (PAT).

Sources:
    [1] NVIDIA/nccl v2.30.7, src/graph/tuning.cc: constants of the latency of PAT. NCCL has it from 2.23 on, for one
        rank on each node and protocol Simple (recalled); it is timed on request, since no measurement here has it.
    [2] NVIDIA/nccl v2.30.7, src/graph (chains inside nodes, double binary trees between them).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import minimum
from ffplan.collectives.algorithm import Algorithm, Latency, _LatencyFigures
from ffplan.collectives.bottleneck import Line, _on_cuts, _on_each, _on_memory, _on_nics, _on_ports
from ffplan.collectives.inside_node import _chain_lines, _link_factor, _one_pair
from ffplan.collectives.latency import _log_latency, _tree_latency
from ffplan.collectives.volumes import PROTOCOLS, _double_tree_load, bus_factor

if TYPE_CHECKING:
    from ffplan.catalog.library import Library
    from ffplan.collectives.rank_layout import RankLayout


MANY = 4
"""Nodes from which the busiest of a double binary tree sends the message twice."""


def tree(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of NCCL's double binary tree: a chain inside each node, two trees between nodes, in bytes per
    byte of message [1].

    Equation:
        min(p - 1, 2) in and out of the busiest GPU on a chain of p; t (N) in and out of the busiest node's NICs, with N
        nodes, t = 2 from four nodes on; where GPUs are on PCIe, both at the GPU at the head of the chain

    Source:
        [2]; Sanders, Speck, Traeff, Parallel Computing 35 (2009), for t.
    """
    host = job.host
    # the middle of a chain passes the message up to be reduced and down again: two in, two out
    between, chain = _double_tree_load(job.nodes), minimum(job.per_node - 1, 2) * 1.0
    lines = _on_nics(job, "trees between nodes", between) + _on_cuts(job, None)
    lines += _on_memory(job, chain + between, chain + between)
    if host.joined:
        linked = chain * _link_factor(job)
        return lines + _on_each("chain inside a node", "nvlink", host.gpus, linked, linked)
    per_nic = between / job.nics
    lines += _on_each("GPU at the head to NIC", "gpu_nic_peer", host.nic_ids, per_nic, per_nic)
    if host.sockets_with_gpus > 1:
        apart = job.shared * (1.0 - _one_pair(job))
        lines.append(Line("chain between sockets", ("socket_fabric", "0"), apart, apart))
    return lines + _chain_lines(job, chain, between, per_nic)


def _tree_time(figures: _LatencyFigures) -> Latency:
    inner = figures.job.per_node
    whole = _tree_latency(figures.base, figures.inside, figures.between, inner, figures.job.nodes)
    return whole, figures.base + 2 * (inner - 1) * figures.inside


def _as_estimated(library: Library, job: RankLayout) -> tuple[RankLayout, float]:
    """Return the ranks as NCCL's estimate sees them, and its correction of trees; few nodes send twice, as many do."""
    correction = library.tree_estimate.value if library.tree_estimate else 1.0
    if any(nic.tuned for nic in job.host.nics):
        return job, correction
    few = (job.nodes > 1) & (job.nodes < MANY)
    return replace(job, nodes=job.nodes + few * (MANY - job.nodes), cuts=()), correction


TREE = Algorithm("tree", ("allreduce",), tree, _tree_time, protocols=PROTOCOLS, trees=True, as_estimated=_as_estimated)


def pat(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of parallel aggregated trees, in bytes per byte of message [1].

    A step sends to half the distance of the step before, and twice as many pieces: far away small messages go, near by
    large ones.

    Equation:
        (n - 1) / n in and out of every rank; (n - m) / n into a set of m, the smallest that a link cut separates

    Source:
        [1]; the sum over steps of distance n / 2, n / 4, ... with 1, 2, ... pieces of 1 / n each, and of those whose
        distance is at least a set.
    """
    host, load = job.host, bus_factor(operation, job.ranks)
    lines = _on_nics(job, "trees between nodes", load) + _on_memory(job, load, load)
    for cut in job.cuts:
        # what comes into the one that holds least
        across = (1.0 - cut.least) * job.several * (cut.sets > 1) * cut.crossing
        lines.append(Line("across a link cut", (cut.name, "0"), across, across))
    if host.joined:
        return lines
    per_nic = load * job.several / job.nics
    lines += _on_each("GPU to NIC over PCIe", "pcie_peer", host.gpus, load, load)
    lines += _on_each("GPU to NIC", "gpu_nic_peer", host.nic_ids, per_nic, per_nic)
    return lines + _on_ports(job, load, per_nic)


def _pat_latency(figures: _LatencyFigures) -> Latency:
    return _log_latency(figures.base, figures.between, figures.job.nodes), figures.base + 0 * figures.job.nodes


PAT = Algorithm(
    "pat",
    ("reduce-scatter", "all-gather"),
    pat,
    _pat_latency,
    possible=lambda job: (job.per_node == 1) & (job.nodes > 1),
    runs_on="one accelerator on each node, of several nodes",
    on_request=True,
)
