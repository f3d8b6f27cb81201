"""Nodes of a job in the order of ranks, and the cost of other orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.fabric.family import routing_of
from ffplan.fabric.routing import job_loads
from ffplan.fabric.routing.double_binary_tree import crossings
from ffplan.fabric.routing.link_loads import outcome
from ffplan.fabric.routing.rank_order import ORDERS, zone_sizes
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.fabric import OrderReport, PlacementReport
from ffplan.studies.fabric.link_names import hottest

if TYPE_CHECKING:
    from ffplan.fabric.routing.job_loads import JobNodes
    from ffplan.studies.fabric.wired import WiredDesign


def _order(wired: WiredDesign, job: JobNodes, order: str, kind: str, size: float, seed: int) -> OrderReport:
    load, lost = job_loads.loads_for(
        wired.design, routing_of(wired.fabric), job, kind, routing="static", nbytes=size, seed=seed
    )
    result = outcome(wired.fabric.network, load, lost)
    return OrderReport(
        order=order,
        tree=kind,
        pairs_across_zones=job_loads.pairs_across_zones(job, kind) or 0,
        time_s=result.time_s,
        share=result.share,
        unreached=lost,
        hottest=hottest(wired.fabric.network, wired.names, result).link,
    )


def place(wired: WiredDesign, order: str, nodes: int | None, size: float, seed: int = 0) -> PlacementReport:
    """Return the ranks of a job in one order, with one pair of nodes between zones, compared with other orders.

    Args:
        order: one of `rank_order.ORDERS`.
        nodes: nodes of the job [1]; all that jobs run on if None.
        size: bytes of each node [byte].
        seed: seed of the random order.

    Raises:
        StudyError: where there are fewer nodes than wanted.
    """
    jobs = {name: job_loads.pick_job(wired.design, wired.fabric, nodes, name, seed) for name in ORDERS}
    job = jobs[order]
    hosts = tuple(wired.names.endpoint(int(port))[0] for port in job.ports[:, 0])
    kind = "tree" if order == "aligned" else "library-tree"
    rest = [(name, "library-tree") for name in ORDERS if (name, "library-tree") != (order, kind)]
    rows = [_order(wired, jobs[name], name, tree, size, seed) for name, tree in [(order, kind), *rest]]
    pairs = crossings(job_loads.tree_of(job, kind), job.zone)
    return PlacementReport(
        schema_version=SCHEMA_VERSION,
        design=wired.design.spec.name,
        nodes=len(hosts),
        ranks_per_zone=tuple(zone_sizes(wired.fabric.network, job.ports)),
        pairs=tuple((hosts[a], hosts[b]) for a, b in pairs.tolist()),
        orders=tuple(rows),
        hosts=hosts,
    )
