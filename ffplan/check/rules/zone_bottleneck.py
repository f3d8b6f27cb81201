"""zone-bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.rule import Rule
from ffplan.errors import Severity
from ffplan.units import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.assessment import Assessment
    from ffplan.design.resolve import ResolvedDesign
    from ffplan.errors import Finding


def check(design: ResolvedDesign, assessment: Assessment) -> Iterator[Finding]:
    """Find zones joined by fewer links than they have endpoints, or not joined at all."""
    ratio = assessment.fabric.zone_oversubscription
    if assessment.fabric.zones == 1 or (ratio is not None and ratio <= 1):
        return
    joined = f"share one link between zones among {number(ratio)} endpoints" if ratio else "are not joined"
    yield design.document.finding(
        RULE.id, ("fabric", "inter_zone" if ratio else "zones"), f"the zones {joined}",
        "place jobs so that few flows cross zones: with a double binary tree, one pair of nodes is enough",
        severity=Severity.INFO, key=True,
    )  # fmt: skip


RULE = Rule(
    id="zone-bottleneck",
    title="Traffic between zones meets a bottleneck",
    why="The bisection of the cluster is that of the links between zones, not of the trees inside them.",
    example="fabric: {zones: 2, inter_zone: {switches: 2, links_per_zone: 40}, ...}",
    fix="Let the scheduler keep jobs inside a zone, or let only one pair of nodes of a job cross.",
    severity=Severity.INFO,
    check=check,
)
