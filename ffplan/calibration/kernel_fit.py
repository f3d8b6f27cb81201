"""Constants fitted on recorded kernels: fractions of the peaks, of the memory bandwidth, and times of a kernel.

The formulas belong to a training step; the fit only chooses their constants. Needs SciPy, an extra.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Bools, Floats
from ffplan.base.record import record
from ffplan.calibration.fit import BOUNDS as RUN_BOUNDS
from ffplan.calibration.fit import NEAR, SOFT, FitError, _fitted_rates, solver
from ffplan.calibration.kernel_times import (
    ELEMENT_WISE,
    STREAMED,
    _gemm_arrays,
    _gemm_types,
    _rates_at,
)
from ffplan.calibration.told import UNSURE, told
from ffplan.measuring.recording import GemmRow, MemoryRow, Timing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.rates import TrainingRates
    from ffplan.measuring.recording import Recording

BOUNDS = {
    **{name: RUN_BOUNDS[name] for name in ("matrix", "matrix_tf32", "memory")},
    "matrix_fp8": (0.05, 1.0, 0.6),
    "stream": (0.05, 1.0, 0.8),
    "gemm": (1e-7, 1e-4, 5e-6),
    "small": (1e-7, 1e-4, 3e-6),
}
"""Least, largest and first value of each constant: `gemm` is the time of a GEMM beyond operations and bytes, `small`
the time of a small kernel [s]; the others are fractions [1]."""
SMALL_KERNELS = 2
"""Small kernels that the constant `kernel` of the catalogue counts with each GEMM [1]."""
MATRIX = {"bf16": "matrix", "fp16": "matrix", "fp8": "matrix_fp8", "tf32": "matrix_tf32"}


_TIMES = set(Timing.model_fields)
"""Fields of a row that were measured."""


@record
class _KernelFit:
    values: dict[str, float]
    """Constants by name, kept ones included."""
    errors: dict[str, float]
    """Standard errors of the logarithms of fitted constants [1]."""
    rows: dict[str, int]
    """Rows that each fitted constant depends on."""
    kept: dict[str, str]
    """Undetermined constants, with the reason; they keep a value that is not measured."""

    def ends(self, name: str) -> tuple[float, float]:
        """Return two standard errors below and above a constant; a fraction is at most 1."""
        value, wide = self.values[name], np.exp(2 * self.errors[name])
        return float(value / wide), float(min(value * wide, BOUNDS[name][1]))

    @property
    def kernel(self) -> float | None:
        """Time of a GEMM with the small kernels around it [s]; None if a part of it was not measured."""
        if not {"gemm", "small"} <= set(self.errors):
            return None
        return self.values["gemm"] + SMALL_KERNELS * self.values["small"]


@record
class _TimedKernels:
    """Measured times, and a model of them for any constants."""

    rows: tuple[GemmRow | MemoryRow, ...]
    """The rows."""
    names: tuple[str, ...]
    """Constants that the model may depend on."""
    seconds: Floats
    """Measured times [s]."""
    model: Callable[[dict[str, float]], Floats]
    """Modelled times [s]."""
    used: Bools
    """Rows that constants are fitted on."""

    def residuals(self, values: dict[str, float]) -> Floats:
        """Return logarithms of model over measured, of the rows that are used [1]."""
        logs: Floats = np.log(self.model(values) / self.seconds)[self.used]
        return logs


def _units_of(part: Accelerator, recording: Recording) -> float:
    """Return the multiprocessors: the catalogue's, or the device's."""
    if part.training is not None:
        return float(part.training.units.value)
    if recording.device.multiprocessors is None:
        raise FitError(f"neither the catalogue nor the recording has the multiprocessors of `{part.id}`")
    return float(recording.device.multiprocessors)


def _rates_of(values: dict[str, float], part: Accelerator, units: float) -> TrainingRates:
    known = {name: value for name, value in values.items() if name not in ("gemm", "small")}
    return _fitted_rates(known, part.training, units)


def _gemm_group(recording: Recording, part: Accelerator, dtype: str, units: float) -> _TimedKernels:
    """Return GEMMs of one precision. Constants are fitted on those whose tiles fill the multiprocessors.

    The formula has one tile. Where there are fewer tiles than multiprocessors, libraries take smaller ones or split the
    inner dimension: such GEMMs are up to twice as fast as modelled, and say nothing of large ones.
    """
    rows = _gemm_arrays(recording.gemms, dtype)

    def model(values: dict[str, float]) -> Floats:
        return rows.times(_rates_at(part, _rates_of(values, part, units), dtype)) + values["gemm"]

    return _TimedKernels(
        rows=tuple(row for row in recording.gemms if row.dtype == dtype),
        names=(MATRIX[dtype], "stream", "gemm"),
        seconds=rows.seconds,
        model=model,
        used=rows.tiles >= units,
    )


def _memory_group(rows: Sequence[MemoryRow], part: Accelerator, fraction: str, *, small: bool) -> _TimedKernels:
    """Return kernels that take a fixed time plus their bytes' time at a fraction of the memory bandwidth."""
    size = np.array([row.bytes for row in rows], dtype=float)
    bandwidth = part.memory_bandwidth.value * 1e9

    def model(values: dict[str, float]) -> Floats:
        times: Floats = size / (bandwidth * values[fraction]) + (values["small"] if small else 0.0)
        return times

    names = (fraction, "small") if small else (fraction,)
    seconds = np.array([row.median_us * 1e-6 for row in rows])
    used = np.ones(len(rows), dtype=bool)
    return _TimedKernels(rows=tuple(rows), names=names, seconds=seconds, model=model, used=used)


