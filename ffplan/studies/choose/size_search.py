"""The smallest size that is in time, where time falls with size but for sizes that divide badly."""

from __future__ import annotations

from collections.abc import Callable

from ffplan.base.array_math import round_up
from ffplan.base.record import record

CLOSE = 0.02
"""Nodes between the largest size that is too small and the smallest that is not, over the latter, at the end [1]."""
MOST_TRIALS = 9
SMALLEST = 0.6
"""Smallest round size that is tried, over the size found [1]."""
ROUND_SIZES = 6
"""Round sizes tried, at most [1]."""


@record
class Sizes:
    """Sizes to search, and how long a run takes on each."""

    days: Callable[[int], float | None]
    """Days of the run with some nodes; None where it cannot run there."""
    step: int
    """Sizes are multiples of it [1]."""
    most: int
    """Most nodes [1]."""


def smallest(sizes: Sizes, first: float, days: float) -> tuple[int | None, int | None]:
    """Return the smallest size found that takes no more than some days, and the largest tried that takes more [1].

    Args:
        sizes: what to search.
        first: nodes to begin with [1].
        days: the days [day].
    """
    step = sizes.step
    low, nodes = 0, min(max(step, round_up(first / step) * step), sizes.most)
    found: int | None = None
    slow: int | None = None
    high = sizes.most + step
    for _ in range(MOST_TRIALS):
        taken = sizes.days(nodes)
        if taken is not None and taken <= days:
            found = high = nodes
        else:
            slow, low = (nodes if taken is not None else slow), nodes
        if high - low <= max(step, CLOSE * high) or low >= sizes.most:
            break
        guess = nodes * taken / days if taken is not None else 2.0 * nodes
        wanted = round_up(guess * (1.002 if low == nodes else 1.0) / step) * step
        middle = (low + high) // 2 // step * step
        nodes = wanted if low < wanted < high else max(middle, low + step)
    return found, slow


def rounder(sizes: Sizes, found: int, days: float) -> int | None:
    """Return the smallest round size below another that is in time too [1]; None where there is none.

    A search by halves may stop at a size that divides badly.

    Args:
        sizes: what to search.
        found: a size that is in time [1].
        days: the days [day].
    """
    unit = sizes.step
    while (1 - SMALLEST) * found > ROUND_SIZES * unit:
        unit *= 2
    first = -(-int(SMALLEST * found) // unit) * unit
    for nodes in range(max(first, unit), found, unit):
        taken = sizes.days(nodes)
        if taken is not None and taken <= days:
            return nodes
    return None
