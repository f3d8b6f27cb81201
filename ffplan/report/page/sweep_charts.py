"""Charts of a sweep: a heat map over two axes, the front, and parallel coordinates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ffplan.report.chart import _Chart, _Point

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.results.sweep import SweepPoint, SweepReport

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
    """Return the place of a point along an axis."""
    return places[point.values[path]]


def _part(point: SweepPoint, path: str, low: float, width: float) -> float | None:
    """Return the place of a metric between its least and its most; None where the point has none."""
    value = point.metrics.get(path)
    return None if value is None else (value - low) / width


def _parts(r: SweepReport) -> list[tuple[str, Callable[[SweepPoint], float | None]]]:
    """Return name and place of a point, from 0 to 1, of each axis and metric that differs."""
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
    """Return the charts of a sweep.

    Args:
        report: the sweep.
    """
    return [_front(report), _heat(report), _parallel(report)]
