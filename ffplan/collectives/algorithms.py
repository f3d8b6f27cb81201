"""Ledgers of the algorithms between accelerators: how often a byte of message passes each resource.

Every function takes an operation and a job and returns lines. A new algorithm is a new function in `LEDGERS`; the
solver, the resources and the time model stay as they are.

Sources:
    [1] NVIDIA nccl-tests, doc/PERFORMANCE.md (what a ring moves).
    [2] NVIDIA/nccl v2.30.7, src/graph (chains inside nodes, double binary trees between them, NVLS, NVLS-tree).
    [3] Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COM-HPC 2016 (each rank sends and receives
        the message once).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import maximum, minimum
from ffplan.collectives.bottleneck import Line, on_borders, on_each, on_memory, on_nics, on_ports
from ffplan.collectives.bounds import double_tree_load, ring_factor
from ffplan.collectives.exchanges import all_to_all, rail_all_to_all, send_receive
from ffplan.collectives.volumes import bus_factor

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.collectives.rank_layout import RankLayout


IN_NETWORK = "reduction in the network's switches"


def ring(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of rings, one through each NIC, that together carry the load once.

    Neighbours inside a node talk over NVLink where a switch joins all GPUs, over PCIe otherwise; GPUs of one root port
    are neighbours, so that one flow enters and one leaves each port.

    Args:
        operation: allreduce, reduce-scatter, all-gather or broadcast.
        job: the ranks.

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        f (n) in and out of every GPU and of all NICs of a node together; f = busbw / algbw; out through the CPU as well
        where the ring makes a detour (`Job.detour`)

    Source:
        [1]; An et al., arXiv 2408.14158, section IV-D2 (GPU to NIC at 9 GiB/s).
    """
    host, load = job.host, bus_factor(operation, job.ranks)
    inside = load * job.shared
    lines = on_nics(job, "ring between nodes", load)
    lines += on_memory(job, load, load * (1.5 if operation in ("allreduce", "reduce-scatter") else 1.0))
    lines += on_borders(job, load)
    each = load * job.several / job.nics
    if host.switched:
        away = each * job.detour
        lines += on_each("last GPU to the NIC of the first", "gpu_nic_peer", host.nic_ids, 0.0 * away, away)
        return lines + on_each("ring inside a node", "nvlink", host.gpus, inside, inside)
    lines += on_each("ring over PCIe", "pcie_peer", host.gpus, load, load)
    lines += on_each("NIC to the first GPU", "gpu_nic_peer", host.nic_ids, each, 0.0 * each)
    if host.sockets_with_gpus > 1:
        lines.append(Line("ring between sockets", ("socket_fabric", "0"), inside, inside))
    return lines + on_ports(job, load, each)


def tree(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of NCCL's double binary tree: a chain inside each node, two trees between nodes.

    Args:
        operation: allreduce.
        job: the ranks.

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        min(p - 1, 2) in and out of the busiest GPU of p on the chain; t (N) in and out of the NICs of the busiest of N
        nodes, t = 2 from four nodes on; where GPUs hang on PCIe, both at the GPU at the head of the chain

    Source:
        [2]; Sanders, Speck, Traeff, Parallel Computing 35 (2009), for t.
    """
    host = job.host
    between, chain = double_tree_load(job.nodes), minimum(job.per_node - 1, 2) * 1.0
    lines = on_nics(job, "trees between nodes", between) + on_borders(job, None)
    lines += on_memory(job, chain + between, chain + between)
    if host.switched:
        return lines + on_each("chain inside a node", "nvlink", host.gpus, chain, chain)
    each = between / job.nics
    head = maximum(chain, job.shared + between)
    lines += on_each("chain and NIC at its head", "pcie_peer", host.gpus, head, head)
    lines += on_each("GPU at the head to NIC", "gpu_nic_peer", host.nic_ids, each, each)
    if host.sockets_with_gpus > 1:
        lines.append(Line("chain between sockets", ("socket_fabric", "0"), job.shared, job.shared))
    return lines + on_ports(job, chain, each)


def nvls(operation: str, job: RankLayout, between: Any = 0.0, step: str = "between nodes") -> list[Line]:
    """Return the ledger of reduction in the scale-up switch (NVLS), with trees or the network's own reduction beyond.

    Args:
        operation: allreduce.
        job: the ranks.
        between: bytes that a node sends and receives per byte of message [1].
        step: what happens between nodes.

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        (p + 1) / p in and out of each of p GPUs: the switch reads every share from all and sends the result to all

    Source:
        [2]; Scaling book, chapter on GPUs, question 1 of the collectives section.
    """
    inside = (job.per_node + 1) / job.per_node * job.shared
    lines = on_each("reduction in the scale-up switch", "nvls", job.host.gpus, inside, inside)
    crossing = between if step == IN_NETWORK else None
    return lines + on_nics(job, step, between) + on_memory(job, inside, inside) + on_borders(job, crossing)


def nvls_tree(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of NVLS inside nodes and double binary trees between them, one pair of trees on each rail.

    Args:
        operation: allreduce.
        job: the ranks.

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        (p + 1) / p in and out of each GPU; t (N) in and out of the NICs of the busiest node

    Source:
        [2].
    """
    return nvls(operation, job, double_tree_load(job.nodes), "trees between nodes")


def sharp(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of NVLS inside nodes and reduction in the network's switches (SHARP) between them.

    Args:
        operation: allreduce.
        job: the ranks.

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        (p + 1) / p in and out of each GPU; 1 in and out of the NICs of a node, half of a ring's for many nodes

    Source:
        [2], [3].
    """
    return nvls(operation, job, 1.0, IN_NETWORK)


def hierarchical(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of reduce-scatter in the node, rings between nodes on each rail, all-gather in the node.

    Args:
        operation: allreduce.
        job: the ranks.

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        2 (p - 1) / p in and out of each GPU; 2 (N - 1) / N in and out of all NICs of a node together

    Source:
        Definition; each of p GPUs allreduces a share of 1 / p over N nodes.
    """
    host, inside, between = job.host, ring_factor(job.per_node), ring_factor(job.nodes)
    lines = (
        on_nics(job, "rings on each rail", between) + on_borders(job, between) + on_memory(job, inside, 1.5 * inside)
    )
    if host.switched:
        return lines + on_each("scatter and gather inside a node", "nvlink", host.gpus, inside, inside)
    each = between / job.nics
    lines += on_each("scatter and gather over PCIe", "pcie_peer", host.gpus, inside, inside)
    lines += on_each("GPU to NIC", "gpu_nic_peer", host.nic_ids, each, each)
    return lines + on_ports(job, inside, each)


LEDGERS: dict[str, Callable[[str, RankLayout], list[Line]]] = {
    "ring": ring,
    "tree": tree,
    "nvls": nvls,
    "nvls-tree": nvls_tree,
    "sharp": sharp,
    "hierarchical": hierarchical,
    "direct": all_to_all,
    "rail": rail_all_to_all,
    "send": send_receive,
}
"""Ledger of each algorithm."""
