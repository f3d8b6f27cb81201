"""Remarks of a fit of a recording: gaps, and reasons not to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import listed, plural
from ffplan.calibration.calibrate import LARGE
from ffplan.calibration.kernel_fit import MATRIX, _timed_groups
from ffplan.calibration.measured_fits import FRACTIONS

if TYPE_CHECKING:
    from ffplan.calibration.measured_fits import _RecordingFits
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
    """Return reasons not to use the constants.

    Args:
        written: constants that are to be written.
        kernels: errors of every kernel.
    """
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
            doubts.append(f"{group} is missed by {np.mean(missed):.0%} in the mean, more than {LARGE:.0%}")
    device = recording.device.multiprocessors
    if device is not None and device != fits.units:
        doubts.append(f"the device has {device} multiprocessors, the catalogue {fits.units:g}")
    return tuple(doubts)
