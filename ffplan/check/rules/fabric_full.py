"""fabric-full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find fabrics without a free leaf port."""
    design, assessment = examined.design, examined.assessment
    set_aside = any(row.unused_ports for row in assessment.fabric.by_role[:1])
    if assessment.fabric.spare_ports == 0 and not set_aside:
        yield design.document.finding(
            RULE.id,
            ("fabric",),
            "every leaf port is taken: nothing is left for growth, management or repair",
            "keep some ports free, or accept it knowingly",
            severity=Severity.INFO,
            key=True,
        )


RULE = Rule(
    id="fabric-full",
    title="No leaf port is free",
    why="A failed port cannot be replaced by another, and no node or management host can be added.",
    example="nodes: [{role: compute, server: fire-flyer-2-node, count: 800}]\nfabric: {tiers: 2, switch: qm8700}",
    good="nodes: [{role: compute, server: fire-flyer-2-node, count: 750}]\nfabric: {tiers: 2, switch: qm8700}",
    fix="Keep some ports free.",
    severity=Severity.INFO,
    check=check,
)
