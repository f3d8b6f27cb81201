"""limit-cost-per-accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_money, purchase, unpriced
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the cost per accelerator against `limits.cost_per_accelerator`."""
    limit, assessment = examined.design.spec.limits.cost_per_accelerator, examined.assessment
    (whole, unknown), count = purchase(examined, limit), assessment.accelerators
    each = whole / count if whole is not None and count else None
    missing = unpriced(assessment.cost)
    yield from hold_money(
        examined.design,
        "cost_per_accelerator",
        each,
        limit,
        what="the purchase for each accelerator",
        missing=missing,
        unknown=unknown,
    )


RULE = Rule(
    id="limit-cost-per-accelerator",
    title="An accelerator costs more than `limits.cost_per_accelerator`",
    why="The design declares the most that an accelerator may cost, servers and network included.",
    example="limits: {cost_per_accelerator: 1 paper-unit}  # fire-flyer-2 costs 1.2437",
    good="limits: {cost_per_accelerator: 2 paper-unit}",
    fix="Change the design, or the limit.",
    check=check,
)
