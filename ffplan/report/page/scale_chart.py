"""The chart of allreduce by scale: a line for each library, and a mark for each measurement that matches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed
from ffplan.report.chart import Chart, Point

if TYPE_CHECKING:
    from ffplan.report.chart import MeasuredCurve
    from ffplan.results.design import Assessment


def _lines(named: tuple[tuple[str, Assessment], ...], measured: tuple[MeasuredCurve, ...]) -> list[Point]:
    """Return the points of the lines: the result's, and the engine's prediction for each measurement."""
    more = {(curve.design, curve.library): curve.expected for curve in measured}
    return [
        Point(
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


def _marks(measured: tuple[MeasuredCurve, ...]) -> list[Point]:
    """Return a mark for each measurement; one of two designs is drawn once, filled where either has its server."""
    points: dict[tuple[object, ...], Point] = {}
    for curve in measured:
        for measurement in curve.points:
            series = f"measured, {curve.library}, {measurement.server}"
            key = (series, measurement.gpus, measurement.case)
            if measurement.same_server or key not in points:
                points[key] = Point(
                    f"{measurement.gpus:,} GPUs, measured",
                    measurement.gbyte_s,
                    series=series,
                    low=measurement.low,
                    high=measurement.high,
                    x=float(measurement.gpus),
                    mark="filled" if measurement.same_server else "hollow",
                    source=measurement.source,
                )
    return sorted(points.values(), key=lambda point: point.series)


def _note(measured: tuple[MeasuredCurve, ...], marks: list[Point]) -> str:
    """Return how to read the chart: what its marks are, and for which curves there are none."""
    note = "Lines: the time that the engine expects at the design's message, not a bound."
    if marks:
        note += " Marks: measured with the accelerator, library and message of a line; each names its source."
    if any(point.mark == "hollow" for point in marks):
        note += " Hollow marks: another server, or other NICs."
    empty = list(dict.fromkeys(curve.requirements for curve in measured if not curve.points))
    return note + (f" The catalogue has no measurement with {listed(empty)}." if empty else "")


def scale_chart(named: tuple[tuple[str, Assessment], ...], measured: tuple[MeasuredCurve, ...]) -> Chart | None:
    """Return allreduce by scale; None where no design asks for it.

    Args:
        named: designs by name.
        measured: measured values beside the curves; a curve without an entry was not looked for.
    """
    lines = _lines(named, measured)
    if not lines:
        return None
    marks = _marks(measured)
    return Chart(
        title="Allreduce by scale",
        kind="lines",
        unit="algorithm bandwidth, GB/s",
        points=(*lines, *marks),
        x_title="accelerators",
        log=True,
        note=_note(measured, marks),
    )
