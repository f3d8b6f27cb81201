"""Every fit of a recording, its errors kernel by kernel, and reasons not to use it. Needs SciPy, an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import InputError, did_you_mean
from ffplan.base.formatting import listed, plural
from ffplan.base.record import record
from ffplan.calibration.calibrate import LARGE
from ffplan.calibration.fit import FitError, solver
from ffplan.calibration.kernel_fit import (
    MATRIX,
    _fit_kernels,
    _KernelFit,
    _rates_of,
    _starting_values,
    _timed_groups,
    _units_of,
)
from ffplan.calibration.kernel_times import (
    _attention_operations,
    _attention_seconds,
    _measured_attention,
    _MeasuredAttention,
    _rates_at,
    _with_kernel,
)
from ffplan.calibration.told import told
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.stacks import AttentionRates
from ffplan.measuring.kernels import Gemm
from ffplan.measuring.recording import Recording
from ffplan.results.measurement import KernelError, KernelGroupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ffplan.base.array_math import Floats
    from ffplan.base.errors import Finding
    from ffplan.calibration.kernel_fit import _TimedKernels
    from ffplan.calibration.overlay import _MeasuredSource
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document
    from ffplan.measuring.recording import CopyRow, Timing
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
        FitError: if SciPy is missing, or the sizes do not tell the rate.

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
    if "rate" in told(residuals, solution.x, size).unsure(("start", "rate")):
        raise FitError("copies of these sizes do not tell the rate of a link from the time before a copy")
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
    unlinked: dict[str, str]
    """Why a way of the link has no rate."""
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
    unlinked: dict[str, str] = {}
    for way in dict.fromkeys(row.direction for row in recording.copies):
        try:
            links[way] = _fit_link([row for row in recording.copies if row.direction == way])
        except FitError as error:
            unlinked[way] = str(error)
    return _RecordingFits(
        recording=recording,
        part=part,
        table=table,
        units=units,
        kernels=_fit_kernels(recording, part),
        links=links,
        unlinked=unlinked,
        attention=_measured_attention(recording, part, table, _default_rates(part, units), source),
    )


UNITS = {"gemm": "TFLOP/s", "attention": "TFLOP/s"}


def _error(
    group: str,
    kernel: str,
    row: Timing,
    work: float,
    fitted: float | None = None,
    catalogue: float | None = None,
) -> KernelError:
    """Return one kernel; work is in operations or bytes, times are in seconds."""
    seconds, spread = row.median_us * 1e-6, None
    if row.low_us is not None and row.high_us is not None:
        spread = row.high_us / row.low_us - 1
    unit = UNITS.get(group.split()[0], "GB/s")
    return KernelError(
        group=group,
        kernel=kernel,
        measured_us=row.median_us,
        spread=spread,
        rate=work / seconds / (1e12 if unit == "TFLOP/s" else 1e9),
        unit=unit,
        fitted_us=None if fitted is None else fitted * 1e6,
        error=None if fitted is None else fitted / seconds - 1,
        catalogue_us=None if catalogue is None else catalogue * 1e6,
        catalogue_error=None if catalogue is None else catalogue / seconds - 1,
    )


def _kernel_errors(
    group: str, timed: _TimedKernels, fitted: dict[str, float], catalogue: dict[str, float] | None
) -> list[KernelError]:
    """Return GEMMs, or kernels that memory binds; `catalogue` is None without constants there."""
    after = timed.model(fitted)
    before: Floats | None = None if catalogue is None else timed.model(catalogue)
    errors = []
    for position, row in enumerate(timed.rows):
        name = group if timed.used[position] else f"{group}, few tiles"
        work = row.operations if isinstance(row, Gemm) else float(row.bytes)
        catalogued = None if before is None else float(before[position])
        errors.append(_error(name, row.words, row, work, float(after[position]), catalogued))
    return errors


def _attention_errors(
    recording: Recording, rates: AcceleratorRates, table: AttentionRates | None, half: float
) -> list[KernelError]:
    """Return the errors of attention calls at the catalogue's rates, if any; fitted rates are the measured ones.

    `half` is the dense 16-bit peak [FLOP/s].
    """
    errors = []
    for row in recording.attention:
        known = _with_kernel(rates, table, row.kernel, half)
        catalogue = None if known is None else _attention_seconds(row, known)
        operations = _attention_operations(row, rates)
        errors.append(_error(f"attention {row.kernel}", row.words, row, operations, catalogue=catalogue))
    return errors


def _copy_errors(recording: Recording, links: dict[str, _LinkFit], catalogue: float | None) -> list[KernelError]:
    """Return copies over the link to the host; `catalogue` [byte/s]."""
    errors = []
    for row in recording.copies:
        link = links.get(row.direction)
        fitted = None if link is None else link.seconds(row.bytes)
        plain = None if catalogue is None or row.direction == "both" else row.bytes / catalogue
        errors.append(_error("pcie", row.words, row, float(row.bytes), fitted, plain))
    return errors


def _group_errors(kernels: Sequence[KernelError]) -> tuple[KernelGroupError, ...]:
    errors = []
    for group in dict.fromkeys(kernel.group for kernel in kernels):
        mine = [kernel for kernel in kernels if kernel.group == group]
        before = [abs(kernel.catalogue_error) for kernel in mine if kernel.catalogue_error is not None]
        after = [abs(kernel.error) for kernel in mine if kernel.error is not None]
        errors.append(
            KernelGroupError(
                group=group,
                n=len(mine),
                before=float(np.mean(before)) if before else None,
                after=float(np.mean(after)) if after else None,
                max_error=max(after) if after else None,
            )
        )
    return tuple(errors)


OWN_TIMES = {"gemm": "The own time of a GEMM", "small": "The time of a small kernel"}


def _remarks_of(fits: _RecordingFits) -> tuple[str, ...]:
    """Return remarks on gaps of the recording and on kernels left out."""
    recording, part, remarks = fits.recording, fits.part, []
    for name, reason in fits.kernels.kept.items():
        label = OWN_TIMES.get(name, name)
        remarks.append(f"{label} is not measured: {reason}; the catalogue's {_kept(fits, name)} is kept.")
    for way, reason in fits.unlinked.items():
        remarks.append(f"The rate of copies {way} is not measured: {reason}.")
    few = sum(int((~timed.used).sum()) for timed in _timed_groups(recording, part).values())
    if few:
        remarks.append(
            f"{plural(few, 'GEMM has', 'GEMMs have')} fewer tiles than multiprocessors: shown, and not fitted."
        )
    strange = listed(dict.fromkeys(row.dtype for row in recording.gemms if row.dtype not in part.peak))
    if strange:
        remarks.append(f"`{part.id}` has no peak for {strange}: these GEMMs are left out.")
    if fits.attention.partial:
        names = listed(fits.attention.partial)
        remarks.append(f"Attention by {names} is not written: it needs causal passes, forward and backward.")
    if recording.skipped:
        remarks.append(f"{plural(len(recording.skipped), 'kernel')} could not be timed, as the recording says.")
    if not recording.complete:
        remarks.append("The run was interrupted: the recording has a part of the kernels.")
    if part.pcie is None and recording.copies:
        remarks.append(f"`{part.id}` has no PCIe link in the catalogue: its rate is not written.")
    return tuple(remarks)


def _kept(fits: _RecordingFits, name: str) -> str:
    value = fits.kernels.values[name]
    return f"{value * 100:.4g} %" if name in FRACTIONS else f"{value * 1e6:.3g} us"


def _doubts_of(fits: _RecordingFits, written: tuple[str, ...], kernels: list[KernelError]) -> tuple[str, ...]:
    """Return reasons not to use the constants."""
    doubts, recording = [], fits.recording
    if recording.origin == "synthetic":
        doubts.append("the times were made up")
    fractions = sorted(set(written) & set(MATRIX.values()))
    if fractions and recording.load != "sustained":
        kind = "short kernels" if recording.load == "short" else "kernels of unstated length"
        doubts.append(f"{listed(fractions)}: measured on {kind}, which need not show the power limit of long work")
    used = {"stream", "kernel", *MATRIX.values()} & set(written)
    for group in dict.fromkeys(kernel.group for kernel in kernels):
        missed = [abs(kernel.error) for kernel in kernels if kernel.group == group and kernel.error is not None]
        fitted = group in {f"gemm {dtype}" for dtype in MATRIX} and used
        if fitted and missed and float(np.mean(missed)) > LARGE:
            doubts.append(f"{group} is missed by {np.mean(missed):.0%} on average, more than {LARGE:.0%}")
    device = recording.device.multiprocessors
    if device is not None and device != fits.units:
        doubts.append(f"the device has {device} multiprocessors, the catalogue {fits.units:g}")
    return tuple(doubts)


RULE = "measured-recording"


def _refuse_recording(catalog: Catalog, recording: Recording, document: Document, part: Accelerator) -> None:
    """Refuse a recording that does not apply to an accelerator."""
    device = recording.device
    faults = []
    if device.type == "cpu":
        message = "times of a CPU show that the program runs, and are not fitted"
        faults.append(document.finding(RULE, ("device", "type"), message, "run `ffplan model measure run` on a GPU"))
    elif device.pci_id is not None and part.pci_ids and device.pci_id not in part.pci_ids:
        parts = [catalog.entry(name).part for name in catalog.ids_of("accelerator")]
        same = [candidate.id for candidate in parts if device.pci_id in getattr(candidate, "pci_ids", ())]
        message = f"the device is {device.name} ({device.pci_id}), not `{part.id}`"
        remedy = did_you_mean(part.id, same, what="accelerator of this PCI id")
        faults.append(document.finding(RULE, ("device", "pci_id"), message, f"give its own --accelerator; {remedy}"))
    elif not recording.rows:
        message = "the recording holds no measured kernel"
        faults.append(document.finding(RULE, (), message, "run `ffplan model measure run` again, to its end"))
    if not faults:
        faults = list(_impossible(recording, document, part))
    if faults:
        raise InputError(*faults)


def _impossible(recording: Recording, document: Document, part: Accelerator) -> Iterator[Finding]:
    """Yield a finding for each row whose rate is above the dense peak of the accelerator."""
    rates = _default_rates(part, 1.0)
    half = next((part.peak[name].value for name in ("bf16", "fp16") if name in part.peak), None)
    rows: list[tuple[tuple[str, int], Timing, float, float | None]] = []
    for position, gemm in enumerate(recording.gemms):
        peak = part.peak[gemm.dtype].value if gemm.dtype in part.peak else None
        rows.append((("gemms", position), gemm, gemm.operations, peak))
    for position, call in enumerate(recording.attention):
        rows.append((("attention", position), call, _attention_operations(call, rates), half))
    for path, row, operations, peak in rows:
        rate = operations / row.median_us / 1e6
        if peak is not None and rate > peak:
            message = f"{rate:,.0f} TFLOP/s is more than the dense peak of `{part.id}`, {peak:,.0f}"
            remedy = "check the time, the sizes and the --accelerator"
            yield document.finding(RULE, (*path, "median_us"), message, remedy)
