"""The least of named terms, and bytes that collectives move: bus bandwidth factors, loads of rings and trees."""

from __future__ import annotations

from typing import Literal, get_args

from ffplan.base.array_math import Number, maximum, minimum
from ffplan.base.outcomes import Term
from ffplan.base.record import record
from ffplan.catalog.rates import Protocol


@record
class Bound:
    """The terms of one collective, the tightest first."""

    terms: tuple[Term, ...]

    @property
    def gbyte_s(self) -> Number:
        """Algorithm bandwidth [GB/s]: the minimum over the terms."""
        return minimum(*(term.gbyte_s for term in self.terms))

    @property
    def binding(self) -> Term:
        """The term that binds."""
        return self.terms[0]

    @property
    def runner_up(self) -> Term | None:
        """The next term."""
        return self.terms[1] if len(self.terms) > 1 else None


def bound(*terms: Term | None) -> Bound:
    """Return the bound over the terms that exist, sorted by rate, then by name."""
    present = [term for term in terms if term is not None]
    return Bound(tuple(sorted(present, key=lambda term: (term.gbyte_s, term.name, term.label))))


def rate(capacity: Number, use: Number) -> Number:
    """Return the message rate that a resource allows.

    Args:
        capacity: rate of the resource [GB/s].
        use: bytes it carries per byte of message [1], above 0.

    Returns:
        Algorithm bandwidth [GB/s], broadcast shape.

    Equation:
        B = capacity / use

    Source:
        Definition; An et al., arXiv 2408.14158, section IV-D3 (320 / 24 = 13.3).
    """
    return capacity / use


def ring_factor(ranks: Number) -> Number:
    """Return the bytes that each rank of a ring sends per byte of allreduce message.

    Args:
        ranks: members of the ring n [1], at least 1.

    Equation:
        2 (n - 1) / n

    Source:
        NVIDIA nccl-tests, doc/PERFORMANCE.md; also the ratio of bus to algorithm bandwidth of an allreduce.
    """
    # n - 1 of n pieces pass each rank twice: once to be reduced, once to be gathered
    return 2 * (ranks - 1) / ranks


def _double_tree_load(nodes: Number) -> Number:
    """Return the bytes that the busiest node of a double binary tree sends (and receives) per message byte.

    A node is interior in one tree and a leaf in the other, each carrying half of the message: it sends
    0.5 up + 2 x 0.5 down in the first and 0.5 up in the second.

    Args:
        nodes: members of the trees [1], at least 1.

    Equation:
        min(N / 2, 2) for N > 1: 0 alone, 1 with two nodes, 1.5 with three, 2 from four nodes on

    Source:
        Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
        Parallel Computing 35 (2009); An et al., arXiv 2408.14158, section IV-D3 ("2 read, 2 write operations").
    """
    return minimum(nodes / 2, 2) * (nodes > 1)


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
