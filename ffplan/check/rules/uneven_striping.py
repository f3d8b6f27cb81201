"""uneven-striping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.rule import Rule
from ffplan.fabric.sizing.striping import difference, even_change, uneven

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find three-tier trees whose spines and cores are not joined evenly."""
    design, plan = examined.design, examined.fabric
    why = uneven(plan)
    if why:
        change = even_change(design, plan)
        remedy = "give the fabric another number of nodes, or accept it"
        if change:
            remedy = f"write {change.fields} ({difference(plan.switches, change.switches)}), or accept it"
        yield design.document.finding(
            RULE.id,
            ("fabric", "tiers"),
            f"{why}: static routing loads some links more than others, and OpenSM's ftree engine refuses the tree "
            "unless `root_guid_file` names its roots",
            f"{remedy}; `ffplan route` and `verify` show it",
            severity=Severity.INFO,
        )


RULE = Rule(
    id="uneven-striping",
    title="Spines and cores of a three-tier tree are not joined evenly",
    why="Fat-tree routing needs the same number of links from a spine to each of its cores. Without that, some "
    "links carry more, and OpenSM falls back to another engine unless its `root_guid_file` names the top switches.",
    example="fabric: {tiers: 3, switch: qm8700, core_policy: minimal, ...}  # 10,000 endpoints, 12.5 cores a group",
    good="fabric: {tiers: 3, switch: qm8700, core_policy: equal-stripe, ...}",
    fix="Stripe evenly and fill whole pods, or accept it knowingly.",
    severity=Severity.INFO,
    check=check,
)
