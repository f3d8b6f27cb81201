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

from ffplan.elementwise import maximum, minimum
from ffplan.perf.bounds import double_tree_load, ring_factor
from ffplan.perf.solve import Line
from ffplan.perf.volumes import bus_factor

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.perf.job import Job


IN_NETWORK = "reduction in the network's switches"


def _each(step: str, kind: str, ids: tuple[str, ...], inward: Any, outward: Any) -> list[Line]:
    return [Line(step, (kind, name), inward, outward) for name in ids]


def _nics(job: Job, step: str, load: Any) -> list[Line]:
    """All NICs of a node together carry `load` each way, fed over PCIe where GPUs do not send over it anyway."""
    host = job.host
    used = load * job.several
    lines = _each(step, "nic", host.nic_ids, used / job.nics, used / job.nics)
    if host.switched:
        feeders = minimum(job.per_node, job.nics)
        lines += _each("GPUs feed NICs", "pcie_link", host.gpus, used / feeders, used / feeders)
    return lines


def _borders(job: Job, load: Any | None) -> list[Line]:
    lines = []
    for border in job.borders:
        crossed = (border.sets > 1) * job.several
        use = (ring_factor(border.sets) if load is None else load) * crossed
        lines.append(Line("across a border", (border.name, "0"), use, use))
    return lines


def _ports(job: Job, gpus: Any, nics: Any) -> list[Line]:
    """Every root port passes `gpus` each way where GPUs hang on it, and `nics` for each NIC.

    Behind a PCIe switch, GPU and NIC meet below the root port.
    """
    lines = []
    for port in job.host.ports:
        beside = port.pcie_switch and port.gpus
        use = gpus * (1.0 if port.gpus else 0.0) + nics * (0 if beside else len(port.nics))
        lines.append(Line("through root ports", ("root_port", port.id), use, use))
        lines.append(Line("between PCIe switches", ("pcie_switch", port.id), use, use))
    return lines


def _hbm(job: Job, inward: Any, outward: Any) -> list[Line]:
    return _each("in GPU memory", "hbm", job.host.gpus, inward, outward)


def ring(operation: str, job: Job) -> list[Line]:
    """Return the ledger of rings, one through each NIC, that together carry the load once.

    Neighbours inside a node talk over NVLink where a switch joins all GPUs, over PCIe otherwise; GPUs of one root port
    are neighbours, so that one flow enters and one leaves each port.

    Args:
        operation: allreduce, reduce-scatter, all-gather or broadcast.
        job: the ranks.

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        f (n) in and out of every GPU and of all NICs of a node together; f = busbw / algbw

    Source:
        [1]; An et al., arXiv 2408.14158, section IV-D2 (GPU to NIC at 9 GiB/s).
    """
    host, load = job.host, bus_factor(operation, job.ranks)
    inside = load * job.shared
    lines = _nics(job, "ring between nodes", load)
    lines += _hbm(job, load, load * (1.5 if operation in ("allreduce", "reduce-scatter") else 1.0))
    lines += _borders(job, load)
    if host.switched:
        return lines + _each("ring inside a node", "nvlink", host.gpus, inside, inside)
    each = load * job.several / job.nics
    lines += _each("ring over PCIe", "pcie_peer", host.gpus, load, load)
    lines += _each("NIC to the first GPU", "gpu_nic_peer", host.nic_ids, each, 0.0 * each)
    if host.sockets_with_gpus > 1:
        lines.append(Line("ring between sockets", ("socket_fabric", "0"), inside, inside))
    return lines + _ports(job, load, each)


def tree(operation: str, job: Job) -> list[Line]:
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
    lines = _nics(job, "trees between nodes", between) + _borders(job, None)
    lines += _hbm(job, chain + between, chain + between)
    if host.switched:
        return lines + _each("chain inside a node", "nvlink", host.gpus, chain, chain)
    each = between / job.nics
    head = maximum(chain, job.shared + between)
    lines += _each("chain and NIC at its head", "pcie_peer", host.gpus, head, head)
    lines += _each("GPU at the head to NIC", "gpu_nic_peer", host.nic_ids, each, each)
    if host.sockets_with_gpus > 1:
        lines.append(Line("chain between sockets", ("socket_fabric", "0"), job.shared, job.shared))
    return lines + _ports(job, chain, each)


def nvls(operation: str, job: Job, between: Any = 0.0, step: str = "between nodes") -> list[Line]:
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
    lines = _each("reduction in the scale-up switch", "nvls", job.host.gpus, inside, inside)
    crossing = between if step == IN_NETWORK else None
    return lines + _nics(job, step, between) + _hbm(job, inside, inside) + _borders(job, crossing)


def nvls_tree(operation: str, job: Job) -> list[Line]:
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


def sharp(operation: str, job: Job) -> list[Line]:
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


