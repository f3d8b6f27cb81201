"""Rate of the link to the host, fitted on copies of several sizes. Needs SciPy, an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.calibration.fit import FitError, solver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.base.array_math import Floats
    from ffplan.measuring.recording import CopyRow

LINK_BOUNDS = ((1e-9, 1e8), (1.0, 1e14))
"""Least and largest time before a copy [s], and rate [byte/s]."""


@record
class _LinkFit:
    """Rate of a link, from copies of several sizes."""

    rate: float
    """Rate [byte/s]."""
    start: float
    """Time before a copy [s]."""
    rows: int
    """Copies."""
    largest_error: float
    """Largest relative error of a copy [1]."""

    def seconds(self, size: float) -> float:
        """Return the time of a copy of a size [byte] [s]."""
        return self.start + size / self.rate


def _fit_link(rows: Sequence[CopyRow]) -> _LinkFit:
    """Fit rate and start of one way of a link.

    Args:
        rows: copies that way.

    Raises:
        FitError: if SciPy is missing, or there are fewer than two sizes.

    Equation:
        time = start + size / rate, least sum of squares of logarithms
    """
    size = np.array([row.bytes for row in rows], dtype=float)
    seconds = np.array([row.median_us * 1e-6 for row in rows])
    if len(set(size.tolist())) < 2:
        raise FitError("copies of one size do not tell the rate of a link")

    def residuals(logs: Floats) -> Floats:
        start, rate = np.exp(logs)
        solution: Floats = np.log((start + size / rate) / seconds)
        return solution

    first = np.log([seconds.min() / 10, float((size / seconds).max())])
    low, high = (np.log([bound[end] for bound in LINK_BOUNDS]) for end in range(2))
    solution = solver()(residuals, np.clip(first, low, high), bounds=(low, high))
    start, rate = np.exp(solution.x).tolist()
    worst = float(np.abs(np.exp(residuals(solution.x)) - 1).max())
    return _LinkFit(rate=rate, start=start, rows=len(rows), largest_error=worst)
