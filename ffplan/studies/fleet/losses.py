"""What one failure takes of a fleet: a node, a scale-up domain, a rack, or a leaf switch."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from ffplan.results.fleet import FleetLoss
from ffplan.studies.fleet.recommend import _copies_on, _nodes

if TYPE_CHECKING:
    from ffplan.studies.fleet.recommend import _SizedFleet


def _losses(fleet: _SizedFleet, concurrency: float) -> tuple[FleetLoss, ...]:
    """Return what single failures take, the smallest first; each with all other nodes up.

    Args:
        concurrency: requests under way at the peak, on all copies [1].
    """
    assessment, gpus = fleet.built.assessment, fleet.setup.gpus
    nodes = int(assessment.nodes["compute"])
    per_node = assessment.accelerators // nodes
    rows = []
    for part, taken in sorted(_domains(fleet, nodes, per_node).items(), key=lambda item: item[1]):
        lost = min(ceil(taken / _nodes(1, gpus, per_node)) * max(per_node // gpus, 1), fleet.copies)
        left = _copies_on(nodes - taken, gpus, per_node)
        rows.append(
            FleetLoss(
                part=part,
                nodes=taken,
                copies=lost,
                kept=min(left * fleet.rate / fleet.peak, 1.0),
                requests=concurrency * lost / fleet.copies,
            )
        )
    return tuple(rows)


def _domains(fleet: _SizedFleet, nodes: int, per_node: int) -> dict[str, int]:
    """Return the nodes that stand or fall together, by what they share [1]."""
    fabric, domain = fleet.built.assessment.fabric, fleet.setup.fleet.domain // per_node
    found = {"node": 1, "rack": fleet.built.ledger.site.rack_nodes}
    if domain > 1:
        found["scale-up domain"] = min(domain, nodes)
    leaf = next((role for role in fabric.by_role if role.role == "leaf"), None)
    if leaf is not None and fabric.planes == 1 and fabric.endpoints == nodes:
        # a node with one link has no other way out
        found["leaf switch"] = min(leaf.downlinks, nodes)
    return found
