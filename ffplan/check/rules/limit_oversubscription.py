"""limit-oversubscription."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the oversubscription of a leaf against `limits.oversubscription`."""
    design, assessment = examined.design, examined.assessment
    yield from hold(
        design,
        "oversubscription",
        assessment.fabric.oversubscription,
        design.spec.limits.oversubscription,
        "to 1",
        what="the oversubscription of a leaf switch",
        remedy="lower `fabric.oversubscription`, or raise the limit",
    )


RULE = Rule(
    id="limit-oversubscription",
    title="A leaf switch is oversubscribed beyond `limits.oversubscription`",
    why="Oversubscription divides the bandwidth of every job that leaves its leaf.",
    example="fabric: {oversubscription: 3:1}\nlimits: {oversubscription: 1:1}",
    good="fabric: {oversubscription: 1:1}\nlimits: {oversubscription: 1:1}",
    fix="Lower the oversubscription of the fabric, or raise the limit. Links between zones are not held to it.",
    check=check,
)
