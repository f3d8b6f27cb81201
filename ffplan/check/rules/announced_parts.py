"""announced-parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import listed
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find parts that cannot be bought yet."""
    names = [entry.part.id for entry in examined.catalog.used if entry.part.announced]
    if names:
        yield examined.design.document.finding(
            RULE.id,
            ("nodes",),
            f"announced, not yet sold: {listed(f'`{name}`' for name in names)}",
            "check figures and prices again once they are sold",
            severity=Severity.WARNING,
        )


RULE = Rule(
    id="announced-parts",
    title="A part is announced and not yet sold",
    why="Figures and prices of announced parts are their makers' and analysts', and change.",
    example="nodes: [{server: a server of announced accelerators, ...}]",
    good="nodes: [{server: hgx-h100-8nic, ...}]  # sold",
    fix="Plan with parts that are sold, or check again later.",
    severity=Severity.WARNING,
    check=check,
)
