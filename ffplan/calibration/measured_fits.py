"""Every fit of a recording: kernels, attention, and the link to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.calibration.kernel_fit import (
    _fit_kernels,
    _KernelFit,
    _rates_of,
    _starting_values,
    _units_of,
)
from ffplan.calibration.kernel_times import _rates_at
from ffplan.calibration.link_fit import _fit_link, _LinkFit
from ffplan.calibration.measured_attention import _measured_attention, _MeasuredAttention
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.stacks import AttentionRates
from ffplan.measuring.recording import Recording

if TYPE_CHECKING:
    from ffplan.calibration.measured_overlay import _MeasuredSource
    from ffplan.catalog.store import Catalog
    from ffplan.training.accelerator_rates import AcceleratorRates

FRACTIONS = ("matrix", "matrix_fp8", "matrix_tf32", "stream", "memory")
"""Constants that are fractions of a peak or of the memory bandwidth."""


def _default_rates(part: Accelerator, units: float) -> AcceleratorRates:
    """Return rates of an accelerator, with constants of the catalogue or defaults.

    Args:
        units: its multiprocessors [1].
    """
    return _rates_at(part, _rates_of(_starting_values(part), part, units), next(iter(part.peak)))


@record
class _RecordingFits:
    """All fits of a recording."""

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
    """Return all fits of a recording.

    Args:
        part: the accelerator that was measured.
        source: source of the figures.

    Raises:
        FitError: if SciPy is missing, or nobody knows the multiprocessors.
    """
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
