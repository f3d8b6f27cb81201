"""What charts show of a sweep of any size: points spread evenly over it, and the best over a grid of two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Ints
    from ffplan.studies.choose.sweep import Chunk, Sweep
    from ffplan.studies.choose.sweep_axes import Points

SAMPLE = 200
"""Points that a chart shows at most [1]."""
MOST_CELLS = 40
"""Cells of a grid along an axis at most; of a longer axis, neighbours share one [1]."""


def sampled(count: int) -> Ints:
    """Return the numbers of points spread evenly over a sweep, the first and the last among them.

    Args:
        count: points of the sweep [1].
    """
    found: Ints = np.unique(np.linspace(0, count - 1, min(count, SAMPLE)).round().astype(np.int64))
    return found


@record
class GridAxes:
    """The axes of a grid, and what it shows."""

    across: int
    """Position of the axis across."""
    down: int
    metric: str
    largest: bool
    """Whether the largest value over the other axes is shown; the least otherwise."""


def grid_axes(points: Points, names: tuple[str, ...], directions: dict[str, str]) -> GridAxes | None:
    """Return the grid of a sweep: its two axes with most values; None where there are no two.

    Args:
        names: metrics of the sweep.
        directions: min or max of each metric of the front; its first metric is shown, else the sweep's first.
    """
    fitting = [at for at, item in enumerate(points.axes) if len(item) > 1]
    metric = next(iter(directions), names[0] if names else None)
    if len(fitting) < 2 or metric is None or points.zipped:
        return None
    across, down = sorted(fitting, key=lambda at: -len(points.axes[at]))[:2]
    return GridAxes(across=across, down=down, metric=metric, largest=directions.get(metric) == "max")


def cells(sweep: Sweep, chunk: Chunk, axes: GridAxes | None) -> Floats:
    """Return the best value of a chunk in each cell of the grid, NaN where there is none.

    Returns:
        Shape (values down, values across); empty without a grid.
    """
    if axes is None:
        return np.zeros((0, 0))
    points = sweep.points
    down, across = len(points.axes[axes.down]), len(points.axes[axes.across])
    found = np.full((cell_count(down), cell_count(across)), np.nan)
    column = chunk.columns.get(axes.metric)
    if column is None:
        return found
    indices = points.indices(chunk.first, chunk.first + len(chunk.reason))
    best = np.fmax if axes.largest else np.fmin
    best.at(found, (_cell(indices[axes.down], down), _cell(indices[axes.across], across)), column)
    return found


def cell_count(values: int) -> int:
    """Return the cells along an axis with some values [1]."""
    return min(values, MOST_CELLS)


def first_of_cells(values: int) -> list[int]:
    """Return the first value of each cell along an axis with some values."""
    count = cell_count(values)
    return [-(-cell * values // count) for cell in range(count)]


def _cell(index: Ints, values: int) -> Ints:
    """Return the cells of values along an axis."""
    found: Ints = index.astype(np.int64) * cell_count(values) // values
    return found


def merged(one: Floats, two: Floats, axes: GridAxes | None) -> Floats:
    """Return the better of two grids, cell by cell.

    Args:
        two: another of its shape.
        axes: the grid; None without one.
    """
    if axes is None or not one.size:
        return two
    found: Floats = np.fmax(one, two) if axes.largest else np.fmin(one, two)
    return found
