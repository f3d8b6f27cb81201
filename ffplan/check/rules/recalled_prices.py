"""recalled-prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import percent
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find costs that rest on recalled prices."""
    design, assessment = examined.design, examined.assessment
    cost = assessment.cost
    lines = [line for line in cost.lines if line.status == "R" and line.total] if cost else []
    if cost and lines:
        share = sum(line.total for line in lines) / cost.total
        priced = " that is priced" if cost.missing else ""
        parts = ", ".join(dict.fromkeys(f"`{line.part}`" for line in lines))
        yield design.document.finding(
            RULE.id,
            ("cost", "price_book"),
            f"{percent(share) if share > 0.005 else 'under 1 %'} of the cost{priced} rests on recalled, unverified "
            f"prices: {parts}",
            "overlay a price book of your own quotes with `--catalog`",
            severity=Severity.INFO,
        )


RULE = Rule(
    id="recalled-prices",
    title="Part of the cost rests on recalled prices",
    why="A price of status R was not seen in a source; it is a default until you have a quote.",
    example="cost: {price_book: usd-2024}",
    good="cost: {price_book: quotes}  # every price with status V",
    fix="Put your quotes in a price book of your own and name its folder with `--catalog`.",
    severity=Severity.INFO,
    check=check,
)
