"""Fit of an accelerator's training rates to measured runs. Needs SciPy, an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.errors import lacking
from ffplan.base.record import record
from ffplan.calibration.told import told
from ffplan.catalog.rates import NAMES, TrainingRates
from ffplan.validation.cases import TIMES
from ffplan.validation.training_replay import modelled_measure
from ffplan.validation.training_rows import replayed_times

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ffplan.base.array_math import Bools, Floats
    from ffplan.catalog.evidence import Figure
    from ffplan.catalog.stacks import StackRates
    from ffplan.validation.training_replay import TrainingReplay

BOUNDS = {
    "matrix": (0.05, 1.0, 0.7),
    "matrix_fp8": (0.05, 0.9, 0.6),
    "matrix_tf32": (0.05, 1.0, 0.6),
    "attention": (0.02, 0.9, 0.5),
    "memory": (0.05, 0.98, 0.5),
    "kernel": (1e-7, 1e-3, 2e-5),
    "overlap": (0.01, 0.5, 0.15),
    "launch": (1e-6, 2e-2, 1e-3),
    "launch_parallel": (1e-7, 1e-2, 1e-4),
    "launch_step": (1e-6, 5e-2, 1e-3),
}
"""Least, largest and first value of each constant."""
SLOWER = 3.0
LAUNCHES = ("launch", "launch_parallel", "launch_step")
STEADY = ("kernel", *LAUNCHES)
"""Constants whose first value is also tried `SLOWER` times as large and as small where launches are fitted: there are
several minima."""
NEEDED = ("matrix", "memory", "kernel")
"""Constants that every step time needs."""
NEAR = 1e-3
"""Relative distance below which a constant counts as at the end of its range [1]."""
SOFT = 0.05
"""Relative error from which a row counts less than its square."""

MOVED = 1.1
"""Factor by which a constant is moved to see what rests on it [1]."""
UNSURE = 0.5
"""Standard error of a logarithm from which steps do not determine a constant [1]: each rests on all of them."""


class FitError(ValueError):
    """A fit cannot be made; the message is for people."""


@record
class Fit:
    """Result of a fit."""

    values: dict[str, float]
    notes: dict[str, str]
    """Caveats of constants at the end of their range."""
    rows: int
    before: float | None
    """Mean absolute error with the catalogue's constants [1]; None without them."""
    after: float
    """Mean absolute error with the fitted constants [1]."""


def _needed_constants(replays: Sequence[TrainingReplay], *, launches: bool) -> tuple[str, ...]:
    """Return the constants that the runs determine."""
    kinds = {replay.plans.precision for replay in replays}
    fused = any(replay.plans.fused_attention and replay.software.kernels is None for replay in replays)
    names = ["matrix"] if kinds & {"bf16", "fp16", "fp8"} else []
    names += ["matrix_fp8"] if "fp8" in kinds else []
    names += ["matrix_tf32"] if "tf32" in kinds else []
    names += ["attention"] if fused and kinds != {"tf32"} else []
    names += ["memory", "kernel"]
    return (*names, "launch", "launch_parallel", "launch_step") if launches else tuple(names)


def _fitted_rates(values: dict[str, float], base: TrainingRates | None, units: float) -> TrainingRates:
    kept: dict[str, Any] = {}
    if base is not None:
        kept = {name: getattr(base, name) for name in TrainingRates.model_fields if name not in NAMES}
    kept.setdefault("units", None)
    fields = {name: {"value": value, "source": "fit"} for name, value in values.items()}
    if kept["units"] is None:
        fields["units"] = {"value": int(units), "source": "fit"}
    for name, value in kept.items():
        if name not in fields and value is not None:
            fields[name] = value.model_dump(exclude_none=True)
    defaults = {"matrix": 0.7, "memory": 0.8, "kernel": 2e-5}
    for name, value in defaults.items():
        fields.setdefault(name, {"value": value, "source": "fit"})
    built: dict[str, Any] = {name: _figure(name, field) for name, field in fields.items()}
    built |= {name: getattr(base, name, None) for name in NAMES[1:]}
    return TrainingRates.model_construct(set="fit", **built)


def _figure(name: str, field: dict[str, Any]) -> Figure:
    kind = TrainingRates.model_fields[name].annotation
    kinds: list[Any] = [field for field in getattr(kind, "__args__", (kind,)) if field is not type(None)]
    figure: Figure = kinds[0].model_construct(**field)
    return figure


def _relative_times(replay: TrainingReplay, rates: TrainingRates | None, stack: StackRates | None = None) -> Floats:
    """Return model over measured of every timed row: by the first measure that a row has, since others say the same."""
    seconds, _ = replayed_times(replay, rates, stack)
    ratios = np.full(seconds.shape, np.nan)
    for name in TIMES:
        if name in replay.columns:
            ratio = np.broadcast_to(modelled_measure(replay, name, seconds), ratios.shape) / replay.columns[name]
            ratios = np.where(np.isnan(ratios), ratio if name == "seconds" else 1 / ratio, ratios)
    rows: Floats = ratios[~np.isnan(ratios)]
    return rows


def timed(replay: TrainingReplay) -> Bools:
    """Return which rows of a table have a time."""
    measured = [~np.isnan(replay.columns[name]) for name in TIMES if name in replay.columns]
    return np.asarray(np.logical_or.reduce(measured)) if measured else np.zeros(0, dtype=bool)


