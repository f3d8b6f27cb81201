"""HFReduce: reduce in host memory, allreduce over a double binary tree, return to the GPUs; or either half of it.

Sources:
    [1] An et al., "Fire-Flyer AI-HPC", arXiv 2408.14158 (SC'24), section IV-D3: the lines of the plain host-memory
        ledger, 24 in total, and 8 in place of 2 for the last line with MemcpyAsync.
    The NVLink columns are derived: a bridged pair reduces first, so half as many copies leave the GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, minimum
from ffplan.base.outcomes import LedgerLine
from ffplan.collectives.bottleneck import Line
from ffplan.collectives.volumes import _depth, _double_tree_load, _mean_tree_load, ring_factor

if TYPE_CHECKING:
    from ffplan.collectives.rank_layout import RankLayout
    from ffplan.node.host import Host


OPERATIONS = ("allreduce", "reduce", "broadcast")
"""Collectives that HFReduce does."""


def _hfreduce_ledger(copies: Number, h2d_reads: Number, tree_load: Number) -> tuple[LedgerLine, ...]:
    """Return HFReduce's host-memory operations per byte of message, line by line.

    Args:
        copies: message copies that leave the GPUs of a node [1]: one per GPU, or one per bridged pair.
        h2d_reads: host-memory reads that return the result [1]: one per socket with GDRCopy, one per copy
            with MemcpyAsync.
        tree_load: bytes that the node sends, and receives, per byte of message t [1]; `double_tree_load` for the
            busiest.

    Returns:
        Seven lines; their sum is 2 c + 1 + 2 + 2 + 1 + h for the busiest of four nodes or more.

    Equation:
        c writes, c reads, 1 write, t reads, t writes, min(t, 1) reads, h reads

    Source:
        [1] section IV-D3.
    """
    tree = tree_load
    return (
        LedgerLine("D2H landing", "write", copies),
        LedgerLine("CPU reduce-add", "read", copies),
        LedgerLine("CPU reduce-add result", "write", 1),
        LedgerLine("IB send, double binary tree", "read", tree),
        LedgerLine("IB receive, double binary tree", "write", tree),
        LedgerLine("reduce-add of received data", "read", minimum(tree, 1)),
        LedgerLine("H2D", "read", h2d_reads),
    )


def _one_way_ledger(operation: str, copies: Number, h2d_reads: Number, up: Number) -> tuple[LedgerLine, ...]:
    """Return the host-memory operations of HFReduce's reduce or broadcast per byte of message, on the mean node.

    Args:
        copies: message copies that leave the GPUs of a node [1].
        h2d_reads: host-memory reads that return the result [1].
        up: bytes that the mean node sends, and receives, u [1]; the root alone sends, or receives, nothing.

    Returns:
        The lines of `hfreduce_ledger` that are left; their sum is 2 c + 2 + 2 u, or 1 + u + h.

    Equation:
        reduce: c writes, c reads, 1 write, u reads, u writes, u reads, 1 - u reads for the root's result; broadcast:
        1 - u writes of the root's message, u reads, u writes, h reads

    Source:
        Derived from [1] section IV-D3: an allreduce is a reduce and a broadcast. The paper says that HFReduce does
        both.
    """
    send = LedgerLine("IB send, double binary tree", "read", up)
    receive = LedgerLine("IB receive, double binary tree", "write", up)
    if operation == "broadcast":
        first = LedgerLine("D2H landing", "write", 1 - up)
        return first, send, receive, LedgerLine("H2D", "read", h2d_reads)
    return (
        LedgerLine("D2H landing", "write", copies),
        LedgerLine("CPU reduce-add", "read", copies),
        LedgerLine("CPU reduce-add result", "write", 1),
        send,
        receive,
        LedgerLine("reduce-add of received data", "read", up),
        LedgerLine("H2D", "read", 1 - up),
    )


def ledger_total(lines: tuple[LedgerLine, ...]) -> Number:
    """Return the sum of a ledger.

    Returns:
        Host-memory operations per byte of message [1].

    Equation:
        sum of operations

    Source:
        [1] section IV-D3: "24 times the original data size".
    """
    return sum(line.operations for line in lines)


def _operations(operation: str, copies: Number, h2d_reads: Number, tree_load: Number) -> tuple[LedgerLine, ...]:
    if operation == "allreduce":
        return _hfreduce_ledger(copies, h2d_reads, tree_load)
    return _one_way_ledger(operation, copies, h2d_reads, tree_load)


def _scale_up_groups(host: Host, *, nvlink: bool) -> tuple[int, ...]:
    """Return the size of each set of GPUs that reduces over NVLink before a copy leaves for host memory."""
    if nvlink and host.joined:
        return (len(host.gpus),)
    if nvlink:
        return (2,) * len(host.pairs) + (1,) * (len(host.gpus) - 2 * len(host.pairs))
    return (1,) * len(host.gpus)


def _share(host: Host, gpu: str, *, nvlink: bool) -> float:
    """Return the part of a message that one GPU moves to host memory, and back."""
    if nvlink and host.joined:
        return 1 / len(host.gpus)
    return 0.5 if nvlink and any(gpu in pair for pair in host.pairs) else 1.0


def hfreduce(
    job: RankLayout, *, nvlink: bool, memcpy_async: bool = False, operation: str = "allreduce"
) -> tuple[list[Line], tuple[LedgerLine, ...]]:
    """Return the ledger of HFReduce over all resources, and the host-memory operations of the busiest node.

    Nodes stream at the mean load of the trees. The busiest node sends more than that, yet Fig. 7 of the paper shows
    13.0 GB/s over four nodes, more than twice the message through a NIC of 25 GB/s would allow. A reduce goes up the
    trees alone, a broadcast down; what its root copies is counted on the first GPU.

    Args:
        nvlink: reduce over NVLink first (HFReduce with NVLink).
        memcpy_async: return results with MemcpyAsync in place of GDRCopy.

    Returns:
        Lines in bytes per byte of message [1], and the host-memory operations of the busiest node.

    Equation:
        B = min(memory / ledger, NICs / tree load, root port / use, PCIe link / share, NVLink / use)

    Source:
        An et al., arXiv 2408.14158, sections IV-A, IV-C and IV-D, Fig. 7.
    """
    host = job.host
    up, down = operation != "broadcast", operation != "reduce"
    ways = up + down
    # the load of the trees is both ways of an allreduce; a reduce or a broadcast has one
    tree = ways * _mean_tree_load(job.nodes) / 2
    groups = _scale_up_groups(host, nvlink=nvlink)
    copies, widest = len(groups), max(groups)
    # GDRCopy reads a result once per socket, MemcpyAsync once per copy
    reads = copies if memcpy_async else min(copies, host.sockets_with_gpus)
    lines = []
    for access in _operations(operation, copies, reads, tree):
        # buffers count as spread evenly over the sockets
        per_cpu = access.operations / len(host.cpus)
        for number in range(len(host.cpus)):
            into, out = (per_cpu, 0.0) if access.kind == "write" else (0.0, per_cpu)
            lines.append(Line(access.step, ("host_memory", str(number)), into, out))
    count = len(host.nics)
    lines += [Line("double binary tree", ("nic", name), tree / count, tree / count) for name in host.nic_ids]
    root = dict.fromkeys(host.gpus, 0.0) | {host.gpus[0]: 1.0}
    shares = {gpu: _share(host, gpu, nvlink=nvlink) for gpu in host.gpus}
    d2h, h2d = shares if up else root, shares if down else root
    lines += [Line("D2H and H2D", ("pcie_link", gpu), h2d[gpu], d2h[gpu]) for gpu in host.gpus]
    if widest > 1:
        inside = ring_factor(widest)
        lines += [Line("reduce-scatter and allgather", ("nvlink", gpu), inside, inside) for gpu in host.gpus]
    for port in host.ports:
        network = tree * len(port.nics) / count
        # towards the CPU go D2H and what a NIC receives; what it sends goes the other way, as much
        into, out = (sum(copied[gpu] for gpu in port.gpus) + network for copied in (d2h, h2d))
        lines.append(Line("D2H, H2D and network", ("root_port", port.id), into, out))
        lines.append(Line("D2H, H2D and network", ("pcie_switch", port.id), into, out))
    for cut in job.cuts:
        # a ring's factor is both ways of an allreduce
        use = ways * ring_factor(cut.sets) / 2 * cut.crossing
        lines.append(Line("across a link cut", (cut.name, "0"), use, use))
    # the operations belong to the busiest node, though nodes stream at the mean load
    busiest = _double_tree_load(job.nodes)
    return lines, _operations(operation, copies, reads, busiest if ways > 1 else busiest / 2)


def _pipeline_hops(nodes: Number, zones: Number, zone_hops: Number, ways: int = 2) -> Number:
    """Return the stages of HFReduce's pipeline between nodes.

    Args:
        nodes: nodes N [1].
        zones: zones that they sit in [1].
        zone_hops: stages that crossing zones adds there and back [1].
        ways: 2 up and down the trees, 1 if a reduce or a broadcast goes one way [1].

    Returns:
        Stages [1]; each passes on a chunk at the rate of the NIC.

    Equation:
        ways (log2(N) + crossing / 2)

    Source:
        Store and forward: a chunk goes up and down the tree. Chunk and crossing are fitted on Fig. 7 of An et al.,
        arXiv 2408.14158.
    """
    return ways * (_depth(nodes) + zone_hops / 2 * (zones > 1))
