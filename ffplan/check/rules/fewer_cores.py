"""fewer-cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.rule import Rule
from ffplan.fabric.sizing.striping import EVEN, difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find evenly striped fabrics that another core policy would build from fewer switches."""
    fabric = examined.assessment.fabric
    if fabric.core_policy != EVEN:
        return
    totals = fabric.switches_by_core_policy
    mine = totals[EVEN]
    fewer = [f"`{name}` needs {difference(mine, count)}" for name, count in totals.items() if count < mine]
    if fewer:
        best = min(totals, key=lambda name: (totals[name], name))
        yield examined.design.document.finding(
            RULE.id,
            ("fabric", "tiers"),
            f"even striping of spines over cores takes {mine:,} switches: {', '.join(fewer)}",
            f"keep it for even loads; write `core_policy: {best}` where another engine than OpenSM's ftree routes the "
            "fabric, or its roots are named",
            severity=Severity.INFO,
        )


RULE = Rule(
    id="fewer-cores",
    title="Another core policy would need fewer switches",
    why="OpenSM's ftree engine needs as many links from a spine to each of its cores, unless its roots are named. "
    "Fabrics with another routing engine can do with fewer cores.",
    example="fabric: {tiers: 3, switch: qm8700, core_policy: equal-stripe, ...}  # 10,000 endpoints, 400 cores",
    good="fabric: {tiers: 3, switch: qm8700, core_policy: minimal, ...}",
    fix="Keep even striping for even loads, or name another policy.",
    severity=Severity.INFO,
    check=check,
)
