"""The contract of `reproduce --format json`: a saved report against the same question asked today."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import Result


@record
class Cause:
    """Something that is no longer what it was when the report was made."""

    what: str
    """The program, the format, a design or a catalogue file."""
    then: str | None
    """Its version or the start of its SHA-256 in the report; null if it was not read."""
    now: str | None
    """The same today."""


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


SCHEMAS = {"reproduction": (Reproduction, "Output of `ffplan model reproduce --format json`")}
"""Files and outputs of this module, with their titles."""