def hierarchical(operation: str, job: Job) -> list[Line]:
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
    lines = _nics(job, "rings on each rail", between) + _borders(job, between) + _hbm(job, inside, 1.5 * inside)
    if host.switched:
        return lines + _each("scatter and gather inside a node", "nvlink", host.gpus, inside, inside)
    each = between / job.nics
    lines += _each("scatter and gather over PCIe", "pcie_peer", host.gpus, inside, inside)
    lines += _each("GPU to NIC", "gpu_nic_peer", host.nic_ids, each, each)
    return lines + _ports(job, inside, each)


def all_to_all(operation: str, job: Job, *, rail: bool = False) -> list[Line]:
    """Return the ledger of every rank sending a piece to every other.

    Args:
        operation: all-to-all.
        job: the ranks.
        rail: gather inside the node first, so that only NICs of the same rail exchange (NVLink forwarding).

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        p (n - p) / n in and out of all NICs of a node together; (p - 1) / n in and out of each GPU inside the node, and
        with forwarding (n - p) / n x (p - 1) / p more

    Source:
        Definition; of n pieces that a rank holds, n - p go to other nodes.
    """
    host, ranks, inner = job.host, job.ranks, job.per_node
    away = (ranks - inner) / ranks
    inside = (inner - 1) / ranks + (away * (inner - 1) / inner if rail else 0.0)
    lines = _nics(job, "to other nodes", inner * away) + _hbm(job, inside + away, inside + away)
    for border in job.borders:
        members = ranks / border.sets
        same = members * (ranks - members) / ranks
        lanes = 1.0 / job.nics if border.name == "leaf_uplinks" and not rail else 1.0
        use = (same * lanes + members * away * (1.0 - lanes)) * job.several
        lines.append(Line("across a border", (border.name, "0"), use, use))
    if host.switched:
        return lines + _each("inside a node", "nvlink_all", host.gpus, inside, inside)
    sent = (ranks - 1) / ranks
    lines += _each("over PCIe", "pcie_peer", host.gpus, sent, sent)
    each = inner * away / job.nics
    lines += _each("GPU to NIC", "gpu_nic_peer", host.nic_ids, each, each)
    if host.sockets_with_gpus > 1:
        half = inner / 2
        lines.append(Line("between sockets", ("socket_fabric", "0"), half * half / ranks, half * half / ranks))
    for port in host.ports:
        here, beside = minimum(len(port.gpus), inner), port.pcie_switch and port.gpus
        inside_node = here * ((inner if beside else ranks) - here) / ranks
        use = inside_node + (0.0 if beside else each * len(port.nics))
        lines.append(Line("through root ports", ("root_port", port.id), use, use))
        lines.append(Line("between PCIe switches", ("pcie_switch", port.id), use, use))
    return lines


def rail_all_to_all(operation: str, job: Job) -> list[Line]:
    """Return the ledger of an all-to-all with NVLink forwarding.

    Args:
        operation: all-to-all.
        job: the ranks.

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        as `all_to_all` with (n - p) / n x (p - 1) / p more inside a node

    Source:
        Definition: what leaves for another rail first goes to the GPU of that rail.
    """
    return all_to_all(operation, job, rail=True)


def send_receive(operation: str, job: Job) -> list[Line]:
    """Return the ledger of each rank sending to the next and receiving from the one before.

    Args:
        operation: sendrecv.
        job: the ranks.

    Returns:
        Lines in bytes per byte of message [1].

    Equation:
        1 in and out of each GPU, and of the NICs of one GPU on each node

    Source:
        [1]: sendrecv moves the message once.
    """
    host, crossing = job.host, job.several
    each = crossing / maximum(1.0, job.nics / job.per_node)
    lines = _each("to the next node", "nic", host.nic_ids[:1], each, each) + _borders(job, crossing)
    lines += _hbm(job, job.ranks * 0 + 1.0, job.ranks * 0 + 1.0)
    if host.switched:
        lines += _each("to the NIC", "pcie_link", host.gpus[:1], crossing, crossing)
        return lines + _each("to the next GPU", "nvlink_copy", host.gpus, job.shared, job.shared)
    lines += _each("over PCIe", "pcie_peer", host.gpus, job.ranks * 0 + 1.0, job.ranks * 0 + 1.0)
    lines += _each("GPU to NIC", "gpu_nic_peer", host.nic_ids[:1], each, each * 0)
    return lines + _ports(job, job.ranks * 0 + 1.0, each)


LEDGERS: dict[str, Callable[[str, Job], list[Line]]] = {
    "ring": ring, "tree": tree, "nvls": nvls, "nvls-tree": nvls_tree, "sharp": sharp, "hierarchical": hierarchical,
    "direct": all_to_all, "rail": rail_all_to_all, "send": send_receive,
}  # fmt: skip
"""Ledger of each algorithm."""
