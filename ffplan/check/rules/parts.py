"""Rules on the parts of a design: their evidence, their prices, and what owning them takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import listed, percent, plural
from ffplan.check.rule import Breach, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.check.rule import Examined

_HEADLINE = re.compile(
    r"(peak|gemm|collectives|training)\..*|memory_bandwidth|nvlink|pcie|rate|ports|line_efficiency|power\.(maximum|training)"
)
"""Figures that bandwidth, step time and power of a report rest on directly."""
_SHOWN = 3
"""Figures that the finding names."""
_SPARES = {"spare_nodes": "nodes", "spare_switches": "switches", "spare_links": "cables and optics"}
"""Fields of the ownership."""


@rule(
    "announced-parts",
    title="A part is announced and not yet sold",
    why="Figures and prices of announced parts are their makers' and analysts', and change.",
    example="nodes: [{server: a server of announced accelerators, ...}]",
    good="nodes: [{server: hgx-h100-8nic, ...}]  # sold",
    fix="Plan with parts that are sold, or check again later.",
    severity=Severity.WARNING,
)
def _announced_parts(examined: Examined) -> Iterator[Breach]:
    names = [entry.part.id for entry in examined.catalog.used if entry.part.announced]
    if names:
        yield Breach(
            path=("nodes",),
            message=f"announced, not yet sold: {listed(f'`{name}`' for name in names)}",
            remedy="check figures and prices again once they are sold",
        )


@rule(
    "recalled-figures",
    title="Figures that the headline rests on are recalled",
    why="A figure of status R was not seen in a source.",
    example="fabric: {switch: a switch whose power is recalled, ...}",
    good="fabric: {switch: a switch whose power is measured, ...}",
    fix="Follow the figures to a source and overlay the part with `--catalog`.",
    severity=Severity.INFO,
)
def _recalled_figures(examined: Examined) -> Iterator[Breach]:
    """Find recalled figures behind the report, except prices, which have their own rule."""
    book = examined.assessment.cost.price_book if examined.assessment.cost else ""
    figures = [
        figure for figure in examined.assessment.unverified if figure.part != book and _HEADLINE.fullmatch(figure.path)
    ]
    if figures:
        some = listed([f"`{figure.path}` of `{figure.part}`" for figure in figures[:_SHOWN]])
        more = f", and {len(figures) - _SHOWN} more" if len(figures) > _SHOWN else ""
        yield Breach(
            path=(),
            message=f"{plural(len(figures), 'figure')} behind rates and power, recalled and unverified: {some}{more}",
            remedy="follow them to a source; `ffplan catalog audit` lists them all",
        )


@rule(
    "no-spares",
    title="The ownership plans no spares",
    why="Of 10,000 accelerators several fail each week; without spares a job waits for their repair.",
    example="ownership: {spare_nodes: 0 %}",
    good="ownership: {spare_nodes: 2 %}",
    fix="Plan spares, such as 2 % of nodes, switches and links.",
    severity=Severity.WARNING,
)
def _no_spares(examined: Examined) -> Iterator[Breach]:
    """Find ownership without spares; designs without ownership pass."""
    design = examined.design
    if design.ownership is None or design.rent is not None or design.prices is None:
        return
    inputs = examined.ownership.inputs
    bought = {field: inputs[field].likely for field in _SPARES if field in inputs}
    stated = design.reliability.spare_nodes if design.reliability is not None else None
    if stated is not None:
        bought["spare_nodes"] = stated
    lacking = [label for field, label in _SPARES.items() if not bought.get(field)]
    if lacking:
        yield Breach(
            path=("ownership",),
            message=f"no spare {listed(lacking)}: a job waits for the repair of each",
            remedy="give `spare_nodes`, `spare_switches` and `spare_links` under `ownership`, such as 2 %"
            if stated is None
            else "raise `reliability.spare_nodes`; give `spare_switches` and `spare_links` under `ownership`",
            key=True,
        )


@rule(
    "outside-known-range",
    title="A figure of ownership is outside the range of its sources",
    why="A slip of a unit, such as t/MWh for g/kWh, changes costs and carbon by a thousand, and stays unseen in a sum.",
    example="ownership: {grid: 2.6}",
    good="ownership: {grid: 369}",
    fix="Check the unit; if the figure is right, accept it knowingly.",
    severity=Severity.INFO,
)
def _outside_known_range(examined: Examined) -> Iterator[Breach]:
    """Find figures of ownership outside the ranges that the profile has from sources."""
    design = examined.design
    if design.ownership is None or design.rent is not None:
        return
    from ffplan.catalog.ownership import OwnershipFields
    from ffplan.design.ownership import assumed
    from ffplan.results.cost import RECALLED

    owned = examined.ownership
    profile, rates = owned.profile, {owned.currency: 1.0, **owned.exchange}
    if profile.currency not in rates:
        return
    for name in OwnershipFields.model_fields:
        figure, stated = getattr(profile, name), getattr(design.ownership, name)
        if figure is None or stated is None or name not in owned.inputs:
            continue
        known, likely = assumed(figure, rates, profile.sources), owned.inputs[name].likely
        if known.status == RECALLED or known.low <= likely <= known.high:
            continue
        yield Breach(
            path=("ownership", name),
            message=f"{likely:g} is {'below' if likely < known.low else 'above'} the {known.low:g} to {known.high:g} "
            f"of `{profile.id}` ({known.status}: {known.source})",
            remedy="check its unit, or accept it",
        )


@rule(
    "price-missing",
    title="The price book lacks a part of the cost scope",
    why="The total leaves the part out and is too low; the report marks it as partial.",
    example="cost: {price_book: fire-flyer-2-relative}  # with storage nodes in scope",
    good="cost: {price_book: fire-flyer-2-relative, exclude: [storage, endpoint-links]}",
    fix="Add the price in a book that extends this one, or exclude the category.",
    severity=Severity.WARNING,
)
def _price_missing(examined: Examined) -> Iterator[Breach]:
    cost = examined.assessment.cost
    if cost is None:
        return
    for line in cost.missing:
        count = f"{line.quantity:,} {line.category}"
        yield Breach(
            path=("cost", "price_book"),
            message=f"the price book `{cost.price_book}` has no price for `{line.part}` ({count}); the cost is partial",
            remedy=f"add `{line.part}` in a book that extends `{cost.price_book}`, or write `{line.category}` under "
            "`cost.exclude`",
        )


@rule(
    "recalled-prices",
    title="Part of the cost rests on recalled prices",
    why="A price of status R was not seen in a source; it is a default until you have a quote.",
    example="cost: {price_book: usd-2024}",
    good="cost: {price_book: quotes}  # every price with status V",
    fix="Put your quotes in a price book of your own and name its folder with `--catalog`.",
    severity=Severity.INFO,
)
def _recalled_prices(examined: Examined) -> Iterator[Breach]:
    cost = examined.assessment.cost
    lines = [line for line in cost.lines if line.status == "R" and line.total] if cost else []
    if cost and lines:
        share = sum(line.total for line in lines) / cost.total
        priced = " that is priced" if cost.missing else ""
        parts = ", ".join(dict.fromkeys(f"`{line.part}`" for line in lines))
        yield Breach(
            path=("cost", "price_book"),
            message=f"{percent(share) if share > 0.005 else 'under 1 %'} of the cost{priced} rests on recalled, "
            f"unverified prices: {parts}",
            remedy="overlay a price book of your own quotes with `--catalog`",
        )


@rule(
    "unused-figure",
    title="A price, a rent or another figure is for a part that the catalogue does not have",
    why="A price under a misspelt id changes nothing: the part keeps the price of the book below, without a word.",
    example="items: {hgx-h100-8nics: {value: 150000, source: quote}}  # in a price book",
    good="items: {hgx-h100-8nic: {value: 150000, source: quote}}",
    fix="Correct the id, or name the folder of that part with `--catalog`.",
    severity=Severity.WARNING,
)
def _unused_figure(examined: Examined) -> Iterator[Breach]:
    """Find figures of the user's books that no part of the catalogue can use."""
    from ffplan.catalog.prices import PriceBook
    from ffplan.catalog.read import holds
    from ffplan.studies.explain.remarks import unused_figures

    catalog = examined.catalog
    for entry in catalog.used if catalog.overlaid else ():
        if entry.key[1] == catalog.shipped_position:
            continue
        for remark in unused_figures(entry.part, catalog):
            if holds(entry.document.data, remark.path):  # those of an extended book are that book's
                line, column = entry.document.place(remark.path, key=remark.key)
                yield Breach(
                    path=("cost", "price_book") if isinstance(entry.part, PriceBook) else (),
                    message=f"{entry.document.file}:{line}:{column}: {remark.what}",
                    remedy=remark.remedy,
                )
