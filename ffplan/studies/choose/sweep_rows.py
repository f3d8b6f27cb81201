"""The points of a sweep as CSV, JSON lines or Parquet, and what is kept of a chunk when its points are written."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.control_characters import plain_cell
from ffplan.base.record import record
from ffplan.studies.choose.pareto import front
from ffplan.studies.choose.sweep_shown import cells, grid_axes, sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.studies.choose.sweep import Chunk, Sweep


@record
class Kept:
    """What is kept of the points of a chunk."""

    first: int
    count: int
    data: bytes
    """Its points as they are written; empty where none are wanted."""
    built: int
    stats: dict[str, tuple[int, float, float, int, float, int]]
    """Points, sum, least, its point, largest, its point, of each metric."""
    refused: dict[str, tuple[int, int]]
    """Points and the first of them, by reason."""
    unpriced: dict[str, int]
    """Points whose cost is unknown, by the part without a price."""
    front_points: Any
    """Numbers of the points of its front, shape (points,)."""
    front_values: Floats
    """Metrics of the front at them, smaller is better, shape (points, metrics)."""
    front_metrics: dict[str, Floats]
    """Every metric at them."""
    sample_points: Any
    """Numbers of its points that charts show, shape (points,)."""
    sample_metrics: dict[str, Floats]
    """Every metric at them."""
    cells: Floats
    """Its best over a grid of two axes, shape (values down, values across)."""


def _texts(column: Floats) -> list[str]:
    """Return numbers at 12 significant digits, an empty text where there is none.

    Neighbours that are equal share their text: the last axis varies fastest, and few metrics depend on all axes.
    """
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    texts = ["" if value != value else f"{value:.12g}" for value in column[starts].tolist()]
    if len(starts) == len(column):
        return texts
    repeats = np.diff(np.append(starts, len(column))).tolist()
    return [text for text, count in zip(texts, repeats, strict=True) for _ in range(count)]


def written(sweep: Sweep, chunk: Chunk, names: Sequence[str], form: str | None) -> bytes:
    """Return the points of a chunk as they are written.

    Args:
        names: metrics in the order of their columns.
        form: csv, jsonl or parquet; None where none are wanted.
    """
    if form is None:
        return b""
    return parquet(sweep, chunk, names) if form == "parquet" else lines(sweep, chunk, names, form).encode()


def parquet(sweep: Sweep, chunk: Chunk, names: Sequence[str]) -> bytes:
    """Return the points of a chunk as a Parquet file: axes, metrics, and why a point cannot be built.

    Args:
        names: metrics in the order of their columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = len(chunk.reason)
    columns: dict[str, Any] = {}
    for item, at in zip(sweep.points.axes, sweep.points.indices(chunk.first, chunk.first + count), strict=True):
        values = item.numbers if item.numbers is not None else np.array(item.texts, object)
        columns[f"axis.{item.path}"] = pa.array(values[at], pa.float64() if item.numbers is not None else pa.string())
    none = np.full(count, np.nan)
    for name in names:
        columns[name] = pa.array(chunk.columns.get(name, none), pa.float64(), from_pandas=True)
    columns["reason"] = pa.array([reason or None for reason in chunk.reason], pa.string())
    target = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), target, compression="zstd")
    found: bytes = target.getvalue().to_pybytes()
    return found


def lines(sweep: Sweep, chunk: Chunk, names: Sequence[str], form: str) -> str:
    """Return the lines of a chunk.

    Args:
        names: metrics in the order of their columns.
        form: csv or jsonl.
    """
    count = len(chunk.reason)
    indices = sweep.points.indices(chunk.first, chunk.first + count)
    axes = []
    for item, column in zip(sweep.points.axes, indices, strict=True):
        known, place = np.unique(column, return_inverse=True)
        words = [item.text(int(at)) for at in known]
        words = [plain_cell(word) for word in words] if form == "csv" else words
        axes.append([words[at] for at in place.tolist()])
    none = np.full(count, np.nan)
    columns = [chunk.columns.get(name, none) for name in names]
    if form == "csv":
        reasons = {reason: plain_cell(reason) for reason in set(chunk.reason)}
        texts = [*axes, *(_texts(column) for column in columns), [reasons[reason] for reason in chunk.reason]]
        plain = not any("," in word or '"' in word for column in (*axes, chunk.reason) for word in set(column))
        if plain:
            return "".join([",".join(row) + "\n" for row in zip(*texts, strict=True)])
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows(zip(*texts, strict=True))
        return text.getvalue()
    rows = []
    paths = [item.path for item in sweep.points.axes]
    for at, values in enumerate(zip(*axes, strict=True)):
        found = {
            name: float(f"{v:.12g}") for name, column in zip(names, columns, strict=True) if (v := column[at]) == v
        }
        row = {"point": chunk.first + at, "axes": dict(zip(paths, values, strict=True)), "metrics": found}
        rows.append(json.dumps(row | ({"reason": chunk.reason[at]} if chunk.reason[at] else {})) + "\n")
    return "".join(rows)


def header(sweep: Sweep, names: Sequence[str], form: str) -> str:
    """Return the line above all points."""
    if form != "csv":
        return ""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerow(
        [*(plain_cell(f"axis.{item.path}") for item in sweep.points.axes), *names, "reason"]
    )
    return text.getvalue()


def kept(sweep: Sweep, chunk: Chunk, names: Sequence[str], form: str | None, directions: dict[str, str]) -> Kept:
    """Return what is kept of a chunk.

    Args:
        names: metrics in the order of their columns.
        form: csv, jsonl or parquet; None where none are wanted.
        directions: min or max of each metric of the front.
    """
    stats = {}
    for name, column in chunk.columns.items():
        known = np.flatnonzero(~np.isnan(column))
        if len(known):
            own = column[known]
            low, high = int(known[own.argmin()]), int(known[own.argmax()])
            total = float(own.sum())
            at = (chunk.first + low, chunk.first + high)
            stats[name] = (len(known), total, float(column[low]), at[0], float(column[high]), at[1])
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
    shown = sampled(sweep.points.count) - chunk.first
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
