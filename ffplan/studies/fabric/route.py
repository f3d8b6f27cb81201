"""A job routed over a wired fabric: load of every link, rate, other orders of ranks, and the cost of losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.fabric.family import routing_of
from ffplan.fabric.routing import job_loads
from ffplan.fabric.routing.degraded import DegradedJob, default_losses, draw, parse_loss
from ffplan.fabric.routing.job_loads import ORDERS, all_nodes, zone_sizes
from ffplan.fabric.routing.link_loads import lane_rates, outcome
from ffplan.fabric.routing.traffic import Flows, crossings
from ffplan.fabric.sizing.striping import uneven
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import FaultReport, LaneReport, LossReport, OrderReport, PlacementReport, RouteReport
from ffplan.studies.fabric.cabling import hottest, tier_loads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.base.array_math import Floats
    from ffplan.fabric.routing.degraded import Loss, Remaining
    from ffplan.fabric.routing.job_loads import JobNodes
    from ffplan.fabric.routing.link_loads import _Outcome
    from ffplan.studies.fabric.cabling import WiredDesign


@record
class RouteRequest:
    """A request to route traffic."""

    traffic: str
    """A kind of traffic, or the name of a matrix."""
    size: float
    """Bytes of each node [byte]."""
    routing: str = "static"
    order: str = "aligned"
    nodes: int | None = None
    """Nodes of the job; all that jobs run on if omitted."""
    flows: Flows | None = None
    """Flows from a matrix, in place of a kind of traffic."""
    beside: str | None = None
    """A second class of traffic on the same links."""
    share: float = 0.5
    """Fraction of a link reserved for the job [1]."""
    seed: int = 0


def _beside(wired: WiredDesign, query: RouteRequest, job: JobNodes, load: Floats, lost: int, beside: str) -> LaneReport:
    network, router = wired.fabric.network, routing_of(wired.fabric)
    other_load, other_lost = job_loads.loads_for(
        wired.design, router, job, beside, routing=query.routing, nbytes=query.size, seed=query.seed
    )
    if other_lost:
        raise job_loads.StudyError(f"--beside {beside}: {other_lost:,} of its flows cannot arrive")
    if lost:
        raise job_loads.StudyError(f"--beside {beside}: {lost:,} flows of {query.traffic} itself cannot arrive")
    ideal_s, other_ideal = outcome(network, load).ideal_s, outcome(network, other_load).ideal_s
    rate = network.links.gbyte_s.repeat(2) * 1e9
    rates = lane_rates(load, other_load, rate, query.share)
    return LaneReport(
        traffic=beside,
        share=query.share,
        job_rate_alone=rates.alone[0] * ideal_s,
        job_rate_together=rates.together[0] * ideal_s,
        other_rate_alone=rates.alone[1] * other_ideal,
        other_rate_together=rates.together[1] * other_ideal,
    )


def _allreduce(wired: WiredDesign, nodes: int, size: float, slower: float) -> tuple[float, float] | None:
    """Return the time of an allreduce on an idle fabric, and over NICs that the busiest link slows down [s].

    Equation:
        T + max(0, slower x message over the rate of the NICs - stream), slower = time of the busiest link / time of the
        busiest endpoint, at least 1: what binds inside the nodes hides as much of the fabric
    """
    from ffplan.studies.basis.job_layout import job_layout, node_of
    from ffplan.studies.collective.allreduce import allreduce_query, bound_of, timed_row

    design = wired.design
    if not design.libraries or design.compute.accelerator is None:
        return None
    node, library = node_of(design), design.libraries[0]
    ranks = nodes * len(node.gpus)
    communication = design.spec.communication
    assert communication is not None
    query = allreduce_query(design, library, communication.libraries[0])
    job = job_layout(design, wired.plan, node, ranks, by_domain=query.library.method != "hfreduce")
    row = timed_row(query, job, ranks, size)
    if row is None:
        return None
    terms = bound_of(query, job, row.algorithm).terms
    nics = min((term.gbyte_s for term in terms if term.name == "nic"), default=size / row.stream_s / 1e9)
    return row.time_s, row.time_s + max(0.0, max(1.0, slower) * size / (nics * 1e9) - row.stream_s)


def _holds_for(wired: WiredDesign, routing: str) -> str:
    if routing == "adaptive":
        return "even spreading over all usable links, as adaptive routing has at best"
    if routing == "ecmp":
        return "hashing flow by flow (ECMP); the hash is drawn with --seed, as a switch's own is not known"
    if wired.plan.dragonfly is not None:
        return "shortest paths by a rule of ours; no engine of OpenSM routes a dragonfly so"
    if wired.design.parts.switch.fabric != "infiniband":
        return "paths fixed by destination; switches with ECMP hash by flow instead: --routing ecmp"
    rule = (
        "destination-modulo, a rule of ours; OpenSM's ftree engine counts paths, and can load links more or less "
        "evenly: `ffplan fabric verify` has both"
    )
    if uneven(wired.plan):
        return f"{rule}; ftree takes this tree only where `root_guid_file` names its roots"
    if bare := len(wired.fabric.network.bare_leaves()):
        leaves = plural(bare, "leaf has", "leaves have")
        return f"{rule}; ftree needs the roots named in `root_guid_file`, as {leaves} no host"
    return f"{rule}; minhop, OpenSM's default, can be far slower"


def _share(result: _Outcome, lost: int) -> float:
    """Return the rate of the flows that arrive as a fraction of the ideal; 0 if none arrives [1]."""
    return 0.0 if lost and not result.time_s else result.share


def route(wired: WiredDesign, query: RouteRequest) -> RouteReport:
    """Return the rates of traffic on a fabric.

    Raises:
        StudyError: if the fabric lacks the requested traffic or routing, or if the job's own flows cannot arrive
            beside others.
    """
    design, network = wired.design, wired.fabric.network
    router = routing_of(wired.fabric)
    job = job_loads.pick_job(design, wired.fabric, query.nodes, query.order, query.seed)

    def loads(routing: str) -> tuple[Floats, int]:
        if query.flows is not None:
            return job_loads.loads_of(router, query.flows, routing, query.seed)
        return job_loads.loads_for(
            design, router, job, query.traffic, routing=routing, nbytes=query.size, seed=query.seed
        )

    load, lost = loads(query.routing)
    even, lost_even = (load, lost) if query.routing == "adaptive" else loads("adaptive")
    result, tiers, known = outcome(network, load), tier_loads(wired, load), query.flows is None
    # an allreduce over nodes that do not reach each other never ends
    reduces = known and query.traffic in job_loads.REDUCING and not lost
    timed = _allreduce(wired, len(job.ports), query.size, result.time_s / result.ideal_s) if reduces else None
    return RouteReport(
        schema_version=SCHEMA_VERSION,
        design=design.spec.name,
        traffic=query.traffic,
        routing=query.routing,
        holds_for=_holds_for(wired, query.routing),
        order=query.order,
        nodes=len(job.ports),
        bytes_per_node=query.size if known else 0.0,
        time_s=result.time_s,
        collective_s=timed[0] if timed else None,
        congested_s=timed[1] if timed else None,
        ideal_s=result.ideal_s,
        share=_share(result, lost),
        adaptive_share=_share(outcome(network, even), lost_even),
        hottest=hottest(tiers),
        tiers=tiers,
        pairs_across_zones=job_loads.pairs_across_zones(job, query.traffic) if known else None,
        unreached=lost,
        beside=_beside(wired, query, job, load, lost, query.beside) if query.beside else None,
    )


def _order(wired: WiredDesign, job: JobNodes, order: str, kind: str, size: float, seed: int) -> OrderReport:
    load, lost = job_loads.loads_for(
        wired.design, routing_of(wired.fabric), job, kind, routing="static", nbytes=size, seed=seed
    )
    result = outcome(wired.fabric.network, load)
    return OrderReport(
        order=order,
        tree=kind,
        pairs_across_zones=job_loads.pairs_across_zones(job, kind) or 0,
        time_s=result.time_s,
        share=_share(result, lost),
        unreached=lost,
        hottest=hottest(tier_loads(wired, load)).link,
    )


def place(wired: WiredDesign, order: str, nodes: int | None, size: float, seed: int = 0) -> PlacementReport:
    """Return the ranks of a job in one order, with one pair of nodes between zones, compared with other orders.

    Args:
        order: one of `rank_order.ORDERS`.
        seed: seed of the random order.

    Raises:
        StudyError: if there are fewer nodes than wanted.
    """
    jobs = {name: job_loads.pick_job(wired.design, wired.fabric, nodes, name, seed) for name in ORDERS}
    job = jobs[order]
    hosts = tuple(wired.names.endpoint(int(port))[0] for port in job.ports[:, 0])
    kind = "tree" if order == "aligned" else "library-tree"
    rest = [(name, "library-tree") for name in ORDERS if (name, "library-tree") != (order, kind)]
    rows = [_order(wired, jobs[name], name, tree, size, seed) for name, tree in [(order, kind), *rest]]
    parts = zip(job.shares(), job.parts(), strict=True)
    pairs = np.concatenate([rows[crossings(job_loads.tree_of(part, kind), part.zone)] for rows, part in parts])
    return PlacementReport(
        schema_version=SCHEMA_VERSION,
        design=wired.design.spec.name,
        nodes=len(hosts),
        ranks_per_zone=tuple(zone_sizes(wired.fabric.network, job.ports)),
        pairs=tuple((hosts[a], hosts[b]) for a, b in pairs.tolist()),
        orders=tuple(rows),
        hosts=hosts,
    )


@record
class FaultRequest:
    """Losses to draw, and the routing of the remaining fabric."""

    lose: tuple[str, ...] = ()
    """Losses as `degraded.parse_loss` reads them; the usual ones if empty."""
    routing: str = "adaptive"
    samples: int = 20
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
    # None where the healthy fabric joins no two nodes: there is no rate to lose
    rate = [share for remaining in left if (share := remaining.rate_share(healthy)) is not None]
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
        allreduce_share=_mean(rate) if rate else None,
        allreduce_share_worst=min(rate, default=None),
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
    job = DegradedJob(fabric, all_nodes(wired.design, fabric), query.routing, wired.design.stripes)
    nothing = np.zeros(0, np.int64)
    healthy = job.remaining(nothing, nothing)
    return FaultReport(
        schema_version=SCHEMA_VERSION,
        design=wired.design.spec.name,
        seed=query.seed,
        routing=query.routing,
        endpoints=len(fabric.network.endpoints),
        nodes=healthy.nodes_left,
        nodes_by_job=healthy.nodes_of if len(healthy.nodes_of) > 1 else None,
        losses=tuple(_loss(wired, job, healthy, loss, query, step) for loss in losses),
    )
