"""Points of a sweep: written as CSV, JSON lines or Parquet, shown in charts, and reduced to a Pareto front."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Floats, Ints
from ffplan.base.control_characters import plain_cell
from ffplan.base.plain import csv_parts
from ffplan.base.record import record
from ffplan.figures.address import place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.base.array_math import Bools
    from ffplan.studies.choose.sweep import Chunk, Sweep
    from ffplan.studies.choose.sweep_axes import Points, SweptAxis

_BULGE = 1e-6
"""Least distance of a knee from the line between the ends of its front, both scaled to 1 [1]."""


def front(values: Floats) -> Ints:
    """Return the points that no other point beats, by rising first metric.

    A point beats another if it is no worse in every metric and better in one; of equal points the first is kept.

    Args:
        values: metrics of the points, smaller is better, shape (points, metrics); rows with NaN are left out.

    Source:
        Definition of Pareto dominance. Points are taken by their sum of ranks, so that each point taken is on the front
        and strikes out what it beats.
    """
    known = np.flatnonzero(~np.isnan(values).any(axis=1))
    points = values[known]
    if values.shape[1] == 2:
        order = np.lexsort((points[:, 1], points[:, 0]))
        second = points[order, 1]
        before = np.concatenate([[np.inf], np.minimum.accumulate(second)[:-1]])
        chosen: Ints = known[order[second < before]]
        return chosen
    kept: list[int] = []
    order = np.lexsort((*points.T[::-1], points.argsort(axis=0).argsort(axis=0).sum(axis=1)))
    points, known = points[order], known[order]
    while len(points):
        best = points[0]
        kept.append(int(known[0]))
        left = (points < best).any(axis=1)
        points, known = points[left], known[left]
    on_front = np.array(kept, np.int64)
    on_front = on_front[~_beaten(values[on_front])]
    return on_front[np.lexsort((on_front, values[on_front, 0]))]


def _beaten(values: Floats) -> Bools:
    beaten = np.zeros(len(values), bool)
    for row in values:
        beaten |= (row <= values).all(axis=1) & (row < values).any(axis=1)
    return beaten


def knee(values: Floats) -> int | None:
    """Return the point of a front that is farthest from the line between its ends, or nearest to the ideal.

    Args:
        values: metrics of the points of a front, smaller is better, shape (points, metrics).

    Returns:
        Its position; None with fewer than three points, or where an end is as good, as on a straight line.

    Equation:
        largest 1 - x - y of two metrics scaled to [0, 1] over the front; smallest sum of squares of more

    Source:
        Das, "On characterizing the knee of the Pareto curve", 1999: the point of the largest bulge.
    """
    if len(values) < 3:
        return None
    low, high = values.min(axis=0), values.max(axis=0)
    scaled = (values - low) / np.where(high > low, high - low, 1.0)
    if values.shape[1] == 2:
        bulge = 1 - scaled.sum(axis=1)
        return int(bulge.argmax()) if bulge.max() > _BULGE else None
    return int((scaled**2).sum(axis=1).argmin())


_SAMPLE = 200
"""Points that a chart shows at most [1]."""
_MOST_CELLS = 40
"""Cells of a grid along an axis at most; of a longer axis, neighbours share one [1]."""


def _sampled(count: int) -> Ints:
    numbers: Ints = np.unique(np.linspace(0, count - 1, min(count, _SAMPLE)).round().astype(np.int64))
    return numbers


@record
class _GridAxes:
    across: int
    down: int
    metric: str
    largest: bool
    """Whether the largest value over the other axes is shown; the least otherwise."""


def grid_axes(points: Points, names: tuple[str, ...], directions: dict[str, str]) -> _GridAxes | None:
    """Return the grid of a sweep: its two axes with most values; None if there are no two.

    Args:
        directions: min or max of each metric of the front; its first metric is shown, else the sweep's first.
    """
    fitting = [index for index, axis in enumerate(points.axes) if len(axis) > 1]
    metric = next(iter(directions), names[0] if names else None)
    if len(fitting) < 2 or metric is None or points.zipped:
        return None
    across, down = sorted(fitting, key=lambda at: -len(points.axes[at]))[:2]
    return _GridAxes(across=across, down=down, metric=metric, largest=directions.get(metric) == "max")


def cells(sweep: Sweep, chunk: Chunk, axes: _GridAxes | None) -> Floats:
    """Return the best value of a chunk in each cell of the grid, NaN without one.

    Returns:
        Shape (values down, values across); empty without a grid.
    """
    if axes is None:
        return np.zeros((0, 0))
    points = sweep.points
    down, across = len(points.axes[axes.down]), len(points.axes[axes.across])
    grid = np.full((_cell_count(down), _cell_count(across)), np.nan)
    column = chunk.columns.get(axes.metric)
    if column is None:
        return grid
    indices = points.indices(chunk.first, chunk.first + len(chunk.reason))
    best = np.fmax if axes.largest else np.fmin
    best.at(grid, (_cell(indices[axes.down], down), _cell(indices[axes.across], across)), column)
    return grid


def _cell_count(values: int) -> int:
    return min(values, _MOST_CELLS)


def _first_of_cells(values: int) -> list[int]:
    count = _cell_count(values)
    return [-(-cell * values // count) for cell in range(count)]


def _cell(index: Ints, values: int) -> Ints:
    cell: Ints = index.astype(np.int64) * _cell_count(values) // values
    return cell


def _merged(first: Floats, two: Floats, axes: _GridAxes | None) -> Floats:
    if axes is None or not first.size:
        return two
    better: Floats = np.fmax(first, two) if axes.largest else np.fmin(first, two)
    return better


@record
class Kept:
    """What is kept of the points of a chunk."""

    first: int
    count: int
    data: bytes
    """Its points as they are written; empty if none are wanted."""
    built: int
    stats: dict[str, tuple[int, float, float, int, float, int]]
    """Points, sum, least, its point, largest, its point, of each metric."""
    refused: dict[str, tuple[int, int]]
    """Points and the first of them, by reason."""
    unpriced: dict[str, int]
    """Points whose cost is unknown, by the part without a price."""
    front_points: Ints
    """Numbers of the points of its front, shape (points,)."""
    front_values: Floats
    """Metrics of the front at them, smaller is better, shape (points, metrics)."""
    front_metrics: dict[str, Floats]
    sample_points: Ints
    """Numbers of its points that charts show, shape (points,)."""
    sample_metrics: dict[str, Floats]
    cells: Floats
    """Its best over a grid of two axes, shape (values down, values across)."""


def _texts(column: Floats) -> list[str]:
    """Return numbers at 12 significant digits; empty if there is none.

    Neighbours that are equal share their text: the last axis varies fastest, and few metrics depend on all axes.
    """
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    texts = ["" if value != value else f"{value:.12g}" for value in column[starts].tolist()]
    if len(starts) == len(column):
        return texts
    repeats = np.diff(np.append(starts, len(column))).tolist()
    return [text for text, count in zip(texts, repeats, strict=True) for _ in range(count)]


def written(sweep: Sweep, chunk: Chunk, names: Sequence[str], form: str | None) -> bytes:
    """Return the points of a chunk as they are written; `form`: csv, jsonl or parquet; None if none are wanted."""
    if form is None:
        return b""
    return parquet(sweep, chunk, names) if form == "parquet" else _lines(sweep, chunk, names, form).encode()


def parquet(sweep: Sweep, chunk: Chunk, names: Sequence[str]) -> bytes:
    """Return the points of a chunk as a Parquet file: axes, metrics, and why a point cannot be built."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = len(chunk.reason)
    columns: dict[str, Any] = {}
    for axis, index in zip(sweep.points.axes, sweep.points.indices(chunk.first, chunk.first + count), strict=True):
        if axis.numbers is None:
            columns[f"axis.{axis.path}"] = pa.array(np.array(axis.texts, object)[index], pa.string())
        else:
            columns[f"axis.{axis.path}"] = pa.array(axis.numbers[index]).cast(
                pa.int64() if axis.whole else pa.float64()
            )
    none = np.full(count, np.nan)
    for name in names:
        column = pa.array(chunk.columns.get(name, none), pa.float64(), from_pandas=True)
        columns[name] = column.cast(pa.int64()) if _counts(name) else column
    columns["reason"] = pa.array([reason or None for reason in chunk.reason], pa.string())
    target = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), target, compression="zstd")
    data: bytes = target.getvalue().to_pybytes()
    return data


