"""price-missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find parts of the cost scope without a price."""
    design, cost = examined.design, examined.assessment.cost
    if cost is None:
        return
    for item in cost.missing:
        count = f"{item.quantity:,} {item.category}"
        yield design.document.finding(
            RULE.id,
            ("cost", "price_book"),
            f"the price book `{cost.price_book}` has no price for `{item.part}` ({count}); the cost is partial",
            f"add `{item.part}` in a book that extends `{cost.price_book}`, or write `{item.category}` under "
            "`cost.exclude`",
            severity=Severity.WARNING,
        )


RULE = Rule(
    id="price-missing",
    title="The price book lacks a part of the cost scope",
    why="The total leaves the part out and is too low; the report marks it as partial.",
    example="cost: {price_book: fire-flyer-2-relative}  # with storage nodes in scope",
    good="cost: {price_book: fire-flyer-2-relative, exclude: [storage, endpoint-links]}",
    fix="Add the price in a book that extends this one, or exclude the category.",
    severity=Severity.WARNING,
    check=check,
)
