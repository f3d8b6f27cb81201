"""Ledgers of exchanges: all-to-all with and without forwarding over NVLink, sends of all to one rank or of one to all,
and sends between neighbours.

Source:
    [1] NVIDIA nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import maximum, minimum
from ffplan.collectives.algorithm import Algorithm, Latency, _LatencyFigures
from ffplan.collectives.bottleneck import Line, _on_each, _on_memory, _on_nics
from ffplan.collectives.inside_node import _bridged, _exchange_factor, _link_factor, _ring_lines, _unpaired_peers

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.fabric.sizing.plan import LinkCut


def _all_to_all(operation: str, job: RankLayout, *, rail: bool = False) -> list[Line]:
    """Return the ledger of every rank sending a piece to every other, in bytes per byte of message [1].

    Args:
        rail: gather inside the node first, so that only NICs of the same rail exchange (NVLink forwarding).

    Equation:
        p (n - p) / n in and out of all NICs of a node together; (p - 1) / n in and out of each GPU inside the node, and
        with forwarding (n - p) / n x (p - 1) / p more

    Source:
        Definition; of n pieces that a rank holds, n - p go to other nodes.
    """
    host, ranks, inner = job.host, job.ranks, job.per_node
    away = (ranks - inner) / ranks
    inside = (inner - 1) / ranks + (away * (inner - 1) / inner if rail else 0.0)
    leaving = job.fewest * ((ranks - job.fewest) / ranks)  # of the node whose NICs `on_nics` takes
    lines = _on_nics(job, "to other nodes", leaving) + _on_memory(job, inside + away, inside + away)
    for cut in job.cuts:
        # without forwarding, pieces go to all rails alike
        same = 1.0 if rail else minimum(1.0, host.domain_nodes / job.nics)
        use = ranks * cut.leaving(same, away) * job.several * cut.even
        lines.append(Line("across a link cut", (cut.name, "0"), use, use))
    if host.joined:
        linked = inside * _exchange_factor(job)
        return lines + _on_each("inside a node", "nvlink_all", host.gpus, linked, linked)
    paired = _bridged(job) / ranks
    sent = (ranks - 1) / ranks - paired
    lines += _on_each("over bridges", "nvlink_copy", tuple(gpu for pair in host.pairs for gpu in pair), paired, paired)
    lines += _on_each("over PCIe", "pcie_peer", host.gpus, sent, sent)
    per_nic = inner * away / job.nics
    lines += _on_each("GPU to NIC", "gpu_nic_peer", host.nic_ids, per_nic, per_nic)
    if host.sockets_with_gpus > 1:
        # half of the ranks sit at either socket; a lone bridged pair needs none of its links
        half = inner / 2 * (1.0 - _bridged(job) * (inner == 2))
        lines.append(Line("between sockets", ("socket_fabric", "0"), half * half / ranks, half * half / ranks))
    for port in host.ports:
        here, switched = minimum(len(port.gpus), inner), port.pcie_switch and port.gpus
        inside_node = here * ((inner if switched else ranks) - here) / ranks
        use = maximum(0.0, inside_node - _unpaired_peers(job, port) / ranks) + (
            0.0 if switched else per_nic * len(port.nics)
        )
        lines.append(Line("through root ports", ("root_port", port.id), use, use))
        lines.append(Line("between PCIe switches", ("pcie_switch", port.id), use, use))
    return lines


def _rail_all_to_all(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of an all-to-all with NVLink forwarding, in bytes per byte of message [1].

    Equation:
        as `all_to_all` with (n - p) / n x (p - 1) / p more inside a node

    Source:
        Definition: what leaves for another rail first goes to the GPU of that rail.
    """
    return _all_to_all(operation, job, rail=True)


def _way(operation: str, use: Number) -> tuple[Number, Number]:
    """Return the bytes into the root and out of it: a gather brings them in, a scatter sends them out."""
    return (use, 0.0 * use) if operation == "gather" else (0.0 * use, use)


def _root_ports(operation: str, job: RankLayout, root: str, paired: Number, network: Number) -> list[Line]:
    """Return the load of the root ports above the root GPU and its NIC; in is towards the CPU."""
    lines = []
    for port in job.host.ports:
        here, below = minimum(len(port.gpus), job.per_node), port.pcie_switch and port.gpus
        gpu, nic = 0.0 * job.ranks, 0.0 * job.ranks
        if root in port.gpus:
            gpu = maximum(0.0, ((job.per_node if below else job.ranks) - here) / job.ranks - paired)
        if job.host.nic_ids[0] in port.nics and not below:
            nic = network
        (into, out), (to_root, from_root) = _way(operation, nic), _way(operation, gpu)
        lines += [
            Line("through root ports", ("root_port", port.id), into + from_root, out + to_root),
            Line("between PCIe switches", ("pcie_switch", port.id), into + from_root, out + to_root),
        ]
    return lines


