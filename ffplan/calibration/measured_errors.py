"""Measured kernels and their modelled times, with the fitted constants and with the catalogue's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.calibration.kernel_times import _attention_operations, _attention_seconds, _with_kernel
from ffplan.measuring.kernels import Gemm
from ffplan.results.measurement import KernelError, KernelGroupError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.base.array_math import Floats
    from ffplan.calibration.kernel_fit import _TimedKernels
    from ffplan.calibration.measured_fits import _LinkFit
    from ffplan.catalog.stacks import AttentionRates
    from ffplan.measuring.recording import Recording, Timing
    from ffplan.training.accelerator_rates import AcceleratorRates

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
