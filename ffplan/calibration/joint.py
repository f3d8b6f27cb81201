"""Joint fit of an accelerator's constants and of every software stack's on it. Needs SciPy, an extra.

GEMMs run as fast as the accelerator lets them: their fractions of the peak belong to the accelerator. What the kernels
between them take belongs to the software: the fraction of the memory bandwidth has a value for every stack. Stacks
resemble each other, so each is drawn towards their common value, which an unmeasured stack gets too. Rates of attention
are published and not fitted; nor is the time of a kernel, or of a launch.

Sources:
    [1] Gelman et al., Bayesian Data Analysis, chapter 5: groups that share a distribution (partial pooling).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.calibration.fit import BOUNDS, SOFT, _relative_times, _rows_of_sources, solver
from ffplan.catalog.evidence import EfficiencyFigure
from ffplan.catalog.parts import Accelerator
from ffplan.catalog.stacks import StackRates
from ffplan.studies.train.nearest_accelerator import gemm_fraction, power_ratio, same_chip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.base.array_math import Floats
    from ffplan.catalog.rates import TrainingRates
    from ffplan.validation.training_replay import TrainingReplay

SPREAD = 0.35
"""Standard deviation of the logarithms of stacks' constants around their common value [1]."""
NOISE = 0.04
"""Standard deviation of the errors of a source that no constant explains [1]."""
FP8, FP8_SPREAD = 0.93, 0.1
"""Fraction of the peak that GEMMs reach at FP8 over that at 16 bits, and its standard deviation: the best products of
stas00/ml-engineering's search give 0.88 on H100, 0.98 on B200 and 0.99 on GB200 [1]."""
KIN_SPREAD = 0.05
"""Standard deviation of the logarithm of an operation's energy among chips of one process: Hopper and Blackwell, fitted
apart, differ by 3 % at 16 bits and 5 % at FP8, which follows the rate at 16 bits [1]."""
WEIGHT = -0.4
"""A source of n rows counts as n^(1 + 2 WEIGHT) of one with a single row."""
Key = tuple[str, str]
"""Stack, empty for the accelerator's own, and name of a constant."""


@record
class _JointFit:
    values: dict[Key, float]
    """Constants by stack and name."""
    rows: int
    """Rows that they rest on."""
    accelerator: Accelerator | None = None
    """Accelerator of the GEMM constants; the same chip at another power scales them."""

    def rates(self, base: TrainingRates, part: Accelerator) -> TrainingRates:
        """Return an accelerator's constants, the others as in `base`."""
        constants = {name: value for (stack, name), value in self.moved(part).values.items() if not stack}
        figures = {
            name: EfficiencyFigure.model_construct(value=value, source="fit") for name, value in constants.items()
        }
        return base.model_copy(update=figures)

    def moved(self, part: Accelerator) -> _JointFit:
        """Return the constants for another accelerator of the set: GEMMs of one chip follow its power."""
        return (
            self
            if self.accelerator is None or not same_chip(part, self.accelerator)
            else self.scaled(part, self.accelerator)
        )

    def scaled(self, part: Accelerator, relative: Accelerator) -> _JointFit:
        """Return the constants, found on a relative, as an accelerator without its own takes them."""
        values = dict(self.values)
        for stack, name in self.values:
            if name.startswith("matrix"):
                precision = name.removeprefix("matrix").removeprefix("_") or "16"
                values[stack, name] = gemm_fraction(part, relative, precision, values[stack, name])
        return _JointFit(values, self.rows, part)

    def stack(self, name: str, known: StackRates | None = None) -> StackRates:
        """Return the constants of a stack, launches as `known`; the common constants for a stack without runs."""
        memory = self.values.get((name, "memory"), self.values["", "memory"])
        figure = EfficiencyFigure.model_construct(value=memory, source="fit")
        return (known or StackRates()).model_copy(update={"memory": figure})


def _stack_name(replay: TrainingReplay) -> str:
    return replay.software.stack.id if replay.software.stack else ""


def _joint_errors(replays: Sequence[TrainingReplay], fitted: _JointFit) -> Floats:
    return np.concatenate([_ratios(replay, fitted) - 1 for replay in replays])


