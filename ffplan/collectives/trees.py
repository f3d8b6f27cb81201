"""NCCL's double binary tree: a chain inside each node, two trees between nodes.

Sources:
    [2] NVIDIA/nccl v2.30.7, src/graph (chains inside nodes, double binary trees between them).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import minimum
from ffplan.collectives.algorithm import Algorithm, Latency, _LatencyFigures
from ffplan.collectives.bottleneck import Line, _on_cuts, _on_each, _on_memory, _on_nics
from ffplan.collectives.bounds import _double_tree_load
from ffplan.collectives.inside_node import _chain_lines, _link_factor, _one_pair
from ffplan.collectives.latency import _tree_latency
from ffplan.collectives.volumes import PROTOCOLS

if TYPE_CHECKING:
    from ffplan.catalog.library import Library
    from ffplan.collectives.rank_layout import RankLayout

MANY = 4
"""Nodes from which the busiest of a double binary tree sends the message twice."""


def tree(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of NCCL's double binary tree: a chain inside each node, two trees between nodes.

    Args:
        operation: allreduce.

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        min(p - 1, 2) in and out of the busiest GPU of p on the chain; t (N) in and out of the NICs of the busiest of N
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


def _latency(figures: _LatencyFigures) -> Latency:
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


TREE = Algorithm("tree", ("allreduce",), tree, _latency, protocols=PROTOCOLS, trees=True, as_estimated=_as_estimated)
