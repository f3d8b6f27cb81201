"""A cost study as text, Markdown and CSV: the answer first, then the tables behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import (
    amount,
    at_least,
    input_value,
    kilowatts,
    listed,
    number,
    percent,
    short,
    spoken_years,
)
from ffplan.report.document import Block, Document, Grid, Lines, Remarks, _Body, provenance
from ffplan.report.first.cost import _cost_screen, horizon
from ffplan.report.phrases import _plan_words, _sure_words
from ffplan.results.run import band_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.base.outcomes import BomLine
    from ffplan.results.cost import Bom, CostStudy, PhaseReport, SitePower, Tco, Uncertainty
    from ffplan.results.run import Band, RunReport

SWINGS = 8
"""Inputs of the tornado that text shows; JSON has all."""
_OFFERS = 8
"""Offers that text shows; JSON has all."""
_MONTH = 7
"""Letters of a date down to its month."""
_CASH_MONTHS = 12
"""Months between two rows of the cash flow in text."""


def _amount(value: float) -> str:
    """Return an amount; two places below a hundred."""
    return f"{value:,.2f}" if 0 < abs(value) < 100 else amount(value)


def _bands(rows: Sequence[tuple[str, Band | None, str]]) -> tuple[tuple[str, ...], ...]:
    table = []
    for label, band, unit in rows:
        if band is None:
            continue
        show = _amount if "currency" not in unit and unit.isupper() else short
        table.append((f"{label} [{unit}]", *(show(value) for value in (band.likely, band.p10, band.p50, band.p90))))
    return tuple(table)


def _run_blocks(run: RunReport) -> list[Block]:
    plan = f"{_plan_words(run.plan)}, {run.plan.precision}, batch {run.batch:,} on {run.gpus:,} accelerators"
    step = f"{number(run.step_s)} s, {run.tokens_s:,.0f} tokens/s, MFU {percent(run.mfu)}"
    model = f"{run.operations:.3g} FLOP of the model, {number(run.petaflop_days)} petaFLOP/s-days"
    lines = Lines(
        "Run",
        (
            ("plan", plan),
            *([("memory", f"at the edge: {run.memory_words}")] if run.memory_words else []),
            *([("sure plan", _sure_words(run.sure))] if run.sure else []),
            ("step", f"{step}; effective training time {percent(run.effective)}"),
            ("effort", f"{number(run.effort)} times the modelled time, without failures"),
            ("operations", model),
        ),
    )
    rows = _bands(
        (
            ("days", run.days, "d"),
            ("accelerator-hours", run.accelerator_hours, "h"),
            ("cost", run.cost, run.currency),
            ("a million tokens", run.cost_per_million_tokens, run.currency),
            ("a petaFLOP/s-day", run.cost_per_petaflop_day, run.currency),
            ("energy", run.energy_mwh, "MWh"),
            ("carbon", run.carbon_t, "t CO2e"),
        )
    )
    return [lines, Grid("", rows, ("", "likely", "P10", "P50", "P90"))]


def _price_date(line: BomLine) -> str:
    """Return month or year of a line's price; a share of other lines has none."""
    if line.date:
        return line.date[:_MONTH]
    return "undated" if line.part else ""


def _bom_rows(lines: Sequence[BomLine]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            line.kind.replace("-", " "),
            line.part or line.description,
            number(line.quantity),
            _amount(line.unit_price),
            _amount(line.total),
            f"{100 * line.share:.1f}".replace("-0.0", "0.0"),
            f"{line.status} {_price_date(line)}".strip(),
        )
        for line in lines
    )


def _bom(bom: Bom) -> list[Block]:
    header = ("kind", "what", "pieces", "each", "total", "%", "price")
    rows = _bom_rows(bom.lines)
    rate = f", a unit of it {bom.exchange_rate:g} {bom.currency}" if bom.exchange_rate else ""
    each = f", {_amount(bom.per_accelerator)} an accelerator" if bom.per_accelerator is not None else ""
    ends = f"{_amount(bom.total_low)} to {_amount(bom.total_high)}"
    lines = [
        ("likely total", f"{_amount(bom.total)} {bom.currency}{each}; lowest to highest prices {ends}"),
        ("of it", f"{_amount(bom.hardware)} for what the design plans, as `ffplan design` has it"),
        ("prices", f"{bom.price_book} of {bom.price_date}{rate}"),
    ]
    if bom.missing:
        lines.append(("no price", ", ".join(dict.fromkeys(line.part for line in bom.missing))))
    if bom.excluded:
        lines.append(("left out", f"{', '.join(bom.excluded)}: outside the design's cost scope"))
    return [Grid("Bill of materials", rows, header), Lines("", tuple(lines))]


