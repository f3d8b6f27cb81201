"""The least of a number at which a rising figure reaches another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _least_at(excess: Callable[[float], float], low: float, high: float, halvings: int) -> float:
    """Return where a rising figure reaches 0, from above; an end if it is 0 or more, or less, on the whole way.

    Args:
        excess: the figure, of a number of requests.
        low: fewest requests [1].
        high: most requests [1].
        halvings: halvings of the interval whose width the result may be off [1].

    Returns:
        Requests [1].

    Equation:
        the chord between the ends, an end that stays twice counting half; every third time the middle

    Source:
        Dowell and Jarratt, "A modified regula falsi method for computing the root of an equation", BIT 11 (1971).
    """
    near = (high - low) / 2**halvings
    below, above = excess(low), excess(high)
    if below >= 0 or above < 0:
        return low if below >= 0 else high
    stays = 0
    for turn in range(3 * halvings):
        if high - low <= near:
            break
        point = (low * above - high * below) / (above - below) if turn % 3 < 2 else (low + high) / 2
        # a point next to an end closes the interval from the other side
        point = min(max(point, low + near / 2), high - near / 2)
        value = excess(point)
        if value >= 0:
            high, above, below, stays = point, value, below / 2 if stays > 0 else below, 1
        else:
            low, below, above, stays = point, value, above / 2 if stays < 0 else above, -1
    return high
