"""Rates of an accelerator's links, fitted on measured collectives, and its file with them. Needs SciPy, an extra."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.calibration.fit import FitError, solver
from ffplan.calibration.overlay import _source_line, _with_lines, _with_sources
from ffplan.calibration.told import _beyond, told
from ffplan.catalog.evidence import DurationFigure
from ffplan.catalog.parts import Accelerator
from ffplan.inputs.composer import compose
from ffplan.inputs.document import Document, read_document
from ffplan.inputs.validate import validate
from ffplan.results.accuracy import CalibrationReport, Constant, Fitted
from ffplan.results.design import SCHEMA_VERSION
from ffplan.validation.cases import TWICE, CaseFile, Collective
from ffplan.validation.communication_replay import CaseReplay, collective_rows
from ffplan.validation.measured_system import CaseParts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ffplan.catalog.evidence import Figure
    from ffplan.catalog.store import Catalog
    from ffplan.results.accuracy import AccuracyRow

KIND = "communication-cases"
"""Kind of a file of measured collectives."""
RATES = ("ring", "alltoall", "nvls", "pcie", "launch")
"""Constants under `collectives` of an accelerator that measured collectives determine: rates [GB/s] and a time [s]."""
SPAN = 4.0
"""How far a rate may move from the catalogue's, either way [1]."""
LAUNCH = (1e-7, 2e-4)
"""Least and largest time from call to start [s]."""
FIRST_LAUNCH = 5e-6
"""First time from call to start of a fit, for a catalogue without one [s]."""
STEP = 0.03
"""Step of a constant's logarithm, over which a row shows whether it rests on it [1]."""
SHOWS = 1e-4
"""Change of a row's logarithm that shows it [1]."""
LARGE = 0.15
"""Mean error from which rows are doubted before the sizes that are missing among them [1]."""
EDGE = 1e-3
"""Distance of a logarithm from the end of its range that counts as there [1]."""


@record
class _CollectiveRun:
    file: CaseFile
    bench: CaseParts
    case: Collective
    position: int


@record
class _CollectiveFit:
    runs: tuple[_CollectiveRun, ...]
    values: dict[str, float]
    notes: dict[str, str]
    before: Floats
    """Signed errors of the rows with the catalogue's constants [1]."""
    after: Floats
    """The same with the fitted ones [1]."""
    files: tuple[str, ...]
    """Id of the file of each row."""
    kept: tuple[str, ...] = ()
    """Constants that the rows do not determine, and that keep the catalogue's value."""


def of_collectives(files: tuple[str, ...]) -> bool:
    """Return whether files hold measured collectives, by their kinds.

    Raises:
        FitError: if some do and others do not.
        InputError: if one cannot be read.
    """
    data = [read_document(Path(name), name).data for name in files]
    kinds = [isinstance(document, dict) and document.get("kind") == KIND for document in data]
    if any(kinds) and not all(kinds):
        raise FitError(
            "files of training runs and of collectives tell different constants: fit them one after the other"
        )
    return bool(kinds) and all(kinds)


def _collective_runs(catalog: Catalog, files: tuple[str, ...], accelerator: str) -> tuple[_CollectiveRun, ...]:
    """Return the collectives of files that ran on an accelerator, without exchanges of experts' tokens.

    Raises:
        FitError: if two files have one id: a file would count twice.
    """
    runs, ids = [], set()
    for name in files:
        document = read_document(Path(name), name)
        file, bench = validate(CaseFile, document), CaseParts(catalog, document)
        if file.id in ids:
            raise FitError(TWICE.format(file.id, name))
        ids.add(file.id)
        for position, case in enumerate(file.collectives):
            part = bench.host(case.system, ("collectives", position, "system")).accelerator
            if case.scored and case.experts is None and part is not None and part.id == accelerator:
                runs.append(_CollectiveRun(file=file, bench=bench, case=case, position=position))
    return tuple(runs)


def _rows(runs: tuple[_CollectiveRun, ...], part: Accelerator) -> list[AccuracyRow]:
    """Return the rows of runs with an accelerator's constants in place of the catalogue's."""
    rows = []
    for run in runs:
        bench = CaseParts(run.bench.catalog, run.bench.document, instead=part)
        rows += collective_rows(CaseReplay(bench, run.file), run.case, ("collectives", run.position))
    return rows


def _rate_figure(part: Accelerator, name: str) -> Figure | None:
    """Return a constant of an accelerator's collectives; None if the catalogue has none."""
    rates = part.collectives
    if rates is None:
        return None
    figure: Figure | None = (rates.nvls.busbw if rates.nvls else None) if name == "nvls" else getattr(rates, name)
    return figure


def _rate_value(part: Accelerator, name: str) -> float | None:
    """Return a constant of an accelerator's collectives [GB/s, s]; None if the catalogue has none."""
    figure = _rate_figure(part, name)
    return None if figure is None else float(figure.value)


