"""`ffplan fabric route`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _read_text, _wired_design, choice, message_size
from ffplan.cli.options import (
    CatalogOption,
    DesignArgument,
    NodesOption,
    OrderOption,
    OutputOption,
    SeedOption,
    SizeOption,
)
from ffplan.cli.output import emit

TrafficOption = Annotated[
    str,
    typer.Option(
        "--traffic",
        "-t",
        metavar="KIND",
        help="ring; tree (double binary, zones joined by one pair of nodes); library-tree (one tree over all ranks); "
        "all-to-all (every NIC to every NIC); rail-all-to-all (same NIC only, forwarded inside nodes); permutation; "
        "incast (from storage); or a CSV file with columns src, dst, bytes.",
    ),
]
RoutingOption = Annotated[
    str,
    typer.Option(
        "--routing", "-r", metavar="KIND", help="static (destination-modulo), ecmp, adaptive, or valiant (dragonfly)."
    ),
]


def route(
    file: DesignArgument,
    traffic: TrafficOption = "tree",
    routing: RoutingOption = "static",
    order: OrderOption = "aligned",
    nodes: NodesOption = None,
    size: SizeOption = None,
    beside: Annotated[
        str | None,
        typer.Option("--beside", metavar="KIND", help="Second class of traffic, on the same links at the same time."),
    ] = None,
    share: Annotated[
        float,
        typer.Option("--share", min=0.01, max=0.99, help="Fraction of a link reserved for the job, with --beside."),
    ] = 0.5,
    seed: SeedOption = 0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Route a job over the wired fabric: load per link, the hottest link, the resulting rate.

    Exit code 1 if some traffic cannot arrive.
    """
    from ffplan.fabric.routing.job_loads import ORDERS, TRAFFIC, StudyError
    from ffplan.fabric.routing.routing import ROUTING
    from ffplan.report.fabric import route_document
    from ffplan.studies.fabric import route as study

    choice(routing, ROUTING, "--routing")
    choice(order, ORDERS, "--order")
    if traffic not in TRAFFIC and not traffic.lower().endswith(".csv"):
        choice(traffic, TRAFFIC, "--traffic")
    if beside is not None:
        choice(beside, TRAFFIC, "--beside")
    wired = _wired_design(file, catalog)
    flows = None
    if traffic not in TRAFFIC:
        from ffplan.interop.workloads import MOST_BYTES, read_matrix

        flows = read_matrix(_read_text(traffic, MOST_BYTES), traffic, wired.names)
    query = study.RouteRequest(
        traffic=traffic,
        size=message_size(wired.design, size),
        routing=routing,
        order=order,
        nodes=nodes,
        flows=flows,
        beside=beside,
        share=share,
        seed=seed,
    )
    try:
        report = study.route(wired, query)
    except StudyError as error:
        raise UsageError(f"ffplan fabric route: {error}") from None
    emit(route_document(report), form, output)
    if report.unreached:
        raise typer.Exit(1)