def _tco(tco: Tco) -> list[Block]:
    rows = tuple((row.label, _amount(row.amount), f"{100 * row.share:.1f}") for row in tco.yearly)
    title = "A year of rent" if tco.facility == "rented" else f"A year of ownership over {spoken_years(tco.years)}"
    title += ", partial" if tco.partial else ""
    hour = tco.per_accelerator_hour
    use = (
        f"{_amount(hour.likely)} {tco.currency} in use at {percent(tco.utilisation)}, P10 to P90 "
        f"{_amount(hour.p10)} to {_amount(hour.p90)}"
    )
    rest = "" if tco.facility == "rented" else ", residual value taken off at the end"
    lines = [
        ("accelerator-hour", f"{use}; {_amount(tco.per_accelerator_hour_paid)} over all hours"),
        ("cash", f"{_amount(tco.total)} {tco.currency} {horizon(tco)}{rest}"),
    ]
    if tco.owned is not None:
        owned = band_words(tco.owned.per_accelerator_hour, tco.currency)
        lines.append(("owned instead", f"{owned} an accelerator-hour in use, over {spoken_years(tco.owned.years)}"))
    if tco.network_share is not None:
        lines.append(("network", f"{percent(tco.network_share)} of the bill of materials"))
    blocks: list[Block] = [
        Grid(title, (*rows, ("sum", _amount(tco.year), "100.0")), ("", f"{tco.currency}/year", "%"), name="year"),
        Lines("", tuple(lines)),
    ]
    if tco.rents:
        blocks.append(_rents(tco))
    blocks.append(_cash(tco))
    return blocks


def _rents(tco: Tco) -> Grid:
    rows = tuple(
        (
            row.offer,
            "index" if row.index else row.term,
            _amount(row.price),
            _amount(row.hour),
            f"{row.break_even_months:.0f}" if row.break_even_months is not None else "never",
            f"{row.break_even_months_from_order:.0f}" if row.break_even_months_from_order is not None else "-",
            percent(row.break_even_utilisation) if row.break_even_utilisation is not None else "-",
        )
        for row in tco.rents[:_OFFERS]
    )
    more = len(tco.rents) - len(rows)
    title = f"Owning against rent, {tco.currency}/h" + (f" ({more} costlier offers in JSON)" if more > 0 else "")
    header = ("offer", "term", "paid", "in use", "months from job", "months from order", "above use")
    return Grid(title, rows, header, name="rent")


def _cash(tco: Tco) -> Grid:
    last = tco.cash_flow[-1].month
    bought = {row.month for row in tco.cash_flow if row.capex}
    shown = [row for row in tco.cash_flow if row.month % _CASH_MONTHS == 0 or row.month == last or row.month in bought]
    rows = tuple(
        (
            f"{row.month}",
            _amount(row.capex) if row.capex else "",
            _amount(row.opex) if row.opex else "",
            _amount(row.cumulative),
            _amount(row.discounted),
        )
        for row in shown
    )
    return Grid(f"Cash flow, {tco.currency}", rows, ("month", "bought", "running/month", "sum", "discounted"))


def _floor(p: SitePower) -> str:
    if p.floor_m2 is None or p.rack_area_m2 is None:
        return ""
    return f"; {number(p.floor_m2, 3)} m2 of floor at {number(p.rack_area_m2)} a rack"


def _power(p: SitePower) -> list[Block]:
    rows = [
        (part.name.replace("-", " "), *(f"{value:,.1f}" for value in (part.idle_kw, part.training_kw, part.rated_kw)))
        for part in p.parts
    ]
    rows.append(("IT", *(f"{value:,.1f}" for value in (p.it_idle_kw, p.it_training_kw, p.it_rated_kw))))
    racks = ", ".join(f"{count:,} {name}" for name, count in p.racks_of.items())
    year = f"{short(p.energy_mwh_year)} MWh, {short(p.carbon_t_year)} t CO2e, {short(p.water_m3_year)} m3 of water"
    facility = f"{kilowatts(p.facility_kw)} in training, {kilowatts(p.facility_peak_kw)} peak, PUE {p.pue:g}"
    lines = [
        ("facility", at_least(facility, p.missing)),
        (
            "racks",
            f"{p.racks:,} ({racks}); the fullest {number(p.fullest_rack_kw)} kW rated, {p.rack_amperes_54v:,.0f} A at "
            f"54 V or {p.rack_amperes_800v:,.0f} A at 800 V DC{_floor(p)}",
        ),
        ("a year", f"{year}; hardware {short(p.embodied_t)} t CO2e once"),
    ]
    if p.liquid_kw:
        lines.append(
            ("liquid", f"{kilowatts(p.liquid_kw)}, {percent(p.liquid_share)}; {p.coolant_l_min:,.0f} l/min at 10 K")
        )
    return [Grid("Power, kW", tuple(rows), ("", "idle", "training", "rated")), Lines("", tuple(lines))]


