"""The first screen of `ffplan cost`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import (
    amount,
    at_least,
    first_few,
    input_value,
    kilowatts,
    listed,
    number,
    percent,
    plural,
    spoken_years,
)
from ffplan.cost.rent import MONTHS
from ffplan.inputs.design_files import as_argument
from ffplan.report.document import _FirstScreen
from ffplan.results.cost import benchmark, cheaper_index, recalled_drivers, rented
from ffplan.results.difference import judged, near_flips, owning_beside
from ffplan.results.run import band_words, median_words

if TYPE_CHECKING:
    from ffplan.results.cost import CostStudy, RentRow, Tco
    from ffplan.results.run import RunReport

"""Least chance of the side that a verdict names [1]."""
_DRIVERS = 3
"""Inputs named as what moves the cost [1]."""


def _cost_screen(study: CostStudy) -> _FirstScreen:
    tco, run = study.tco, study.run
    owned, trained = _owned(tco) if tco else [], _run(run) if run else []
    power = study.power
    rated = at_least(kilowatts(power.facility_peak_kw), power.missing)
    peak = ("facility peak", rated, f"{at_least(kilowatts(power.facility_kw), power.missing)} in training")
    return _FirstScreen(
        head=f"{study.design.name} · {plural(study.accelerators, 'accelerator')} · cost in {study.currency}",
        verdict=_verdict(study),
        figures=(*owned, *(_wait(tco) if tco else ()), *trained, peak),
        advice=(
            ("Left out", listed(tco.partial) if tco else ""),
            ("Memory", _memory(run)),
            ("Too long", f"the run takes {run.outlives}" if run is not None and run.outlives else ""),
            ("Moves it", _drivers(study)),
            ("Even at", _levels(study)),
            ("Next", _next(study)),
        ),
        unverified=_unverified(study),
        tiles=(*owned, *trained[:1], peak),
    )


def _verdict(study: CostStudy) -> tuple[str, ...]:
    tco = study.tco
    if tco is None:
        return ("No cost: the design names neither a price book nor a rent.",)
    if tco.facility == "rented":
        return (f"Rented: {_money(tco.year, tco.currency)} a year{_over_owning(tco)}.",)
    if tco.partial:
        return (f"Partial: the cost leaves out {first_few(tco.partial)}, so owning is set against no rent.",)
    rent = benchmark(tco.rents)
    if rent is None:
        return (f"Owning is set against no rent: {tco.no_rent}.{_other_rent(tco)}",)
    lead = owning_beside(rent, "GPU-hour", f"the cheapest {rent.term} rent listed, {rent.offer}")
    even = rent.break_even_months_from_order
    months = f", and breaks even {even:.0f} months after the order" if even is not None else ""
    months = f", and never breaks even: {rent.why}" if rent.why else months
    return (f"{lead}{months}.{_even_rent(study, rent)}",)


def _over_owning(tco: Tco) -> str:
    """Return how a rented cluster stands beside the same one bought; empty where that has no price."""
    if tco.owned is None:
        return ""
    owned, hour = tco.owned.per_accelerator_hour.likely, tco.per_accelerator_hour.likely
    owning = judged(owned / hour, tco.owned.owning_cheaper)
    if not owning.gap:
        return ", about as much per GPU-hour as owning"
    # renting over owning, where the verdict is of owning over renting
    more = f"{percent(abs(hour / owned - 1))} {'more' if owning.gap < 0 else 'less'} per GPU-hour than owning"
    return f", {more}{owning.sure}{', too close to call' if owning.close else ''}"


def _other_rent(tco: Tco) -> str:
    """Return the lowest rent or market level that is listed, which nobody can sign for years; empty without one."""
    if not tco.rents:
        return ""
    row = tco.rents[0]
    kind = "market level" if row.index else "rent listed"
    return f" The lowest {kind}, {row.offer}, is {row.hour:,.2f} {tco.currency} per GPU-hour in use."


def _even_rent(study: CostStudy, rent: RentRow) -> str:
    """Return the rent below which renting is cheaper, and how low the market stands, paid by the hour like it."""
    rows = study.uncertainty.break_even if study.uncertainty is not None else ()
    even = next((row.break_even for row in rows if row.input == "rent"), None)
    if even is None or study.tco is None:
        return ""
    if rent.owned_hour > rent.hour:
        return f" It is cheaper against a {rent.term} rent above {even:,.2f} {study.currency} an hour."
    index = cheaper_index(study.tco.rents)
    market = ""
    if index is not None:  # of another term, only an hour in use can be set beside an owned one
        level = f"{index.price:,.2f}" if index.term == rent.term else f"{index.hour:,.2f} an hour in use"
        market = f", and {index.offer} stands at {level}: ask for a quote"
    return f" A {rent.term} rent below {even:,.2f} {study.currency} an hour is cheaper{market}."


def _money(value: float, currency: str) -> str:
    return f"{value:,.2f} {currency}" if abs(value) < 100 else f"{amount(value, 3)} {currency}"


def horizon(tco: Tco) -> str:
    """Return how long the cash of a cluster runs, such as `over 5 years`; to a month where it is bought in phases."""
    whole = abs(tco.production_months - tco.years * MONTHS) < 1
    return f"over {spoken_years(tco.years)}" if whole else f"to month {tco.cash_flow[-1].month}"


def _owned(tco: Tco) -> list[tuple[str, str, str]]:
    hour, rent = band_words(tco.per_accelerator_hour, tco.currency), benchmark(tco.rents)
    rows = []
    if tco.facility != "rented":
        cash = f"{amount(tco.total, 3)} {horizon(tco)}"
        cash += f"; rent {amount(rented(rent, tco), 3)}" if rent is not None else ", likely"
        rows.append(("to commit", median_words(tco.purchase, tco.currency), cash))
    against = f"{rent.term} rent {rent.hour:,.2f}" if rent else f"at {percent(tco.utilisation)} utilisation"
    if tco.owned is not None:
        against = f"{spoken_years(tco.owned.years)} owned {band_words(tco.owned.per_accelerator_hour)}"
    rows.append(("GPU-hour in use", hour, against))
    return rows


def _wait(tco: Tco) -> list[tuple[str, str, str]]:
    """Return the months before the first job; empty without any."""
    wait = tco.waiting
    if not wait.months:
        return []
    priced = f"the wait costs {_money(wait.value, tco.currency)}" if wait.value is not None else "no price for it"
    return [("first job", f"{plural(round(wait.months), 'month')} after the order", priced)]


def _run(run: RunReport) -> list[tuple[str, str, str]]:
    tokens = f"{number(run.tokens / 1e12, 3)} T" if run.tokens >= 1e12 else f"{number(run.tokens / 1e9, 3)} bn"
    label, kept = f"{run.model}, {tokens}", percent(run.mfu * run.effective / run.effort)
    rows = [(label, band_words(run.days, "days"), f"{run.gpus:,} GPUs, MFU {kept} overall")]
    if run.cost is not None and run.cost_per_million_tokens is not None:
        rows.append(("the run", band_words(run.cost, run.currency), band_words(run.carbon_t, "t CO2e")))
        energy = band_words(run.energy_mwh, "MWh") + (", partial" if run.missing_power else "")
        rows.append(("a million tokens", band_words(run.cost_per_million_tokens, run.currency), energy))
    return rows


def _memory(run: RunReport | None) -> str:
    if run is None or run.memory_words is None:
        return ""
    slower = f"; the fastest that fits beyond doubt takes {100 * run.sure.slower:.1f} % longer" if run.sure else ""
    return f"the plan may run out{slower}"


def _drivers(study: CostStudy) -> str:
    if study.uncertainty is None or not study.uncertainty.tornado:
        return ""
    of = "a million tokens" if study.uncertainty.per_token else "an hour"
    rows = study.uncertainty.tornado[:_DRIVERS]
    named = (f"{row.label} ±{abs(row.at_high - row.at_low) / 2:,.2f}" for row in rows)
    return f"{listed(named)} {study.currency} {of}"


def _levels(study: CostStudy) -> str:
    if study.uncertainty is None:
        return ""
    for row in near_flips(study.uncertainty.break_even):
        if row.break_even is not None and row.input != "rent":  # the verdict has that of the rent
            ends = (row.break_even, row.likely)
            value, likely = (input_value(row.input, end, row.unit, study.currency) for end in ends)
            return f"{row.label} of {value}, now {likely}"
    return ""


def _next(study: CostStudy) -> str:
    file = as_argument(study.design.file)
    if study.tco is not None and study.tco.facility == "rented":
        return f"ffplan compare {file} OTHER"
    return f"ffplan cost {file} --rent OFFER; ffplan catalog list rents"


def _unverified(study: CostStudy) -> str:
    said = []
    share = study.bom.recalled_share if study.bom is not None else None
    if share:
        said.append(f"{percent(share)} of the bill")
    if study.uncertainty is not None:
        said += recalled_drivers(study.uncertainty.tornado, study.uncertainty.inputs)
    return f"{'; '.join(said)}." if said else ""
