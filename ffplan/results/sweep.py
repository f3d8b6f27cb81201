"""The output contract of a sweep."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import DesignInfo, Result, ToolInfo


@record
class SweepAxis:
    """An axis of a sweep."""

    path: str
    """What differs."""
    count: int
    """Values of it."""
    first: str
    """The first value."""
    last: str
    """The last value."""


@record
class SweepPoint:
    """A point of a sweep."""

    number: int
    """Its number, from 0, in the order of the points."""
    values: dict[str, str]
    """Value of each axis, by path."""
    metrics: dict[str, float]
    """Metrics by path, in the unit of their path."""
    knee: bool
    """Whether it is the knee of the front."""


@record
class SweepMetric:
    """A metric over the points that can be built."""

    path: str
    """The metric."""
    least: float
    """Its least value."""
    least_at: dict[str, str]
    """Values of the axes there."""
    mean: float
    """Its mean."""
    most: float
    """Its largest value."""
    most_at: dict[str, str]
    """Values of the axes there."""


@record
class SweepRefusal:
    """Points that cannot be built for one reason."""

    reason: str
    """Why, in the words of the first point."""
    points: int
    """Points of it."""
    example: dict[str, str]
    """Values of the axes at one of them."""


@record
class SweepGrid:
    """The best of a metric at every two values of two axes, over all others."""

    metric: str
    """The metric."""
    shown: str
    """least or most of it."""
    across: str
    """The axis across."""
    across_values: tuple[str, ...]
    """Its values; the first of each cell where neighbours share one."""
    down: str
    """The axis down."""
    down_values: tuple[str, ...]
    """Its values, as across."""
    values: tuple[tuple[float | None, ...], ...]
    """The metric, a row for each value down; null if no point can be built."""


@record
class SweepReport(Result):
    """A sweep in short; the points themselves are written by `--points`."""

    schema_version: str
    """Version of this document's format."""
    tool: ToolInfo
    """The program behind the report."""
    design: DesignInfo
    """The design, or the fleet, that the points vary."""
    axes: tuple[SweepAxis, ...]
    """What differs; the last axis varies fastest."""
    spanned: str
    """all, zip or sample."""
    points: int
    """Points evaluated."""
    built: int
    """Points that can be built."""
    metrics: tuple[SweepMetric, ...]
    """Metrics over the points that can be built."""
    refused: tuple[SweepRefusal, ...]
    """Why the others cannot, the most frequent first."""
    unpriced: dict[str, int]
    """Points that have no cost, by the part without a price."""
    directions: dict[str, str]
    """min or max of each metric of the front; empty if no front was asked for."""
    front: tuple[SweepPoint, ...]
    """Points that no other beats, by the first metric."""
    sample: tuple[SweepPoint, ...]
    """Points spread evenly over the sweep, at most 200, as its charts show them."""
    grid: SweepGrid | None
    """The best over the two longest axes; null if there are no two, or they are paired."""
    stopped: bool
    """Whether it was interrupted before its end."""


SCHEMAS = {
    "sweep": (SweepReport, "JSON output of `ffplan sweep`"),
}
"""Files and outputs of this module, with their titles."""
