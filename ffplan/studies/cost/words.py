"""A cost study in sentences, with its assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, listed, number, percent, plural, short, spoken_years
from ffplan.cost.inputs import SIZING
from ffplan.cost.power import HOURS_PER_YEAR
from ffplan.cost.site import rack_limit
from ffplan.results.cost import benchmark, cheaper_index, recalled_drivers
from ffplan.results.difference import owning_beside
from ffplan.results.run import band_words, median_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.catalog.ownership import OwnershipProfile
    from ffplan.results.cost import CostStudy, Tco, Uncertainty
    from ffplan.results.run import RunReport
    from ffplan.studies.cost.ledger import Ledger

DRIVERS = 3
"""Inputs named as what decides a figure [1]."""
_LEAST_SHARE = 0.005
"""Recalled part of a bill from which it is named [1]."""
_TRILLION, _BILLION = 1e12, 1e9


def _tokens_words(tokens: float) -> str:
    if tokens >= _TRILLION:
        return f"{number(tokens / _TRILLION)} T tokens"
    if tokens >= _BILLION:
        return f"{number(tokens / _BILLION)} bn tokens"
    return plural(round(tokens), "token")


def money(value: float, currency: str) -> str:
    """Return an amount with its currency; two places below a hundred."""
    if 0 < abs(value) < 100:
        return f"{value:,.2f} {currency}" if abs(value) >= 0.1 else f"{number(value, 3)} {currency}"
    return f"{amount(value, 3)} {currency}" if abs(value) >= 1e7 else f"{value:,.0f} {currency}"


def run_words(run: RunReport) -> str:
    """Return a run in a sentence."""
    parts = listed(f"`{part}`" for part in run.missing_power)
    without = f", without the power of {parts}, which is unknown" if parts else ""
    costs = f", {number(run.effort)} times what its plan takes," if run.effort != 1 else ""
    if run.cost is not None and run.cost_per_million_tokens is not None:
        per_million = band_words(run.cost_per_million_tokens, run.currency)
        costs = f"{costs or ','} costs {band_words(run.cost, run.currency)}, {per_million} for a million tokens,"
    return (
        f"{run.model} on {_tokens_words(run.tokens)} with {run.gpus:,} accelerators takes "
        f"{band_words(run.days, 'days')}{costs} and uses "
        f"{band_words(run.energy_mwh, 'MWh')} and {band_words(run.carbon_t, 't CO2e')}{without}."
    )


def _effort_words(ledger: Ledger) -> str:
    section, effort = ledger.design.ownership, ledger.owned.inputs.get("effort")
    if effort is None:
        return f"`{ledger.owned.profile.id}` has no `effort`: the run takes what its plan takes."
    if effort.likely == 1.0:
        return "It keeps to the time of its plan from the first step on."
    who = "a team's first runs" if section is not None and section.effort == "first-run" else "published runs"
    return (
        f"It takes {number(effort.likely)} times that: what {who} took over their fastest plan, without failures. "
        "`--effort tuned` counts the plan alone."
    )


def _driver_words(uncertainty: Uncertainty) -> str:
    if not uncertainty.tornado:
        return ""
    of = "a token's cost" if uncertainty.per_token else "an hour's cost"
    names = listed(row.label for row in uncertainty.tornado[:DRIVERS])
    return f"What decides {of} most: {names}."


def _recalled_words(study: CostStudy) -> str:
    sentences = []
    share = study.bom.recalled_share if study.bom is not None else None
    if share is not None and share >= _LEAST_SHARE:
        sentences.append(f"{percent(share)} of the bill of materials")
    if study.uncertainty is not None:
        names = recalled_drivers(study.uncertainty.tornado, study.uncertainty.inputs)
        sentences += [f"among the inputs that move the cost most, {listed(names)}"] if names else []
    return f"Recalled and unverified behind this: {'; '.join(sentences)}." if sentences else ""


def _months(value: float) -> str:
    return plural(round(value), "month")


def _rent_words(tco: Tco) -> str:
    row = benchmark(tco.rents)
    if row is None:
        return f"Owning is set against no rent: {tco.no_rent}." if tco.no_rent and not tco.partial else ""
    offer = f"the cheapest {row.term} rent, {row.offer} at {money(row.hour, tco.currency)}"
    lead = owning_beside(row, "accelerator-hour in use", offer)
    if (index := cheaper_index(tco.rents)) is not None:
        lead += f"; an index of the market, {index.offer}, stands lower at {money(index.hour, tco.currency)}"
    if row.why is not None:
        return f"{lead}. Owning never breaks even: {row.why}."
    if row.break_even_months_from_order is not None and tco.waiting.months:
        order = _months(row.break_even_months_from_order)
        return f"{lead}. It breaks even {order} after the order, the wait for the first job included."
    assert row.break_even_months is not None
    without = ", the wait for the first job left out" if tco.waiting.months else ""
    return f"{lead}. It breaks even after {_months(row.break_even_months)} in production{without}."


def _waiting_words(tco: Tco) -> str:
    wait = tco.waiting
    if not wait.months:
        return ""
    if wait.value is None:
        cost = f"have no price: {wait.basis}, and the design states no `delay`"
    else:
        cost = f"cost {money(wait.value, tco.currency)} ({wait.basis})"
    return f"The first job runs {_months(wait.months)} after the order; these months {cost}."


def memory_edge(run: RunReport) -> str:
    """State that the plan of a run may be out of memory, and the time of a sure one; empty if it fits."""
    if run.memory_words is None:
        return ""
    if run.sure is None:
        return "Its plan is at the edge of memory."
    slower = f"{100 * run.sure.slower:.1f} % longer"
    return f"Its plan is at the edge of memory; the fastest that fits beyond doubt takes {slower}."


def outlives(ledger: Ledger, days: float, paid: float) -> str | None:
    """Return how much longer a run takes than its hardware is paid for; None if it ends before, or rents by the hour.

    Args:
        days: days of the run [day].
        paid: life of the hardware, or years of the rent [year].
    """
    rented, years = ledger.owned.rent is not None, days * 24 / HOURS_PER_YEAR
    if years <= paid or (rented and not ledger.account.term.committed):
        return None
    whose = "of its rent" if rented else "that its hardware is paid for"
    return f"{spoken_years(years, 2)}, longer than the {spoken_years(paid)} {whose}"


def outlived(run: RunReport) -> str:
    """State that a run takes longer than its hardware is paid for; empty if it does not."""
    return "" if run.outlives is None else f"The run takes {run.outlives}."


def headline(study: CostStudy) -> tuple[str, ...]:
    """Return the answer, a sentence each."""
    tco, currency = study.tco, study.currency
    if tco is None:
        first = (study.run.words,) if study.run else ()
        return (*first, "The design names neither a price book nor a rent: there is no cost.")
    partial = ""
    if tco.partial:
        partial = f"Partial: every cost below leaves out {listed(tco.partial)}, and owning is not compared with rent."
        if study.bom and study.bom.priced_elsewhere:
            partial += f" The profile's price book has {listed(f'`{part}`' for part in study.bom.priced_elsewhere)}."
    hour = band_words(tco.per_accelerator_hour, currency)
    if tco.facility == "rented":
        base = f"The rented fleet costs {hour} for an accelerator-hour in use, {money(tco.year, currency)} a year."
    else:
        base = (
            f"The cluster costs {median_words(tco.purchase, currency)} to buy and {hour} for an accelerator-hour "
            f"in use, {money(tco.year, currency)} a year over {number(tco.years)} years."
        )
    drivers = _driver_words(study.uncertainty) if study.uncertainty else ""
    run = study.run.words if study.run else ""
    edge = memory_edge(study.run) if study.run else ""
    sentences = (
        partial,
        run,
        edge,
        outlived(study.run) if study.run else "",
        base,
        drivers,
        _rent_words(tco),
        _waiting_words(tco),
        _recalled_words(study),
    )
    return tuple(text for text in sentences if text)


def _sizing(ledger: Ledger) -> Iterator[str]:
    owned = ledger.owned
    if owned.storage is not None:
        per_server = owned.inputs["accelerators_per_storage_server"].likely
        count = owned.storage.group.count
        yield (
            f"The design plans no storage: {plural(count, 'server')} `{owned.storage.server.id}` are assumed, one for "
            f"{number(per_server)} accelerators."
        )
    for plan in ledger.site.networks:
        yield (
            f"The {plan.name.removesuffix('-network')} network takes {plan.switches:,} x `{plan.switch}` for "
            f"{plural(plan.ports, 'port')}."
        )
    spares = {spare.part: spare.quantity for spare in ledger.site.spares}
    if spares and ledger.design.prices:
        yield f"Spares: {listed(f'{count:,} {part}' for part, count in spares.items())}."


def _racks(ledger: Ledger) -> Iterator[str]:
    limit, rack = rack_limit(ledger.design, ledger.owned), ledger.site.rack_w
    if rack > limit:
        yield (
            f"The fullest rack takes {number(rack / 1e3)} kW rated, above the {number(limit / 1e3)} kW that the design "
            "or the profile gives a rack."
        )


def _staff(ledger: Ledger) -> Iterator[str]:
    inputs = ledger.owned.inputs
    if "staff" not in inputs or "salary" not in inputs:
        return
    people = inputs["staff"].likely * ledger.account.accelerators / 1000
    if 0 < people < 1:
        yield (
            f"Staff are {people:.2g} of a person, a share of a team with other clusters; a dedicated person costs "
            f"{short(inputs['salary'].likely)} a year."
        )


def _unlike(ledger: Ledger) -> Iterator[str]:
    """Say which accelerators bear the costs, where the cluster has several kinds of nodes with them."""
    account, job = ledger.account, ledger.design.compute
    if account.bearing == account.accelerators or job.accelerator is None:
        return
    others = account.accelerators - account.bearing
    yield (
        f"The {account.bearing:,} `{job.accelerator.id}` that jobs run on bear what all of the cluster costs, draws "
        f"and embodies: the other {plural(others, 'accelerator')} run no part of a job, and count at power in training."
    )


def _cost_assumptions(ledger: Ledger, error: tuple[float, str] | None) -> tuple[str, ...]:
    owned = ledger.owned
    profile: OwnershipProfile = owned.profile
    stated_inputs = [name for name, found in owned.inputs.items() if found.status == "given" and name not in SIZING]
    stated = f"; the design states {listed(stated_inputs)}" if stated_inputs else ""
    sentences = [f"Ownership follows the profile `{profile.id}`{stated}."]
    if owned.rent is None:
        facility = {
            "colocation": "Colocation is paid by IT power at the rated maximum, energy separately.",
            "racks": "Racks are rented; the site's overhead is charged on the rent as on energy.",
            "own": "The building is sized by IT power at the rated maximum, and written off over the building's life.",
            "power": "No rent of space and no building: energy alone.",
        }
        sentences.append(facility[owned.facility])
        sentences += [*_sizing(ledger), *_racks(ledger), *_staff(ledger)]
        sentences.append(
            "Months to break even against rent count neither cost of capital nor resale; those from the order hold "
            "what bridges the wait. Over the term of a rent the hardware counts at its book value at the end, so that "
            "both sides have one horizon."
        )
    else:
        sentences.append("The rent holds server, network, storage within the machine, space and power.")
    sentences.append(
        "Energy of a year: power in training for the hours in use, power without load for the rest; carbon is "
        "location-based, without certificates."
    )
    sentences += _unlike(ledger)
    if ledger.missing_power:
        parts = listed(ledger.unrated)
        sentences.append(f"Power is partial: no {parts}.")
    if error is not None:
        sentences.append(
            "Days are of a job that runs without a break; what stands idle between jobs is in the price of an hour in "
            "use."
        )
        sentences.append(
            "A run pays for its accelerator-hours at the price of an hour in use; its time is tokens over tokens a "
            "second over the effective training time: the job's goodput (`ffplan operate goodput`), unless the design "
            f"states one. {_effort_words(ledger)}"
        )
        sentences.append(
            f"The draws include the model's error of the speed: {100 * error[0]:.0f} % for 80 % of {error[1]}."
        )
    sentences.append("Where a range reaches further up than down, the median of the draws lies above the likely value.")
    if owned.rent is None:
        sentences.append(
            "`ffplan design` has price and power of what the design plans; storage and side networks that it does not "
            "plan stand here alone."
        )
    sentences.append(
        "Every uncertain input is drawn on its own; a part's price is one draw for all designs of a comparison."
    )
    return tuple(sentences)
