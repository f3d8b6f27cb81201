"""`ffplan place`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError
from ffplan.cli.common import CatalogOption, DesignArgument, FormatOption, OutputOption, ReportFormat
from ffplan.cli.wired import (
    NodesOption,
    OrderOption,
    SeedOption,
    SizeOption,
    Wired,
    choice,
    emit,
    message_size,
    wired_design,
)

if TYPE_CHECKING:
    from ffplan.fabric.routing.job_loads import Job
    from ffplan.results.fabric import OrderReport, PlacementReport


def _order(wired: Wired, job: Job, order: str, kind: str, size: float, seed: int) -> OrderReport:
    from ffplan.fabric.routing import job_loads as study
    from ffplan.fabric.routing.link_loads import outcome
    from ffplan.fabric.routing.router import Router
    from ffplan.interop.describe import hottest
    from ffplan.results.fabric import OrderReport

    load, lost = study.loads_for(wired.design, Router(wired.fabric), job, kind, "static", size, seed)
    result = outcome(wired.fabric.network, load, lost)
    link = hottest(wired.fabric.network, wired.names, result).link
    return OrderReport(order, kind, study.pairs_across_zones(job, kind) or 0, result.time_s, result.share, lost, link)


def _report(wired: Wired, order: str, nodes: int | None, size: float, seed: int) -> PlacementReport:
    from ffplan.fabric.routing import job_loads as study
    from ffplan.fabric.routing.double_binary_tree import crossings
    from ffplan.fabric.routing.rank_order import ORDERS, zone_sizes
    from ffplan.results.design import SCHEMA_VERSION
    from ffplan.results.fabric import PlacementReport

    jobs = {name: study.pick_job(wired.design, wired.fabric, nodes, name, seed) for name in ORDERS}
    job = jobs[order]
    hosts = tuple(wired.names.endpoint(int(port))[0] for port in job.ports[:, 0])
    kind = "tree" if order == "aligned" else "library-tree"
    rest = [(name, "library-tree") for name in ORDERS if (name, "library-tree") != (order, kind)]
    rows = [_order(wired, jobs[name], name, tree, size, seed) for name, tree in [(order, kind), *rest]]
    pairs = crossings(study.tree_of(job, kind), job.zone)
    return PlacementReport(
        SCHEMA_VERSION, wired.design.spec.name, len(hosts), tuple(zone_sizes(wired.fabric.network, job.ports)),
        tuple((hosts[a], hosts[b]) for a, b in pairs.tolist()), tuple(rows), hosts,
    )  # fmt: skip


def place(
    file: DesignArgument,
    order: OrderOption = "aligned",
    nodes: NodesOption = None,
    size: SizeOption = None,
    seed: SeedOption = 0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Order the nodes of a job into ranks, one pair of nodes between zones, and show what other orders cost."""
    from ffplan.fabric.routing.job_loads import StudyError
    from ffplan.fabric.routing.rank_order import ORDERS
    from ffplan.report.fabric import placement_blocks

    choice(order, ORDERS, "--order")
    wired = wired_design(file, catalog)
    try:
        report = _report(wired, order, nodes, message_size(wired.design, size), seed)
    except StudyError as error:
        raise UsageError(f"ffplan place: {error}") from None
    head = f"{report.design}: {report.nodes:,} nodes in {order} order"
    emit(report, list(report.orders), head, lambda: placement_blocks(report), form, output)
