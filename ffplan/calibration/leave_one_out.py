"""Leave one source, stack, accelerator, chip or process out: fit the constants without it, then score it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.record import record
from ffplan.calibration.fit import errors, timed
from ffplan.calibration.joint import FP8, _joint_errors, _joint_fit, _JointFit, _stack_name
from ffplan.results.accuracy import (
    HELD,
    LEVELS,
    HeldShare,
    LeaveOneOutReport,
    LeftOut,
    LeftOutBand,
    LeftOutKind,
    LeftOutSettings,
)
from ffplan.results.design import SCHEMA_VERSION
from ffplan.studies.train.nearest_accelerator import LONG_SEQUENCE, same_energy, unlike

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from ffplan.catalog.parts import Accelerator
    from ffplan.validation.training_replay import TrainingReplay

    By = Literal["source", "stack", "accelerator", "chip", "process"]


def _set(replay: TrainingReplay) -> str:
    rates = replay.accelerator.training
    return rates.set if rates is not None else ""


def _name(replay: TrainingReplay, by: By) -> str:
    """Return the name that a run is left out under; accelerators of one set at several powers count separately."""
    part = replay.accelerator
    kind = _set(replay) if part.chip is None or part.power is None else f"{_set(replay)} at {part.power.value:g} W"
    return {
        "source": replay.file.id,
        "stack": _stack_name(replay),
        "accelerator": kind,
        "chip": part.chip or "",
        "process": part.chip or _set(replay),
    }[by]


def _key(replay: TrainingReplay, by: By) -> str:
    """Return the key that runs left out together share: a whole process if the chip belongs to one."""
    part = replay.accelerator
    return part.process or part.chip or _set(replay) if by == "process" else _name(replay, by)


def _unnamed(replay: TrainingReplay) -> TrainingReplay:
    """Return runs without named software: default kernels and dispatcher, and the common constants of stacks."""
    return replace(replay, software=replace(replay.software, stack=None, named=False))


def _relatives(part: Accelerator, others: Sequence[TrainingReplay]) -> list[TrainingReplay]:
    if not others:
        return []
    nearest = min(others, key=lambda replay: (*unlike(part, replay.accelerator), _set(replay)))
    return [replay for replay in others if _set(replay) == _set(nearest)]


@record
class _Kin:
    fits: dict[tuple[int, ...], _JointFit]

    def of(self, part: Accelerator, others: Sequence[TrainingReplay]) -> _JointFit | None:
        """Return the fit of the runs among others on a chip that spends on an operation as a part does."""
        runs = [replay for replay in others if same_energy(part, replay.accelerator)]
        if not runs:
            return None
        runs = [replay for replay in runs if _set(replay) == _set(runs[0])]
        key = tuple(map(id, runs))
        if key not in self.fits:
            self.fits[key] = _joint_fit(runs)
        return self.fits[key]


def leave_one_out(
    replays: Sequence[TrainingReplay],
    progress: Callable[[int, int, str], None] | None = None,
    by: By = "source",
) -> LeaveOneOutReport:
    """Return everything scored by constants that were fitted without it.

    Without other runs, an accelerator gets the constants of the nearest other one. A stack that is left out is not
    named either: it gets the common constants of stacks. Chips of one process are fitted together; with a process, all
    its chips are left out, and scored one by one.

    Args:
        by: kind of thing to leave out.

    Raises:
        FitError: if SciPy is missing.
    """
    known = [replay for replay in replays if _set(replay)]
    named = [replay for replay in known if _name(replay, by)]
    pairs = list(dict.fromkeys((_set(replay), _name(replay, by)) for replay in named))
    rows, kinds, settings, kin = [], Kinds(errors={}), Settings(errors={}), _Kin(fits={})
    bands = Bands(errors={})
    for number, (group, name) in enumerate(pairs):
        if progress is not None:
            progress(number, len(pairs), name)
        mine = [run for run in known if _set(run) == group and _name(run, by) == name]
        rest = [run for run in known if _key(run, by) != _key(mine[0], by)]
        others = [run for run in rest if _set(run) == group]
        apart = [run for run in rest if _set(run) != group]
        near = others or _relatives(mine[0].accelerator, apart)
        beside = [run for run in apart if near and _set(run) != _set(near[0])]
        fitted = _given(mine, _joint_fit(near, kin.of(near[0].accelerator, beside))) if near else None
        if fitted is not None and not others:
            fitted = fitted.scaled(mine[0].accelerator, near[0].accelerator)
        scored = map(_unnamed, mine) if by == "stack" else mine
        tables = [_joint_errors([run], fitted) for run in scored] if fitted is not None else []
        if tables:
            kinds.add(mine, tables)
            settings.add(name, mine, tables)
            bands.add((group, name), mine, tables)
        rows.append(_left(name, group, mine, tables, fitted.rows if fitted is not None else 0))
    scores: dict[str, list[tuple[float, int]]] = {}
    for row in rows:
        if row.mape is not None:
            scores.setdefault(row.source, []).append((row.mape, row.n))
    means = [sum(mape * n for mape, n in results) / sum(n for _, n in results) for results in scores.values()]
    mean = float(np.mean(means)) if means else None
    return LeaveOneOutReport(
        schema_version=SCHEMA_VERSION,
        by=by,
        mean=mean,
        rows=tuple(rows),
        kinds=kinds.scored(),
        settings=settings.scored(),
        bands=bands.scored(),
    )


@record
class Kinds:
    """Errors by accelerator, stack, and models with or without experts."""

    errors: dict[tuple[str, str, bool], list[Floats]]

    def add(self, replays: Sequence[TrainingReplay], tables: Sequence[Floats]) -> None:
        """Add the errors of the rows of tables [1]."""
        for replay, rows in zip(replays, tables, strict=True):
            key = (_set(replay), _stack_name(replay), replay.shape.experts is not None)
            self.errors.setdefault(key, []).append(rows)

    def scored(self) -> tuple[LeftOutKind, ...]:
        """Return the kinds with their mean errors."""
        rows = []
        for (group, stack, experts), parts in sorted(self.errors.items()):
            every = np.concatenate(parts)
            mape, bias = float(np.abs(every).mean()), float(every.mean())
            rows.append(LeftOutKind(set=group, stack=stack, experts=experts, n=len(every), mape=mape, bias=bias))
        return tuple(rows)


@record
class Settings:
    """Errors by name left out, separately for rows that rest on an assumed setting."""

    errors: dict[tuple[bool, str], list[Floats]]

    def add(self, name: str, replays: Sequence[TrainingReplay], tables: Sequence[Floats]) -> None:
        """Add the errors of the tables' rows [1] under the name that was left out."""
        for replay, rows in zip(replays, tables, strict=True):
            self.errors.setdefault((replay.table.assumed is not None, name), []).append(rows)

    def scored(self) -> tuple[LeftOutSettings, ...]:
        """Return both kinds with the mean of their mean errors."""
        rows = []
        for assumed in (False, True):
            apart = [np.abs(np.concatenate(tables)) for (kind, _), tables in self.errors.items() if kind == assumed]
            if apart:
                mean = float(np.mean([errors.mean() for errors in apart]))
                rows.append(LeftOutSettings(assumed, len(apart), sum(map(len, apart)), mean))
        return tuple(rows)


