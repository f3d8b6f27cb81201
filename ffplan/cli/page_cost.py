"""Where the figures on a page of `ffplan cost` come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.cli.page_figures import Figures, Spot, evidence, said
from ffplan.cli.page_prose import prose_notes
from ffplan.cli.page_run import CARBON, FIGURES, HOUR, POWER, SPEED, YEAR, run_notes, swing_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ffplan.report.chart import Origin, Source
    from ffplan.results.cost import CostStudy, InputRow

RUN_ROWS = {
    "days": "days [d]",
    "accelerator_hours": "accelerator-hours [h]",
    "cost": "cost [{}]",
    "cost_per_million_tokens": "a million tokens [{}]",
    "cost_per_petaflop_day": "a petaFLOP/s-day [{}]",
    "energy_mwh": "energy [MWh]",
    "carbon_t": "carbon [t CO2e]",
}
"""Labels of the report's rows, with the currency where they name it."""
YEAR_HOW = {
    "installation": "yearly capital of freight, installation, cabling and racks",
    "support": "share of the hardware after discount",
    "licences": "licence * accelerators",
    "staff": "staff for 1,000 accelerators * accelerators / 1,000 * salary",
    "electricity": "energy of a year * price",
    "colocation": "price * rated kW * 12 months",
    "rent": "rent of an hour in use * hours in use of a year",
    "extras": "what a provider bills apart * 12 months",
}
"""How the costs of a year follow; hardware and building as `yearly_capital` has it."""
POWERED = {
    "compute": ("servers",),
    "storage": ("storage",),
    "fabric": ("switches", "endpoint-links", "inter-switch-links"),
    "storage-network": ("storage-network",),
    "in-band": ("in-band",),
    "out-of-band": ("out-of-band",),
}
"""Kinds of lines of the bill whose parts draw each power."""
CAPITAL, POWERS = "ffplan.cost.capital", "ffplan.cost.power"


def cost_notes(study: CostStudy, sources: Iterable[Source]) -> tuple[Origin, ...]:
    """Return where the figures of a cost study come from.

    Args:
        study: the study.
        sources: figures of the catalogue files behind it.
    """
    figures = Figures(study, "cost", study.currency, sources)
    inputs = study.uncertainty.inputs if study.uncertainty else ()
    return (
        *_run(study, figures, inputs),
        *_year(study, figures, inputs),
        *_rents(study, figures, inputs),
        *_cash(study, figures, inputs),
        *_bom(study, figures),
        *_phases(study, figures),
        *_power(study, figures, inputs),
        *_swings(study, figures, inputs),
        *prose_notes(study, figures),
    )


def _run(study: CostStudy, figures: Figures, inputs: tuple[InputRow, ...]) -> Iterator[Origin]:
    draws = study.uncertainty.draws if study.uncertainty else 0
    for item in FIGURES:
        spot = Spot("", RUN_ROWS[item.field].format(study.currency))
        yield from run_notes(figures, item, spot, "run", inputs, hour="tco.per_accelerator_hour.likely", draws=draws)
    parts = figures.named("run.tokens_s", "run.mfu", "run.effective", "run.batch", "run.gpus", "run.error_band")
    how = "the step of `ffplan train` with this plan; its parts are taken apart there"
    parts += figures.inputs(inputs, *SPEED)
    yield from figures.note(Spot("Run", "step"), "run.step_s", how=how, parts=parts)
    of, how = figures.named("run.petaflop_days", "run.tokens"), "FLOP of the model a token * tokens"
    yield from figures.note(Spot("Run", "operations"), "run.operations", how=how, parts=of)


