"""The report of `ffplan recommend --serve`, and its first screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, at_least, chance, first_few, kilowatts, number, percent, plural, ranged
from ffplan.report.document import Document, Grid, Lines, _Body, _FirstScreen, _listing
from ffplan.report.first.serve import _api_text, _deployed_text, _limits_text, _unit_gpus
from ffplan.report.phrases import _next_of_written, left_out
from ffplan.results.recommendation import MOST_RECALLED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.report.document import Block
    from ffplan.results.fleet import DayRent, FleetDesign, FleetReport

_ROWS = 6
_MILLI, _DAY, _HOURS = 1e3, 86_400.0, 24
_HEADER = ("", "accelerator", "GPUs", "to buy", "a month", "year/M out", "TTFT s", "TPOT ms", "sure")


def header(report: FleetReport) -> tuple[str, ...]:
    """Return the header of `design_row`: what a month costs for a load, and M requests a day within limits."""
    return tuple("M req/day" if name == "a month" and report.peak_rate_s is None else name for name in _HEADER)


def _load_text(report: FleetReport) -> str:
    lengths = f"{report.prompt_tokens:,.0f} in, {report.output_tokens:,.0f} out"
    if report.mean_rate_s is None:
        return f"requests of {lengths}"
    return f"{number(report.mean_rate_s * _DAY / 1e6, 3)} M requests a day of {lengths}"


def _design_row(place: int, design: FleetDesign, report: FleetReport) -> tuple[str, ...]:
    return (
        f"{place}",
        f"{design.accelerator}{', pools' if design.pools else ''}",
        f"{design.accelerators:,}",
        amount(design.capex, 3),
        amount(design.year / 12, 3) if report.peak_rate_s is not None else number(design.requests_day / 1e6, 3),
        number(design.per_million_output_year, 3),
        number(getattr(design.ttft_s, report.targets.at), 2),
        number(getattr(design.tpot_s, report.targets.at) * _MILLI, 3),
        percent(design.chance),
    )


def _bought(report: FleetReport) -> str:
    if not report.designs:
        measured = " measured" if report.unmeasured else ""
        nearest = report.near[0] if report.near else None
        over = ""
        if nearest is not None:
            name, ratio = max(nearest.breaks.items(), key=lambda item: item[1])
            over = f" Nearest: {nearest.accelerators:,} {nearest.accelerator}, {name} x {number(ratio, 3)}."
        load = "the load" if report.peak_rate_s is not None else "anything"
        return f"No{measured} fleet serves {load} within the limits.{over}"
    best = report.designs[0]
    price = ranged(best.capex, best.capex_p10, best.capex_p90, report.currency)
    spares = f", {plural(best.spare_nodes, 'spare')} among them" if best.spare_nodes else ""
    if report.peak_rate_s is None:
        return (
            f"{best.accelerators:,} {best.accelerator} in {plural(best.nodes, 'node')}{spares} serve "
            f"{number(best.requests_day / 1e6, 3)} M requests a day, {best.concurrency:,.0f} at a time: {price}, "
            f"{chance(best.chance)} sure to meet {_limits_text(report.targets)}."
        )
    return (
        f"Buy {best.accelerators:,} {best.accelerator} in {plural(best.nodes, 'node')}{spares}: {price}, "
        f"{chance(best.chance)} sure to meet {_limits_text(report.targets)}."
    )


def _copies(report: FleetReport) -> str:
    shown = report.designs or report.unmeasured or report.near
    if not shown:
        return ""
    best = shown[0]
    each, rate = plural(_unit_gpus(best.plan, best.pools), "GPU"), best.output_tokens_s / report.output_tokens
    copies = plural(best.copies, "copy", "copies") if best.pools is None else plural(best.copies, "unit")
    return (
        f"{copies} of {each}, {_deployed_text(best.plan, best.pools)} on {best.engine}: at the peak "
        f"{number(rate, 3)} requests/s ({chance(report.chance)} sure; `serve` gives the median), "
        f"{best.output_tokens_s_gpu:,.0f} tokens/s a GPU"
    )


def _paper(design: FleetDesign) -> str:
    reasons = [] if design.calibrated else [f"no run of {design.engine} on it"]
    reasons += (
        [f"{percent(design.recalled_share)} of its price recalled"] if design.recalled_share > MOST_RECALLED else []
    )
    return f"{design.accelerators:,} {design.accelerator} at {amount(design.capex, 3)} ({', '.join(reasons)})"


def _failure_text(design: FleetDesign) -> str:
    felt = [loss for loss in design.losses if loss.kept < 1]
    return (
        f"a {felt[-1].part} takes {felt[-1].nodes:,} of {plural(design.nodes, 'node')}; "
        f"{percent(felt[-1].kept)} of the peak left"
        if felt
        else ""
    )


def _hour_text(hour: int, hours: int) -> str:
    clock = f"{hour % _HOURS}:00"
    return clock if hours == _HOURS else f"day {hour // _HOURS + 1}, {clock}"


def _day_text(design: FleetDesign, report: FleetReport) -> str:
    day = design.day
    if day is None:
        return ""
    count = len(day.hours)
    busiest = max(day.hours, key=lambda hour: hour.rate_s)
    text = (
        f"busiest at {_hour_text(busiest.hour, count)}, {number(report.peak_over_mean, 3)} x the mean; "
        f"{percent(day.used_share)} of the node-hours in use"
    )
    if day.free is None:
        return text
    until = _hour_text((day.free.from_hour + day.free.hours) % count, count)
    return f"{text}; {plural(day.free.nodes, 'node')} free from {_hour_text(day.free.from_hour, count)} to {until}"


def _rent_text(rent: DayRent, most: int) -> str:
    kept = f"{plural(rent.reserved_nodes, 'node')} of {rent.reserved_offer}" if rent.reserved_nodes else ""
    rest = most - rent.reserved_nodes
    more = f"{f'{rest} more' if kept else 'up to ' + plural(rest, 'node')} by the hour of {rent.hourly_offer}"
    return f"{amount(rent.month, 3)} a month: {', '.join(filter(None, (kept, more if rest else '')))}"


def _rents_text(design: FleetDesign) -> str:
    """Return the cheapest way to rent the same hours, compared with owning."""
    if design.day is None or not design.day.rents:
        return ""
    most = max(hour.nodes for hour in design.day.hours)
    return f"{_rent_text(design.day.rents[0], most)}; owned {amount(design.year / 12, 3)}"


def _fleet_api_text(report: FleetReport, best: FleetDesign) -> str:
    text = _api_text(report.api)
    if not text or best.api_requests_day is None:
        return text
    return f"{text}; the fleet costs less above {number(best.api_requests_day / 1e6, 3)} M requests a day"


def _power_text(design: FleetDesign) -> str:
    peak = at_least(f"{number(design.facility_peak_kw, 3)} kW", design.unrated)
    if design.output_tokens_s_mw is None:
        return f"{peak} at the peak: no {first_few(design.unrated, 2)}"
    return f"{peak} at the peak, {design.output_tokens_s_mw / 1e3:,.0f}k tokens/s per MW"


def _fleet_screen(report: FleetReport) -> _FirstScreen:
    shown = report.designs or report.near
    best = shown[0] if shown else None
    return _FirstScreen(
        head=f"{report.model} · {_load_text(report)}",
        verdict=(_bought(report),),
        figures=tuple(_design_row(place, design, report) for place, design in enumerate(shown[:_ROWS], 1)),
        header=header(report),
        advice=(
            ("Copies", _copies(report)),
            ("Power", _power_text(best) if best else ""),
            ("Failure", _failure_text(best) if best else ""),
            ("Day", _day_text(best, report) if best else ""),
            ("Rent", _rents_text(best) if best else ""),
            ("API", _fleet_api_text(report, best) if best else ""),
            ("On paper", "; ".join(_paper(design) for design in report.unmeasured[:2])),
            ("Why not", "; ".join(left_out(report, first_few))),
            ("Next", _next_of_written(report.designs)),
        ),
        tiles=_fleet_tiles(report),
    )


def _fleet_tiles(report: FleetReport) -> tuple[tuple[str, str, str], ...]:
    if not report.designs:
        return ()
    best, currency = report.designs[0], report.currency
    bought = ranged(best.capex, best.capex_p10, best.capex_p90, currency)
    return (
        ("to buy", bought, f"{best.accelerators:,} {best.accelerator}"),
        ("a million output tokens", f"{number(best.per_million_output_year, 3)} {currency}", "prompts included"),
        ("requests a day", f"{number(best.requests_day / 1e6, 3)} M", f"{best.concurrency:,.0f} at a time at the peak"),
        ("within the limits", f"{chance(best.chance)} sure", _limits_text(report.targets)),
    )


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
            at_least(kilowatts(design.facility_peak_kw), design.unrated),
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
