"""Mean errors of predicted training times, which the first line of a result states; a test computes both anew."""

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


CALIBRATED = ErrorBand(0.10, 0.043, 69, "predicted runs")
"""Accelerators with constants of their own: runs on which nothing was fitted."""
ESTIMATED = ErrorBand(0.21, 0.043, 707, "runs, one accelerator left out")
"""Accelerators with the efficiencies of a relative: A100 with those of H100 (23 %), H100 with A100 (12 %), B200
with H100 (29 %), a third of the weight each. The part within a source is that of the calibrated ones."""
