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


WITHIN = 0.045
"""Part of an error between the runs of one source, from `ffplan accuracy training --leave-one-out source` [1]."""
DENSE = ErrorBand(0.075, WITHIN, 315, "published runs of dense models, each software stack predicted without it")
"""Dense models on calibrated accelerators: `ffplan accuracy training --leave-one-out stack`; the mean over accelerators
and stacks."""
EXPERTS = ErrorBand(
    0.165, WITHIN, 23, "published runs of mixtures of experts, each software stack predicted without it"
)
"""The same of models with experts."""
SIBLING = ErrorBand(0.068, WITHIN, 338, "published runs, each accelerator predicted without it")
"""Accelerators with the efficiencies of another of their chip: `--leave-one-out accelerator`."""
KIN = ErrorBand(0.052, WITHIN, 191, "published runs, each kind of chip predicted without it")
"""Accelerators with the efficiencies of another chip of their process: `--leave-one-out chip`."""
ESTIMATED = ErrorBand(0.145, WITHIN, 338, "published runs, each chip predicted without its process")
"""Accelerators with the efficiencies of a chip of another process: `--leave-one-out process`."""
UNFITTED = ErrorBand(
    ESTIMATED.mean,
    ESTIMATED.within,
    ESTIMATED.runs,
    f"{ESTIMATED.basis}; no fit of this part's own constants stands in the catalogue",
)
"""Accelerators whose constants somebody else wrote: they may be no nearer than those of a chip of another process."""


def widest(*bands: ErrorBand) -> ErrorBand:
    """Return the band with the largest error."""
    return max(bands, key=lambda band: band.mean)
