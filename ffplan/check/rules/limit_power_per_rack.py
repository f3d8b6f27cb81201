"""limit-power-per-rack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_power
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the power of a rack of each group against `limits.power_per_rack`."""
    design, assessment = examined.design, examined.assessment
    limit = design.spec.limits.power_per_rack
    for node, plan in zip(assessment.power.nodes, examined.power.nodes, strict=True):
        yield from hold_power(
            design,
            "power_per_rack",
            node.rack_w,
            limit,
            () if plan.rated else node.missing,
            what=f"the power of a rack of `{node.server}` at the nodes' maximum",
            remedy="put fewer nodes in a rack" if node.rack_w else f"add `per_rack` to the {node.role} nodes",
        )


RULE = Rule(
    id="limit-power-per-rack",
    title="A rack draws more than `limits.power_per_rack`",
    why="Power and cooling are built per rack, for the rated maximum and not for the average.",
    example="limits: {power_per_rack: 25 kW}  # with per_rack: 4 on DGX A100, 26 kW",
    good="limits: {power_per_rack: 30 kW}",
    fix="Lower `per_rack`, or raise the limit. A group without `per_rack` cannot be checked and is reported too.",
    check=check,
)
