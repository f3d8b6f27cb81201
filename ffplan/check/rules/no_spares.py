"""no-spares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import listed
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


SPARES = {"spare_nodes": "nodes", "spare_switches": "switches", "spare_links": "cables and optics"}
"""Fields of the ownership."""


def check(examined: Examined) -> Iterator[Finding]:
    """Find ownership without spares; designs that say nothing of ownership are not asked."""
    design = examined.design
    if design.ownership is None or design.rent is not None or design.prices is None:
        return
    given = examined.ownership.inputs
    bought = {field: given[field].likely for field in SPARES if field in given}
    stated = design.reliability.spare_nodes if design.reliability is not None else None
    if stated is not None:
        bought["spare_nodes"] = stated
    none = [words for field, words in SPARES.items() if not bought.get(field)]
    if none:
        yield design.document.finding(
            RULE.id,
            ("ownership",),
            f"no spare {listed(none)}: a job waits for the repair of each",
            "give `spare_nodes`, `spare_switches` and `spare_links` under `ownership`, such as 2 %"
            if stated is None
            else "raise `reliability.spare_nodes`; give `spare_switches` and `spare_links` under `ownership`",
            severity=Severity.WARNING,
            key=True,
        )


RULE = Rule(
    id="no-spares",
    title="The ownership plans no spares",
    why="Of 10,000 accelerators several fail each week; without spares a job waits for their repair.",
    example="ownership: {spare_nodes: 0 %}",
    good="ownership: {spare_nodes: 2 %}",
    fix="Plan spares, such as 2 % of nodes, switches and links.",
    severity=Severity.WARNING,
    check=check,
)
