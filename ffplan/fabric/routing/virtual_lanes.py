"""Two classes of traffic on shared links, each with a reserved fraction (InfiniBand virtual lanes, Ethernet queues)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats


@record
class _LaneRates:
    """Rate of each class, as a multiple of its traffic per second."""

    alone: tuple[float, float]
    """Rate of each class with the links to itself [1/s]."""
    together: tuple[float, float]
    """Rate of each class while both run [1/s]."""


def lane_rates(first: Any, second: Any, rate: Any, share: float) -> _LaneRates:
    """Return the rates of two classes that share links.

    On every link a class gets its reserved fraction, and the capacity that the other class leaves unused.

    Args:
        first: bytes of the first class on each directed link for one unit of its work [byte].
        second: bytes of the second class on each directed link for one unit of its work [byte].
        rate: rate of each directed link [byte/s].
        share: fraction of a link reserved for the first class, between 0 and 1 [1].

    Equation:
        r1 = min over links of max(share C, C - r2 l2) / l1; r2 likewise with 1 - share; the fixed point reached from
        r2 = min (1 - share) C / l2

    Source:
        Derived: weighted arbitration of virtual lanes that leaves no link idle (InfiniBand architecture, volume 1,
        section 7.6.9).
    """
    alone = (_slowest(rate, first), _slowest(rate, second))
    rate_second = min(alone[1], _slowest((1 - share) * rate, second))
    rate_first = 0.0
    # each class may use what the other leaves, so both rates are a fixed point
    for _ in range(64):
        next_first = min(alone[0], _slowest(np.maximum(share * rate, rate - rate_second * second), first))
        next_second = min(alone[1], _slowest(np.maximum((1 - share) * rate, rate - next_first * first), second))
        if next_first == rate_first and next_second == rate_second:
            break
        rate_first, rate_second = next_first, next_second
    return _LaneRates(alone, (rate_first, rate_second))


def _slowest(rate: Floats, load: Floats) -> float:
    busy = load > 0
    return float((rate[busy] / load[busy]).min()) if busy.any() else float("inf")
