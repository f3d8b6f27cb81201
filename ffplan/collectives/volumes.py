"""Bytes that each collective moves: bus bandwidth factors, and loads of rings and trees."""

from __future__ import annotations

from typing import Literal, get_args

from ffplan.base.array_math import Number, maximum
from ffplan.catalog.rates import Protocol
from ffplan.collectives.bounds import ring_factor

Operation = Literal[
    "allreduce",
    "reduce-scatter",
    "all-gather",
    "broadcast",
    "reduce",
    "all-to-all",
    "gather",
    "scatter",
    "sendrecv",
    "dispatch",
    "combine",
]
OPERATIONS: tuple[str, ...] = get_args(Operation)
"""Collectives by the names that the command line takes."""
IN_PIECES = ("reduce-scatter", "all-gather", "all-to-all", "gather", "scatter")
"""Collectives whose message is a buffer of one piece for each rank; a rank has its own piece already."""
OF_TOKENS = ("dispatch", "combine")
"""Collectives that send tokens to experts and back."""

PROTOCOLS: tuple[str, ...] = get_args(Protocol)
"""Protocols that can be forced."""


def bus_factor(operation: str, ranks: Number) -> Number:
    """Return the ratio of bus to algorithm bandwidth.

    Args:
        ranks: members n [1].

    Returns:
        busbw / algbw [1], in the shape of `ranks`.

    Equation:
        2 (n - 1) / n for allreduce; (n - 1) / n for `IN_PIECES`; 1 otherwise

    Source:
        NVIDIA nccl-tests, doc/PERFORMANCE.md. The message is the buffer of a rank for allreduce, broadcast and reduce,
        and the whole buffer of n pieces for `IN_PIECES`. Gather and scatter: src/gather.cu and src/scatter.cu, whose
        root keeps its own piece (recalled).
    """
    if operation == "allreduce":
        return ring_factor(ranks)
    if operation in IN_PIECES:
        return (ranks - 1) / ranks
    # in the shape of `ranks`
    return 0 * ranks + 1.0


def ring_steps(operation: str, ranks: Number) -> Number:
    """Return the number of hops of a piece on a ring [1].

    Args:
        operation: allreduce, reduce-scatter, all-gather, broadcast or reduce.
        ranks: members n [1].

    Equation:
        2 (n - 1) for allreduce, n - 1 otherwise

    Source:
        NVIDIA/nccl v2.30.7, src/graph/tuning.cc.
    """
    return (2 if operation == "allreduce" else 1) * (ranks - 1)


def _mean_tree_load(nodes: Number) -> Number:
    """Return the bytes that the mean node of a double binary tree sends (and receives) per message byte [1].

    Args:
        nodes: members of the trees N [1].

    Equation:
        2 (N - 1) / N

    Source:
        Every node but the root of a tree has one link up, which carries the half message of that tree both ways: 2
        (N - 1) links of half a message sent and half received. The busiest node carries `double_tree_load`.
    """
    return ring_factor(nodes)


def _depth(nodes: Number) -> Number:
    """Return the levels of a balanced binary tree.

    Args:
        nodes: members N [1], at least 1.

    Returns:
        Levels below the root [1], not rounded.

    Equation:
        log2(N)

    Source:
        NVIDIA/nccl v2.30.7, src/graph/tuning.cc counts log2 of the nodes likewise.
    """
    from math import log2

    if isinstance(nodes, int | float):
        return log2(nodes)
    import numpy as np

    return np.log2(nodes)


def _nics_of(nics: int, gpus: int, used: Number) -> Number:
    """Return the NICs that a job uses in a node: a fraction by GPUs, at least one.

    Args:
        nics: NICs of the node [1].
        gpus: GPUs of the node [1].
        used: GPUs that the job uses, also over several nodes of one scale-up switch [1].

    Returns:
        NICs [1].

    Equation:
        max(1, NICs * used / GPUs)

    Source:
        Definition.
    """
    return maximum(1.0, nics * used / gpus)