def _with_rates(part: Accelerator, values: dict[str, float]) -> Accelerator:
    rates = part.collectives
    assert rates is not None
    changed: dict[str, object] = {}
    for name, value in values.items():
        if name == "nvls":
            assert rates.nvls is not None
            busbw = rates.nvls.busbw.model_copy(update={"value": value})
            changed[name] = rates.nvls.model_copy(update={"busbw": busbw})
        else:
            figure = getattr(rates, name)
            if figure is None:  # the catalogue states no time from call to start
                figure = DurationFigure.model_construct(value=value, source=name)
            changed[name] = figure.model_copy(update={"value": value})
    return part.model_copy(update={"collectives": rates.model_copy(update=changed)})


def _range(name: str, before: float) -> tuple[float, float]:
    return LAUNCH if name == "launch" else (before / SPAN, before * SPAN)


def _effects(part: Accelerator, runs: tuple[_CollectiveRun, ...], first: dict[str, float]) -> dict[str, Floats]:
    """Return the effect of each constant on each row's logarithm [1]; constants without effect are left out."""
    base = _logs(_rows(runs, _with_rates(part, first)))
    effects = {}
    for name, value in first.items():
        moved = _logs(_rows(runs, _with_rates(part, {**first, name: value * float(np.exp(STEP))})))
        if np.abs(moved - base).max() > SHOWS:
            effects[name] = moved - base
    return effects


def _logs(rows: list[AccuracyRow]) -> Floats:
    logs: Floats = np.log1p(np.array([row.error for row in rows]))
    return logs


def _fit_collectives(
    part: Accelerator,
    runs: tuple[_CollectiveRun, ...],
    names: tuple[str, ...] | None,
    progress: Callable[[int], None] | None = None,
) -> _CollectiveFit:
    """Fit the constants of an accelerator's collectives to measurements.

    Of what rows do not determine, what moves them least keeps the catalogue's value; the others are fitted again.

    Args:
        names: constants to fit; if None, all that the rows determine.
        progress: callback, called with the number of replays.

    Raises:
        FitError: for rows that determine none of the constants, or fewer than requested.

    Equation:
        least sum of squares of log(model / measured) over logarithms of the constants
    """
    if not runs or part.collectives is None:
        raise FitError(f"no collective in these files ran on `{part.id}`, or the catalogue has no rates of its links")
    rates = names or RATES
    known = {name: _rate_value(part, name) for name in rates}
    first = {
        name: max(value or FIRST_LAUNCH, LAUNCH[0]) if name == "launch" else value
        for name, value in known.items()
        if value or name == "launch"
    }
    moving = _effects(part, runs, {name: float(value) for name, value in first.items() if value})
    blind = [name for name in rates if name not in moving]
    if not moving or (names and blind):
        raise FitError(f"these rows cannot tell {', '.join(blind)}: other parts bind them, such as NICs")
    names_left, kept = list(moving), list[str]()
    while True:
        fitted = _solved(part, runs, {name: float(first[name] or 0.0) for name in names_left}, progress)
        rows, blind = _determined(part, fitted, without=fitted.notes if names else ())
        if (not kept and rows < len(names_left)) or (blind and (names or len(names_left) == 1)):
            raise FitError(_unsaid(rows, [*kept, *names_left], fitted))
        if not blind:
            return replace(fitted, kept=tuple(kept))
        kept.append(min(blind, key=lambda name: float(np.abs(moving[name]).sum())))
        names_left.remove(kept[-1])


def _solved(
    part: Accelerator,
    runs: tuple[_CollectiveRun, ...],
    first: dict[str, float],
    progress: Callable[[int], None] | None,
) -> _CollectiveFit:
    names = tuple(first)
    ends = np.log([_range(name, first[name]) for name in names]).T
    count = 0

    def residuals(logs: Floats) -> Floats:
        nonlocal count
        count += 1
        if progress is not None:
            progress(count)
        return _logs(_rows(runs, _with_rates(part, dict(zip(names, np.exp(logs).tolist(), strict=True)))))

    begin = np.clip(np.log(list(first.values())), *ends)
    solution = solver()(residuals, begin, bounds=tuple(ends), diff_step=STEP / 3).x
    values = dict(zip(names, np.exp(solution).tolist(), strict=True))
    edges = np.minimum(solution - ends[0], ends[1] - solution) < EDGE
    notes = {name: "at the end of its range" for name, there in zip(names, edges, strict=True) if there}
    before, after = (_rows(runs, rates) for rates in (part, _with_rates(part, values)))
    return _CollectiveFit(
        runs=runs,
        values=values,
        notes=notes,
        before=np.array([row.error for row in before]),
        after=np.array([row.error for row in after]),
        files=tuple(row.source for row in after),
    )


def _unsaid(rows: int, names: Sequence[str], fitted: _CollectiveFit) -> str:
    """Return why rows determine no constant, or not the requested ones."""
    error = float(np.abs(fitted.after).mean())
    if error > LARGE:
        return f"the best {', '.join(names)} miss these rows by {error:.0%} on average: check their metric and units"
    apart = " apart" if len(names) > 1 else ""
    which = f"{plural(rows, 'different row')} cannot tell {', '.join(names)}{apart}"
    return f"{which}: fit fewer with --only, or measure other sizes"


