"""What a sweep comes to: counts, extremes and the front over all chunks taken so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.version import __version__
from ffplan.results import sweep as out
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.result import ToolInfo
from ffplan.studies.basis.provenance import design_info
from ffplan.studies.choose.sweep_rows import _first_of_cells, _merged, front, knee

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.choose.sweep import Sweep
    from ffplan.studies.choose.sweep_rows import Kept, _GridAxes


class Total:
    """Sums over chunks, taken in their order."""

    def __init__(self, directions: dict[str, str], grid: _GridAxes | None = None) -> None:
        self.directions = directions
        self.chunks: int = 0
        self.points: int = 0
        self.built: int = 0
        self.stats: dict[str, list[Any]] = {}
        self.refused: dict[str, list[int]] = {}
        self.unpriced: dict[str, int] = {}
        self.front: list[tuple[int, list[float], dict[str, float]]] = []
        self.sample: list[tuple[int, dict[str, float]]] = []
        self.cells: Any = np.zeros((0, 0))
        self.grid = grid

    def take(self, part: Kept) -> None:
        """Add a chunk."""
        self.chunks += 1
        self.points += part.count
        self.built += part.built
        for name, (count, total, low, low_at, high, high_at) in part.stats.items():
            stats = self.stats.setdefault(name, [0, 0.0, low, low_at, high, high_at])
            stats[0] += count
            stats[1] += total
            if low < stats[2]:
                stats[2:4] = low, low_at
            if high > stats[4]:
                stats[4:6] = high, high_at
        for reason, (points, first) in part.refused.items():
            known = self.refused.setdefault(reason, [0, first])
            known[0] += points
        for name, points in part.unpriced.items():
            self.unpriced[name] = self.unpriced.get(name, 0) + points
        self.cells = _merged(self.cells, part.cells, self.grid)
        for position, number in enumerate(part.sample_points.tolist()):
            metrics = {name: float(column[position]) for name, column in part.sample_metrics.items()}
            self.sample.append((number, {name: value for name, value in metrics.items() if value == value}))
        if not len(part.front_points):
            return
        for position, number in enumerate(part.front_points.tolist()):
            metrics = {name: float(column[position]) for name, column in part.front_metrics.items()}
            said = {name: value for name, value in metrics.items() if value == value}
            self.front.append((number, part.front_values[position].tolist(), said))
        values = np.array([point[1] for point in self.front])
        self.front = [self.front[at] for at in front(values).tolist()]

    def state(self) -> dict[str, Any]:
        """Return it as plain data, exactly."""
        names = ("chunks", "points", "built", "stats", "refused", "unpriced", "front", "sample")
        cells = [[None if value != value else value for value in row] for row in self.cells.tolist()]
        return {name: getattr(self, name) for name in names} | {"cells": cells}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from plain data.

        Raises:
            KeyError, TypeError, ValueError: if it is no state.
        """
        self.chunks, self.points, self.built = int(state["chunks"]), int(state["points"]), int(state["built"])
        self.stats, self.refused = dict(state["stats"]), dict(state["refused"])
        self.unpriced = dict(state["unpriced"])
        self.front = [(int(number), list(values), dict(metrics)) for number, values, metrics in state["front"]]
        self.sample = [(int(number), dict(metrics)) for number, metrics in state["sample"]]
        self.cells = np.array(state["cells"], float) if state["cells"] else np.zeros((0, 0))


def sweep_report(sweep: Sweep, design: ResolvedDesign, total: Total, *, stopped: bool) -> out.SweepReport:
    """Return the report of a sweep."""
    points = sweep.points

    def values_at(number: int) -> dict[str, str]:
        indices = points.indices(number, number + 1)
        return {axis.path: axis.text(int(column[0])) for axis, column in zip(points.axes, indices, strict=True)}

    best = knee(np.array([axis[1] for axis in total.front])) if total.front else None
    refused = sorted(total.refused.items(), key=lambda entry: (-entry[1][0], entry[1][1]))
    return out.SweepReport(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        design=design_info(design),
        axes=tuple(
            out.SweepAxis(path=axis.path, count=len(axis), first=axis.text(0), last=axis.text(len(axis) - 1))
            for axis in points.axes
        ),
        spanned="sample" if points.sample is not None else "zip" if points.zipped else "all",
        points=total.points,
        built=total.built,
        metrics=tuple(
            out.SweepMetric(
                path=name,
                least=low,
                least_at=values_at(low_at),
                mean=whole / count,
                most=high,
                most_at=values_at(high_at),
            )
            for name, (count, whole, low, low_at, high, high_at) in total.stats.items()
        ),
        refused=tuple(
            out.SweepRefusal(reason=reason, points=count, example=values_at(first))
            for reason, (count, first) in refused
        ),
        unpriced=total.unpriced,
        directions=total.directions,
        front=tuple(
            out.SweepPoint(number=number, values=values_at(number), metrics=metrics, knee=place == best)
            for place, (number, _, metrics) in enumerate(total.front)
        ),
        sample=tuple(
            out.SweepPoint(number=number, values=values_at(number), metrics=metrics, knee=False)
            for number, metrics in total.sample
        ),
        grid=_grid(sweep, total),
        stopped=stopped,
    )


def _grid(sweep: Sweep, total: Total) -> out.SweepGrid | None:
    if total.grid is None or not total.cells.size:
        return None
    across, down = (sweep.points.axes[index] for index in (total.grid.across, total.grid.down))
    return out.SweepGrid(
        metric=total.grid.metric,
        shown="most" if total.grid.largest else "least",
        across=across.path,
        across_values=tuple(across.text(index) for index in _first_of_cells(len(across))),
        down=down.path,
        down_values=tuple(down.text(index) for index in _first_of_cells(len(down))),
        values=tuple(tuple(None if value != value else value for value in row) for row in total.cells.tolist()),
    )
