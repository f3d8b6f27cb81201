"""The ranks of a job on a design's compute nodes, for one job or for arrays of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, ceil_div, minimum
from ffplan.collectives.rank_layout import RankLayout
from ffplan.fabric.family import fabric_cuts
from ffplan.fabric.sizing.link_cuts import reachable_nodes, zones_of
from ffplan.node.host import Host, host

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan
    from ffplan.studies.basis.placement import Placement


def node_of(design: ResolvedDesign, nic_gbyte_s: float | None = None) -> Host:
    """Return a compute node of a design.

    Args:
        nic_gbyte_s: most that each NIC carries [GB/s]; its port's rate if omitted.
    """
    rate = design.port_gbyte_s * design.stripes
    return host(design.compute, rate if nic_gbyte_s is None else minimum(rate, nic_gbyte_s))


def own_library(design: ResolvedDesign) -> str:
    """Return the catalogue id of the library between the accelerators of a design."""
    accelerator = design.compute.accelerator
    return accelerator.library if accelerator else "nccl"


def most_gpus(design: ResolvedDesign) -> int:
    """Return the accelerators that one job can span [1]."""
    return reachable_nodes(design) * design.compute.accelerators_per_node


def job_layout(
    design: ResolvedDesign,
    plan: FabricPlan,
    node: Host,
    ranks: Number,
    zones: Number | None = None,
    *,
    by_domain: bool = True,
    placement: Placement | None = None,
) -> RankLayout:
    """Return the layout of jobs that fill node after node, leaf after leaf, zone after zone.

    Args:
        ranks: ranks of each job [1], any shape; domains of several nodes are filled one after the other.
        zones: zones that each job spans [1]; as few as hold it if omitted.
        by_domain: a scale-up switch makes one of several nodes, as NCCL sees it; HFReduce works node by node.
        placement: nodes that the ranks are spread over evenly; as few as hold them if omitted.
    """
    boxes = ceil_div(ranks, len(node.gpus)) if placement is None else ranks * 0 + placement.nodes
    domains = ceil_div(boxes, node.domain_nodes) if by_domain else boxes
    spanned = zones_of(design, boxes) if zones is None else boxes * 0 + zones
    filled = by_domain and node.domain_nodes > 1 and placement is None
    each = minimum(ranks, node.domain_gpus) if filled else ranks / domains
    return RankLayout(
        host=node,
        nodes=domains,
        per_node=each,
        zones=spanned,
        cuts=fabric_cuts(design, plan, boxes, spanned),
        sent_by=None if placement is None else boxes / domains * placement.nics,
        last=ranks - (domains - 1) * each if filled else None,
    )
