"""Recordings that cannot be fitted, remarks on a fit, and reasons not to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import InputError, did_you_mean
from ffplan.base.formatting import listed, plural
from ffplan.calibration.calibrate import LARGE
from ffplan.calibration.kernel_fit import MATRIX, _timed_groups
from ffplan.calibration.kernel_times import _attention_operations
from ffplan.calibration.measured_fits import FRACTIONS, _default_rates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.calibration.measured_fits import _RecordingFits
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document
    from ffplan.measuring.recording import Recording, Timing
    from ffplan.results.measurement import KernelError


OWN_TIMES = {"gemm": "The own time of a GEMM", "small": "The time of a small kernel"}


def _remarks_of(fits: _RecordingFits) -> tuple[str, ...]:
    """Return remarks on gaps of the recording and on kernels left out."""
    recording, part, remarks = fits.recording, fits.part, []
    for name, reason in fits.kernels.kept.items():
        label = OWN_TIMES.get(name, name)
        remarks.append(f"{label} is not measured: {reason}; the catalogue's {_kept(fits, name)} is kept.")
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
