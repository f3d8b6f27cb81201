"""Mean errors of predicted training times, which the first line of a result states; tests hold them to the runs."""

from __future__ import annotations

from ffplan.base.record import record


@record
class ErrorBand:
    """Mean of absolute errors over published runs."""

    mean: float
    """Error [1]."""
    within: float
    """Its part between the runs of one source: mean of absolute distances from the source's mean error [1]."""
    runs: int
    """Runs that it was taken over."""
    basis: str
    """Runs, in words."""


CALIBRATED = ErrorBand(0.087, 0.051, 795, "published runs, each source predicted without it")
"""Plans that name their software stack: `ffplan accuracy training --leave-one-out source`."""
UNNAMED = ErrorBand(0.109, 0.051, 795, "published runs, each software stack predicted without it")
"""Plans that name no stack: `ffplan accuracy training --leave-one-out stack`."""
ESTIMATED = ErrorBand(0.16, 0.051, 795, "published runs, each accelerator predicted without it")
"""Accelerators with the efficiencies of a relative: `ffplan accuracy training --leave-one-out accelerator`."""
