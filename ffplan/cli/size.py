"""`ffplan size`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.common import CatalogOption, FormatOption, OutputOption, ReportFormat
from ffplan.cli.wired import choice, emit, parsed, part_of

if TYPE_CHECKING:
    from ffplan.catalog.prices import PriceBook
    from ffplan.catalog.store import Catalog
    from ffplan.fabric.sizing.families import Candidate
    from ffplan.results.fabric import SizeOption, SizeReport

BOOKED = ("switch", "endpoint link", "inter-switch link")


def _switch(catalog: Catalog, name: str, breakout: int) -> tuple[int, int | None, float]:
    """Return ports of a switch after breakout, how far they can be split further, and their rate."""
    from ffplan.catalog.parts import Switch

    part = part_of(catalog, Switch, name, "ffplan size: --switch")
    splits = part.splits.value if part.splits else None
    if splits is not None and breakout > splits:
        raise UsageError(f"ffplan size: --breakout {breakout}: a port of `{name}` is split into {splits} at most")
    rate = float(part.rate.value) / breakout
    return int(part.ports.value) * breakout, None if splits is None else splits // breakout, rate


def _prices(book: PriceBook, names: tuple[str, str | None, str | None]) -> tuple[float, float, float]:
    """Return the prices of a switch, an endpoint link and a link between switches; links not named cost nothing."""
    found = []
    for name, what in zip(names, BOOKED, strict=True):
        if name is None:
            found.append(0.0)
        elif name not in book.items:
            raise UsageError(f"ffplan size: --prices: `{book.id}` has no price for the {what} `{name}`")
        else:
            found.append(float(book.items[name].value))
    return found[0], found[1], found[2]


def _option(item: Candidate, asked: int, radix: int, prices: tuple[float, float, float] | None) -> SizeOption:
    from ffplan.results.fabric import SizeOption

    cost = None
    if prices:
        cables = (item.endpoint_links / item.links_per_cable, item.inter_switch_links / item.links_per_cable)
        cost = item.switches * prices[0] + cables[0] * prices[1] + cables[1] * prices[2]
    return SizeOption(
        item.family, item.endpoints, item.capacity, item.switches,
        {"leaf": item.leaf, "spine": item.spine, "core": item.core, "router": item.router},
        item.inter_switch_links, item.endpoints - asked, item.next_endpoints, item.next_switches,
        item.switches * radix / asked, item.diameter, cost, None if cost is None else cost / asked, item.note,
    )  # fmt: skip


def _report(
    catalog: Catalog, endpoints: int, switch: str, breakout: int, tiers: tuple[int, ...], planes: tuple[int, ...],
    rails: int, ratio: float, policy: str, prices: str | None, links: tuple[str | None, str | None],
) -> SizeReport:  # fmt: skip
    from ffplan.catalog.prices import PriceBook
    from ffplan.fabric.sizing.families import Request, candidates
    from ffplan.results.design import SCHEMA_VERSION
    from ffplan.results.fabric import SizeReport

    radix, splits, rate = _switch(catalog, switch, breakout)
    book = part_of(catalog, PriceBook, prices, "ffplan size: --prices") if prices else None
    costs = _prices(book, (switch, *links)) if book else None
    found, small = candidates(Request(endpoints, radix, rails, ratio, policy, tiers, planes, splits))
    options = tuple(_option(item, endpoints, radix, costs) for item in found)
    return SizeReport(
        SCHEMA_VERSION, endpoints, switch, radix, rate, book.currency if book else None, options, tuple(small)
    )


def size(
    endpoints: Annotated[int, typer.Option("--endpoints", "-n", min=2, max=100_000_000, help="Endpoints (NICs).")],
    switch: Annotated[str, typer.Option("--switch", metavar="ID", help="Catalogue id of the switch.")],
    tiers: Annotated[
        list[int] | None, typer.Option("--tiers", min=1, max=3, help="Tiers to consider; all if omitted.")
    ] = None,
    rails: Annotated[int, typer.Option("--rails", min=1, max=512, help="NICs of a node.")] = 8,
    planes: Annotated[
        list[int] | None, typer.Option("--planes", min=2, max=64, help="Planes to consider; 2, 4 and 8 if omitted.")
    ] = None,
    breakout: Annotated[int, typer.Option("--breakout", min=1, max=8, help="Ports that each port is split into.")] = 1,
    oversubscription: Annotated[
        str, typer.Option("--oversubscription", metavar="RATIO", help="Most downlinks per uplink of a leaf.")
    ] = "1:1",
    core_policy: Annotated[
        str, typer.Option("--core-policy", metavar="POLICY", help="minimal, per-rail-whole-pods or equal-stripe.")
    ] = "equal-stripe",
    prices: Annotated[str | None, typer.Option("--prices", metavar="BOOK", help="Price book.")] = None,
    endpoint_link: Annotated[
        str | None, typer.Option("--endpoint-link", metavar="ID", help="Link from a NIC, priced if named.")
    ] = None,
    link: Annotated[
        str | None, typer.Option("--link", metavar="ID", help="Link between switches, priced if named.")
    ] = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """List every family of networks that holds a number of endpoints: switches, links, spare ports, next step, cost.

    Exit code 1 where none does.
    """
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.quantities import parse_ratio
    from ffplan.report.fabric import size_blocks

    choice(core_policy, ("minimal", "per-rail-whole-pods", "equal-stripe"), "--core-policy")
    if prices is None and (endpoint_link or link):
        raise UsageError("ffplan size: links are priced with --prices only")
    ratio = parsed(lambda: parse_ratio(oversubscription), "--oversubscription")
    report = _report(
        Catalog(catalog or ()), endpoints, switch, breakout, tuple(sorted(set(tiers or (1, 2, 3)))),
        tuple(sorted(set(planes or (2, 4, 8)))), rails, ratio, core_policy, prices, (endpoint_link, link),
    )  # fmt: skip
    head = (
        f"{report.endpoints:,} endpoints on {report.switch}, {report.radix} ports of {report.port_gbyte_s * 8:g} Gb/s"
    )
    emit(report, list(report.options), head, lambda: size_blocks(report), form, output)
    if not report.options:
        raise typer.Exit(EXIT_FINDINGS)
