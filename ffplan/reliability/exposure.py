"""Exposure of a job: accelerators, nodes, NICs, links and switches that can stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, ceil_div, maximum
from ffplan.base.record import record
from ffplan.catalog.parts import Server
from ffplan.catalog.reliability import PATHS

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan

ACCESS_TIERS = ("endpoint",)
"""Tiers of a fabric's endpoint links."""
EDGE_ROLES = ("leaf", "router")
"""Roles of switches with endpoints."""


@record
class JobUnits:
    """Units in use by jobs; every count has the shape of the jobs."""

    counts: dict[str, Number]
    """Units by kind [1]."""
    survives: dict[str, str]
    """Units whose loss slows a job without stopping it, with the reason."""


def _bridges_per_node(design: ResolvedDesign) -> int:
    """Return the NVLink bridges of a compute node [1]."""
    server = design.compute.server
    if not isinstance(server, Server) or server.nvlink is None:
        return 0
    return len(getattr(server.nvlink, "pairs", None) or ())


def domain_nodes(design: ResolvedDesign) -> int:
    """Return the nodes of a scale-up domain [1]; 1 if it stays within a node."""
    server = design.compute.server
    return server.nvlink.nodes if isinstance(server, Server) and server.nvlink is not None else 1


def job_units(design: ResolvedDesign, plan: FabricPlan, nodes: Number) -> JobUnits:
    """Return the units in use by jobs.

    Args:
        nodes: compute nodes of each job [1]; jobs above the design's size get its fabric in proportion.

    Equation:
        accelerators, NICs, bridges and endpoint links by node; leaf switches, links between switches and the other
        switches in proportion to the compute nodes, at least one leaf; scale-up domains of several nodes, rounded up

    Source:
        Counts of the design.
    """
    group = design.compute
    # above the design's size the part exceeds 1, and its fabric grows in proportion
    part, domain = nodes / group.group.count, domain_nodes(design)
    nics = len(group.fabric_nics)
    leaves = sum(plan.switches_by_role.get(role, 0) for role in EDGE_ROLES)
    upper = plan.switches - leaves
    inter = sum(count for tier, count in plan.links_by_tier.items() if tier not in ACCESS_TIERS)
    counts: dict[str, Number] = {
        "accelerator": nodes * group.accelerators_per_node,
        "node": nodes,
        "nic": nodes * nics,
        "endpoint-link": nodes * nics * design.stripes,
        # the smallest job still hangs on one leaf
        "leaf-switch": maximum(min(1.0, leaves), part * leaves),
        "upper-switch": part * upper,
        "inter-switch-link": part * inter,
        "bridge": nodes * _bridges_per_node(design),
        "scale-up-domain": ceil_div(nodes, domain) if domain > 1 else 0.0 * nodes,
        "job": 0.0 * nodes + 1.0,
    }
    survives: dict[str, str] = {}
    if design.stripes > 1:
        reason = f"every NIC has {design.stripes} ports on as many planes: a job goes on at part of the rate"
        survives |= dict.fromkeys(PATHS, reason)
    return JobUnits(counts=counts, survives=survives)


OF_NODES = ("accelerator", "node", "nic", "bridge")
"""Units inside a node, whose rate depends on its accelerator."""
