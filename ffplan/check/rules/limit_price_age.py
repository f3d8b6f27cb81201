"""limit-price-age."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, number, plural
from ffplan.catalog.evidence import date_of, months_of
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined
    from ffplan.results.design import CostReport


def check(examined: Examined) -> Iterator[Finding]:
    """Find prices older than `limits.price_age`, and prices whose age is unknown."""
    design, cost = examined.design, examined.assessment.cost
    limit, book, today = design.spec.limits.price_age, design.prices, examined.today
    if limit is None or cost is None or book is None or today is None:
        return
    now = today.year * 12 + today.month
    dates = {line.part: date_of(book.items[line.part], book.sources) for line in cost.lines if line.total}
    ages = {part: now - months_of(date) for part, date in dates.items() if date is not None}
    old = {part: age for part, age in ages.items() if age > limit * 12}
    path = ("limits", "price_age")
    if old:
        oldest = plural(max(old.values()), "month")
        yield design.document.finding(
            RULE.id,
            path,
            f"{_share(cost, old)} rests on prices up to {oldest} old; the limit is {number(12 * limit)}: {_named(old)}",
            "overlay a price book of newer quotes with `--catalog`",
        )
    undated = [part for part, date in dates.items() if date is None]
    if undated:
        yield design.document.finding(
            RULE.id,
            path,
            f"{_share(cost, undated)} rests on prices whose date is unknown, so the limit cannot be "
            f"checked: {_named(undated)}",
            "overlay a price book with dated quotes of these parts with `--catalog`",
        )


def _share(cost: CostReport, parts: Collection[str]) -> str:
    """Return the share of the cost [%] that some parts have, in words."""
    return f"{number(100 * sum(line.total for line in cost.lines if line.part in parts) / cost.total, 2)} % of the cost"


def _named(parts: Collection[str]) -> str:
    return listed(f"`{part}`" for part in sorted(parts))


RULE = Rule(
    id="limit-price-age",
    title="A price is older than `limits.price_age`, or of an unknown date",
    why="Prices of accelerators and optics move by tens of percent a year. Age counts from the date of the price, "
    "never from the day on which somebody read it.",
    example="cost: {price_book: usd-2024}\nlimits: {price_age: 6 months}",
    good="cost: {price_book: usd-2026}\nlimits: {price_age: 36 months}",
    fix="Overlay a price book of newer, dated quotes with `--catalog`.",
    check=check,
)
