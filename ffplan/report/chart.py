"""Charts of a report, apart from how they are drawn: what is shown, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Literal

from ffplan.base.record import record
from ffplan.results.collective import MeasuredPoint
from ffplan.results.origin import Evidence, Origin

_Kind = Literal["stack", "bars", "lines", "tornado", "waterfall", "scatter", "heat", "parallel"]


@record
class _Point:
    """A mark of a chart."""

    label: str
    """Category, on its own row."""
    value: float
    _: KW_ONLY
    series: str = ""
    """Meaning of its colour."""
    low: float | None = None
    high: float | None = None
    """Ends of its range, drawn as a bar of error."""
    x: float | None = None
    """Place along the axis of a chart of lines or points; the number of the line of parallel coordinates."""
    mark: Literal["", "filled", "hollow"] = ""
    """A mark beside the lines of a chart; empty where the point is one of a line."""
    source: str = ""
    """Where the value is from."""


@record
class _Chart:
    """A chart with its numbers."""

    title: str
    kind: _Kind
    unit: str
    """Unit of the values, as the title of their axis."""
    points: tuple[_Point, ...]
    note: str = ""
    """How to read it."""
    x_title: str = ""
    """Title of the horizontal axis, for charts of lines or points and heat maps."""
    y_title: str = ""
    """Title of the vertical axis of a heat map, whose unit belongs to its colours."""
    log: bool = False
    """The horizontal axis is logarithmic."""
    lead: bool = False
    """A page shows it before everything that is folded."""


@record
class Drawing:
    """A picture that is no chart."""

    title: str
    svg: str


@record
class Meaning:
    """A value of the result with what it means."""

    path: str
    value: str
    meaning: str


@record
class MeasuredCurve:
    """What the catalogue holds beside one curve: the values that match it, or none."""

    design: int
    """Position of the design in the result."""
    library: str
    requirements: str
    """Accelerator, library and message that a measurement must have."""
    points: tuple[MeasuredPoint, ...]
    expected: tuple[tuple[int, float], ...]
    """Numbers of GPUs of those points that the result does not have, and what the engine expects there [GB/s]."""


@record
class Extras:
    """What a page has beside the result itself."""

    verdict: tuple[str, ...] = ()
    """Sentences under the title, where the text of the result has none."""
    files: tuple[tuple[str, str], ...] = ()
    """Name and text of each design file."""
    drawings: tuple[Drawing, ...] = ()
    sources: tuple[Evidence, ...] = ()
    meanings: tuple[Meaning, ...] = ()
    measured: tuple[MeasuredCurve, ...] = ()
    """Measurements shown with the curves by scale, one entry for each curve that was looked for."""
    told: Any = None
    """A tracked copy of the result, whose text names the figures behind it; None for a page without notes."""
    origin: Callable[[str], Origin] | None = None
    """Says where a figure comes from by its path."""
