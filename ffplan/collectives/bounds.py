"""A throughput is the minimum of named terms; the result names the term that binds and the next one."""

from __future__ import annotations

from ffplan.base.array_math import Number, minimum
from ffplan.base.outcomes import Term
from ffplan.base.record import record


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