def star(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of the root of a gather, which receives a piece from every rank, or of a scatter, the way back.

    The root, a GPU with a bridge if there are any, alone receives all pieces, through its own NICs.

    Returns:
        Lines in bytes per byte of message [1]; a gather comes in, a scatter goes out.

    Equation:
        (n - p) / n by the NICs of one GPU; (p - 1) / n from the GPUs of its node

    Source:
        Definition; of n pieces of a message n - p come from other nodes, and one is the root's own.
    """
    host, ranks, inner = job.host, job.ranks, job.per_node
    away, inside = (ranks - inner) / ranks, (inner - 1) / ranks
    root = host.pairs[0][0] if host.pairs else host.gpus[0]
    per_nic = away / maximum(1.0, job.nics / inner)
    lines = _on_each("other nodes and the root", "nic", host.nic_ids[:1], *_way(operation, per_nic))
    lines += _on_each("in GPU memory", "hbm", (root,), *_way(operation, inside + away))
    for cut in job.cuts:
        # the root is below the fullest; a piece of another rail comes from a leaf of its own, even of a neighbour
        same = 1.0 / cut.leaves
        use = minimum(away, same * (1.0 - cut.fullest) + (1.0 - same) * away) * _on_one_leaf(job, cut)
        lines.append(Line("across a link cut", (cut.name, "0"), *_way(operation, use * job.several)))
    if host.joined:
        lines += _on_each("NIC and root", "pcie_link", (root,), *_way(operation, away))
        factor = _exchange_factor(job) if host.links is not None else _link_factor(job)
        return lines + _on_each("inside a node", "nvlink_all", (root,), *_way(operation, inside * factor))
    paired = _bridged(job) / ranks
    lines += _on_each("over a bridge", "nvlink_copy", (root,), *_way(operation, paired))
    lines += _on_each("over PCIe", "pcie_peer", (root,), *_way(operation, inside - paired))
    lines += _on_each("GPU and NIC", "gpu_nic_peer", host.nic_ids[:1], *_way(operation, per_nic))
    if host.sockets_with_gpus > 1:
        apart = inner / 2 / ranks * (1.0 - _bridged(job) * (inner == 2))
        lines.append(Line("between sockets", ("socket_fabric", "0"), *_way(operation, apart)))
    return lines + _root_ports(operation, job, root, paired, per_nic)


def _on_one_leaf(job: RankLayout, cut: LinkCut) -> Number:
    """Return how often the bytes of one GPU count [1]: its NICs lead to few of the leaves whose links a cut has."""
    return maximum(1.0, cut.leaves / maximum(1.0, job.nics / job.per_node))


def _send_receive(operation: str, job: RankLayout) -> list[Line]:
    """Return the ledger of each rank sending to the next and receiving from the one before, in bytes per byte of
    message [1].

    Equation:
        1 in and out of each GPU, and of one GPU's NICs on each node

    Source:
        [1]: sendrecv moves the message once.
    """
    host, crossing, whole = job.host, job.several, job.ranks * 0 + 1.0
    per_nic = crossing / maximum(1.0, job.nics / job.per_node)
    lines = _on_each("to the next node", "nic", host.nic_ids[:1], per_nic, per_nic)
    for cut in job.cuts:
        use = crossing * (cut.sets > 1) * _on_one_leaf(job, cut)
        lines.append(Line("across a link cut", (cut.name, "0"), use, use))
    lines += _on_memory(job, whole, whole)
    if host.joined:
        lines += _on_each("to the NIC", "pcie_link", host.gpus[:1], crossing, crossing)
        return lines + _on_each("to the next GPU", "nvlink_copy", host.gpus, job.shared, job.shared)
    lines += _on_each("GPU to NIC", "gpu_nic_peer", host.nic_ids[:1], per_nic, per_nic * 0)
    return lines + _ring_lines(job, "over PCIe", whole, per_nic, bridge="nvlink_copy")


def _latency(figures: _LatencyFigures) -> Latency:
    # a piece fills the NIC's pipeline as well
    whole = figures.base + figures.inside * figures.job.shared + figures.between * figures.job.several
    return whole, whole


RAIL = Algorithm(
    "rail",
    ("all-to-all",),
    _rail_all_to_all,
    _latency,
    possible=lambda job: (job.ranks > 0) & job.host.joined,
    runs_on="nodes with a scale-up switch",
    figures="ring",
)
DIRECT = Algorithm("direct", ("all-to-all",), _all_to_all, _latency, figures="ring")
STAR = Algorithm("star", ("gather", "scatter"), star, _latency, figures="ring")
SEND = Algorithm("send", ("sendrecv",), _send_receive, _latency, figures="ring", channels=True)
