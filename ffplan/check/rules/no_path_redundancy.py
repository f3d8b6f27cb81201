"""no-path-redundancy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import percent, plural
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find compute nodes that hang on one switch by one port."""
    design, plan = examined.design, examined.fabric
    for group in design.groups:
        if group.group.role != "compute" or len(group.fabric_nics) * design.stripes != 1 or not design.accelerators:
            continue
        nodes = min(plan.radix - plan.uplinks, group.group.count)
        lost = nodes * group.accelerators_per_node
        yield design.document.finding(
            RULE.id,
            ("nodes", group.position, "server"),
            f"each node of `{group.server.id}` hangs on one switch by one port; losing a leaf switch cuts off up to "
            f"{plural(lost, 'accelerator')} ({percent(lost / design.accelerators)})",
            "accept it and plan spare nodes, or choose a server with two NICs on separate planes",
            severity=Severity.INFO,
        )


RULE = Rule(
    id="no-path-redundancy",
    title="Compute nodes have one path into the fabric",
    why="Where a node has one port, its NIC, its cable and its leaf switch are each a single point of failure.",
    example="nodes: [{server: fire-flyer-2-node, ...}]  # one NIC",
    fix="Accept it knowingly, with spares and checkpoints, or use two NICs on separate planes.",
    severity=Severity.INFO,
    check=check,
)