def _counts(name: str) -> bool:
    place = place_of(name)
    return place is not None and place.counts


def _lines(sweep: Sweep, chunk: Chunk, names: Sequence[str], form: str) -> str:
    count = len(chunk.reason)
    indices = sweep.points.indices(chunk.first, chunk.first + count)
    none = np.full(count, np.nan)
    columns = [chunk.columns.get(name, none) for name in names]
    if form == "csv":
        axes = []
        for axis, column in zip(sweep.points.axes, indices, strict=True):
            known, place = np.unique(column, return_inverse=True)
            labels = [plain_cell(axis.text(int(number))) for number in known]
            axes.append([labels[number] for number in place.tolist()])
        reasons = {reason: plain_cell(reason) for reason in set(chunk.reason)}
        texts = [*axes, *(_texts(column) for column in columns), [reasons[reason] for reason in chunk.reason]]
        plain = not any("," in word or '"' in word for column in (*axes, chunk.reason) for word in set(column))
        if plain:
            return "".join([",".join(row) + "\n" for row in zip(*texts, strict=True)])
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows(zip(*texts, strict=True))
        return text.getvalue()
    rows = []
    paths = [swept.path for swept in sweep.points.axes]
    values = [_plain_values(axis, column) for axis, column in zip(sweep.points.axes, indices, strict=True)]
    forms = [int if _counts(name) else _rounded for name in names]
    for index, point in enumerate(zip(*values, strict=True)):
        fields = {
            name: form(value)
            for name, form, column in zip(names, forms, columns, strict=True)
            if (value := column[index]) == value
        }
        row = {"point": chunk.first + index, "axes": dict(zip(paths, point, strict=True)), "metrics": fields}
        rows.append(json.dumps(row | ({"reason": chunk.reason[index]} if chunk.reason[index] else {})) + "\n")
    return "".join(rows)


