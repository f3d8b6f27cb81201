"""zone-bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import number
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find zones joined by fewer links than they have endpoints, or not joined at all."""
    design, assessment = examined.design, examined.assessment
    fabric = assessment.fabric
    ratio = fabric.zone_oversubscription
    if fabric.zones == 1 or (ratio is not None and ratio <= 1):
        return
    if ratio is not None:
        yield design.document.finding(
            RULE.id,
            ("fabric", "inter_zone"),
            f"the zones share one link between zones among {number(ratio)} endpoints",
            "place jobs so that few flows cross zones: with a double binary tree, one pair of nodes is enough",
            severity=Severity.INFO,
            key=True,
        )
    elif any(group.group.zones == "split" for group in design.groups):
        yield design.document.finding(
            RULE.id,
            ("fabric", "zones"),
            "nothing joins the zones: no job can span them",
            "keep jobs within a zone, or join the zones with `inter_zone`",
            severity=Severity.WARNING,
            key=True,
        )


RULE = Rule(
    id="zone-bottleneck",
    title="Traffic between zones meets a bottleneck",
    why="The links between zones set the bisection of the cluster, not the trees inside them.",
    example="fabric: {zones: 2, inter_zone: {switches: 2, links_per_zone: 40}, ...}",
    good="fabric: {zones: 1, ...}",
    fix="Let the scheduler keep jobs inside a zone, or let only one pair of nodes of a job cross.",
    severity=Severity.INFO,
    check=check,
)
