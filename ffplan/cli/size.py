"""`ffplan fabric size`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.catalog.named import part_of
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _parsed, choice, series
from ffplan.cli.options import CatalogOption, OutputOption, _complete_part, _part_option, _project_prices
from ffplan.cli.output import emit

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