def _determined(part: Accelerator, fitted: _CollectiveFit, *, without: Collection[str]) -> tuple[int, list[str]]:
    """Return how many different rows there are, and the constants that they do not determine, the least told first.

    Args:
        without: constants that are taken as they are.
    """
    inner = [name for name in fitted.values if name not in without]

    def rows(logs: Floats) -> list[AccuracyRow]:
        values = fitted.values | dict(zip(inner, np.exp(logs).tolist(), strict=True))
        return _rows(fitted.runs, _with_rates(part, values))

    at = np.log([fitted.values[name] for name in inner])
    modelled = np.array([row.model for row in rows(at)])
    found = told(lambda logs: _logs(rows(logs)), at, modelled, step=STEP / 3)
    return found.rows, found.unsure(inner)


KEY = "collectives-measured"
"""Key of the fit under `sources`."""


def _rate_text(name: str, value: float) -> str:
    return f"{value * 1e6:.4g} us" if name == "launch" else f"{value:.4g} GB/s"


def _lines(text: str, values: dict[str, float]) -> dict[str, str]:
    """Return the line of each constant; the rate with reduction in the switch keeps its block."""
    lines = {}
    for name, value in values.items():
        figure = f"{{value: {_rate_text(name, value)}, source: {KEY}}}"
        if name != "nvls":
            lines[name] = f"  {name}: {figure}"
            continue
        section = re.search(r"^  nvls:.*\n(?:   .*\n)*", text, flags=re.MULTILINE)
        block = section[0] if section else ""
        lines[name] = re.sub(r"^    busbw:.*$", f"    busbw: {figure}", block, count=1, flags=re.MULTILINE).rstrip("\n")
    return lines


def _overlay_text(text: str, name: str, fitted: _CollectiveFit) -> str:
    """Return the text of an accelerator's file with fitted rates of collectives."""
    titles = ", ".join(dict.fromkeys(run.file.name for run in fitted.runs))
    date = max(run.file.source.known_at for run in fitted.runs)
    error = float(np.abs(fitted.after).mean())
    title = f"ffplan model calibrate on {titles}: {len(fitted.after)} rows, mean error {error:.1%}"
    lines = _lines(text, fitted.values)
    source = _source_line(KEY, title, date)
    changed = _with_sources(_with_lines(text, "collectives", lines), [source], [KEY])
    by_hand = FitError(
        f"{name} is written in a way that cannot be edited; add these lines by hand:\n"
        + "\n".join([source, *lines.values()])
    )
    try:
        part = validate(Accelerator, Document(name, "0" * 64, compose(changed, name)))
    except InputError:
        raise by_hand from None
    for key, value in fitted.values.items():
        figure = _rate_figure(part, key)
        if figure is None or figure.source != KEY or abs(float(figure.value) / value - 1) > 1e-3:
            raise by_hand
    return changed


def _calibrate_collectives(
    catalog: Catalog,
    accelerator: str,
    cases: tuple[str, ...],
    names: tuple[str, ...] | None,
    progress: Callable[[int], None] | None = None,
) -> tuple[CalibrationReport, str]:
    """Fit the rates of an accelerator's links to measured collectives.

    Without `names`, all constants that the rows determine are fitted. Returns the report, and the accelerator's file
    with these constants.
    """
    part = catalog.entry(accelerator).part
    assert isinstance(part, Accelerator)
    fitted = _fit_collectives(part, _collective_runs(catalog, cases, part.id), names, progress)
    place = catalog.locate(part.id)
    assert place is not None
    text = _overlay_text(place[0].read_text(encoding="utf-8"), place[1], fitted)
    return _report(part, fitted), text


def _report(part: Accelerator, fitted: _CollectiveFit) -> CalibrationReport:
    sources = []
    for name in dict.fromkeys(fitted.files):
        rows = np.array([file == name for file in fitted.files])
        before, after = fitted.before[rows], fitted.after[rows]
        sources.append(
            Fitted(
                source=name,
                n=int(rows.sum()),
                before=float(np.abs(before).mean()),
                after=float(np.abs(after).mean()),
                bias=float(after.mean()),
            )
        )
    constants = tuple(
        Constant(
            name=name,
            before=_rate_value(part, name),
            after=value,
            text=_rate_text(name, value),
            note=fitted.notes.get(name) or _beyond(_rate_figure(part, name), value, partial(_rate_text, name)),
            unit="s" if name == "launch" else "GB/s",
        )
        for name, value in fitted.values.items()
    )
    return CalibrationReport(
        schema_version=SCHEMA_VERSION,
        accelerator=part.id,
        rows=len(fitted.after),
        constants=constants,
        sources=tuple(sources),
        before=float(np.abs(fitted.before).mean()),
        after=float(np.abs(fitted.after).mean()),
        measured="collectives",
        assumptions=tuple(_kept_words(part, name) for name in fitted.kept),
    )


def _kept_words(part: Accelerator, name: str) -> str:
    value = _rate_value(part, name)
    where = "is left out, as in the catalogue" if value is None else f"stays at {_rate_text(name, value)}"
    return f"These rows do not determine `{name}`: it {where}."
