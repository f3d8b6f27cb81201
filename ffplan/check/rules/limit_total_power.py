"""limit-total-power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.studies.design import DesignStudy


def check(study: DesignStudy) -> Iterator[Finding]:
    """Hold the IT power in training against `limits.total_power`."""
    design, assessment = study.design, study.assessment
    limit = design.spec.limits.total_power
    yield from hold(
        design,
        "total_power",
        assessment.power.it_kw * 1e3,
        limit,
        "W",
        what="the IT power in training, network and storage included",
        remedy="use fewer or thriftier nodes, or raise the limit",
    )


RULE = Rule(
    id="limit-total-power",
    title="The IT power in training exceeds `limits.total_power`",
    why="A site's power contract is limited.",
    example="limits: {total_power: 3 MW}  # fire-flyer-2 draws 3,276 kW",
    fix="Change the design, or the limit. The limit is on IT power; facility power is IT power times PUE.",
    check=check,
)