def _ratios(replay: TrainingReplay, fitted: _JointFit) -> Floats:
    base, software = replay.accelerator.training, replay.software.stack
    assert base is not None
    known = software.constants.get(base.set) if software is not None else None
    stack = fitted.stack(_stack_name(replay), known)
    return _relative_times(replay, fitted.rates(base, replay.accelerator), stack)


def _names(replays: Sequence[TrainingReplay]) -> tuple[Key, ...]:
    kinds = {replay.plans.precision for replay in replays}
    names: list[Key] = [("", "matrix")] if kinds & {"bf16", "fp16", "fp8"} else []
    names += [("", f"matrix_{kind}") for kind in ("fp8", "tf32") if kind in kinds]
    names.append(("", "memory"))
    stacks = dict.fromkeys(_stack_name(replay) for replay in replays)
    return (*names, *((stack, "memory") for stack in stacks if stack))


def _given(replays: Sequence[TrainingReplay], stack: str, name: str) -> float | None:
    """Return the catalogue's value of a stack's constant, or of the accelerator's; None without one."""
    base = replays[0].accelerator.training
    assert base is not None
    if not stack:
        figure = getattr(base, name, None)
        return None if figure is None else float(figure.value)
    for replay in replays:
        software = replay.software.stack
        if software is not None and software.id == stack and base.set in software.constants:
            figure = getattr(software.constants[base.set], name)
            return None if figure is None else float(figure.value)
    return None


def _expected(part: Accelerator, kin: _JointFit | None) -> float | None:
    """Return the GEMM fraction at 16 bits that the energy of an operation on a chip of the same process gives [1]."""
    if kin is None or kin.accelerator is None or ("", "matrix") not in kin.values:
        return None
    ratio = power_ratio(part, kin.accelerator, "16")
    return None if ratio is None else ratio * kin.values["", "matrix"]


def _joint_fit(replays: Sequence[TrainingReplay], kin: _JointFit | None = None) -> _JointFit:
    """Fit the constants of one accelerator and of the stacks on it.

    Args:
        replays: runs on accelerators that share a set of constants.
        kin: constants of a chip of the same process; None without runs on one.

    Returns:
        Constants by stack and name.

    Raises:
        FitError: if SciPy is missing.

    Equation:
        least sum of rho(x^2), soft from 5 %, over n^WEIGHT ln(model / measured) of rows, NOISE / SPREAD ln(memory of a
        stack / common memory), NOISE / FP8_SPREAD ln(fraction at FP8 / (FP8 that at 16 bits)) and NOISE / KIN_SPREAD
        ln(fraction / fraction expected from the kin's energy)

    Source:
        [1].
    """
    least_squares, sizes, names = solver(), _rows_of_sources(replays), _names(replays)
    part = replays[0].accelerator
    low, high = (np.log([BOUNDS[name][place] for _, name in names]) for place in range(2))
    first = np.clip(np.log([_given(replays, *key) or BOUNDS[key[1]][2] for key in names]), low + 1e-6, high - 1e-6)
    common = names.index(("", "memory"))
    sixteen, eight = (
        [place for place, key in enumerate(names) if key == ("", kind)] for kind in ("matrix", "matrix_fp8")
    )
    stacks = [place for place, (stack, name) in enumerate(names) if stack and name == "memory"]
    expected = _expected(part, kin)

    def residuals(logs: Floats) -> Floats:
        fitted = _JointFit(dict(zip(names, np.exp(logs).tolist(), strict=True)), 0, part)
        rows = [np.log(_ratios(replay, fitted)) * sizes[replay.file.id] ** WEIGHT for replay in replays]
        drawn = (logs[stacks] - logs[common]) * NOISE / SPREAD
        near = (logs[eight] - logs[sixteen] - np.log(FP8)) * NOISE / FP8_SPREAD if eight else []
        paced = (logs[sixteen] - np.log(expected)) * NOISE / KIN_SPREAD if expected else []
        return np.concatenate([*rows, drawn, near, paced])

    result = least_squares(residuals, first, bounds=(low, high), loss="soft_l1", f_scale=SOFT, xtol=1e-6, ftol=1e-7)
    return _JointFit(dict(zip(names, np.exp(result.x).tolist(), strict=True)), sum(sizes.values()), part)
