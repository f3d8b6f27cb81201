"""What a fit of a recording says of itself: what is missing, and reasons not to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import listed, plural
from ffplan.calibration.calibrate import LARGE
from ffplan.calibration.kernel_fit import MATRIX, timed_groups
from ffplan.calibration.measured_fits import FRACTIONS

if TYPE_CHECKING:
    from ffplan.calibration.measured_fits import RecordingFits
    from ffplan.results.measurement import KernelError


OWN_TIMES = {"gemm": "The own time of a GEMM", "small": "The time of a small kernel"}


def remarks_of(made: RecordingFits) -> tuple[str, ...]:
    """Return what the recording lacks, and what was left out."""
    recording, part, found = made.recording, made.part, []
    for name, reason in made.kernels.kept.items():
        words = OWN_TIMES.get(name, name)
        found.append(f"{words} is not measured: {reason}; the catalogue's {_kept(made, name)} is kept.")
    few = sum(int((~timed.used).sum()) for timed in timed_groups(recording, part).values())
    if few:
        found.append(
            f"{plural(few, 'GEMM has', 'GEMMs have')} fewer tiles than multiprocessors: shown, and not fitted."
        )
    strange = listed(dict.fromkeys(row.dtype for row in recording.gemms if row.dtype not in part.peak))
    if strange:
        found.append(f"`{part.id}` has no peak for {strange}: these GEMMs are left out.")
    if made.attention.partial:
        names = listed(made.attention.partial)
        found.append(f"Attention by {names} is not written: it needs causal passes, forward and backward.")
    if recording.skipped:
        found.append(f"{plural(len(recording.skipped), 'kernel')} could not be timed, as the recording says.")
    if not recording.complete:
        found.append("The run was interrupted: the recording has a part of the kernels.")
    if part.pcie is None and recording.copies:
        found.append(f"`{part.id}` has no PCIe link in the catalogue: its rate is not written.")
    return tuple(found)


def _kept(made: RecordingFits, name: str) -> str:
    value = made.kernels.values[name]
    return f"{value * 100:.4g} %" if name in FRACTIONS else f"{value * 1e6:.3g} us"


def doubts_of(made: RecordingFits, written: tuple[str, ...], kernels: list[KernelError]) -> tuple[str, ...]:
    """Return reasons not to use the constants.

    Args:
        written: constants that are to be written.
        kernels: errors of every kernel.
    """
    found, recording = [], made.recording
    if recording.origin == "synthetic":
        found.append("the times were made up")
    fractions = sorted(set(written) & set(MATRIX.values()))
    if fractions and recording.load != "sustained":
        words = "short kernels" if recording.load == "short" else "kernels of unstated length"
        found.append(f"{listed(fractions)}: measured on {words}, which need not show the power limit of long work")
    used = {"stream", "kernel", *MATRIX.values()} & set(written)
    for group in dict.fromkeys(item.group for item in kernels):
        missed = [abs(item.error) for item in kernels if item.group == group and item.error is not None]
        fitted = group in {f"gemm {dtype}" for dtype in MATRIX} and used
        if fitted and missed and float(np.mean(missed)) > LARGE:
            found.append(f"{group} is missed by {np.mean(missed):.0%} in the mean, more than {LARGE:.0%}")
    device = recording.device.multiprocessors
    if device is not None and device != made.units:
        found.append(f"the device has {device} multiprocessors, the catalogue {made.units:g}")
    return tuple(found)
