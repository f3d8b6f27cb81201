"""Ranks on compute nodes: for one job, for arrays of jobs, or as placed in a measurement's log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, ceil_div, minimum
from ffplan.base.record import record
from ffplan.catalog.named import is_another
from ffplan.collectives.rank_layout import RankLayout
from ffplan.fabric.family import fabric_cuts
from ffplan.fabric.sizing.plan import reachable_nodes, zones_of
from ffplan.node.host import Host, host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan
    from ffplan.results.acceptance import Measured


@record
class Placement:
    """Ranks spread evenly over nodes."""

    nodes: int
    """Nodes [1]."""
    nics: float
    """NICs that they use on each [1]."""


def _nics_near(host: Host, devices: Sequence[int]) -> float:
    """Return the NICs that some accelerators of a node send through [1].

    Equation:
        the NICs at the root ports of the accelerators, of those without one all NICs of the socket, else of the node;
        at most max(1, NICs / accelerators) for each, and at least 1

    Source:
        NVIDIA/nccl v2.30.7, src/graph: each channel leaves by the NIC nearest to its accelerator.
    """
    near: set[str] = set()
    for device in devices:
        port = host.port_of(host.gpus[device])
        port_nics = port.nics if port else ()
        on_socket = [
            name for root_port in host.ports if port and root_port.socket == port.socket for name in root_port.nics
        ]
        near |= set(port_nics or on_socket or host.nic_ids)
    per_gpu = max(1.0, len(host.nics) / len(host.gpus))
    return max(1.0, min(float(len(near)), per_gpu * len(devices)))


def placement_fault(measured: Measured, host: Host) -> str:
    """Return why a design says nothing of a measured collective; empty if it does.

    Args:
        measured: the value, with what the log says of its ranks.
    """
    part = host.accelerator
    others = [name for name in measured.accelerators if part is not None and is_another(name, part)]
    if others and part is not None:
        return f"measured on {others[0]}, and the design has `{part.id}`"
    if measured.most_ranks > len(host.gpus):
        return f"{measured.most_ranks} ranks on a node, and a node of the design has {len(host.gpus)} accelerators"
    if measured.fewest_ranks != measured.most_ranks:
        return (
            f"between {measured.fewest_ranks} and {measured.most_ranks} ranks on a node: the model spreads them evenly"
        )
    if measured.devices and max(measured.devices) >= len(host.gpus):
        return f"device {max(measured.devices)}, and a node of the design has {len(host.gpus)} accelerators"
    return ""


def placement_of(measured: Measured, host: Host) -> Placement | None:
    """Return the placement of a measured collective; None if ranks fill node after node, or the log names none.

    Args:
        measured: the value, with what the log says of its ranks.
    """
    if placement_fault(measured, host):
        return None
    if measured.nodes < 2 or not measured.most_ranks or measured.most_ranks == len(host.gpus):
        return None
    devices = measured.devices or tuple(range(0, len(host.gpus), max(1, len(host.gpus) // measured.most_ranks)))
    return Placement(measured.nodes, _nics_near(host, devices[: measured.most_ranks]))


def fills_nodes(measured: Measured, host: Host) -> bool:
    """Return whether the ranks of a measured collective fill nodes of the design one after the other.

    Args:
        measured: the value, with what the log says of its ranks.
    """
    return not placement_fault(measured, host) and placement_of(measured, host) is None


def ranks_key(measured: Measured) -> tuple[object, ...]:
    """Return a key for the ranks of a measured collective: their number, nodes and accelerators."""
    return (
        measured.gpus,
        measured.nodes if measured.gpus else 0,
        measured.most_ranks,
        measured.devices,
        measured.accelerators,
    )


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
    per_node = minimum(ranks, node.domain_gpus) if filled else ranks / domains
    return RankLayout(
        host=node,
        nodes=domains,
        per_node=per_node,
        zones=spanned,
        cuts=fabric_cuts(design, plan, boxes, None if zones is None else spanned),
        sent_by=None if placement is None else boxes / domains * placement.nics,
        last=ranks - (domains - 1) * per_node if filled else None,
    )
