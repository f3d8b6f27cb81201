"""The report of `ffplan recommend --serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import kilowatts, number, percent
from ffplan.report.document import Document, Grid, Lines, _Body, _listing
from ffplan.report.first.fleet import _design_row, _fleet_screen, _load_text, _rent_text, header
from ffplan.report.first.serve import _deployed_text
from ffplan.report.phrases import left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.report.document import Block
    from ffplan.results.fleet import FleetDesign, FleetReport


def _designs(title: str, designs: Sequence[FleetDesign], report: FleetReport) -> Grid:
    rows = tuple(_design_row(place, design, report) for place, design in enumerate(designs, 1))
    return Grid(title, rows, header(report))


def _built(designs: Sequence[FleetDesign]) -> Grid:
    rows = tuple(
        (
            design.accelerator,
            _deployed_text(design.plan, design.pools),
            f"{design.copies:,}",
            f"{design.nodes:,} ({design.spare_nodes:,})",
            number(design.rate_s, 3),
            f"{design.output_tokens_s_gpu:,.0f}",
            kilowatts(design.facility_peak_kw),
            f"{design.racks:,}",
        )
        for design in designs
    )
    names = ("accelerator", "a copy", "copies", "nodes (spare)", "req/s most", "tok/s/GPU", "peak", "racks")
    return Grid("How", rows, names)


def _lost(design: FleetDesign) -> Grid:
    rows = tuple(
        (loss.part, f"{loss.nodes:,}", f"{loss.copies:,}", percent(loss.kept), f"{loss.requests:,.0f}")
        for loss in design.losses
    )
    return Grid(f"Failures of {design.accelerator}", rows, ("one", "nodes", "copies", "peak kept", "requests lost"))


def _hours(design: FleetDesign) -> list[Block]:
    if design.day is None:
        return []
    hours = tuple(
        (f"{hour.hour}", number(hour.rate_s, 3), f"{hour.copies:,}", f"{hour.nodes:,}") for hour in design.day.hours
    )
    most = max(hour.nodes for hour in design.day.hours)
    ways = tuple((rent.way, _rent_text(rent, most)) for rent in design.day.rents)
    grid = Grid(f"Hours of {design.accelerator}", hours, ("hour", "req/s", "copies", "nodes"))
    return [grid, *([Lines("Rent", ways)] if ways else [])]


def _body(report: FleetReport) -> _Body:
    blocks: list[Block] = []
    for title, designs in (
        ("Designs", report.designs),
        ("Paper: no run of the engine, or prices recalled", report.unmeasured),
        ("Near the limits", report.near),
    ):
        if designs:
            blocks.append(_designs(title, designs, report))
    shown = (*report.designs, *report.unmeasured, *report.near)
    if shown:
        blocks.append(_built(shown))
    blocks += [block for design in report.designs[:1] for block in (_lost(design), *_hours(design))]
    broken = [(design.accelerator, _breaks(design)) for design in report.near]
    if broken:
        blocks.append(Lines("Limits broken", tuple(broken)))
    if report.left_out:
        blocks.append(_listing("Left out", left_out(report)))
    said = (*report.assumptions, f"Chance wanted: {percent(report.chance)}.")
    blocks.append(_listing("Assumptions", said))
    return _Body(f"Fleet for {report.model}, {_load_text(report)}, prices {report.price_book}", blocks)


def _breaks(design: FleetDesign) -> str:
    return ", ".join(f"{name} x {number(ratio, 3)}" for name, ratio in design.breaks.items())


def fleet_document(report: FleetReport) -> Document:
    """Return the report of fleets in every form."""
    rows = (*report.designs, *report.unmeasured, *report.near)
    return Document(report, _body, rows=lambda: rows, first=_fleet_screen)
