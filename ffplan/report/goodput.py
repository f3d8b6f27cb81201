"""Goodput as text, Markdown and CSV: the answer first, then where the time goes and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, number, percent, plural, span, stored
from ffplan.report.document import Block, Document, Grid, Lines, Remarks, _Body, _listing, recalled
from ffplan.report.first.operate import _goodput_screen, _restart_words

if TYPE_CHECKING:
    from ffplan.results.reliability import GoodputReport, ReliabilityReport, SimulationReport
    from ffplan.results.run import Band

_SWINGS = 6
"""Inputs of the tornado that text shows; JSON has all."""
_UNITS = (("million ", 1e6, 1e8), ("thousand ", 1e3, 1e5), ("", 1.0, 0.0))
"""Units of amounts, with the amount from which each is taken: columns stay narrow."""
_EVENTS = 12
"""Interruptions of a simulated year that text shows; JSON has more."""


def _part(value: float) -> str:
    return f"{100 * value:.2f}"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _bands(band: Band, *, drawn: bool) -> tuple[str, ...]:
    return tuple(_part(value) for value in (band.likely, *((band.p10, band.p50, band.p90) if drawn else ())))


def _drawn(*bands: Band) -> bool:
    """Return whether inputs were drawn: without draws, every end is the likely value."""
    return any(band.p10 != band.p90 for band in bands)


def _beside(report: ReliabilityReport) -> str:
    if report.beside is None or report.beside_mtbf_hours is None:
        return ""
    return f", {span(report.beside_mtbf_hours * 3600)} by `{report.beside}`"


def _job(report: ReliabilityReport) -> list[Block]:
    saved = report.checkpoint
    lines = [
        ("job", f"{report.model} on {plural(report.gpus, 'accelerator')}, {plural(report.nodes, 'node')}"),
        (
            "interruptions",
            f"{number(report.interruptions_per_day.likely, 3)} a day; MTBF {span(report.mtbf_hours.likely * 3600)} by "
            f"`{report.profile}`{_beside(report)}",
        ),
        ("restart", f"{span(report.restart_s.likely)}, {_restart_words(report)}"),
        (
            "checkpoint",
            f"{stored(saved.bytes)} {saved.mode}: stops {span(saved.stop_s)}, saved after "
            f"{span(saved.save_s)}, read in {span(saved.load_s)}; {saved.binds} bind",
        ),
        ("interval", f"{span(report.interval_s)} of work between two checkpoints"),
        (
            "nodes",
            f"{number(report.nodes_in_repair, 3)} in repair, {plural(report.spares, 'spare')} "
            f"({report.spares_for_99:,} for 99 %); one lacks {100 * report.short_chance:.1f} % of the time",
        ),
        (
            "silent corruption",
            f"{number(report.silent_per_year, 2)} a year detected, {number(report.silent_undetected_per_year, 2)} more "
            "undetected",
        ),
    ]
    if report.tokens_s is not None and report.tokens_s_kept is not None:
        lines.append((f"{report.unit}/s", f"{report.tokens_s:,.0f}, kept {report.tokens_s_kept:,.0f}"))
    if saved.memory_restart_s is not None and saved.storage_every is not None:
        which = "each copy goes" if saved.storage_every == 1 else f"one copy in {number(saved.storage_every)} goes"
        note = f"restart from another node's copy in {span(saved.memory_restart_s)}; {which} to storage too"
        lines.insert(4, ("memory", note))
    drawn = _drawn(report.ettr, report.stragglers, report.goodput)
    rows = (
        ("ETTR", *_bands(report.ettr, drawn=drawn)),
        ("stragglers", *_bands(report.stragglers, drawn=drawn)),
        ("goodput", *_bands(report.goodput, drawn=drawn)),
    )
    lost = report.lost
    parts = (
        ("restarts", _part(lost.restarts)),
        ("work since the last checkpoint", _part(lost.lost_work)),
        ("stops for checkpoints", _part(lost.checkpoints)),
        ("missing nodes", _part(lost.missing_nodes)),
        *((("lost paths that do not stop it", _part(lost.lost_paths)),) if report.path_lost is not None else ()),
        ("stragglers, beyond the step time's", _part(lost.stragglers)),
    )
    return [
        Lines("Job", tuple(lines)),
        Grid("", rows, ("%", "likely", *(("P10", "P50", "P90") if drawn else ()))),
        Grid("Where the time goes, to first order", parts, ("", "%"), name="losses"),
    ]


def _domain(report: ReliabilityReport) -> list[Block]:
    domain = report.domain
    if domain is None:
        return []
    rows = tuple(
        (
            row.label,
            f"{span(row.repair_low_s)} to {span(row.repair_high_s)}",
            "not counted" if row.per_year is None else _rate(row.per_year),
        )
        for row in domain.parts
    )
    title = f"Outages of a whole domain: {plural(domain.nodes, 'node')}, {plural(domain.accelerators, 'accelerator')}"
    spare = plural(domain.spares, "domain")
    remarks = [
        f"{plural(domain.domains, 'domain')}, {number(domain.in_repair, 2)} in repair; {spare} among the spares."
    ]
    if domain.swap_s is not None:
        remarks.append(f"A spare node replaces a lost one after {span(domain.swap_s)}.")
    return [Grid(title, rows, ("part", "repair", "a year of one"), name="domains"), Remarks(tuple(remarks))]


def _hazards(report: ReliabilityReport) -> Grid:
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
        for row in report.hazards
    )
    header = ("what fails", "units", "a year", "low", "high", "events", "stops/d", "%")
    return Grid("Failures", rows, header)


def _intervals(report: ReliabilityReport) -> Grid:
    rows = tuple(
        (row.rule, span(row.interval_s), _part(row.goodput), "" if row.feasible else "a save takes longer")
        for row in report.intervals
    )
    return Grid("Interval of checkpoints", rows, ("rule", "interval", "goodput %", ""))


def _levers(report: ReliabilityReport) -> list[Block]:
    if not report.levers:
        return []
    amounts = [(row.worth_year, row.price_year, row.net_year) for row in report.levers]
    largest = max((abs(value) for amount in amounts for value in amount if value is not None), default=0.0)
    unit, size = next(row for row in _UNITS if largest >= row[2])[:2]
    money = report.currency is not None
    rows = []
    for row, row_amounts in zip(report.levers, amounts, strict=True):
        cells = [row.label, _part(row.goodput), f"{100 * row.tokens:+.2f}"]
        if money:
            cells += ["" if value is None else f"{value / size:,.0f}" for value in row_amounts]
        rows.append(tuple(cells))
    header = ("change", "goodput", report.unit, *(("worth", "price", "net") if money else ()))
    title = f"What changes would give: goodput and {report.unit} in %" + (
        f", {unit}{report.currency} a year" if money else ""
    )
    why: dict[str, list[str]] = {}
    for row in report.levers:
        if money and row.unpriced is not None:
            why.setdefault(row.unpriced, []).append(row.label)
    remarks = tuple(f"No price of {listed(labels)}: {reason}." for reason, labels in why.items())
    return [Grid(title, tuple(rows), header, name="changes"), *([Remarks(remarks)] if remarks else [])]


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
    return Grid("By size of the job", rows, header, name="sizes")


def _simulation_blocks(simulation: SimulationReport) -> list[Block]:
    verdict = f"the formulas give {_part(simulation.expected)} %"
    ends = ""
    if simulation.goodput_low is not None and simulation.goodput_high is not None:
        ends = f" ({_part(simulation.goodput_low)} to {_part(simulation.goodput_high)}, 95 %)"
    if simulation.agrees is not None:
        verdict = (
            f"it {'agrees with' if simulation.agrees else 'differs from'} the formulas' {_part(simulation.expected)} %"
        )
    lines = (
        (
            "runs",
            f"{simulation.runs} of {number(simulation.days)} days, seeds from {simulation.seed}"
            + (", stopped early" if simulation.stopped else ""),
        ),
        ("goodput", f"{_part(simulation.goodput)} %{ends}; {verdict}"),
        (
            "interruptions",
            f"{number(simulation.interruptions, 4)} a run, {number(simulation.interruptions_expected, 4)} expected",
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
        for row in simulation.timeline[:_EVENTS]
    )
    header = ("day", "what failed", "which", "work lost", "down", "lacks", "rate left")
    blocks: list[Block] = [Lines("Simulated", lines)]
    if rows:
        title = f"First run, the first {len(rows)} interruptions"
        blocks.append(Grid(title, rows, header))
    return blocks


def _body(report: GoodputReport) -> _Body:
    job = report.reliability
    blocks: list[Block] = [Remarks(report.headline), *_job(job), _hazards(job), *_domain(job)]
    blocks.append(_intervals(job))
    blocks += [*_levers(job), _sizes(report)]
    if any(row.beyond for row in report.sizes):
        blocks.append(Remarks(("* larger than one job can be here: parts scaled in proportion, storage unchanged.",)))
    swings = tuple(
        (
            f"{row.label} [{row.unit.replace('events a year of one', 'a year,')}]",
            f"{row.low:.4g} to {row.high:.4g}",
            _part(row.at_low),
            _part(row.at_high),
        )
        for row in report.tornado[:_SWINGS]
    )
    if swings:
        blocks.append(
            Grid("What moves goodput most", swings, ("input", "P10 to P90", "at P10", "at P90"), name="drivers")
        )
    if report.simulation is not None:
        blocks += _simulation_blocks(report.simulation)
    blocks.append(_listing("Assumptions", report.assumptions))
    blocks += recalled(report.unverified)
    return _Body(
        title=f"Goodput of {report.design.name}",
        blocks=blocks,
        footer=f"{report.tool.name} {report.tool.version}",
    )


def goodput_document(report: GoodputReport) -> Document:
    """Return the report as a document; its main table is goodput by size."""
    return Document(value=report, made=_body, rows=lambda: report.sizes, first=_goodput_screen)