def _year(study: CostStudy, figures: Figures, inputs: tuple[InputRow, ...]) -> Iterator[Origin]:
    if study.tco is None:
        return
    for at, row in enumerate(study.tco.yearly):
        how = YEAR_HOW.get(row.name, "")
        if row.name == "colocation" and study.tco.facility == "racks":
            how = "rent of a rack * racks * PUE * 12 months"
        place = "" if how else f"{CAPITAL}:yearly_capital"
        parts = figures.inputs(inputs, *YEAR.get(row.name, ()))
        spot, path = Spot("A year of", row.label), f"tco.yearly[{at}]"
        yield from figures.note(spot, f"{path}.amount", how=how, place=place, parts=parts)
        yield from figures.note(
            Spot("A year of", row.label, 1), f"{path}.share", how="over the sum", parts=figures.named("tco.year")
        )
    yield from figures.note(Spot("A year of", "sum"), "tco.year", how="sum of the rows")
    hour = "tco.per_accelerator_hour"
    parts = figures.named(f"{hour}.p10", f"{hour}.p90", f"{hour}_paid", "tco.year", "tco.utilisation")
    parts += figures.inputs(inputs, *HOUR)
    place = "ffplan.cost.account:account_year"
    yield from figures.note(Spot("", "accelerator-hour"), f"{hour}.likely", place=place, parts=parts)
    parts = [*figures.named("tco.capex", "tco.years"), *figures.inputs(inputs, "life", "residual")]
    yield from figures.note(Spot("", "cash"), "tco.total", place="ffplan.studies.cost.cost:whole_life", parts=parts)
    how = "switches, links and side networks over the bill of materials"
    yield from figures.note(Spot("", "network"), "tco.network_share", how=how, parts=figures.named("bom.total"))


def _rents(study: CostStudy, figures: Figures, inputs: tuple[InputRow, ...]) -> Iterator[Origin]:
    rent, owned = "ffplan.cost.rent", figures.inputs(inputs, "utilisation", "electricity", "life")
    for at, row in enumerate(study.tco.rents if study.tco else ()):
        path, table = f"tco.rents[{at}]", "Owning against rent"
        offer = [evidence(item) for item in figures.sources if item.path == f"offers.{row.offer}.price"]
        stated = [*offer, f"{row.offer} of {row.provider}: {row.term}, {row.date or 'no date'}, status {row.status}"]
        yield from figures.note(
            Spot(table, row.offer, 1, at=at),
            f"{path}.price",
            how="price of the rent book, in this currency",
            parts=stated,
        )
        for column, field, name in (
            (2, "hour", "rented_hour"),
            (3, "break_even_months", "break_even_months"),
            (4, "break_even_months_from_order", "break_even_months"),
            (5, "break_even_utilisation", "break_even_utilisation"),
        ):
            parts = [*figures.named(f"{path}.price", "tco.capex", f"{path}.owned_hour"), *stated, *owned]
            spot = Spot(table, row.offer, column, at=at)
            yield from figures.note(spot, f"{path}.{field}", place=f"{rent}:{name}", parts=parts)


def _cash(study: CostStudy, figures: Figures, inputs: tuple[InputRow, ...]) -> Iterator[Origin]:
    how = {
        "capex": "purchases at their delivery",
        "opex": "costs of a year without capital / 12, for what stands",
        "cumulative": "sum of purchases and running costs so far, less the residual value at the end",
        "discounted": "sum of each month / (1 + cost of capital)^(months / 12)",
    }
    parts = figures.inputs(inputs, "capital", "residual", "life", "lead_time", "commissioning")
    for at, row in enumerate(study.tco.cash_flow if study.tco else ()):
        for column, (field, words) in enumerate(how.items()):
            path = f"tco.cash_flow[{at}].{field}"
            yield from figures.note(Spot("Cash flow", f"{row.month}", column), path, how=words, parts=parts)


def _bom(study: CostStudy, figures: Figures) -> Iterator[Origin]:
    if study.bom is None:
        return
    table = "Bill of materials"
    for at, line in enumerate(study.bom.lines):
        path, label = f"bom.lines[{at}]", line.kind.replace("-", " ")
        dated = f", {line.date}" if line.date else ""
        price = f"{line.part or line.description}: {line.source}{dated}; {line.status}"
        spots = [Spot(table, label, column, at=at) for column in (1, 2, 3, 4)]
        yield from figures.note(spots[0], f"{path}.quantity", how=line.description)
        yield from figures.note(spots[1], f"{path}.unit_price", parts=(price,))
        of = (*figures.named(f"{path}.low", f"{path}.high"), price)
        yield from figures.note(spots[2], f"{path}.total", place="ffplan.cost.bom:line_total", parts=of)
        yield from figures.note(spots[3], f"{path}.share", how="over the sum of the lines")
    ends = figures.named("bom.total_low", "bom.total_high")
    how = "sum of the lines; its ends take every line at the end of its range"
    yield from figures.note(Spot("", "total"), "bom.total", how=how, parts=ends)
    parts = figures.named("bom.total", "accelerators")
    yield from figures.note(
        Spot("", "per accelerator"), "bom.per_accelerator", how="sum over accelerators", parts=parts
    )
    how = "sum of servers, storage, switches and links that the design plans"
    yield from figures.note(Spot("", "of it"), "bom.hardware", how=how)


