"""limit-facility-power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_power
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the facility power in training against `limits.facility_power`."""
    design, assessment = examined.design, examined.assessment
    yield from hold_power(
        design,
        "facility_power",
        assessment.power.facility_kw * 1e3,
        design.spec.limits.facility_power,
        assessment.power.missing,
        what=f"the facility power in training, at PUE {assessment.power.pue:g},",
        remedy="use fewer nodes or nodes of less power, cool with less, or raise the limit",
    )


RULE = Rule(
    id="limit-facility-power",
    title="The facility power in training exceeds `limits.facility_power`",
    why="A site's power contract limits what it draws at the meter: IT power times PUE.",
    example="limits: {facility_power: 4 MW}  # fire-flyer-2 draws 4,095 kW at PUE 1.25",
    good="limits: {facility_power: 5 MW}",
    fix="Change the design, lower the PUE, or raise the limit. Servers and network alone are `limits.it_power`.",
    check=check,
)
