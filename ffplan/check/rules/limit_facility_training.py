"""limit-facility-training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_site_power
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the facility power in training against `limits.facility_training`."""
    what = "the facility power in training, {pue}"
    yield from hold_site_power(examined, "facility_training", "facility_training_kw", what=what)


RULE = Rule(
    id="limit-facility-training",
    title="The facility power in training exceeds `limits.facility_training`",
    why="What a site draws at the meter while it trains: IT power times PUE.",
    example="limits: {facility_training: 4 MW}  # fire-flyer-2 draws 4,146 kW at PUE 1.25",
    good="limits: {facility_training: 5 MW}",
    fix="Change the design, lower the PUE, or raise the limit. What the feed must carry is `limits.facility_peak`.",
    check=check,
)
