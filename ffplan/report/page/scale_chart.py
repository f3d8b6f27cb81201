"""The chart of allreduce by scale: a line for each library, and a mark for each measurement that matches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size, listed, number
from ffplan.report.chart import _Chart, _Point

if TYPE_CHECKING:
    from ffplan.report.chart import MeasuredCurve
    from ffplan.results.collective import MeasuredPoint
    from ffplan.results.design import Assessment


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
    """Return the conditions and the source of a measurement.

    Args:
        expected: modelled rate of the design on as many GPUs [GB/s]; None if unknown.
    """
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
    """Return how to read the chart: what its marks are, and for which curves there are none."""
    note = "Lines: the time that the engine expects at the design's message, not a bound."
    if marks:
        note += " Marks: measured with the accelerator, library and message of a line; each names its source."
    if any(point.mark == "hollow" for point in marks):
        note += " Hollow marks: another server, or other NICs."
    empty = list(dict.fromkeys(curve.requirements for curve in measured if not curve.points))
    return note + (f" The catalogue has no measurement with {listed(empty)}." if empty else "")


def _scale_chart(named: tuple[tuple[str, Assessment], ...], measured: tuple[MeasuredCurve, ...]) -> _Chart | None:
    """Return allreduce by scale; None where no design asks for it.

    Args:
        named: designs by name.
        measured: measured values beside the curves; a curve without an entry was not looked for.
    """
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
