"""uneven-striping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.fabric.sizing.fat_tree import Tree
    from ffplan.studies.design import DesignStudy


def _why(tree: Tree) -> str:
    """Describe the uneven links of a three-tier tree; an empty text where all are even."""
    assert tree.pod is not None
    groups, up = tree.rule.uplinks, tree.pod.up
    if tree.last_pod is not None and tree.full_pods:
        return f"the last pod has {tree.last_pod.leaves} leaves, the others {tree.pod.leaves}"
    if tree.last_pod is None and (tree.core % groups or up % (tree.core // groups)):
        return f"the {up} uplinks of a spine cannot be dealt evenly over {tree.core / groups:g} cores"
    return ""


def check(study: DesignStudy) -> Iterator[Finding]:
    """Find three-tier trees whose spines and cores are not joined evenly."""
    design = study.design
    if design.spec.fabric.tiers < 3:
        return
    why = next((text for tree in study.fabric.trees if (text := _why(tree))), "")
    if why:
        yield design.document.finding(
            RULE.id,
            ("fabric", "tiers"),
            f"{why}: static routing loads some links more than others, and OpenSM's ftree engine refuses the tree",
            "use `core_policy: equal-stripe` and whole pods where it matters; `ffplan route` and `verify` show it",
            severity=Severity.INFO,
        )


RULE = Rule(
    id="uneven-striping",
    title="Spines and cores of a three-tier tree are not joined evenly",
    why="Fat-tree routing needs the same number of links from a spine to each of its cores. Without that, OpenSM "
    "falls back to another engine, and some links carry more.",
    example="fabric: {tiers: 3, switch: qm8700, core_policy: minimal, ...}  # 10,000 endpoints, 12.5 cores a group",
    fix="Stripe evenly and fill whole pods, or accept it knowingly.",
    severity=Severity.INFO,
    check=check,
)
