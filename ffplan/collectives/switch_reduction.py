"""Reduction in the scale-up switch (NVLS), with trees or the network's own reduction (SHARP) beyond it.

A hierarchy of switches reduces as in the scaling book.

Sources:
    [1] "How to Scale Your Model", chapter on GPUs: collectives beyond the node, sharded reductions, questions 1 and 2.
    [2] NVIDIA/nccl v2.30.7, src/graph (NVLS, NVLS-tree).
    [3] Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COM-HPC 2016 (each rank sends and receives
        the message once).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, maximum, minimum
from ffplan.collectives.algorithm import Algorithm, Latency, _LatencyFigures
from ffplan.collectives.bottleneck import Line, _on_cuts, _on_each, _on_memory, _on_nics
from ffplan.collectives.latency import _switch_latency
from ffplan.collectives.volumes import _double_tree_load

if TYPE_CHECKING:
    from ffplan.base.array_math import Truth
    from ffplan.catalog.library import Library
    from ffplan.collectives.rank_layout import RankLayout


IN_NETWORK = "reduction in the network's switches"


def nvls(operation: str, job: RankLayout, between: Number = 0.0, step: str = "between nodes") -> list[Line]:
    """Return the ledger of reduction in the scale-up switch (NVLS), with trees or the network's own reduction beyond,
    in bytes per byte of message [1].

    Args:
        between: bytes that a node sends and receives per byte of message [1].

    Equation:
        (p + 1) / p in and out of each of p GPUs: the switch reads every share from all and sends the result to all;
        more where that would exceed the highest measured bus bandwidth

    Source:
        [2]; Scaling book, chapter on GPUs, question 1 of the collectives section.
    """
    inside = maximum((job.per_node + 1) / job.per_node, _capped(job)) * job.shared
    lines = _on_each("reduction in the scale-up switch", "nvls", job.host.gpus, inside, inside)
    crossing = between if step == IN_NETWORK else None
    return lines + _on_nics(job, step, between) + _on_memory(job, inside, inside) + _on_cuts(job, crossing)


def _capped(job: RankLayout) -> Number:
    """Return the bytes of a GPU at which its links just carry the most bus bandwidth that was measured [1]."""
    rates = job.host.rates
    if rates is None or rates.nvls is None or rates.nvls.most is None:
        return 0.0
    known = rates.nvls.ranks.value
    # from bus bandwidth to what passes a GPU, as `resources` turns it
    carried = rates.nvls.busbw.value * (known + 1) / (2 * (known - 1))
    return carried * 2 * (job.per_node - 1) / job.per_node / rates.nvls.most.value


def _nvls_tree(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of NVLS inside nodes and double binary trees between them, one pair of trees on each rail, in
    bytes per byte of message [1].

    Equation:
        (p + 1) / p in and out of each GPU; t (N) in and out of the NICs of the busiest node

    Source:
        [2].
    """
    return nvls(operation, job, _double_tree_load(job.nodes), "trees between nodes")


def sharp(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of NVLS inside nodes and reduction in the network's switches (SHARP) between them, in bytes per
    byte of message [1].

    Equation:
        (p + 1) / p in and out of each GPU; 1 in and out of a node's NICs, half of a ring's for many nodes

    Source:
        [2], [3].
    """
    return nvls(operation, job, 1.0, IN_NETWORK)


def _latency(figures: _LatencyFigures) -> Latency:
    nodes = figures.job.nodes
    return _switch_latency(figures.inside, figures.between, nodes), figures.inside + 0 * nodes


def _sharp_latency(figures: _LatencyFigures) -> Latency:
    nodes = figures.job.nodes
    return _switch_latency(figures.inside, figures.between, nodes, in_network=True), figures.inside + 0 * nodes


def _reduces(job: RankLayout) -> Truth:
    """True if the switch of a node reduces, over more than one rank of it."""
    rates = job.host.rates
    in_switch = rates is not None and rates.nvls is not None and job.host.joined
    return (job.per_node > 1) & in_switch


def _enough(library: Library, job: RankLayout) -> Truth:
    """True if a node has as many ranks as the library reduces in its switch; with fewer it stays with rings."""
    least = library.nvls_ranks
    return job.per_node >= (least.value if least else 1)


NVLS = Algorithm(
    "nvls",
    ("allreduce",),
    nvls,
    _latency,
    allowed=_enough,
    possible=lambda job: _reduces(job) & (job.nodes == 1),
    runs_on="one node whose switch reduces, over enough of its ranks",
)
NVLS_TREE = Algorithm(
    "nvls-tree",
    ("allreduce",),
    _nvls_tree,
    _latency,
    possible=lambda job: _reduces(job) & (job.nodes > 1),
    runs_on="several nodes whose switches reduce",
    trees=True,
)
SHARP = Algorithm(
    "sharp",
    ("allreduce",),
    sharp,
    _sharp_latency,
    possible=lambda job: _reduces(job) & (job.nodes > 1),
    runs_on="several nodes whose switches reduce",
    in_network=True,
)


def level_bandwidth(egress: Number, switches: Number, ports: Number, port_gbyte_s: Number) -> Number:
    """Return the bandwidth that a level of switches passes on [GB/s].

    Args:
        egress: rate at which its members send together [GB/s].
        switches: switches of the level [1].
        ports: ports of a switch [1].
        port_gbyte_s: rate of a port, one direction [GB/s].

    Equation:
        W = min(egress, switches x ports / 2 x rate)

    Source:
        [1]: 8 and 16 switches of 1.6 TB/s, half of 64 ports at 50 GB/s: a byte enters by one and leaves by another.
        Full duplex, a switch passes twice as much; the book's 25.6 TB/s at the spine counts half.
    """
    return minimum(egress, switches * ports / 2 * port_gbyte_s)


def reduction_rate(members: Number, bandwidth: Number, *, in_network: bool = True) -> Number:
    """Return the allreduce rate that one level allows.

    Args:
        members: subdomains that the level joins S [1].
        bandwidth: total bandwidth of the level W [GB/s].
        in_network: the switches reduce (SHARP); otherwise every byte passes twice.

    Returns:
        Algorithm bandwidth [GB/s].

    Equation:
        W / S; half of it without reduction in the switches

    Source:
        [1]: T = max over levels of bytes x S / W.
    """
    return bandwidth / members / (1 if in_network else 2)


def sharded_speedup(ways: Number, inner_size: Number) -> Number:
    """Return by how much a level's reduction of a sharded array is faster.

    Args:
        ways: shards of the array over the inner axis Y [1].
        inner_size: GPUs below one member of the level S(i-1) [1].

    Returns:
        Speed-up [1].

    Equation:
        max(Y, S(i-1)) / S(i-1)

    Source:
        [1]: T = max over levels of bytes x S(i) / (max(Y, S(i-1)) x W(i)).
    """
    return maximum(ways, inner_size) / inner_size


def sharded_rate(ways: Number, size: Number, inner_size: Number, bandwidth: Number) -> Number:
    """Return the rate at which a level reduces a sharded array.

    Args:
        ways: shards of the array over the inner axis Y [1].
        size: GPUs below the level S(i) [1].
        inner_size: GPUs below one of its members S(i-1) [1].
        bandwidth: total bandwidth of the level W(i) [GB/s].

    Returns:
        Bytes of the whole array over time [GB/s].

    Equation:
        max(Y, S(i-1)) W(i) / S(i)

    Source:
        [1].
    """
    return maximum(ways, inner_size) * bandwidth / size