def _rounded(value: float) -> float:
    return float(f"{value:.12g}")


def _plain_values(axis: SweptAxis, column: Ints) -> list[Any]:
    if axis.numbers is None:
        known = [axis.value(number) for number in range(len(axis))]
        return [known[number] for number in column.tolist()]
    return list(map(int if axis.whole else _rounded, axis.numbers[column].tolist()))


def header(sweep: Sweep, names: Sequence[str], form: str) -> str:
    """Return the line above all points."""
    if form != "csv":
        return ""
    return "".join(csv_parts([*(f"axis.{axis.path}" for axis in sweep.points.axes), *names, "reason"], ()))


def kept(sweep: Sweep, chunk: Chunk, names: Sequence[str], form: str | None, directions: dict[str, str]) -> Kept:
    """Reduce a chunk to its statistics, front, grid and written points.

    Args:
        form: csv, jsonl or parquet; None if none are wanted.
        directions: min or max of each metric of the front.
    """
    stats = {}
    for name, column in chunk.columns.items():
        known = np.flatnonzero(~np.isnan(column))
        if len(known):
            known_values = column[known]
            low, high = int(known[known_values.argmin()]), int(known[known_values.argmax()])
            total = float(known_values.sum())
            rows = (chunk.first + low, chunk.first + high)
            stats[name] = (len(known), total, float(column[low]), rows[0], float(column[high]), rows[1])
    refused: dict[str, tuple[int, int]] = {}
    for row, reason in enumerate(chunk.reason):
        if reason:
            points, first = refused.get(reason, (0, chunk.first + row))
            refused[reason] = (points + 1, first)
    chosen, values = np.zeros(0, np.int64), np.zeros((0, len(directions)))
    if directions and all(name in chunk.columns for name in directions):
        signed = [chunk.columns[name] * (1 if way == "min" else -1) for name, way in directions.items()]
        every = np.stack(signed, axis=1)
        chosen = front(every)
        values = every[chosen]
    shown = _sampled(sweep.points.count) - chunk.first
    shown = shown[(shown >= 0) & (shown < len(chunk.reason))]
    return Kept(
        first=chunk.first,
        count=len(chunk.reason),
        data=written(sweep, chunk, names, form),
        built=sum(not reason for reason in chunk.reason),
        stats=stats,
        refused=refused,
        unpriced=chunk.unpriced,
        front_points=chosen + chunk.first,
        front_values=values,
        front_metrics={name: column[chosen] for name, column in chunk.columns.items()},
        sample_points=shown + chunk.first,
        sample_metrics={name: column[shown] for name, column in chunk.columns.items()},
        cells=cells(sweep, chunk, grid_axes(sweep.points, sweep.names, directions)),
    )
