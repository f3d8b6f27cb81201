"""`ffplan route`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.common import CatalogOption, DesignArgument, FormatOption, OutputOption, ReportFormat, read_text
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
    from ffplan.results.fabric import LaneReport, RouteReport

TrafficOption = Annotated[
    str,
    typer.Option(
        "--traffic", "-t", metavar="KIND",
        help="ring; tree (double binary, zones joined by one pair of nodes); library-tree (one tree over all ranks); "
        "all-to-all (every NIC to every NIC); rail-all-to-all (same NIC only, forwarded inside nodes); permutation; "
        "incast (from storage); or a CSV file with columns src, dst, bytes.",
    ),
]  # fmt: skip
RoutingOption = Annotated[
    str, typer.Option("--routing", "-r", metavar="KIND", help="static (destination-modulo), ecmp or adaptive.")
]


def _matrix(wired: Wired, file: str) -> Any:
    from ffplan.interop.matrix import MOST_BYTES, read_matrix

    return read_matrix(read_text(file, MOST_BYTES), file, wired.names)


def _beside(
    wired: Wired, job: Job, load: Any, ideal_s: float, beside: str, share: float, routing: str, size: float, seed: int
) -> LaneReport:
    """Return the rates while a second class of traffic shares the links."""
    from ffplan.fabric.routing.job_loads import loads_for
    from ffplan.fabric.routing.link_loads import outcome
    from ffplan.fabric.routing.router import Router
    from ffplan.fabric.routing.virtual_lanes import lane_rates
    from ffplan.results.fabric import LaneReport

    network = wired.fabric.network
    other, lost = loads_for(wired.design, Router(wired.fabric), job, beside, routing, size, seed)
    if lost:
        raise UsageError(f"ffplan route: --beside {beside}: {lost:,} of its flows cannot arrive")
    other_ideal = outcome(network, other).ideal_s
    rate = network.links.gbyte_s.repeat(2) * 1e9
    rates = lane_rates(load, other, rate, share)
    return LaneReport(
        beside, share, rates.alone[0] * ideal_s, rates.together[0] * ideal_s,
        rates.alone[1] * other_ideal, rates.together[1] * other_ideal,
    )  # fmt: skip


def _report(
    wired: Wired, traffic: str, routing: str, order: str, nodes: int | None, size: float, seed: int,
    beside: str | None, share: float,
) -> RouteReport:  # fmt: skip
    from ffplan.fabric.routing import job_loads as study
    from ffplan.fabric.routing.link_loads import outcome
    from ffplan.fabric.routing.router import Router
    from ffplan.interop.describe import hottest, link_load
    from ffplan.results.design import SCHEMA_VERSION
    from ffplan.results.fabric import RouteReport

    network, names = wired.fabric.network, wired.names
    router = Router(wired.fabric)
    known = traffic in study.TRAFFIC
    job = study.pick_job(wired.design, wired.fabric, nodes, order, seed)
    if known:
        load, lost = study.loads_for(wired.design, router, job, traffic, routing, size, seed)
        even, _ = study.loads_for(wired.design, router, job, traffic, "adaptive", size, seed)
    else:
        flows = _matrix(wired, traffic)
        load, lost = study.loads_of(router, flows, routing, seed)
        even, _ = study.loads_of(router, flows, "adaptive", seed)
    result = outcome(network, load, lost)
    return RouteReport(
        SCHEMA_VERSION, wired.design.spec.name, traffic, routing, order, len(job.ports), size if known else 0.0,
        result.time_s, result.ideal_s, result.share, outcome(network, even).share, hottest(network, names, result),
        tuple(link_load(network, names, item) for item in result.tiers),
        study.pairs_across_zones(job, traffic) if known else None, lost,
        _beside(wired, job, load, result.ideal_s, beside, share, routing, size, seed) if beside else None,
    )  # fmt: skip


def route(
    file: DesignArgument,
    traffic: TrafficOption = "tree",
    routing: RoutingOption = "static",
    order: OrderOption = "aligned",
    nodes: NodesOption = None,
    size: SizeOption = None,
    beside: Annotated[
        str | None, typer.Option("--beside", metavar="KIND", help="A second class of traffic on the same links.")
    ] = None,
    share: Annotated[
        float,
        typer.Option("--share", min=0.01, max=0.99, help="Share of a link that the job is sure of, with --beside."),
    ] = 0.5,
    seed: SeedOption = 0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Route a job over the wired fabric: load per link, the hottest link, the rate that follows.

    Exit code 1 where some traffic cannot arrive.
    """
    from ffplan.fabric.routing.job_loads import ROUTING, TRAFFIC, StudyError
    from ffplan.fabric.routing.rank_order import ORDERS
    from ffplan.report.fabric import route_blocks

    choice(routing, ROUTING, "--routing")
    choice(order, ORDERS, "--order")
    if traffic not in TRAFFIC and not traffic.lower().endswith(".csv"):
        choice(traffic, TRAFFIC, "--traffic")
    if beside is not None:
        choice(beside, TRAFFIC, "--beside")
    wired = wired_design(file, catalog)
    try:
        report = _report(
            wired, traffic, routing, order, nodes, message_size(wired.design, size), seed, beside, share
        )  # fmt: skip
    except StudyError as error:
        raise UsageError(f"ffplan route: {error}") from None
    head = f"{report.design}: {report.traffic} on {report.nodes:,} nodes, {report.routing} routing"
    emit(report, list(report.tiers), head, lambda: route_blocks(report), form, output)
    if report.unreached:
        raise typer.Exit(1)