def _skewed(u: Uncertainty, currency: str) -> list[Block]:
    inputs = {row.input: row for row in u.inputs}
    outside = [
        f"{row.label} ({', '.join(input_value(row.input, value, row.unit, currency) for value in triangle)})"
        for row in u.tornado[:SWINGS]
        if not row.low <= (drawn := inputs[row.input]).likely <= row.high
        for triangle in [(drawn.low, drawn.likely, drawn.high)]
    ]
    if not outside:
        return []
    return [Remarks((f"Skewed, with a likely value outside P10 to P90 (lowest, likely, highest): {listed(outside)}.",))]


def _uncertainty(u: Uncertainty, currency: str) -> list[Block]:
    blocks: list[Block] = []
    if u.tornado:
        swings = tuple(
            (
                row.label,
                input_value(row.input, row.low, row.unit, currency),
                input_value(row.input, row.high, row.unit, currency),
                _amount(row.at_low),
                _amount(row.at_high),
            )
            for row in u.tornado[:SWINGS]
        )
        what = "a million tokens" if u.per_token else "an hour in use"
        title = f"What drives the cost of {what}, {currency}: each input from P10 to P90, all others likely"
        blocks.append(Grid(title, swings, ("input", "P10", "P90", "at P10", "at P90"), name="drivers"))
        blocks += _skewed(u, currency)
    if u.against:
        rows = tuple(
            (row.label, *(input_value(row.input, value, row.unit, currency) for value in (row.likely, row.break_even)))
            for row in u.break_even
            if row.break_even is not None
        )
        never = sum(1 for row in u.break_even if row.break_even is None)
        title = f"Owning costs as much as {u.against} where"
        if rows:
            blocks.append(Grid(title, rows, ("input", "likely", "even at"), name="break-even"))
        if never:
            remark = f"{never} other inputs cannot alone make owning break even with {u.against}; JSON says why."
            blocks.append(Remarks((remark,)))
    return blocks


def _bought(phase: PhaseReport) -> str:
    """Return the purchase of a phase, each part once, spares included."""
    pieces: dict[str, float] = {}
    for line in phase.lines:
        name = line.part or line.description
        pieces[name] = pieces.get(name, 0.0) + line.quantity
    return listed(f"{number(count)} {name}" for name, count in pieces.items())


def _phases(study: CostStudy) -> list[Block]:
    if not study.phases:
        return []
    rows = tuple(
        (
            phase.name,
            f"{phase.order_month:.0f}",
            f"{phase.ready_month:.0f}",
            f"{phase.accelerators:,}",
            _amount(phase.capex),
            f"{phase.switches:,}",
            f"{phase.spare_ports:,}",
            f"{phase.racks:,}",
            f"{phase.it_rated_kw:,.0f}",
        )
        for phase in study.phases
    )
    header = ("phase", "order", "ready", "acc.", study.currency, "switches", "free ports", "racks", "kW rated")
    lines = []
    for phase in study.phases:
        lines.append((phase.name, f"buys {_bought(phase)}"))
        if phase.reserve:
            lines.append((phase.name, "leaves free " + "; ".join(phase.reserve)))
    return [Grid("Phases, months from the first order", rows, header), Lines("", tuple(lines))]


def _assumptions(study: CostStudy) -> Lines:
    lines = [("", text) for text in study.assumptions]
    if study.unverified:
        parts = len({figure.part for figure in study.unverified})
        lines.append(("", f"{len(study.unverified)} recalled, unverified figures come from {parts} of the files read."))
    return Lines("Assumptions", tuple(lines))


def _body(study: CostStudy) -> _Body:
    blocks: list[Block] = [Remarks(study.headline)]
    if study.run is not None:
        blocks += _run_blocks(study.run)
    if study.tco is not None:
        blocks += _tco(study.tco)
    if study.bom is not None:
        blocks += _bom(study.bom)
    blocks += _phases(study)
    blocks += _power(study.power)
    if study.uncertainty is not None:
        blocks += _uncertainty(study.uncertainty, study.currency)
    blocks.append(_assumptions(study))
    return _Body(
        title=f"{study.design.name}: cost",
        blocks=tuple(blocks),
        intro=study.design.description,
        footer=provenance(study.tool, study.design),
    )


def cost_document(study: CostStudy) -> Document:
    """Return the report of `ffplan cost`; CSV is the bill of materials."""
    bom = study.bom
    return Document(study, _body, (lambda: bom.lines) if bom is not None else None, first=_cost_screen)
