"""The record of a rule, and the register of the rules on assessed designs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined

    Finder = Callable[[Examined], Iterable["Breach"]]


@record
class Breach:
    """A breach of a rule, which becomes a finding of that rule."""

    path: tuple[str | int, ...]
    """Field of the design at fault; empty for the whole file."""
    message: str
    """The fault."""
    remedy: str
    """The way to correct it."""
    key: bool = False
    """Point at the field's name rather than at its value."""
    severity: Severity | None = None
    """Severity, unless it is the rule's."""


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
    find: Finder | None = None
    """Finds its breaches; None for rules that are enforced elsewhere, such as while a file is read."""

    def check(self, examined: Examined) -> Iterator[Finding]:
        """Yield a finding for every breach in a design."""
        for breach in self.find(examined) if self.find else ():
            yield examined.design.document.finding(
                self.id,
                breach.path,
                breach.message,
                breach.remedy,
                severity=breach.severity or self.severity,
                key=breach.key,
            )


def _rule_of_limit(field: str) -> str:
    return f"limit-{field.replace('_', '-')}"


REGISTER: list[Rule] = []
"""Rules on assessed designs whose modules are loaded; `ffplan.check.rules` loads them all."""


def rule(
    name: str, *, title: str, why: str, example: str, good: str, fix: str, severity: Severity = Severity.ERROR
) -> Callable[[Finder], Finder]:
    """Register a rule on assessed designs, with the decorated function as its finder.

    Args:
        name: its id; the other arguments are the fields of `Rule`.
    """

    def register(find: Finder) -> Finder:
        REGISTER.append(
            Rule(id=name, title=title, why=why, example=example, good=good, fix=fix, severity=severity, find=find)
        )
        return find

    return register
