"""Where figures come from: their origins, and the JSON output of `explain`, field by field."""

from __future__ import annotations

from dataclasses import field

from ffplan.base.record import record
from ffplan.results.result import Result


@record
class Evidence:
    """A figure of the catalogue with its evidence."""

    part: str
    """Catalogue id of its part."""
    path: str
    """Path in the part."""
    value: str
    """The value, with its unit."""
    grade: str
    """Grade."""
    status: str
    """Status."""
    source: str
    """Title of the source."""
    date: str
    """Date of the source."""


@record
class Origin:
    """Where a figure comes from."""

    design: str
    """Name of the design, if a result has several."""
    path: str
    """Path in JSON."""
    value: str
    """The value, with its unit."""
    meaning: str
    """Its meaning, from the schema."""
    formula: str
    """Equation, or how it follows from its parts; empty if it is counted or given."""
    source: str
    """Source of the equation."""
    parts: tuple[str, ...]
    """Its components: values with source, grade or status."""


@record
class Derivation:
    """A value, its formula, and its components."""

    label: str
    """Its name."""
    value: float | None
    """The value; null of a heading."""
    unit: str
    """Its unit."""
    formula: str
    """Equation, or how it follows from the values below."""
    source: str
    """Where the equation, or the figure, is from."""
    place: str
    """Function that holds the equation, or file and line of the figure."""
    binds: bool
    """It alone decides the value above: the least rate, or the largest part."""
    steps: tuple[Derivation, ...] = field(default=())
    """Its components."""


@record
class Influence:
    """Effect of a tenth more and a tenth less of one input on the value; small whole numbers change by one,
    batches by whole rounds of the pipeline, sequences by 128 tokens."""

    input: str
    """Part and field in the catalogue, field in the design, or input in the account."""
    value: str
    """Its value."""
    place: str
    """File and line; the page on accuracy for errors of the model."""
    source: str
    """Where it is from."""
    grade: str
    """Grade of the figure; empty if the design states it, or the model does."""
    status: str
    """Status of the figure; `given` if the design states it."""
    at_less: str
    """Value tried below it: a tenth less, or one less of a small whole number."""
    at_more: str
    """Value tried above it."""
    less: float | None
    """Relative change of the value at `at_less` [1]; null if the design is then impossible."""
    more: float | None
    """Relative change of the value at `at_more` [1]; null if the design is then impossible."""


@record
class Explanation(Result):
    """Output of `ffplan explain DESIGN PATH`."""

    schema_version: str
    """Version of this format."""
    design: str
    """Name of the design."""
    path: str
    """Path of the value."""
    meaning: str
    """Meaning of the value."""
    root: Derivation
    """The value with its derivation."""
    influences: tuple[Influence, ...]
    """Inputs that move it, the strongest first."""
    idle: int
    """Inputs that were tried and do not move it."""
    notes: tuple[str, ...]
    """Remarks for the reader, a sentence each."""


SCHEMAS = {
    "explanation": (Explanation, "Output of `ffplan explain DESIGN PATH --format json`"),
}
"""Files and outputs of this module, with their titles."""
