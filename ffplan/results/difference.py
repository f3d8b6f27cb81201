"""JSON output of `diff` and `reproduce`, field by field; `SCHEMA_VERSION` is shared with the assessment."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import DesignInfo, Result, ToolInfo


@record
class FieldChange:
    """A field of the design that changed."""

    path: str
    """Field, such as `fabric.tiers`."""
    before: str | None
    """Its value as JSON; null if absent."""
    after: str | None
    """Its value as JSON; null if absent now."""


@record
class FigureChange:
    """A figure of the report, before and after."""

    figure: str
    """Stable name."""
    address: str
    """Address of it: its path in the JSON output of `design`, `cost` or `train`."""
    label: str
    """For people."""
    unit: str
    """Unit; empty for counts."""
    kind: str
    """cost, power, bandwidth, time, or empty: the threshold that `check --against` holds it to without one of its
    own."""
    before: float | None
    """Value before [unit]; null if there was none."""
    after: float | None
    """Value after [unit]; null without one."""
    relative: float | None
    """Its change over the value before [1]; null without one."""
    verdict: str
    """better, worse, or empty if neither is meant."""


@record
class ChangeEffect:
    """Effect of one change, or of several that only work together."""

    changes: tuple[FieldChange, ...]
    """The changes."""
    figures: tuple[FigureChange, ...]
    """Figures that it moved, from the design with every change before it."""


@record
class DesignDifference(Result):
    """Output of `ffplan diff`."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """The program behind the report."""
    before: DesignInfo
    """The design before."""
    after: DesignInfo
    """The design after."""
    changes: tuple[FieldChange, ...]
    """Fields that changed, in the order of the design after; empty if one side is a saved report."""
    figures: tuple[FigureChange, ...]
    """Every figure of the two reports."""
    effects: tuple[ChangeEffect, ...]
    """What each change moves, in order; their sum is the whole."""
    notes: tuple[str, ...]
    """Remarks for the reader, a sentence each."""


UNKNOWN_CHANGES = "A saved report holds no design file: what changed in the design is not known."
"""Note of a difference whose changes are not known."""


@record
class Cause:
    """Something that has changed since the report was made."""

    what: str
    """The program, the format, a design or a catalogue file."""
    then: str | None
    """Its version or the start of its SHA-256 in the report; null if it was not read."""
    now: str | None
    """Its version or the start of its SHA-256 today; null if it is not read."""


@record
class Difference:
    """A value that differs."""

    path: str
    """JSON path in the report."""
    then: str | None
    """Value in the report, as JSON; null if the path was not there."""
    now: str | None
    """Value today."""
    change: float | None
    """Relative change of a number; null otherwise."""


@record
class Reproduction(Result):
    """A saved report, made again."""

    schema_version: str
    """Version of this format."""
    report: str
    """File of the report."""
    kind: str
    """design or comparison."""
    values: int
    """Values of the report that were compared."""
    causes: tuple[Cause, ...]
    """Everything it rests on that is no longer the same."""
    differences: tuple[Difference, ...]
    """Values that differ, in the order of the report."""
    left_out: tuple[str, ...]
    """Parts of the report that were not made again, since it does not hold the question."""


SCHEMAS = {
    "diff": (DesignDifference, "Output of `ffplan diff --format json`"),
    "reproduction": (Reproduction, "Output of `ffplan model reproduce --format json`"),
}
"""Files and outputs of this module, with their titles."""
