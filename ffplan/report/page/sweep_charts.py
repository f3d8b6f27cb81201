"""Charts of allreduce by scale, and of a sweep: a heat map over two axes, the front, and parallel coordinates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size, listed, number
from ffplan.report.document import _Chart, _Point

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.report.document import MeasuredCurve
    from ffplan.results.collective import MeasuredPoint
    from ffplan.results.design import Assessment
    from ffplan.results.sweep import SweepPoint, SweepReport


def _lines(named: tuple[tuple[str, Assessment], ...], measured: tuple[MeasuredCurve, ...]) -> list[_Point]:
    """Return the points of the lines: the result's, and the engine's prediction for each measurement."""
    more = {(curve.design, curve.library): curve.expected for curve in measured}
    return [
        _Point(
            f"{gpus:,} GPUs",
            rate,
            series=f"{name}, {report.library}" if len(named) > 1 else report.library,
            x=float(gpus),
        )
        for number, (name, assessment) in enumerate(named)
        for report in assessment.communication
        for gpus, rate in sorted(
            [(row.gpus, row.algbw_gbyte_s) for row in report.scales] + list(more.get((number, report.library), ()))
        )
    ]


def _source(point: MeasuredPoint, expected: float | None) -> str:
    rate = number(point.gbyte_s, 3)
    if point.low_gbyte_s is not None and point.high_gbyte_s is not None:
        rate = f"{number(point.low_gbyte_s, 3)} to {number(point.high_gbyte_s, 3)}"
    kind = "a constant of the model was fitted on it" if point.fitted else "not used in a fit"
    note = f" {point.note}" if point.note else ""
    model = f"; the engine expects {number(expected, 3)} of this design" if expected is not None else ""
    text = (
        f"measured {rate} GB/s on {point.gpus:,} GPUs of {point.server} ({point.nics}), {data_size(point.size_bytes)}"
    )
    return f"{text}{model}. {point.source} ({point.date}, {point.status}); {kind}.{note}"


def _marks(named: tuple[tuple[str, Assessment], ...], measured: tuple[MeasuredCurve, ...]) -> list[_Point]:
    """Return a mark for each measurement; one of two designs is drawn once, filled where either has its server."""
    points: dict[tuple[object, ...], _Point] = {}
    for curve in measured:
        reports = named[curve.design][1].communication
        expected = {
            row.gpus: row.algbw_gbyte_s
            for report in reports
            if report.library == curve.library
            for row in report.scales
        } | dict(curve.expected)
        for measurement in curve.points:
            series = f"measured, {curve.library}, {measurement.server}"
            key = (series, measurement.gpus, measurement.case)
            if measurement.same_server or key not in points:
                points[key] = _Point(
                    f"{measurement.gpus:,} GPUs, measured",
                    measurement.gbyte_s,
                    series=series,
                    low=measurement.low_gbyte_s,
                    high=measurement.high_gbyte_s,
                    x=float(measurement.gpus),
                    mark="filled" if measurement.same_server else "hollow",
                    source=_source(measurement, expected.get(measurement.gpus)),
                )
    return sorted(points.values(), key=lambda point: point.series)


def _note(measured: tuple[MeasuredCurve, ...], marks: list[_Point]) -> str:
    note = "Lines: the time that the engine expects at the design's message, not a bound."
    if marks:
        note += " Marks: measured with the accelerator, library and message of a line; each names its source."
    if any(point.mark == "hollow" for point in marks):
        note += " Hollow marks: another server, or other NICs."
    empty = list(dict.fromkeys(curve.requirements for curve in measured if not curve.points))
    return note + (f" The catalogue has no measurement with {listed(empty)}." if empty else "")


def _scale_chart(named: tuple[tuple[str, Assessment], ...], measured: tuple[MeasuredCurve, ...]) -> _Chart | None:
    """Return allreduce by scale; a curve without an entry in `measured` was not looked for."""
    lines = _lines(named, measured)
    if not lines:
        return None
    marks = _marks(named, measured)
    return _Chart(
        title="Allreduce by scale",
        kind="lines",
        unit="algorithm bandwidth, GB/s",
        points=(*lines, *marks),
        x_title="accelerators",
        log=True,
        note=_note(measured, marks),
    )


OTHERS, FRONT, KNEE = "other points", "front", "knee"


def _told(point: SweepPoint) -> str:
    return ", ".join(f"{path} {value}" for path, value in point.values.items())


def _heat(r: SweepReport) -> _Chart | None:
    grid = r.grid
    if grid is None:
        return None
    points = tuple(
        _Point(down, value, series=across)
        for down, row in zip(grid.down_values, grid.values, strict=True)
        for across, value in zip(grid.across_values, row, strict=True)
        if value is not None
    )
    others = len(r.axes) > 2
    return _Chart(
        title=f"{grid.metric} over {grid.down} and {grid.across}",
        kind="heat",
        unit=grid.metric,
        points=points,
        note=f"The {grid.shown} over all other axes. " * others + "Blank cells cannot be built.",
        x_title=grid.across,
        y_title=grid.down,
    )


def _front(r: SweepReport) -> _Chart | None:
    if len(r.directions) < 2 or not r.front:
        return None
    first, second = list(r.directions)[:2]
    front = {point.number for point in r.front}
    rows = [(OTHERS, point) for point in r.sample if point.number not in front]
    rows += [(FRONT, point) for point in r.front if not point.knee] + [(KNEE, p) for p in r.front if p.knee]
    points = tuple(
        _Point(_told(point), point.metrics[second], series=kind, x=point.metrics[first])
        for kind, point in rows
        if first in point.metrics and second in point.metrics
    )
    ways = " and ".join(f"{'least' if way == 'min' else 'most'} {name}" for name, way in r.directions.items())
    return _Chart(
        title="Front",
        kind="scatter",
        unit=second,
        points=points,
        note=f"Points that no other beats, for {ways}; of the others {len(r.sample):,} spread over the sweep.",
        x_title=first,
    )


def _at(point: SweepPoint, path: str, places: dict[str, float]) -> float | None:
    return places[point.values[path]]


def _part(point: SweepPoint, path: str, low: float, width: float) -> float | None:
    """Return the place of a metric between its least and its most; None if the point has none."""
    value = point.metrics.get(path)
    return None if value is None else (value - low) / width


def _parts(r: SweepReport) -> list[tuple[str, Callable[[SweepPoint], float | None]]]:
    every = (*r.sample, *r.front)
    lines: list[tuple[str, Callable[[SweepPoint], float | None]]] = []
    for axis in r.axes:
        values = dict.fromkeys(point.values[axis.path] for point in every)
        try:
            order = sorted(values, key=float)
        except ValueError:
            order = list(values)
        if len(order) > 1:
            place = {value: rank / (len(order) - 1) for rank, value in enumerate(order)}
            lines.append((f"{axis.path} ({order[0]} to {order[-1]})", partial(_at, path=axis.path, places=place)))
    for metric in r.metrics:
        low, width = metric.least, metric.most - metric.least
        if width > 0:
            part = partial(_part, path=metric.path, low=low, width=width)
            lines.append((f"{metric.path} ({metric.least:.4g} to {metric.most:.4g})", part))
    return lines


def _parallel(r: SweepReport) -> _Chart | None:
    parts = _parts(r)
    front = {point.number for point in r.front}
    rows = [(OTHERS, point) for point in r.sample if point.number not in front]
    rows += [(FRONT, point) for point in r.front]
    if len(parts) < 2:
        return None
    points = tuple(
        _Point(name, value, series=kind, x=float(point.number))
        for kind, point in rows
        for name, place in parts
        if point.metrics and (value := place(point)) is not None
    )
    return _Chart(
        title="Parallel coordinates",
        kind="parallel",
        unit="from the least to the most of each",
        points=points,
        note="A line is a point; points of the front are highlighted." if r.front else "A line is a point.",
    )


def _sweep_charts(report: SweepReport) -> list[_Chart | None]:
    return [_front(report), _heat(report), _parallel(report)]
