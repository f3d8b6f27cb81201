"""limit-price-age."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, number, plural
from ffplan.catalog.evidence import months_of
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find prices older than `limits.price_age`."""
    design, cost = examined.design, examined.assessment.cost
    limit, book, today = design.spec.limits.price_age, design.prices, examined.today
    if limit is None or cost is None or book is None or today is None:
        return
    now = today.year * 12 + today.month
    dates = {line.part: book.sources[book.items[line.part].source].date for line in cost.lines if line.total}
    old = {part: now - months_of(date) for part, date in dates.items() if now - months_of(date) > limit * 12}
    if old:
        share = sum(line.total for line in cost.lines if line.part in old) / cost.total
        oldest = max(old.values())
        yield design.document.finding(
            RULE.id,
            ("limits", "price_age"),
            f"{number(100 * share, 2)} % of the cost rests on prices up to {plural(oldest, 'month')} old; the "
            f"limit is {number(12 * limit)}: {listed(f'`{part}`' for part in sorted(old))}",
            "overlay a price book of newer quotes with `--catalog`",
        )


RULE = Rule(
    id="limit-price-age",
    title="A price is older than `limits.price_age`",
    why="Prices of accelerators and optics move by tens of percent a year.",
    example="cost: {price_book: usd-2024}\nlimits: {price_age: 6 months}",
    good="cost: {price_book: usd-2026}\nlimits: {price_age: 36 months}",
    fix="Overlay a price book of newer quotes with `--catalog`.",
    check=check,
)
