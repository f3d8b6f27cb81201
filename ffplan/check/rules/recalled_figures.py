"""recalled-figures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import listed, plural
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


BEHIND = re.compile(
    r"(peak|gemm|collectives|training)\..*|memory_bandwidth|nvlink|pcie|rate|ports|line_efficiency|power\.(maximum|training)"
)
"""Figures that bandwidth, step time and power of a report rest on directly."""
SHOWN = 3
"""Figures that the finding names."""


def check(examined: Examined) -> Iterator[Finding]:
    """Find figures recalled from memory behind the report; prices have a rule of their own."""
    book = examined.assessment.cost.price_book if examined.assessment.cost else ""
    found = [item for item in examined.assessment.unverified if item.part != book and BEHIND.fullmatch(item.path)]
    if found:
        some = listed([f"`{item.path}` of `{item.part}`" for item in found[:SHOWN]])
        more = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        yield examined.design.document.finding(
            RULE.id,
            (),
            f"{plural(len(found), 'figure')} behind rates and power, recalled and unverified: {some}{more}",
            "follow them to a source; `ffplan catalog audit` lists them all",
            severity=Severity.INFO,
        )


RULE = Rule(
    id="recalled-figures",
    title="Figures that the headline rests on are recalled",
    why="A figure of status R was not seen in a source.",
    example="fabric: {switch: a switch whose power is recalled, ...}",
    good="fabric: {switch: a switch whose power is measured, ...}",
    fix="Follow the figures to a source and overlay the part with `--catalog`.",
    severity=Severity.INFO,
    check=check,
)
