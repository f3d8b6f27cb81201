"""Every fit of a recording: kernels, attention, and the link to the host. Needs SciPy, an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.calibration.fit import FitError, solver
from ffplan.calibration.kernel_fit import _fit_kernels, _KernelFit, _rates_of, _starting_values, _units_of
from ffplan.calibration.kernel_times import _measured_attention, _MeasuredAttention, _rates_at
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.stacks import AttentionRates
from ffplan.measuring.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.base.array_math import Floats
    from ffplan.calibration.overlay import _MeasuredSource
    from ffplan.catalog.store import Catalog
    from ffplan.measuring.recording import CopyRow
    from ffplan.training.accelerator_rates import AcceleratorRates


LINK_BOUNDS = ((1e-9, 1e8), (1.0, 1e14))
"""Least and largest time before a copy [s], and rate [byte/s]."""


@record
class _LinkFit:
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


FRACTIONS = ("matrix", "matrix_fp8", "matrix_tf32", "stream", "memory")
"""Constants that are fractions of a peak or of the memory bandwidth."""


def _default_rates(part: Accelerator, units: float) -> AcceleratorRates:
    """Return rates of an accelerator, with constants of the catalogue or defaults."""
    return _rates_at(part, _rates_of(_starting_values(part), part, units), next(iter(part.peak)))


@record
class _RecordingFits:
    recording: Recording
    """The recording."""
    part: Accelerator
    """The accelerator."""
    table: AttentionRates | None
    """Its table of attention kernels."""
    units: float
    """Its multiprocessors [1]."""
    kernels: _KernelFit
    """Constants fitted on kernels."""
    links: dict[str, _LinkFit]
    """Links to the host by way."""
    attention: _MeasuredAttention
    """Measured rates of attention."""

    @property
    def any_rates(self) -> AcceleratorRates:
        """Rates of the accelerator, with constants of the catalogue or defaults."""
        return _default_rates(self.part, self.units)


def _fits_of(catalog: Catalog, recording: Recording, part: Accelerator, source: _MeasuredSource) -> _RecordingFits:
    """Return all fits of a recording."""
    table, rates = None, part.training
    if rates is not None and rates.kernels is not None:
        table = catalog.get(AttentionRates, rates.kernels, catalog.entry(part.id).document, ("training", "kernels"))
    units = _units_of(part, recording)
    links: dict[str, _LinkFit] = {}
    for way in dict.fromkeys(row.direction for row in recording.copies):
        copies = [row for row in recording.copies if row.direction == way]
        if len({row.bytes for row in copies}) > 1:
            links[way] = _fit_link(copies)
    return _RecordingFits(
        recording=recording,
        part=part,
        table=table,
        units=units,
        kernels=_fit_kernels(recording, part),
        links=links,
        attention=_measured_attention(recording, part, table, _default_rates(part, units), source),
    )