def _timed_groups(recording: Recording, part: Accelerator) -> dict[str, _TimedKernels]:
    """Return the rows of a recording by group: GEMMs of each precision, streams, element-wise kernels, small ones."""
    units = _units_of(part, recording)
    groups = {f"gemm {dtype}": _gemm_group(recording, part, dtype, units) for dtype in _gemm_types(recording, part)}
    small = any(row.operation == "small" for row in recording.memory)
    kinds = {"stream": (STREAMED, "stream"), "element-wise": (ELEMENT_WISE, "memory"), "small": (("small",), "memory")}
    for name, (operations, fraction) in kinds.items():
        rows = [row for row in recording.memory if row.operation in operations]
        if rows:
            groups[name] = _memory_group(rows, part, fraction, small=small)
    return groups


def _dependent(group: _TimedKernels, values: dict[str, float], name: str) -> int:
    """Return the rows of a group that depend on a constant: half or twice its value changes their time by 1 %."""
    if name not in group.names:
        return 0
    there = group.residuals(values)
    changed = [np.abs(group.residuals(values | {name: values[name] * way}) - there) > 0.01 for way in (0.5, 2.0)]
    return int(np.logical_or(*changed).sum())


def _starting_values(part: Accelerator) -> dict[str, float]:
    """Return the catalogue's constants, to start from, and to keep if the rows do not determine them.

    A GEMM and the small kernels around it share the catalogue's time of a kernel evenly.
    """
    values, rates = {name: bounds[2] for name, bounds in BOUNDS.items()}, part.training
    if rates is None:
        return values
    for name in ("matrix", "matrix_fp8", "matrix_tf32", "memory", "stream"):
        figure = getattr(rates, name)
        values[name] = values[name] if figure is None else float(figure.value)
    values["stream"] = float((rates.stream or rates.memory).value)
    call = float(rates.kernel.value) / (1 + SMALL_KERNELS)
    return values | {"gemm": call, "small": call}


def _fit_kernels(recording: Recording, part: Accelerator, request: Sequence[str] = tuple(BOUNDS)) -> _KernelFit:
    """Fit constants to the recorded GEMMs and kernels that memory binds.

    An undetermined constant is kept, and the others are fitted again: one on a bound of its range, or whose standard
    error is large.

    Args:
        request: names of the constants to fit; the others are kept.

    Raises:
        FitError: if SciPy is missing.

    Equation:
        least sum of rho(ln(model / measured)) over rows, rho soft from 5 %; standard errors as `told` has them
    """
    groups = [group for group in _timed_groups(recording, part).values() if group.used.any()]
    values = _starting_values(part)
    candidates = [name for name in request if any(name in group.names for group in groups)]
    names = [name for name in candidates if any(_dependent(group, values, name) for group in groups)]
    kept = {name: "no row depends on it" for name in candidates if name not in names}
    errors: dict[str, float] = {}
    while names:
        values, errors = _fitted(groups, values, names)
        blind = max(names, key=lambda name: (_on_bound(name, values) is not None, errors[name]))
        reason = _on_bound(blind, values) or ("" if errors[blind] < UNSURE else "the rows do not tell it")
        if not reason:
            break
        kept[blind] = reason
        values[blind] = _starting_values(part)[blind]
        names.remove(blind)
        errors = {}
    counts = {name: sum(_dependent(group, values, name) for group in groups) for name in names}
    return _KernelFit(values=values, errors=errors, rows=counts, kept=kept)


def _calls(groups: Sequence[_TimedKernels]) -> Floats:
    """Return a number for each row that is used: the same for the same call."""
    rows = [row for group in groups for row, used in zip(group.rows, group.used, strict=True) if used]
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(row.model_dump_json(exclude=_TIMES), len(numbers)) for row in rows], dtype=float
    )


def _on_bound(name: str, values: dict[str, float]) -> str | None:
    """Return the words for a constant at an end of its range; None for any other."""
    for end, word in zip(BOUNDS[name][:2], ("least", "most"), strict=True):
        if abs(np.log(values[name] / end)) < NEAR:
            return f"the {word} that the fit allows"
    return None


def _fitted(
    groups: Sequence[_TimedKernels], start: dict[str, float], names: Sequence[str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return all constants with some of them fitted, and the standard errors of the logarithms of these."""
    low, high = (np.log([BOUNDS[name][end] for name in names]) for end in range(2))

    def values_at(logs: Floats) -> dict[str, float]:
        return start | dict(zip(names, np.exp(logs).tolist(), strict=True))

    def residuals(logs: Floats) -> Floats:
        return np.concatenate([group.residuals(values_at(logs)) for group in groups])

    first = np.clip(np.log([start[name] for name in names]), low + 1e-6, high - 1e-6)
    solution = solver()(residuals, first, bounds=(low, high), loss="soft_l1", f_scale=SOFT, xtol=1e-10)
    errors = told(residuals, solution.x, _calls(groups), soft=SOFT, spare=1).errors
    return (
        start | dict(zip(names, np.exp(solution.x).tolist(), strict=True)),
        dict(zip(names, errors.tolist(), strict=True)),
    )
