"""Calibration of a serving engine on one accelerator: measured runs in, constants and errors out, and a catalogue file.

The release's constants are the prior. A user's own setup is one more factor of the joint fit that made the release, so
that its deviations hold; the release's factor on the accelerator is known no better than its few rows tell, and where
there are none, the accelerator's is unknown as well.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.calibration.serving_fit import FRACTIONS, NAMES, predicted
from ffplan.calibration.serving_loads import _fitted_run, _FittedRun, _RunRefusedError
from ffplan.calibration.serving_release import (
    Prior,
    _constant_text,
    _overlay_text,
    _own_key,
    _own_source,
    _rates_block,
    _release_prior,
    _release_rates,
    _told_constants,
    _ToldConstants,
    _with_constants,
)
from ffplan.calibration.serving_runs import _finding_at, _setup_of, _stated_run
from ffplan.catalog.engines import ANY, Engine
from ffplan.results.accuracy import Constant, Fitted
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.serving_runs import MeasureErrors, RefusedRun, ServingCalibration
from ffplan.serving.hardware import engine_speed
from ffplan.validation.serving_replay import modelled, signed_error, with_rates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.base.errors import Finding
    from ffplan.calibration.serving_runs import ServingRequest, _MeasuredSetup, _StatedRun
    from ffplan.catalog.store import Catalog
    from ffplan.results.serving_runs import BenchmarkRun

LARGE = 0.15
"""Mean error from which constants are written on request only [1]."""
LEAST_LEFT_OUT = 3
"""Fewest runs for which each is predicted by a fit to the others [1]."""
_MEASURES = {"tpot_ms": "tpot", "ttft_ms": "ttft", "tokens_s": "tokens_s"}


@record
class _ServingResult:
    """A calibration, and the engine's file with it."""

    report: ServingCalibration
    overlay: str

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons not to use the constants."""
        doubts = [f"{constant.name} is {constant.note}" for constant in self.report.constants if constant.note]
        large = [errors for errors in self.report.errors if errors.measure != "ttft" and errors.mean_after > LARGE]
        missed = [f"{row.measure} is missed by {row.mean_after:.0%} on average, more than {LARGE:.0%}" for row in large]
        return (*doubts, *missed)


def _errors(row: _FittedRun, engine: Engine, setup: _MeasuredSetup) -> dict[str, float]:
    speed = engine_speed(engine, setup.accelerator, row.served.run.precision)
    values = modelled(with_rates(row.served, speed.rates), row.point)
    return {name: signed_error(name, row.point[name], values[name]) for name in _MEASURES if name in row.point.numbers}


def _aligned(row: _FittedRun, prior: Prior, errors: dict[str, float]) -> _FittedRun:
    """Return a run with its times as the fit's equation has them, which knows no waiting.

    Args:
        errors: signed errors of the run's measures by the release [1].

    Equation:
        measured x equation / replay, both by the release's constants
    """
    constants = {name: 1 / mean if name in FRACTIONS else mean for name, (mean, _) in prior.values.items()}
    equation = predicted(row.observations, [constants] * len(row.observations))
    rate = "tokens_s" if "tokens_s" in errors else "tpot_ms"
    replayed = [1 + errors["ttft_ms" if seen.terms["first"] else rate] for seen in row.observations]
    seen = zip(row.observations, equation, replayed, strict=True)
    return replace(row, observations=tuple(replace(one, seconds=float(own / ratio)) for one, own, ratio in seen))


def _refused_or_rows(
    setup: _MeasuredSetup, stated: Sequence[_StatedRun]
) -> tuple[list[_FittedRun], tuple[RefusedRun, ...]]:
    """Return the runs that can be fitted, and the others with reasons."""
    rows, refused = [], []
    for one in stated:
        try:
            rows.append(_fitted_run(setup, one, one.run.file))
        except _RunRefusedError as reason:
            refused.append(RefusedRun(one.run.file, one.run.line, str(reason)))
    if not rows:
        remedy = "give runs that completed, below saturation"
        raise InputError(
            *(
                _finding_at(one.run, f"no run is left to fit: {run.reason}", remedy)
                for one, run in zip(stated, refused, strict=True)
            )
        )
    return rows, tuple(refused)


def calibrate_serving(
    catalog: Catalog,
    runs: Sequence[BenchmarkRun],
    request: ServingRequest,
    today: str,
    progress: Callable[[int], None] | None = None,
) -> _ServingResult:
    """Fit the constants of an engine on one accelerator to measured runs.

    Args:
        today: day of runs whose files bear none.

    Raises:
        InputError: if a run lacks something, contradicts an option, or none can be fitted.
        ServeError: if no engine has the name.
        FitError: if the engine's file cannot be edited.
    """
    setup = _setup_of(catalog, runs, request)
    stated = _stated(catalog, runs, request)
    rows, refused = _refused_or_rows(setup, stated)
    prior = _release_prior(setup.engine, setup.accelerator.id)
    before = [_errors(row, prior.engine, setup) for row in rows]
    rows = [_aligned(row, prior, errors) for row, errors in zip(rows, before, strict=True)]
    constants = _told_constants(rows, prior)
    fitted = _with_constants(prior.engine, setup.accelerator.id, constants.values)
    left_out = []
    for position, row in enumerate(rows if len(rows) >= LEAST_LEFT_OUT else ()):
        others = _told_constants([*rows[:position], *rows[position + 1 :]], prior)
        without = _with_constants(prior.engine, setup.accelerator.id, others.values)
        left_out.append(_errors(row, without, setup))
        if progress is not None:
            progress(position + 1)
    after = [_errors(row, fitted, setup) for row in rows]
    report = ServingCalibration(
        schema_version=SCHEMA_VERSION,
        engine=setup.engine.id,
        accelerator=setup.accelerator.id,
        prior=prior.source,
        rows=len(rows),
        refused=refused,
        constants=_moved(prior, constants),
        kept=tuple(name for name in NAMES if name not in constants.values),
        errors=_measures(before, after, left_out),
        sources=_sources(rows, before, after),
        models=tuple(dict.fromkeys(row.stated.model.id for row in rows)),
        assumed=_assumed(rows, request),
    )
    return _ServingResult(report, _overlay(catalog, setup, prior, fitted, report=report, rows=rows, today=today))


def _stated(catalog: Catalog, runs: Sequence[BenchmarkRun], request: ServingRequest) -> list[_StatedRun]:
    stated: list[_StatedRun] = []
    faults: list[Finding] = []
    for run in runs:
        try:
            stated.append(_stated_run(catalog, run, request))
        except InputError as error:
            faults += error.findings
    if faults:
        raise InputError(*faults)
    return stated


def _assumed(rows: Sequence[_FittedRun], request: ServingRequest) -> tuple[str, ...]:
    """Return the settings that neither a file nor an option states and the replay assumes."""
    silent = sum(row.stated.run.shortest is None and row.served.run.load == "closed" for row in rows)
    if not silent or request.shortest is not None:
        return ()
    verb = "does" if silent == 1 else "do"
    what = f"{plural(silent, 'run')} {verb} not say how lengths were drawn: one length, whose prompts arrive together"
    return (f"{what}; --shortest states a range",)


def _moved(prior: Prior, constants: _ToldConstants) -> tuple[Constant, ...]:
    """Return the constants that runs determine, the most moved first."""
    rows = []
    for name, value in constants.values.items():
        mean = prior.values[name][0]
        before = 1 / mean if name in FRACTIONS else mean
        rows.append(
            Constant(
                name=name,
                before=before,
                after=value,
                text=_constant_text(name, value),
                note=constants.notes.get(name),
                unit="1" if name in FRACTIONS else "s",
            )
        )
    return tuple(sorted(rows, key=lambda row: -abs(np.log(row.after / (row.before or 1.0)))))


def _measures(
    before: list[dict[str, float]], after: list[dict[str, float]], left_out: list[dict[str, float]]
) -> tuple[MeasureErrors, ...]:
    errors_by_measure = []
    for name, measure in _MEASURES.items():
        sizes = [np.abs([row[name] for row in errors if name in row]) for errors in (before, after, left_out)]
        if len(sizes[0]):
            errors_by_measure.append(
                MeasureErrors(
                    measure=measure,
                    n=len(sizes[0]),
                    before=float(np.median(sizes[0])),
                    after=float(np.median(sizes[1])),
                    mean_before=float(np.mean(sizes[0])),
                    mean_after=float(np.mean(sizes[1])),
                    left_out=float(np.median(sizes[2])) if len(sizes[2]) else None,
                )
            )
    return tuple(errors_by_measure)


def _sources(
    rows: list[_FittedRun], before: list[dict[str, float]], after: list[dict[str, float]]
) -> tuple[Fitted, ...]:
    """Return errors by file, over all measures."""
    fits = []
    numbered = sorted(range(len(rows)), key=lambda position: rows[position].stated.run.file)
    for file, group in groupby(numbered, key=lambda position: rows[position].stated.run.file):
        mine = list(group)
        was = np.array([error for position in mine for error in before[position].values()])
        now = np.array([error for position in mine for error in after[position].values()])
        fits.append(
            Fitted(
                source=file,
                n=len(mine),
                before=float(np.abs(was).mean()),
                after=float(np.abs(now).mean()),
                bias=float(now.mean()),
            )
        )
    return tuple(fits)


def _overlay(
    catalog: Catalog,
    setup: _MeasuredSetup,
    prior: Prior,
    fitted: Engine,
    *,
    report: ServingCalibration,
    rows: Sequence[_FittedRun],
    today: str,
) -> str:
    accelerator, place = setup.accelerator.id, catalog.locate(setup.engine.id)
    assert place is not None
    told = {constant.name for constant in report.constants}
    release, rates = _release_rates(prior.engine, accelerator), fitted.rates[accelerator]
    figures = {
        name: (
            float(getattr(rates, name).value),
            _own_key(accelerator) if name in told else getattr(release, name).source,
        )
        for name in NAMES
    }
    files = ", ".join(PurePath(source.source).name for source in report.sources)
    days = [row.stated.run.date for row in rows if row.stated.run.date is not None]
    return _overlay_text(
        place[0].read_text(encoding="utf-8"),
        place[1],
        fitted,
        accelerator,
        source=_own_source(report, files, max(days, default=today)),
        block=_rates_block(accelerator, figures, (release.runs if prior.source != ANY else 0) + report.rows),
    )