def _phases(study: CostStudy, figures: Figures) -> Iterator[Origin]:
    stands = "of what stands after the phase"
    how = {
        "order_month": "given by the design",
        "ready_month": "order, lead time and commissioning",
        "accelerators": stands,
        "capex": "quantity * price of what the phase adds, with its part of adders",
        "switches": stands,
        "spare_ports": stands,
        "racks": stands,
        "it_rated_kw": stands,
    }
    for at, phase in enumerate(study.phases):
        for column, (field, words) in enumerate(how.items()):
            yield from figures.note(Spot("Phases", phase.name, column), f"phases[{at}].{field}", how=words)


def _power(study: CostStudy, figures: Figures, inputs: tuple[InputRow, ...]) -> Iterator[Origin]:
    lines = study.bom.lines if study.bom else ()
    table, expected = "Power, kW", figures.inputs(inputs, "power", "idle")
    for at, part in enumerate(study.power.parts):
        ids = dict.fromkeys(line.part for line in lines if line.kind in POWERED.get(part.name, ()) and line.part)
        drawn = [line for name in ids for line in figures.parts(name, "power")]
        for column, field in enumerate(("idle_kw", "training_kw", "rated_kw")):
            place = f"{POWERS}:training_power" if field == "training_kw" else f"{POWERS}:component_sum"
            spot = Spot(table, part.name.replace("-", " "), column)
            yield from figures.note(spot, f"power.parts[{at}].{field}", place=place, parts=[*drawn, *expected])
    for column, field in enumerate(("it_idle_kw", "it_training_kw", "it_rated_kw")):
        yield from figures.note(Spot(table, "IT", column), f"power.{field}", how="sum of the rows")
    parts = [*figures.named("power.facility_peak_kw", "power.it_training_kw"), *figures.inputs(inputs, "pue")]
    yield from figures.note(Spot("", "facility"), "power.facility_kw", place=f"{POWERS}:facility_power", parts=parts)
    of = ("rack_limit_kw", "fullest_rack_kw", "rack_amperes_54v", "rack_amperes_800v")
    parts = figures.named(*(f"power.{name}" for name in of))
    how = "nodes by what a rack carries in watts and in units; current = rated W / V"
    yield from figures.note(Spot("", "racks"), "power.racks", how=how, parts=parts)
    parts = figures.named("power.carbon_t_year", "power.water_m3_year", "power.embodied_t")
    parts += figures.inputs(inputs, "grid", "water", *POWER, *(name for name in CARBON if name.startswith("embodied")))
    how = "8,760 h * (utilisation * power in training + (1 - utilisation) * power without load) * PUE"
    yield from figures.note(Spot("", "a year"), "power.energy_mwh_year", how=how, parts=parts)
    parts = figures.named("power.liquid_share", "power.coolant_l_min")
    yield from figures.note(Spot("", "liquid"), "power.liquid_kw", how="rated IT power times the share", parts=parts)


def _swings(study: CostStudy, figures: Figures, inputs: tuple[InputRow, ...]) -> Iterator[Origin]:
    if study.uncertainty is None:
        return
    stated = {row.input: [said(row, study.currency)] for row in inputs}
    swings = [(swing.label, stated.get(swing.input, [])) for swing in study.uncertainty.tornado]
    yield from swing_notes(figures, "What drives", "uncertainty.tornado", swings, of="the figure")
    for at, flip in enumerate(study.uncertainty.break_even):
        path, parts = f"uncertainty.break_even[{at}]", stated.get(flip.input, [])
        yield from figures.note(Spot("Owning costs", flip.label), f"{path}.likely", how="likely value", parts=parts)
        place = "ffplan.cost.sensitivity:flips"
        yield from figures.note(Spot("Owning costs", flip.label, 1), f"{path}.break_even", place=place, parts=parts)