@record
class Bands:
    """Errors of classes of runs, by what was left out and its accelerators."""

    errors: dict[str, dict[tuple[str, str], list[Floats]]]

    def add(self, key: tuple[str, str], replays: Sequence[TrainingReplay], tables: Sequence[Floats]) -> None:
        """Add the errors of the rows of tables [1]."""
        mean = float(np.concatenate(tables).mean())
        for replay, rows in zip(replays, tables, strict=True):
            scored = timed(replay)
            long = np.broadcast_to(np.asarray(replay.shape.sequence) >= LONG_SEQUENCE, scored.shape)[scored]
            plain = "fp8" if replay.plans.precision == "fp8" else "dense"
            apart = {"long": rows[long], plain: rows[~long]} if replay.shape.experts is None else {"experts": rows}
            classes = {"all": rows, "within": rows - mean, **apart}
            for name, part in classes.items():
                if part.size:
                    self.errors.setdefault(name, {}).setdefault(key, []).append(np.abs(part))

    def scored(self) -> tuple[LeftOutBand, ...]:
        """Return the classes with their bands, and what each group has within the band of the others."""
        rows = []
        for name, groups in sorted(self.errors.items()):
            every = [np.concatenate(parts) for parts in groups.values()]
            held = tuple(HeldShare(level, _held(every, level)) for level in LEVELS) if len(every) > 1 else ()
            band = _band(every, HELD)
            rows.append(LeftOutBand(runs=name, of=len(every), n=sum(map(len, every)), band=band, held=held))
        return tuple(rows)


def _held(groups: Sequence[Floats], level: float) -> float:
    """Return the mean share of each group's absolute errors within the band of all others [1]."""
    shares = [
        float((mine <= _band([*groups[:number], *groups[number + 1 :]], level)).mean())
        for number, mine in enumerate(groups)
    ]
    return float(np.mean(shares))


def _band(groups: Sequence[Floats], level: float) -> float:
    """Return the least that holds a share of absolute errors, where all groups count alike [1]."""
    errors = np.concatenate(groups)
    weights = np.concatenate([np.full(len(group), 1 / len(group)) for group in groups]) / len(groups)
    order = np.argsort(errors)
    # half of an error's own weight lies on either side of it
    places = np.cumsum(weights[order]) - weights[order] / 2
    return float(np.interp(level, places, errors[order]))


def _given(mine: Sequence[TrainingReplay], fitted: _JointFit) -> _JointFit:
    """Return a fit with every constant that runs need: FP8 GEMMs follow 16-bit GEMMs if no run had them."""
    values = dict(fitted.values)
    kinds = {replay.plans.precision for replay in mine}
    for name, ratio in (("matrix_fp8", FP8), ("matrix_tf32", 1.0)):
        if name.removeprefix("matrix_") in kinds:
            values.setdefault(("", name), ratio * values["", "matrix"])
    return _JointFit(values, fitted.rows, fitted.accelerator)


def _left(name: str, group: str, mine: list[TrainingReplay], tables: list[Floats], fitted_on: int) -> LeftOut:
    """Return one source, stack, accelerator, chip or process scored; with reasons if no runs remain for the fit."""
    shipped = errors(mine)
    rows, before = len(shipped), float(np.abs(shipped).mean())
    if not tables:
        return LeftOut(
            source=name,
            set=group,
            n=rows,
            mape=None,
            bias=None,
            max_error=None,
            shipped=before,
            fitted_on=0,
            why="no other run is there to fit on",
        )
    after = np.concatenate(tables)
    size = np.abs(after)
    return LeftOut(
        source=name,
        set=group,
        n=rows,
        mape=float(size.mean()),
        bias=float(after.mean()),
        max_error=float(size.max()),
        shipped=before,
        fitted_on=fitted_on,
        why=None,
    )
