"""limit-facility-peak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_site_power
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the facility power at the rated peak against `limits.facility_peak`."""
    yield from hold_site_power(
        examined, "facility_peak", "facility_peak_kw", what="the facility power at the rated peak, {pue}"
    )


RULE = Rule(
    id="limit-facility-peak",
    title="The facility power at its rated peak exceeds `limits.facility_peak`",
    why="A feed must carry everything at its rated maximum, times PUE; a contract that is sized to the mean trips.",
    example="limits: {facility_peak: 4 MW}  # fire-flyer-2 may draw 4,428 kW at PUE 1.25",
    good="limits: {facility_peak: 5 MW}",
    fix="Change the design, lower the PUE, or raise the limit. What a site draws in training is "
    "`limits.facility_training`.",
    check=check,
)
