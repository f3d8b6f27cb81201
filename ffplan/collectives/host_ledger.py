"""HFReduce's ledger: how often one byte of message passes through host memory on each node.

Sources:
    [1] An et al., "Fire-Flyer AI-HPC", arXiv 2408.14158 (SC'24), section IV-D3: the lines of the plain ledger,
        24 in total, and 8 in place of 2 for the last line with MemcpyAsync.
    The NVLink columns are derived: a bridged pair reduces first, so half as many copies leave the GPUs.
"""

from __future__ import annotations

from typing import Any

from ffplan.base.array_math import minimum
from ffplan.base.record import record


@record
class LedgerLine:
    """One line: a step and how many times it touches host memory per byte of message."""

    step: str
    kind: str
    operations: Any


def hfreduce_ledger(copies: Any, h2d_reads: Any, tree_load: Any) -> tuple[LedgerLine, ...]:
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


def ledger_total(lines: tuple[LedgerLine, ...]) -> Any:
    """Return the sum of a ledger.

    Args:
        lines: the ledger.

    Returns:
        Host-memory operations per byte of message [1].

    Equation:
        sum of operations

    Source:
        [1] section IV-D3: "24 times the original data size".
    """
    return sum(line.operations for line in lines)


def memory_bandwidth(channels: Any, megatransfers: Any, efficiency: Any) -> Any:
    """Return the practical memory bandwidth of a socket.

    Args:
        channels: populated memory channels [1].
        megatransfers: transfer rate [MT/s].
        efficiency: share of the theoretical bandwidth that is reached [1].

    Returns:
        Bandwidth [GB/s].

    Equation:
        B = channels * MT/s * 8 bytes / 1000 * efficiency

    Source:
        JEDEC DDR4 (64 data bits per channel); 16 channels of DDR4-3200 at 78.1 % are the 320 GB/s of [1].
    """
    return channels * megatransfers * 8 / 1000 * efficiency