def _rows_of_sources(replays: Sequence[TrainingReplay]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for replay in replays:
        sizes[replay.file.id] = sizes.get(replay.file.id, 0) + int(timed(replay).sum())
    return sizes


def solver() -> Any:
    """Return SciPy's least squares.

    Raises:
        FitError: if SciPy is missing.
    """
    try:
        from scipy.optimize import least_squares
    except ImportError:
        raise FitError(lacking("fitting", "SciPy", "scipy")) from None
    return least_squares


def _waits_for_host(replays: Sequence[TrainingReplay]) -> bool:
    """Return whether a row of the runs waits for its host to launch, with the catalogue's constants."""
    return any(bool((replayed_times(replay)[1]["launches"] > 0).any()) for replay in replays)


def errors(replays: Sequence[TrainingReplay], rates: TrainingRates | None = None) -> Floats:
    """Return signed errors of the time of every row [1].

    Args:
        rates: constants in place of the catalogue's.
    """
    return np.concatenate([_relative_times(replay, rates) - 1 for replay in replays])


def _modelled(replays: Sequence[TrainingReplay], rates: TrainingRates) -> Floats:
    """Return the modelled time of every timed row [s]."""
    return np.concatenate([replayed_times(replay, rates)[0][timed(replay)] for replay in replays])


def _determined(
    replays: Sequence[TrainingReplay],
    fitted: Fit,
    base: TrainingRates | None,
    units: float,
    *,
    without: Collection[str] = (),
) -> tuple[int, list[str]]:
    """Return how many different rows runs have, and the constants of a fit that they do not determine, the least told
    first.

    Args:
        without: constants that are taken as they are.
    """
    names = [name for name in fitted.values if name not in without]

    def rates(logs: Floats) -> TrainingRates:
        return _fitted_rates(fitted.values | dict(zip(names, np.exp(logs).tolist(), strict=True)), base, units)

    def residuals(logs: Floats) -> Floats:
        ratios: Floats = np.log1p(errors(replays, rates(logs)))
        return ratios

    at = np.log([fitted.values[name] for name in names])
    found = told(residuals, at, _modelled(replays, rates(at)), soft=SOFT)
    return found.rows, found.unsure(names, UNSURE)


def _least_moving(replays: Sequence[TrainingReplay], names: Sequence[str], base: TrainingRates | None) -> str | None:
    """Return the constant that moves the times of runs least, by the catalogue's values; None without any.

    Rows that leave several constants open are put down to the ones that move them most.
    """
    known = {name: figure.value for name in names if (figure := getattr(base, name, None)) is not None}
    if base is None or not known:
        return None
    there, units = np.log1p(errors(replays, base)), float(base.units.value)

    def moves(name: str) -> float:
        moved = np.log1p(errors(replays, _fitted_rates({name: known[name] * MOVED}, base, units)))
        return float(np.abs(moved - there).sum())

    return min(known, key=moves)


def _start(names: tuple[str, ...], base: TrainingRates | None) -> Floats:
    """Return logarithms of the first values of a fit: the base's, or the defaults."""
    known = [getattr(base, name, None) for name in names]
    return np.array(
        [np.log(BOUNDS[name][2] if figure is None else figure.value) for name, figure in zip(names, known, strict=True)]
    )


def _notes(values: dict[str, float]) -> dict[str, str]:
    """Return the caveats of constants at an end of their range."""
    notes = {}
    for name, value in values.items():
        for end, word in zip(BOUNDS[name][:2], ("least", "most"), strict=True):
            if abs(np.log(value / end)) < NEAR:
                notes[name] = f"the {word} that the fit allows"
    return notes


def fit(
    replays: Sequence[TrainingReplay],
    *,
    names: tuple[str, ...],
    units: float,
    base: TrainingRates | None = None,
    progress: Callable[[int], None] | None = None,
) -> Fit:
    """Fit constants to the times of runs.

    Rows of one source count together as the root of their number, so that a source with four times the rows counts
    twice: the errors of their logarithms are weighted by n^-1/4. A weighted error beyond 5 % counts less than its
    square, which is 9 % of a row among ten and 23 % of one among 450.

    Raises:
        FitError: for fewer rows than constants, or without SciPy.
    """
    least_squares, sizes = solver(), _rows_of_sources(replays)
    rows = sum(sizes.values())
    if rows < len(names):
        raise FitError(f"{rows} row(s) cannot tell {len(names)} constants: {', '.join(names)}")
    low, high = (np.log([BOUNDS[name][end] for name in names]) for end in range(2))
    first = np.clip(_start(names, base), low + 1e-6, high - 1e-6)
    replayed = 0

    def residuals(logs: Floats) -> Floats:
        nonlocal replayed
        replayed += 1
        if progress is not None:
            progress(replayed)
        rates = _fitted_rates(dict(zip(names, np.exp(logs).tolist(), strict=True)), base, units)
        parts = [np.log(_relative_times(replay, rates)) * sizes[replay.file.id] ** -0.25 for replay in replays]
        return np.concatenate(parts)

    slower = np.log([SLOWER if name in STEADY else 1.0 for name in names])
    tries = [
        least_squares(
            residuals,
            np.clip(first + way * slower, low + 1e-6, high - 1e-6),
            bounds=(low, high),
            loss="soft_l1",
            f_scale=SOFT,
        )
        for way in ((0, -1, 1) if set(names) & set(LAUNCHES) else (0,))
    ]
    best = min(tries, key=lambda solution: float(solution.cost))
    values = dict(zip(names, np.exp(best.x).tolist(), strict=True))
    after = errors(replays, _fitted_rates(values, base, units))
    return Fit(
        values=values, notes=_notes(values), rows=rows, before=_before(replays, base), after=float(np.abs(after).mean())
    )


def _before(replays: Sequence[TrainingReplay], base: TrainingRates | None) -> float | None:
    """Return the mean absolute error with the base's constants [1]; None if it lacks one that the rows need."""
    if base is None or any(getattr(base, name) is None for name in NEEDED):
        return None
    try:
        return float(np.abs(errors(replays, base)).mean())
    except ValueError:
        return None
