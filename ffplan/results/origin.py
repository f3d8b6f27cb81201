"""Where a figure of a result comes from."""

from __future__ import annotations

from ffplan.base.record import record


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
    """Name of the design, where a result has several."""
    path: str
    """Path in JSON."""
    value: str
    """The value, with its unit."""
    meaning: str
    """What it is, as the schema has it."""
    formula: str
    """Equation, or how it follows from its parts; empty if it is counted or given."""
    source: str
    """Source of the equation."""
    parts: tuple[str, ...]
    """What it is made of: values with source, grade or status."""
