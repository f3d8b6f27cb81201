"""The record of a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ffplan.base.errors import Finding, Severity
from ffplan.base.record import record
from ffplan.check.examined import Examined


@record
class Rule:
    """One rule, as docs/rules.md shows it."""

    id: str
    """Stable id."""
    title: str
    """The condition that it finds."""
    why: str
    """The reason."""
    example: str
    """A design, or part of one, that breaks it."""
    good: str
    """The same, as it keeps the rule."""
    fix: str
    """The remedy."""
    severity: Severity = Severity.ERROR
    """Weight of its findings."""
    check: Callable[[Examined], Iterable[Finding]] | None = None
    """Finds what breaks it; None for rules that reading a file enforces."""
