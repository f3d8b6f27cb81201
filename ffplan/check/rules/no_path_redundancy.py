"""no-path-redundancy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import plural
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find compute nodes that hang on one switch by one port."""
    design, plan = examined.design, examined.fabric
    for group in design.groups:
        ports = len(group.fabric_nics) * design.stripes
        single = ports == 1 or (plan.tiers == 1 and plan.planes == 1 and plan.dragonfly is None)
        if group.group.role != "compute" or not single or not group.accelerators_per_node:
            continue
        yield design.document.finding(
            RULE.id,
            ("nodes", group.position, "server"),
            f"each node of `{group.server.id}` hangs on one switch by {plural(ports, 'port')}, and is cut off with it; "
            "`limits.blast_radius` counts how many accelerators that is",
            "accept it and plan spare nodes, or choose a server with two NICs on separate planes",
            severity=Severity.INFO,
        )


RULE = Rule(
    id="no-path-redundancy",
    title="Compute nodes have one path into the fabric",
    why="Where a node has one port, its NIC, its cable and its leaf switch are each a single point of failure.",
    example="nodes: [{server: fire-flyer-2-node, ...}]  # one NIC",
    good="nodes: [{server: hgx-h100-8nic, ...}]  # eight NICs, on a leaf each",
    fix="Accept it knowingly, with spares and checkpoints, or use two NICs on separate planes.",
    severity=Severity.INFO,
    check=check,
)
