"""limit-capex."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_money, purchase, unpriced
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the purchase against `limits.capex`."""
    limit, missing = examined.design.spec.limits.capex, unpriced(examined.assessment.cost)
    whole, unknown = purchase(examined, limit)
    yield from hold_money(examined.design, "capex", whole, limit, what="the purchase", missing=missing, unknown=unknown)


RULE = Rule(
    id="limit-capex",
    title="The purchase costs more than `limits.capex`",
    why="The design declares the most that it may cost to buy: the whole bill of `ffplan cost`, with storage, side "
    "networks, spares, racks and building.",
    example="limits: {capex: 11000 paper-unit}  # fire-flyer-2 costs 12,437",
    good="limits: {capex: 13000 paper-unit}",
    fix="Change the design, or the limit. A limit without a price book, or with a price missing, cannot be checked and "
    "is reported too.",
    check=check,
)
