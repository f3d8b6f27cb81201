"""`ffplan fabric`: `route`, `place`, `faults` and `cables`, over the wired fabric."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _read_text, _wired_design, _wired_trees, choice, message_size
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
from ffplan.cli.progress import Progress

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
LoseOption = Annotated[
    list[str] | None,
    typer.Option(
        "--lose",
        metavar="WHAT",
        help="leaf, spine, core, interzone or link, with `:N` for several; plane; or names of switches joined by "
        "commas. May be repeated; the usual losses if omitted.",
    ),
]
AllreduceRoutingOption = Annotated[
    str,
    typer.Option("--routing", "-r", metavar="KIND", help="Allreduce routing: adaptive, or static with collisions."),
]
SamplesOption = Annotated[int, typer.Option("--samples", min=1, max=100_000, help="Draws for each loss.")]


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
    """Order a job's nodes into ranks, with one pair of nodes across zones, and show the cost of other orders."""
    from ffplan.fabric.routing.job_loads import ORDERS, StudyError
    from ffplan.report.fabric import placement_document
    from ffplan.studies.fabric import route as study

    choice(order, ORDERS, "--order")
    wired = _wired_design(file, catalog)
    try:
        report = study.place(wired, order, nodes, message_size(wired.design, size), seed)
    except StudyError as error:
        raise UsageError(f"ffplan fabric place: {error}") from None
    emit(placement_document(report), form, output)


def faults(
    file: DesignArgument,
    lose: LoseOption = None,
    routing: AllreduceRoutingOption = "adaptive",
    samples: SamplesOption = 20,
    seed: SeedOption = 0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Remove switches and links: endpoints lost, remaining bisection and allreduce rate."""
    from ffplan.fabric.routing.degraded import LossError
    from ffplan.report.fabric import fault_document
    from ffplan.studies.fabric import route as study

    choice(routing, ("adaptive", "static"), "--routing")
    wired = _wired_trees(file, catalog, "fabric faults: losses are modelled on trees")
    query = study.FaultRequest(tuple(lose or ()), routing, samples, seed)
    progress = Progress("losses")
    try:
        report = study.faults(wired, query, progress.step)
    except LossError as error:
        raise UsageError(f"ffplan fabric faults: --lose: {error}") from None
    finally:
        progress.end()
    emit(fault_document(report), form, output)


def cabling(
    file: DesignArgument,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Place nodes and switches on the design's floor, and choose every cable; CSV lists each cable."""
    from ffplan.report.fabric import cabling_document
    from ffplan.studies.fabric import cabling as study

    emit(cabling_document(study.cabling(_wired_design(file, catalog))), form, output)
