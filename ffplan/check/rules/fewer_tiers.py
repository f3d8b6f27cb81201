"""fewer-tiers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.rule import Rule
from ffplan.fabric.sizing.tree_plan import base_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined
    from ffplan.design.resolved import ResolvedDesign


def _without(design: ResolvedDesign, tiers: int) -> str:
    """Say which fields speak of the tiers that would go."""
    fabric = design.spec.fabric
    fields = ["oversubscription"] if tiers == 1 and fabric.oversubscription != 1 else []
    fields += ["core_policy"] if "core_policy" in fabric.model_fields_set else []
    fields += ["spine_oversubscription"] if fabric.spine_oversubscription != 1 else []
    fields += ["core"] if "core" in fabric.model_fields_set else []
    fields += [f"spine.{name}" for name in ("uplinks", "pod_leaves") if getattr(fabric.spine, name) is not None]
    fields += [name for name in ("leaf", "spine") if tiers == 1 and name in fabric.model_fields_set]
    return f" without {' and '.join(f'`{field}`' for field in fields)}" if fields else ""


def check(examined: Examined) -> Iterator[Finding]:
    """Find fabrics with a tier more than their zones need."""
    design, assessment = examined.design, examined.assessment
    spec, fabric = design.spec.fabric, assessment.fabric
    if spec.tiers == 1:
        return
    rule = replace(base_rule(design), pod_size=None, spine_up=None)
    even = -(-fabric.access_points // (fabric.zones * fabric.planes))
    wanted = max(even, *fabric.endpoints_per_zone) + design.trunk_links
    for tiers in range(1, spec.tiers):
        capacity = replace(rule, tiers=tiers).capacity
        if wanted <= capacity:
            yield design.document.finding(
                RULE.id,
                ("fabric", "tiers"),
                f"{wanted:,} ports per zone would fit with `tiers: {tiers}`, which holds {capacity:,}",
                f"write `tiers: {tiers}`{_without(design, tiers)}, or keep the tier for growth",
                severity=Severity.WARNING,
            )
            return


RULE = Rule(
    id="fewer-tiers",
    title="A smaller number of tiers would hold the endpoints",
    why="Each tier adds two switch ports and a cable per endpoint, and latency.",
    example="nodes: [{role: compute, server: fire-flyer-2-node, count: 700}]\nfabric: {tiers: 3, switch: qm8700}",
    good="nodes: [{role: compute, server: fire-flyer-2-node, count: 700}]\nfabric: {tiers: 2, switch: qm8700}",
    fix="Drop a tier, or keep it knowingly for growth.",
    severity=Severity.WARNING,
    check=check,
)
