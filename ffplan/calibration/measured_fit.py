"""From a recording of kernels: constants with the catalogue's, errors by size, and files of a catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.calibration.kernel_fit import SMALL_KERNELS, _starting_values, _timed_groups
from ffplan.calibration.measured_errors import (
    _attention_errors,
    _copy_errors,
    _doubts_of,
    _group_errors,
    _kernel_errors,
    _refuse_recording,
    _remarks_of,
)
from ffplan.calibration.measured_files import _measured_files, _MeasuredFigures
from ffplan.calibration.measured_fits import FRACTIONS, _fits_of
from ffplan.calibration.overlay import _MeasuredSource
from ffplan.catalog.parts import Accelerator
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.measurement import KernelError, MeasuredConstant, MeasuredFit

if TYPE_CHECKING:
    from ffplan.calibration.measured_fits import _RecordingFits
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document
    from ffplan.measuring.recording import Recording

MEASURED = ("matrix", "matrix_fp8", "matrix_tf32", "stream", "kernel", "memory", "attention", "pcie")
"""Groups of constants that a recording determines."""
IN_STEPS = ("matrix", "matrix_fp8", "matrix_tf32", "memory")
"""Constants that the catalogue has of whole training steps, which reach less than a kernel alone."""
ALONE = "a kernel alone; the catalogue's is what training steps reach, with clocks and waiting: --only writes it"
"""Reason why such a constant is written on request only."""


@record
class MeasuredRequest:
    """A request to fit a recording."""

    accelerator: str
    """Id of the accelerator that was measured."""
    only: tuple[str, ...] | None
    """Constants to write; if omitted, all that the catalogue does not have from training steps."""
    stack: str | None
    """Id of the software stack that `memory` is written for."""


@record
class MeasuredResult:
    """The result of a fit."""

    report: MeasuredFit
    """Constants and errors."""
    files: dict[str, str]
    """Files of a catalogue by the id of their part."""


def fit_recording(
    catalog: Catalog, recording: Recording, document: Document, request: MeasuredRequest
) -> MeasuredResult:
    """Fit constants to a recording.

    Raises:
        InputError: if the recording is of another device, or of none that counts.
        FitError: if SciPy is missing, or the constants cannot be written into a file.
    """
    part = catalog.entry(request.accelerator).part
    assert isinstance(part, Accelerator)
    _refuse_recording(catalog, recording, document, part)
    source = _MeasuredSource(
        f"ffplan model measure: {recording.title}; {recording.device.name}, {plural(recording.rows, 'kernel')}",
        recording.date,
        recording.origin != "synthetic",
    )
    fits = _fits_of(catalog, recording, part, source)
    constants = _constants(fits, request)
    written = {constant.name: constant for constant in constants if constant.written}
    attention = fits.attention if request.only is None or "attention" in request.only else None
    figures = _MeasuredFigures(
        constants=written, attention=attention, source=source, units=fits.units, stack=request.stack
    )
    files = _measured_files(catalog, part, figures)
    kernels = _errors(fits)
    report = MeasuredFit(
        schema_version=SCHEMA_VERSION,
        accelerator=part.id,
        recording=recording.title,
        date=recording.date,
        origin=recording.origin,
        load=recording.load,
        device=recording.device.name,
        constants=constants,
        groups=_group_errors(kernels),
        kernels=tuple(kernels),
        remarks=_remarks_of(fits),
        doubts=_doubts_of(fits, tuple(written), kernels),
    )
    return MeasuredResult(report, files)


def _constants(fits: _RecordingFits, request: MeasuredRequest) -> tuple[MeasuredConstant, ...]:
    fit, rates = fits.kernels, fits.part.training
    constants = []
    for name in ("matrix", "matrix_fp8", "matrix_tf32", "stream", "memory", "gemm", "small"):
        if name not in fit.errors:
            continue
        figure = getattr(rates, name, None)
        low, high = fit.ends(name)
        constants.append(
            MeasuredConstant(
                name=name,
                unit="1" if name in FRACTIONS else "s",
                before=None if figure is None else float(figure.value),
                after=fit.values[name],
                low=low,
                high=high,
                rows=fit.rows[name],
                written=_written(name, fits, request),
                note=ALONE if name in IN_STEPS and not _written(name, fits, request) else None,
            )
        )
    return (*constants, *_kernel(fits, request), *_link(fits, request))


def _written(name: str, fits: _RecordingFits, request: MeasuredRequest) -> bool:
    if name not in MEASURED:
        return False
    if request.only is not None:
        return name in request.only
    alone = name in IN_STEPS and fits.part.training is not None
    return not alone or (name == "memory" and request.stack is not None)


def _kernel(fits: _RecordingFits, request: MeasuredRequest) -> list[MeasuredConstant]:
    """Return the time of a GEMM with the small kernels around it, if both parts were measured."""
    fit, rates = fits.kernels, fits.part.training
    if fit.kernel is None:
        return []
    ends = [fit.ends(name) for name in ("gemm", "small")]
    low, high = (ends[0][place] + SMALL_KERNELS * ends[1][place] for place in range(2))
    return [
        MeasuredConstant(
            name="kernel",
            unit="s",
            before=None if rates is None else float(rates.kernel.value),
            after=fit.kernel,
            low=low,
            high=high,
            rows=fit.rows["gemm"] + fit.rows["small"],
            written=_written("kernel", fits, request),
            note=f"a GEMM's own {fit.values['gemm'] * 1e6:.3g} us, and {SMALL_KERNELS} small kernels of "
            f"{fit.values['small'] * 1e6:.3g} us",
        )
    ]


def _link(fits: _RecordingFits, request: MeasuredRequest) -> list[MeasuredConstant]:
    ways = {way: fits.links[way] for way in ("to-device", "from-device") if way in fits.links}
    if not ways:
        return []
    rates, link = {way: fitted.rate / 1e9 for way, fitted in ways.items()}, fits.part.pcie
    return [
        MeasuredConstant(
            name="pcie",
            unit="GB/s",
            before=None if link is None else float(link.bandwidth.value),
            after=min(rates.values()),
            low=min(rates.values()),
            high=max(rates.values()),
            rows=sum(fitted.rows for fitted in ways.values()),
            written=link is not None and _written("pcie", fits, request),
            note="; ".join(f"{way} {rate:.4g} GB/s" for way, rate in rates.items()),
        )
    ]


def _errors(fits: _RecordingFits) -> list[KernelError]:
    fit, part = fits.kernels, fits.part
    catalogue = None
    if part.training is not None:
        fitted = {name: fit.values[name] for name in ("gemm", "small")}
        catalogue = _starting_values(part) | fitted
    errors = []
    for group, timed in _timed_groups(fits.recording, part).items():
        rows = _kernel_errors(group, timed, fit.values, catalogue)
        errors += sorted(rows, key=lambda error: error.group != group)
    half = next((part.peak[name].value for name in ("bf16", "fp16") if name in part.peak), 0.0) * 1e12
    errors += _attention_errors(fits.recording, fits.any_rates, fits.table, half)
    plain = None if part.pcie is None else float(part.pcie.bandwidth.value) * 1e9
    return errors + _copy_errors(fits.recording, fits.links, plain)
