"""Cost of losing switches and links: drawn several times, or the worst single switch of a wired fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.fabric.family import wire
from ffplan.fabric.routing.degraded import DegradedJob
from ffplan.fabric.routing.failures import default_losses, draw, parse_loss
from ffplan.fabric.routing.job_loads import all_nodes
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import FaultReport, LossReport

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.routing.degraded import Remaining
    from ffplan.fabric.routing.failures import Loss
    from ffplan.fabric.sizing.plan import FabricPlan
    from ffplan.studies.fabric.cabling import WiredDesign


@record
class FaultRequest:
    """Losses to draw, and the routing of the remaining fabric."""

    lose: tuple[str, ...] = ()
    """Losses as `failures.parse_loss` reads them; the usual ones if empty."""
    routing: str = "adaptive"
    samples: int = 20
    """Draws for each loss."""
    seed: int = 0


def _mean(values: Sequence[float]) -> float:
    return float(sum(values) / len(values))


def _loss(
    wired: WiredDesign,
    job: DegradedJob,
    healthy: Remaining,
    loss: Loss,
    query: FaultRequest,
    step: Callable[[int, int, str], None],
) -> LossReport:
    """Return the cost of a loss over some draws; one draw where only one choice exists."""
    random = np.random.default_rng(query.seed)
    draws = 1 if loss.count >= len(loss.pool) else query.samples
    left = []
    for number in range(draws):
        step(number, query.samples, loss.title)
        left.append(job.remaining(*draw(loss, wired.fabric, random)))
    inside = [
        min(now / before for now, before in zip(remaining.zone_gbyte_s, healthy.zone_gbyte_s, strict=True))
        for remaining in left
    ]
    whole = healthy.bisection_gbyte_s
    bisection = [remaining.bisection_gbyte_s / whole for remaining in left] if whole else []
    rate = [min(1.0, remaining.allreduce_gbyte_s / max(healthy.allreduce_gbyte_s, 1e-12)) for remaining in left]
    gone = [healthy.nodes_left - remaining.nodes_left for remaining in left]
    kept = [remaining.nodes_left / healthy.nodes_left if healthy.nodes_left else 0.0 for remaining in left]
    return LossReport(
        lost=loss.title,
        samples=draws,
        endpoints_lost=_mean([remaining.endpoints_lost for remaining in left]),
        endpoints_cut_off=_mean([remaining.endpoints_cut_off for remaining in left]),
        nodes_lost=_mean(gone),
        zone_share=_mean(inside),
        zone_share_worst=min(inside),
        bisection_share=_mean(bisection) if bisection else None,
        bisection_share_worst=min(bisection) if bisection else None,
        allreduce_share=_mean(rate),
        allreduce_share_worst=min(rate),
        nodes_lost_worst=max(gone),
        nodes_share=_mean(kept),
        nodes_share_worst=min(kept),
    )


def faults(wired: WiredDesign, query: FaultRequest, step: Callable[[int, int, str], None]) -> FaultReport:
    """Return the remaining fabric after each loss.

    Args:
        step: called with the number of each draw, the draws, and the loss.

    Raises:
        LossError: if the fabric lacks the switches or links to lose.
    """
    fabric = wired.fabric
    losses = [parse_loss(text, fabric, wired.names) for text in query.lose] or default_losses(fabric)
    job = DegradedJob(fabric, all_nodes(wired.design, fabric), query.routing)
    nothing = np.zeros(0, np.int64)
    healthy = job.remaining(nothing, nothing)
    return FaultReport(
        schema_version=SCHEMA_VERSION,
        design=wired.design.spec.name,
        seed=query.seed,
        routing=query.routing,
        endpoints=len(fabric.network.endpoints),
        nodes=len(job.every),
        losses=tuple(_loss(wired, job, healthy, loss, query, step) for loss in losses),
    )


@record
class SwitchLoss:
    """The switch whose loss cuts off most."""

    cut_off: int
    """Accelerators of nodes that have no other switch [1]."""
    slowed: int
    """Most accelerators of nodes that lose a part of their ports to one switch [1]."""


def worst_switch_loss(design: ResolvedDesign, plan: FabricPlan) -> SwitchLoss:
    """Return the accelerators that the loss of the worst switch cuts off or slows.

    Only switches that endpoints join can cut a node off: a tree keeps other ways past any spine or core.
    """
    network = wire(design, plan).network
    per_node = np.array([group.accelerators_per_node for group in design.groups])
    first = np.cumsum([0, *(group.group.count for group in design.groups)])
    ends = network.endpoints
    node = first[ends.group] + ends.node
    pairs = np.unique(node.astype(np.int64) * len(network.switches) + ends.leaf)
    nodes, leaves = pairs // len(network.switches), pairs % len(network.switches)
    joined = np.bincount(nodes, minlength=int(first[-1]))
    accelerators = np.repeat(per_node, np.diff(first))
    held = {
        alone: np.bincount(leaves, weights=accelerators[nodes] * ((joined[nodes] == 1) == alone))
        for alone in (True, False)
    }
    return SwitchLoss(cut_off=int(held[True].max()), slowed=int(held[False].max()))
