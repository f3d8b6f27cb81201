"""limit-it-power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_site_power
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the IT power in training against `limits.it_power`."""
    what = "the IT power in training, network and storage included"
    yield from hold_site_power(examined, "it_power", "it_training_kw", what=what)


RULE = Rule(
    id="limit-it-power",
    title="The IT power in training exceeds `limits.it_power`",
    why="A hall's power distribution is built for a load of servers, switches and storage.",
    example="limits: {it_power: 3 MW}  # fire-flyer-2 draws 3,317 kW",
    good="limits: {it_power: 4 MW}",
    fix="Change the design, or the limit. What the feed must carry is `limits.facility_peak`.",
    check=check,
)
