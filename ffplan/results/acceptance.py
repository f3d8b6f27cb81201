"""The contract of `acceptance --format json`: the sheet, and measurements compared with it."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import CatalogFile, DesignInfo, Result, ToolInfo, UnverifiedFigure


@record
class Measured:
    """One measured value."""

    check: str
    """A measurement, by the names of the acceptance sheet."""
    value: float
    """In the unit of the check."""
    host: str
    """Name of the node in the log; the file's name if the log has none."""
    part: str
    """Which of its parts: a GPU, a port; empty of a node or of several."""
    file: str
    """The log."""
    line: int
    """Its line."""
    gpus: int = 0
    """Ranks of a collective [1]."""
    nodes: int = 0
    """Nodes that took part; 0 if the log does not say [1]."""
    size_bytes: float = 0.0
    """Message of a collective [byte]."""
    doubt: str = ""
    """Why the value may not count; empty for a good one."""
    shortfall: str = ""
    """Why a value below the expected is no fault of the part; empty where it is one."""
    fewest_ranks: int = 0
    """Ranks on the node that has fewest of them; 0 if the log does not say [1]."""
    most_ranks: int = 0
    """Ranks on the node that has most of them; 0 if the log does not say [1]."""
    devices: tuple[int, ...] = ()
    """Numbers of the accelerators that took part on each node; empty if the log does not say, or nodes differ."""
    accelerators: tuple[str, ...] = ()
    """Names of the accelerators, as the log has them."""
    layer: str = ""
    """Protocol of a port in a log that lists all ports of a node: infiniband or ethernet."""


@record
class Unread:
    """A part of a log that could not be read, or that says itself that it failed."""

    host: str
    """Name of the node in the log; the file's name if the log has none."""
    file: str
    """The log."""
    line: int
    """Its line."""
    why: str
    """The reason."""


@record
class CheckRow:
    """A line of the sheet: what one delivered part should measure."""

    check: str
    """Its name; readers of logs use it too."""
    label: str
    """For people."""
    of: str
    """accelerator, node, job or fabric."""
    unit: str
    """Unit of the values."""
    gpus: int
    """Ranks of a collective; 0 of anything else."""
    size_bytes: float
    """Message of a collective [byte]; 0 of anything else."""
    expected: float
    """Expectation of the model."""
    least: float
    """Least value that passes."""
    most: float | None
    """Ceiling of any correct measurement: a peak, or a line rate; null if unknown."""
    exact: bool
    """Whether less than expected never passes: widths and generations."""
    how: str
    """How to measure it."""
    basis: str
    """Where the expectation is from."""


@record
class JudgedRow:
    """A measured value with its verdict."""

    measured: Measured
    """The value."""
    expected: float | None
    """Expectation of the model; null if it has none."""
    least: float | None
    """Least value that passes."""
    most: float | None
    """Ceiling of any correct measurement; null if unknown."""
    verdict: str
    """pass, fail, doubt or not judged."""
    why: str
    """The reason of a verdict other than pass."""


@record
class SlowRow:
    """A node, or a part of one, that is slower than the others of the fleet."""

    check: str
    """The check that was measured."""
    host: str
    """The node."""
    part: str
    """Its part; empty of a node."""
    gpus: int
    """Ranks of a collective; 0 of anything else."""
    size_bytes: float
    """Message of a collective [byte]; 0 of anything else."""
    value: float
    """Its measured value."""
    median: float
    """Median of the fleet."""
    score: float
    """Distance from the median in robust standard deviations; negative below it [1]."""
    step: float | None
    """Extra time of a step of the job with it [1]; null without a job, or if no part of the step depends on it."""


@record
class AcceptanceReport(Result):
    """The acceptance sheet of a design, and its measurements."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """Program that wrote it."""
    design: DesignInfo
    """The design."""
    catalog: tuple[CatalogFile, ...]
    """Catalogue files read."""
    headline: tuple[str, ...]
    """The answer in words."""
    tolerance: float
    """Share by which a measured rate may fall below the expected [1]."""
    sheet: tuple[CheckRow, ...]
    """Checks to measure."""
    judged: tuple[JudgedRow, ...]
    """Measured checks, failures first; empty without logs."""
    slow: tuple[SlowRow, ...]
    """Nodes and parts slower than the others, the slowest first."""
    missing: tuple[str, ...]
    """Checks of the sheet without a measurement; empty without logs."""
    unread: tuple[Unread, ...]
    """Parts of logs that could not be read; values of theirs are missing."""
    assumptions: tuple[str, ...]
    """Assumptions behind the sheet."""
    unverified: tuple[UnverifiedFigure, ...]
    """Figures recalled and not verified."""


SCHEMAS = {
    "acceptance": (AcceptanceReport, "JSON output of `ffplan fabric accept`"),
}
"""Files and outputs of this module, with their titles."""
