"""Goodput as text, Markdown and CSV: the answer first, then where the time goes and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, number, percent, plural, span, stored
from ffplan.report.document import Block, Body, Document, Grid, Lines, Remarks, recalled

if TYPE_CHECKING:
    from ffplan.results.reliability import GoodputReport, ReliabilityReport, SimulationReport
    from ffplan.results.run import Band

SWINGS = 6
"""Inputs of the tornado that text shows; JSON has all."""
UNITS = (("million ", 1e6, 1e8), ("thousand ", 1e3, 1e5), ("", 1.0, 0.0))
"""Units of amounts, with the amount from which each is taken: columns stay narrow."""
EVENTS = 12
"""Interruptions of a simulated year that text shows; JSON has more."""


def _part(value: float) -> str:
    return f"{100 * value:.2f}"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _bands(found: Band, *, drawn: bool) -> tuple[str, ...]:
    """Return a likely value in percent, with its range where inputs were drawn."""
    return tuple(_part(value) for value in (found.likely, *((found.p10, found.p50, found.p90) if drawn else ())))


def _drawn(*found: Band) -> bool:
    """Return whether inputs were drawn: without draws, every end is the likely value."""
    return any(band.p10 != band.p90 for band in found)


def _beside(found: ReliabilityReport) -> str:
    """Return the mean time between interruptions by another fleet."""
    if found.beside is None or found.beside_mtbf_hours is None:
        return ""
    return f", {span(found.beside_mtbf_hours * 3600)} by `{found.beside}`"


def _job(found: ReliabilityReport) -> list[Block]:
    saved = found.checkpoint
    lines = [
        ("job", f"{found.model} on {plural(found.gpus, 'accelerator')}, {plural(found.nodes, 'node')}"),
        (
            "interruptions",
            f"{number(found.interruptions_per_day.likely, 3)} a day; MTBF {span(found.mtbf_hours.likely * 3600)} by "
            f"`{found.profile}`{_beside(found)}",
        ),
        ("restart", f"{span(found.restart_s.likely)}, {found.restart}"),
        (
            "checkpoint",
            f"{stored(saved.bytes)} {saved.mode}: stops {span(saved.stop_s)}, saved after "
            f"{span(saved.save_s)}, read in {span(saved.load_s)}; {saved.binds} bind",
        ),
        ("interval", f"{span(found.interval_s)} of work between two checkpoints"),
        (
            "nodes",
            f"{number(found.nodes_in_repair, 3)} in repair, {plural(found.spares, 'spare')} "
            f"({found.spares_for_99:,} for 99 %); one lacks {100 * found.short_chance:.1f} % of the time",
        ),
        (
            "silent corruption",
            f"{number(found.silent_per_year, 2)} a year found, {number(found.silent_undetected_per_year, 2)} more not",
        ),
    ]
    if found.tokens_s is not None and found.tokens_s_kept is not None:
        lines.append((f"{found.unit}/s", f"{found.tokens_s:,.0f}, kept {found.tokens_s_kept:,.0f}"))
    if saved.memory_restart_s is not None and saved.storage_every is not None:
        which = "each copy goes" if saved.storage_every == 1 else f"one copy in {number(saved.storage_every)} goes"
        words = f"restart from another node's in {span(saved.memory_restart_s)}; {which} to storage too"
        lines.insert(4, ("memory", words))
    drawn = _drawn(found.ettr, found.stragglers, found.goodput)
    rows = (
        ("ETTR", *_bands(found.ettr, drawn=drawn)),
        ("stragglers", *_bands(found.stragglers, drawn=drawn)),
        ("goodput", *_bands(found.goodput, drawn=drawn)),
    )
    lost = found.lost
    parts = (
        ("restarts", _part(lost.restarts)),
        ("work behind the last checkpoint", _part(lost.lost_work)),
        ("stops for checkpoints", _part(lost.checkpoints)),
        ("missing nodes", _part(lost.missing_nodes)),
        *((("lost paths, beside which it goes on", _part(lost.lost_paths)),) if found.path_lost is not None else ()),
        ("stragglers, beyond those of the step time", _part(lost.stragglers)),
    )
    return [
        Lines("Job", tuple(lines)),
        Grid("", rows, ("%", "likely", *(("P10", "P50", "P90") if drawn else ()))),
        Grid("Where the time goes, to first order", parts, ("", "%")),
    ]


def _domain(found: ReliabilityReport) -> list[Block]:
    own = found.domain
    if own is None:
        return []
    rows = tuple(
        (
            row.label,
            f"{span(row.repair_low_s)} to {span(row.repair_high_s)}",
            "not counted" if row.per_year is None else _rate(row.per_year),
        )
        for row in own.parts
    )
    title = f"What takes a whole domain out: {plural(own.nodes, 'node')}, {plural(own.accelerators, 'accelerator')}"
    spare = plural(own.spares, "domain")
    words = [f"{plural(own.domains, 'domain')}, {number(own.in_repair, 2)} in repair; {spare} among the spares."]
    if own.swap_s is not None:
        words.append(f"A spare node is in the place of a lost one after {span(own.swap_s)}.")
    return [Grid(title, rows, ("part", "repair", "a year of one")), Remarks(tuple(words))]


def _hazards(found: ReliabilityReport) -> Grid:
    rows = tuple(
        (
            row.label,
            f"{round(row.units):,}",
            _rate(row.per_unit_year),
            _rate(row.low),
            _rate(row.high),
            "" if row.events is None else f"{row.events:,}",
            f"{row.interruptions_per_day:.3g}",
            f"{100 * row.share:.1f}",
        )
        for row in found.hazards
    )
    header = ("what fails", "units", "a year", "low", "high", "events", "stops/d", "%")
    return Grid("Failures", rows, header)


def _intervals(found: ReliabilityReport) -> Grid:
    rows = tuple(
        (row.rule, span(row.interval_s), _part(row.goodput), "" if row.feasible else "a save takes longer")
        for row in found.intervals
    )
    return Grid("Interval of checkpoints", rows, ("rule", "interval", "goodput %", ""))


def _levers(found: ReliabilityReport) -> list[Block]:
    if not found.levers:
        return []
    amounts = [(row.worth_year, row.price_year, row.net_year) for row in found.levers]
    largest = max((abs(value) for each in amounts for value in each if value is not None), default=0.0)
    unit, size = next(row for row in UNITS if largest >= row[2])[:2]
    money = found.currency is not None
    rows = []
    for row, each in zip(found.levers, amounts, strict=True):
        cells = [row.label, _part(row.goodput), f"{100 * row.tokens:+.2f}"]
        if money:
            cells += ["" if value is None else f"{value / size:,.0f}" for value in each]
        rows.append(tuple(cells))
    header = ("change", "goodput", found.unit, *(("worth", "price", "net") if money else ()))
    title = f"What changes would give: goodput and {found.unit} in %" + (
        f", {unit}{found.currency} a year" if money else ""
    )
    why: dict[str, list[str]] = {}
    for row in found.levers:
        if money and row.unpriced is not None:
            why.setdefault(row.unpriced, []).append(row.label)
    words = tuple(f"No price of {listed(labels)}: {reason}." for reason, labels in why.items())
    return [Grid(title, tuple(rows), header), *([Remarks(words)] if words else [])]


def _sizes(report: GoodputReport) -> Grid:
    drawn = _drawn(*(row.goodput for row in report.sizes))
    rows = tuple(
        (
            f"{row.gpus:,}{' *' if row.beyond else ''}",
            span(row.mtbf_hours * 3600),
            span(row.interval_s),
            _part(row.ettr.likely),
            _part(row.goodput.likely),
            *((_part(row.goodput.p10), _part(row.goodput.p90)) if drawn else ()),
        )
        for row in report.sizes
    )
    header = ("accelerators", "MTBF", "interval", "ETTR %", "goodput %", *(("P10", "P90") if drawn else ()))
    return Grid("By size of the job", rows, header)


def simulation_blocks(found: SimulationReport) -> list[Block]:
    """Return simulated years as text."""
    verdict = f"the formulas have {_part(found.expected)} %"
    ends = ""
    if found.goodput_low is not None and found.goodput_high is not None:
        ends = f" ({_part(found.goodput_low)} to {_part(found.goodput_high)}, 95 %)"
    if found.agrees is not None:
        verdict = f"it {'agrees with' if found.agrees else 'differs from'} the formulas' {_part(found.expected)} %"
    lines = (
        (
            "runs",
            f"{found.runs} of {number(found.days)} days, seeds from {found.seed}"
            + (", stopped early" if found.stopped else ""),
        ),
        ("goodput", f"{_part(found.goodput)} %{ends}; {verdict}"),
        (
            "interruptions",
            f"{number(found.interruptions, 4)} a run, {number(found.interruptions_expected, 4)} expected",
        ),
    )
    rows = tuple(
        (
            f"{row.at_hours / 24:.2f}",
            row.hazard,
            row.part,
            span(row.lost_work_s),
            span(row.down_s),
            f"{row.nodes_missing:,}",
            "" if row.rate_left is None else percent(row.rate_left),
        )
        for row in found.timeline[:EVENTS]
    )
    header = ("day", "what failed", "which", "work lost", "down", "lacks", "rate left")
    blocks: list[Block] = [Lines("Simulated", lines)]
    if rows:
        title = f"First run, the first {len(rows)} interruptions"
        blocks.append(Grid(title, rows, header))
    return blocks


def _body(report: GoodputReport) -> Body:
    found = report.reliability
    blocks: list[Block] = [Remarks(report.headline), *_job(found), _hazards(found), *_domain(found)]
    blocks.append(_intervals(found))
    blocks += [*_levers(found), _sizes(report)]
    if any(row.beyond for row in report.sizes):
        blocks.append(Remarks(("* larger than the design: its parts in proportion, its storage as it is.",)))
    swings = tuple(
        (
            f"{row.label} [{row.unit.replace('events a year of one', 'a year,')}]",
            f"{row.low:.4g} to {row.high:.4g}",
            _part(row.at_low),
            _part(row.at_high),
        )
        for row in report.tornado[:SWINGS]
    )
    if swings:
        blocks.append(Grid("What moves goodput most", swings, ("input", "P10 to P90", "at P10", "at P90")))
    if report.simulation is not None:
        blocks += simulation_blocks(report.simulation)
    blocks.append(Lines("Assumptions", tuple(("", text) for text in report.assumptions)))
    blocks += recalled(report.unverified)
    return Body(
        title=f"Goodput of {report.design.name}",
        blocks=blocks,
        footer=f"{report.tool.name} {report.tool.version}",
    )


def goodput_document(report: GoodputReport) -> Document:
    """Return the report as a document; its main table is goodput by size."""
    return Document(value=report, made=_body, rows=lambda: report.sizes)
