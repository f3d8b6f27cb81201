"""zones-uneven."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find groups whose nodes do not divide by the zones."""
    design, assessment = examined.design, examined.assessment
    zones = assessment.fabric.zones
    if len(set(assessment.fabric.endpoints_per_zone)) == 1:
        return
    for group in design.groups:
        count = group.group.count
        if group.group.zones == "split" and count % zones:
            fewer = count - count % zones
            nearest = " or ".join(f"{number:,}" for number in (fewer, fewer + zones) if number)
            yield design.document.finding(
                RULE.id,
                ("nodes", group.position, "count"),
                f"{count:,} nodes do not divide by {zones} zones: some zones get one more",
                f"use {nearest} nodes",
                severity=Severity.WARNING,
            )


RULE = Rule(
    id="zones-uneven",
    title="A group of nodes does not divide evenly over the zones",
    why="Unequal zones are sized for the fuller one and make placement harder.",
    example="nodes: [{role: compute, server: fire-flyer-2-node, count: 1251}]\nfabric: {zones: 2}",
    good="nodes: [{role: compute, server: fire-flyer-2-node, count: 1250}]\nfabric: {zones: 2}",
    fix="Use a multiple of the number of zones.",
    severity=Severity.WARNING,
    check=check,
)
