"""empty-group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find dragonflies whose ports fit into one of their groups."""
    design, plan = examined.design, examined.fabric
    shape = plan.dragonfly
    ports = plan.access_points // plan.planes
    if shape is None or ports > shape.group_ports:
        return
    tiers = 1 if ports <= design.radix else 2
    where = " of a plane" if plan.planes > 1 else ""
    yield design.document.finding(
        RULE.id,
        ("fabric", "family"),
        f"the {ports:,} ports{where} fit into one group of {shape.routers:,} routers, which has {shape.group_ports:,}; "
        f"a dragonfly has two groups at least, so {shape.routers:,} of {2 * shape.routers:,} routers are empty",
        f"write `family: fat-tree` and `tiers: {tiers}`, or state the growth in `access_points`",
        severity=Severity.WARNING,
    )


RULE = Rule(
    id="empty-group",
    title="A dragonfly has a group that no endpoint needs",
    why="A dragonfly has two groups at least. Where one holds every endpoint, the other is bought for nothing.",
    example="nodes: [{role: compute, server: dgx-a100-320gb, count: 20}]\nfabric: {family: dragonfly, switch: qm8700}",
    good="nodes: [{role: compute, server: dgx-a100-320gb, count: 1250}]\nfabric: {family: dragonfly, switch: qm8700}",
    fix="Use a fat tree, or build the ports of the growth that is planned.",
    severity=Severity.WARNING,
    check=check,
)
