"""`ffplan fabric`: `size`, and `route`, `place`, `faults` and `cables` over the wired fabric."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _parsed, _read_text, _wired_design, _wired_trees, choice, message_size, series
from ffplan.cli.options import (
    CatalogOption,
    DesignArgument,
    NodesOption,
    OrderOption,
    OutputOption,
    SeedOption,
    SizeOption,
    _complete_part,
    _part_option,
    _project_prices,
)
from ffplan.cli.output import emit
from ffplan.cli.progress import Progress

EndpointsOption = Annotated[int, typer.Option("--endpoints", "-n", min=2, max=100_000_000, help="Endpoints (NICs).")]
SwitchOption = Annotated[str, _part_option("switch", "Catalogue id of the switch.", "--switch")]
TiersOption = Annotated[
    list[str] | None, typer.Option("--tiers", metavar="NUMBERS", help="Tiers to consider, such as 2,3; all if omitted.")
]
RailsOption = Annotated[int, typer.Option("--rails", min=1, max=512, help="NICs of a node.")]
PlanesOption = Annotated[
    list[str] | None,
    typer.Option("--planes", metavar="NUMBERS", help="Planes to consider, such as 2,4; 2, 4 and 8 if omitted."),
]
BreakoutOption = Annotated[int, typer.Option("--breakout", min=1, max=8, help="Ports that each port is split into.")]
OversubscriptionOption = Annotated[
    str, typer.Option("--oversubscription", metavar="RATIO", help="Largest number of downlinks per uplink of a leaf.")
]
CorePolicyOption = Annotated[
    str, typer.Option("--core-policy", metavar="POLICY", help="minimal, per-rail-whole-pods or equal-stripe.")
]
PricesOption = Annotated[
    str | None,
    typer.Option(
        "--prices",
        metavar="BOOK",
        help="Price book; the project's if omitted.",
        autocompletion=_complete_part("price-book"),
        default_factory=_project_prices,
        show_default=False,
    ),
]
EndpointLinkOption = Annotated[str | None, _part_option("link", "Link from a NIC, priced if named.", "--endpoint-link")]
LinkOption = Annotated[str | None, _part_option("link", "Link between switches, priced if named.", "--link")]


def _counts(texts: list[str] | None, option: str) -> tuple[int, ...]:
    return tuple(int(number) for number in series(",".join(texts), f"ffplan fabric size: {option}")) if texts else ()


def size(
    *,
    endpoints: EndpointsOption,
    switch: SwitchOption,
    tiers: TiersOption = None,
    rails: RailsOption = 8,
    planes: PlanesOption = None,
    breakout: BreakoutOption = 1,
    oversubscription: OversubscriptionOption = "1:1",
    core_policy: CorePolicyOption = "equal-stripe",
    prices: PricesOption,
    endpoint_link: EndpointLinkOption = None,
    link: LinkOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """List every network family for a number of endpoints: switches, links, spare ports, next step, cost.

    Exit code 1 if no family fits.
    """
    from ffplan.catalog.named import part_of
    from ffplan.catalog.parts import Switch
    from ffplan.catalog.store import Catalog
    from ffplan.cli.job import _book_of
    from ffplan.inputs.quantities import parse_ratio
    from ffplan.report.fabric import no_family, size_document
    from ffplan.studies.choose import size as study

    choice(core_policy, ("minimal", "per-rail-whole-pods", "equal-stripe"), "--core-policy")
    if prices is None and (endpoint_link or link):
        raise UsageError("ffplan fabric size: links are priced with --prices only")
    ratio = _parsed(lambda: parse_ratio(oversubscription), "--oversubscription")
    parts = Catalog(catalog or ())
    query = study.SizeRequest(
        endpoints=endpoints,
        switch=part_of(parts, Switch, switch, "ffplan fabric size: --switch"),
        breakout=breakout,
        tiers=_counts(tiers, "--tiers") or (1, 2, 3),
        planes=_counts(planes, "--planes") or (2, 4, 8),
        rails=rails,
        oversubscription=ratio,
        core_policy=core_policy,
        prices=_book_of(parts, prices, "fabric size") if prices else None,
        endpoint_link=endpoint_link,
        link=link,
    )
    try:
        report = study.size(query)
    except study.SizeError as error:
        raise UsageError(f"ffplan fabric size: {error}") from None
    emit(size_document(report), form, output)
    if not report.options:
        if str(form) == "csv":  # which has no place for what is too small
            typer.echo(f"ffplan fabric size: {no_family(report)}", err=True)
        raise typer.Exit(EXIT_FINDINGS)


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
