"""limit-capex."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_money
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the total cost against `limits.capex`."""
    design, assessment = examined.design, examined.assessment
    yield from hold_money(
        design,
        "capex",
        assessment.cost,
        lambda cost: cost.total,
        design.spec.limits.capex,
        what="the cost of the priced scope",
    )


RULE = Rule(
    id="limit-capex",
    title="The priced scope costs more than `limits.capex`",
    why="The design declares the most that it may cost to buy.",
    example="limits: {capex: 11000 paper-unit}  # fire-flyer-2 costs 11,606",
    good="limits: {capex: 12000 paper-unit}",
    fix="Change the design, or the limit. A limit without a price book, or with a price missing, cannot be checked and "
    "is reported too.",
    check=check,
)
