"""Ledgers of exchanges: all-to-all with and without forwarding over NVLink, and sends between neighbours.

Source:
    [1] NVIDIA nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import maximum, minimum
from ffplan.collectives.algorithm import Algorithm, Latency, LatencyFigures
from ffplan.collectives.bottleneck import Line, on_cuts, on_each, on_memory, on_nics
from ffplan.collectives.inside_node import bridged, exchange_factor, ring_lines, unpaired_peers

if TYPE_CHECKING:
    from ffplan.collectives.rank_layout import RankLayout


def all_to_all(operation: str, job: RankLayout, *, rail: bool = False) -> list[Line]:
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
    lines = on_nics(job, "to other nodes", inner * away) + on_memory(job, inside + away, inside + away)
    for cut in job.cuts:
        members = ranks / cut.sets
        same = members * (ranks - members) / ranks
        lanes = 1.0 / job.nics if cut.name == "leaf_uplinks" and not rail else 1.0
        use = (same * lanes + members * away * (1.0 - lanes)) * job.several
        lines.append(Line("across a link cut", (cut.name, "0"), use, use))
    if host.joined:
        linked = inside * exchange_factor(job)
        return lines + on_each("inside a node", "nvlink_all", host.gpus, linked, linked)
    paired = bridged(job) / ranks
    sent = (ranks - 1) / ranks - paired
    lines += on_each("over bridges", "nvlink_copy", tuple(gpu for pair in host.pairs for gpu in pair), paired, paired)
    lines += on_each("over PCIe", "pcie_peer", host.gpus, sent, sent)
    each = inner * away / job.nics
    lines += on_each("GPU to NIC", "gpu_nic_peer", host.nic_ids, each, each)
    if host.sockets_with_gpus > 1:
        half = inner / 2 * (1.0 - bridged(job) * (inner == 2))
        lines.append(Line("between sockets", ("socket_fabric", "0"), half * half / ranks, half * half / ranks))
    for port in host.ports:
        here, switched = minimum(len(port.gpus), inner), port.pcie_switch and port.gpus
        inside_node = here * ((inner if switched else ranks) - here) / ranks
        use = maximum(0.0, inside_node - unpaired_peers(job, port) / ranks) + (
            0.0 if switched else each * len(port.nics)
        )
        lines.append(Line("through root ports", ("root_port", port.id), use, use))
        lines.append(Line("between PCIe switches", ("pcie_switch", port.id), use, use))
    return lines


def rail_all_to_all(operation: str, job: RankLayout) -> list[Line]:
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


def send_receive(operation: str, job: RankLayout) -> list[Line]:
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
    host, crossing, whole = job.host, job.several, job.ranks * 0 + 1.0
    each = crossing / maximum(1.0, job.nics / job.per_node)
    lines = on_each("to the next node", "nic", host.nic_ids[:1], each, each) + on_cuts(job, crossing)
    lines += on_memory(job, whole, whole)
    if host.joined:
        lines += on_each("to the NIC", "pcie_link", host.gpus[:1], crossing, crossing)
        return lines + on_each("to the next GPU", "nvlink_copy", host.gpus, job.shared, job.shared)
    lines += on_each("GPU to NIC", "gpu_nic_peer", host.nic_ids[:1], each, each * 0)
    return lines + ring_lines(job, "over PCIe", whole, each, bridge="nvlink_copy")


def _latency(at: LatencyFigures) -> Latency:
    inner = at.base + at.inside * at.job.shared
    return inner + at.between * at.job.several, inner


RAIL = Algorithm(
    "rail",
    ("all-to-all",),
    rail_all_to_all,
    _latency,
    possible=lambda job: (job.ranks > 0) & job.host.joined,
    runs_on="nodes with a scale-up switch",
    figures="ring",
)
DIRECT = Algorithm("direct", ("all-to-all",), all_to_all, _latency, figures="ring")
SEND = Algorithm("send", ("sendrecv",), send_receive, _latency, figures="ring", channels=True)
