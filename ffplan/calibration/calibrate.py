"""Calibration of one accelerator: files of runs in, constants before and after, and a catalogue file out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.calibration.collective_fit import _calibrate_collectives, of_collectives
from ffplan.calibration.fit import (
    LAUNCHES,
    NEEDED,
    Fit,
    FitError,
    _determined,
    _fitted_rates,
    _least_moving,
    _needed_constants,
    _waits_for_host,
    errors,
    fit,
)
from ffplan.calibration.overlay import KEY, SECONDS, START, _figure_text, _source_line, _training_block, _with_training
from ffplan.calibration.told import _beyond
from ffplan.catalog.parts import Accelerator
from ffplan.inputs.composer import compose
from ffplan.inputs.document import Document, read_document
from ffplan.inputs.validate import validate
from ffplan.results.accuracy import CalibrationReport, Constant, Fitted
from ffplan.results.design import SCHEMA_VERSION
from ffplan.validation.cases import TIMES, TWICE, TrainingFile
from ffplan.validation.measured_system import CaseParts
from ffplan.validation.training_replay import TrainingReplay, assumed_stacks, check_columns, prepare_replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.rates import TrainingRates
    from ffplan.catalog.store import Catalog


LARGE = 0.15
"""Mean error from which constants are written on request only [1]."""
WORST = 0.5
"""Mean error from which a fit is none [1]."""


@record
class CalibrationRequest:
    """A request to fit the constants of an accelerator."""

    accelerator: str
    cases: tuple[str, ...]
    names: tuple[str, ...] | None
    launches: bool
    start: str | None
    units: int | None


@record
class Calibration:
    """The result of a fit."""

    report: CalibrationReport
    overlay: str
    """The accelerator's file with the fitted constants."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons not to use the constants: an end of their range, one beyond the catalogue's, or a large error."""
        ends = [f"{constant.name} is {constant.note}" for constant in self.report.constants if constant.note]
        if self.report.after > LARGE:
            ends.append(f"the runs are missed by {self.report.after:.0%} on average, more than {LARGE:.0%}")
        return tuple(ends)


def runs(catalog: Catalog, files: tuple[str, ...]) -> list[TrainingReplay]:
    """Return every table of files of runs that has times and counts.

    Raises:
        InputError: if a file is wrong.
        FitError: if two files have one id: a file would count twice.
    """
    replays, ids = [], set()
    for name in files:
        document = read_document(Path(name), name)
        file = validate(TrainingFile, document)
        if file.id in ids:
            raise FitError(TWICE.format(file.id, name))
        ids.add(file.id)
        bench = CaseParts(catalog, document)
        for position, table in enumerate(file.tables):
            check_columns(bench, table, ("tables", position))
            if table.scored and not table.arithmetic and set(table.columns) & set(TIMES):
                replays.append(prepare_replay(bench, file, table, ("tables", position)))
    return replays


def _base(catalog: Catalog, query: CalibrationRequest) -> TrainingRates | None:
    part = catalog.entry(query.start or query.accelerator).part
    assert isinstance(part, Accelerator)
    return part.training


def calibrate(
    catalog: Catalog, query: CalibrationRequest, progress: Callable[[int], None] | None = None
) -> Calibration:
    """Fit the training constants of one accelerator, or its link rates if the files hold collectives.

    Raises:
        InputError: if a file is wrong.
        FitError: if no run has the accelerator, or the rows do not determine the constants.
    """
    if of_collectives(query.cases):
        return Calibration(*_calibrate_collectives(catalog, query.accelerator, query.cases, query.names, progress))
    mine = [replay for replay in runs(catalog, query.cases) if replay.accelerator.id == query.accelerator]
    if not mine:
        raise FitError(
            f"no timed run in these files has `{query.accelerator}`; tables that are not scored, or whose "
            "source computed the values, do not count"
        )
    base, names = _base(catalog, query), query.names or _needed_constants(mine, launches=query.launches)
    base, units = _units(query, base)
    lacking = [name for name in NEEDED if base is None and name not in names]
    if lacking:
        raise FitError(f"no values for {', '.join(lacking)}: fit them too, or give --start")
    if set(names) & set(LAUNCHES) and base is not None and not _waits_for_host(mine):
        raise FitError("no run waits for its host to launch: these rows cannot tell what launching takes")
    fitted, kept = _told_fit(mine, names, (base, units), progress, asked=query.names is not None)
    report = _report(query, fitted, base, units, mine, kept)
    return Calibration(report, _overlay(catalog, query, fitted, base, units, mine))


def _told_fit(
    mine: list[TrainingReplay],
    names: tuple[str, ...],
    known: tuple[TrainingRates | None, int],
    progress: Callable[[int], None] | None,
    *,
    asked: bool,
) -> tuple[Fit, tuple[str, ...]]:
    """Return a fit of the constants that runs determine, and the names that keep the catalogue's values.

    Of what runs do not determine, what moves them least is kept, and the others are fitted again.

    Args:
        known: the catalogue's constants, and the multiprocessors.
        asked: whether these very constants were asked for, so that none can be kept.

    Raises:
        FitError: if the rows determine none, or not what was asked for, or the catalogue has none to keep.
    """
    base, units = known
    kept: list[str] = []
    while True:
        fitted = fit(mine, names=names, units=units, base=base, progress=progress)
        if fitted.after > WORST:
            raise FitError(
                f"the best constants miss these rows by {fitted.after:.0%} on average: check their units and plans"
            )
        # at an end of its range, a constant that was asked for is in doubt, and its own affair
        rows, blind = _determined(mine, fitted, base, units, without=fitted.notes if asked else ())
        if (not kept and rows < len(names)) or (blind and (asked or len(names) == 1)):
            raise FitError(
                f"{plural(rows, 'different row')} cannot tell {', '.join(blind or names)}: fit fewer with --only, or "
                "add runs of other plans and sizes"
            )
        if not blind:
            return fitted, tuple(kept)
        least = _least_moving(mine, blind, base)
        if least is None:
            raise FitError(f"these rows cannot tell {', '.join(blind)}, and there are no values for them: give --start")
        kept.append(least)
        names = tuple(name for name in names if name != least)


def _units(query: CalibrationRequest, base: TrainingRates | None) -> tuple[TrainingRates | None, int]:
    """Return the base with the requested multiprocessors, and their number."""
    if query.units is not None and base is not None:
        if query.start is None:
            raise FitError(
                f"the catalogue has {base.units.value:g} multiprocessors of `{query.accelerator}`: leave out --units"
            )
        base = base.model_copy(update={"units": base.units.model_copy(update={"value": query.units})})
    units = query.units or (base.units.value if base is not None else None)
    if units is None:
        raise FitError(f"the catalogue has no multiprocessors of `{query.accelerator}`: give --units")
    return base, units


def _report(
    query: CalibrationRequest,
    fitted: Fit,
    base: TrainingRates | None,
    units: int,
    mine: list[TrainingReplay],
    kept: tuple[str, ...] = (),
) -> CalibrationReport:
    rates = _fitted_rates(fitted.values, base, units)
    by_source = []
    for name in dict.fromkeys(replay.file.id for replay in mine):
        of_file = [replay for replay in mine if replay.file.id == name]
        before = None if fitted.before is None else float(np.abs(errors(of_file, base)).mean())
        after = errors(of_file, rates)
        mean = float(np.abs(after).mean())
        by_source.append(Fitted(source=name, n=len(after), before=before, after=mean, bias=float(after.mean())))
    constants = tuple(
        Constant(
            name=name,
            before=_value(base, name),
            after=value,
            text=_figure_text(name, value),
            note=fitted.notes.get(name) or _beyond(getattr(base, name, None), value, partial(_figure_text, name)),
            unit="s" if name in SECONDS else "1",
        )
        for name, value in fitted.values.items()
    )
    return CalibrationReport(
        schema_version=SCHEMA_VERSION,
        accelerator=query.accelerator,
        rows=fitted.rows,
        constants=constants,
        sources=tuple(by_source),
        before=fitted.before,
        after=fitted.after,
        assumptions=(*assumed_stacks(mine), *(_kept_words(name, base) for name in kept)),
    )


def _kept_words(name: str, base: TrainingRates | None) -> str:
    value = _value(base, name)
    assert value is not None
    return f"These rows do not determine `{name}`: it stays at {_figure_text(name, value)}."


def _value(base: TrainingRates | None, name: str) -> float | None:
    figure = getattr(base, name, None) if base is not None else None
    return None if figure is None else float(figure.value)


def _overlay(
    catalog: Catalog,
    query: CalibrationRequest,
    fitted: Fit,
    base: TrainingRates | None,
    units: int,
    mine: list[TrainingReplay],
) -> str:
    place = catalog.locate(query.accelerator)
    assert place is not None
    date = max(replay.file.source.known_at for replay in mine)
    names = ", ".join(dict.fromkeys(replay.file.name for replay in mine))
    title = f"ffplan model calibrate on {names}: {fitted.rows} rows, mean error {fitted.after:.1%}"
    sources = [_source_line(KEY, title, date)]
    if query.start is not None:
        sources.append(_source_line(START, f"constants of {query.start} in this catalogue", date))
    else:
        before = catalog.entry(query.accelerator).part.sources
        titles = [before[key].title for key in (KEY, START) if key in before]
        if titles:
            dated = max(before[key].known_at for key in (KEY, START) if key in before)
            sources.append(_source_line(START, "not fitted anew: " + "; ".join(titles), dated))
    known = query.start is None
    block = _training_block(fitted, base, units, same_part=known, set_name=f"{query.accelerator}-own")
    text = _with_training(place[0].read_text(encoding="utf-8"), sources, block)
    try:
        _reread(text, place[1])
    except InputError:
        raise FitError(
            f"the file of `{query.accelerator}`, {place[1]}, is written in a way that cannot be edited; "
            "add these lines by hand:\n" + "\n".join(["sources:", *sources, *block])
        ) from None
    return text


def _reread(text: str, name: str) -> None:
    """Read the text of an accelerator again."""
    part = validate(Accelerator, Document(name, "0" * 64, compose(text, name)))
    keys = {KEY, START} & set(part.sources)
    if part.training is None or not keys:
        raise InputError()
