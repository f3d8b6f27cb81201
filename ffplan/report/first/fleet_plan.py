"""The first screen of `ffplan fleet`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, first_few, kilowatts, listed, number, percent, plural, ranged
from ffplan.report.document import _FirstScreen, _recalled_count

if TYPE_CHECKING:
    from ffplan.results.fleet_plan import FleetPlan, FleetQuarter, OrderChoice, PlannedCluster, Spread

_ROWS, _DEMANDS = 6, 2
"""Quarters and demands of the first screen [1]."""
_SHOWN_NAME = 14
"""Letters of a demand's name over its column [1]."""


def _ranged(spread: Spread, unit: str = "") -> str:
    """Return a sum over the plan: its median with P10 to P90."""
    return ranged(spread.p50, spread.p10, spread.p90, unit)


def _met(plan: FleetPlan) -> str:
    """Return the chance that every demand is met, and where it is least so."""
    text = f"{percent(plan.totals.met)} chance that every demand is met in every quarter."
    risks = [(row.short, row.missing, name, q.quarter) for q in plan.quarters for name, row in q.demand.items()]
    short, missing, demand, quarter = max(risks, key=lambda risk: risk[:2])
    if short <= 1 - plan.chance:
        return text
    return f"{text} Worst: {demand} in {quarter}, {percent(short)} likely to be short, by {percent(missing)}."


def _money(plan: FleetPlan) -> str:
    totals = plan.totals
    back = f", {amount(totals.sold.p50, 3)} back for retired hardware" if totals.sold.p50 else ""
    return (
        f"{_ranged(totals.cash, plan.currency)} over {plural(len(plan.quarters), 'quarter')}: "
        f"{amount(totals.purchase.p50, 3)} to buy, {amount(totals.running.p50, 3)} to run{back}."
    )


def _demand_cell(quarter: FleetQuarter, name: str) -> str:
    """Return what a fleet does of a demand over what is needed, with the chance to be short."""
    row = quarter.demand[name]
    return f"{percent(row.capacity.p50 / row.needed.p50)} ({percent(row.short)})"


def _quarter_row(quarter: FleetQuarter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return a quarter as a row of the table."""
    return (
        quarter.quarter,
        f"{quarter.accelerators:,.0f}",
        number(quarter.purchase.mean / 1e6, 3),
        number(quarter.running.mean / 1e6, 3),
        kilowatts(quarter.facility_peak_kw.p50),
        *(_demand_cell(quarter, name) for name in names),
    )


def _quarter_header(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the header of `quarter_row`."""
    short = (name if len(name) <= _SHOWN_NAME else f"{name[: _SHOWN_NAME - 1]}…" for name in names)
    return ("quarter", "GPUs", "buy mn", "run mn", "peak", *short)


def _shown_quarters(plan: FleetPlan) -> list[FleetQuarter]:
    """Return the quarters of the first screen: all, or those with most risk or purchases, in their order."""
    ranked = sorted(
        range(len(plan.quarters)),
        key=lambda place: (
            -max(row.short for row in plan.quarters[place].demand.values()),
            -plan.quarters[place].purchase.mean,
            place,
        ),
    )
    return [plan.quarters[place] for place in sorted(ranked[:_ROWS])]


def _names(plan: FleetPlan) -> tuple[str, ...]:
    """Return the demands of the first screen: those most likely to be short, in their order."""
    names = list(plan.models)
    risk = {name: max(quarter.demand[name].short for quarter in plan.quarters) for name in names}
    kept = sorted(names, key=lambda name: -risk[name])[:_DEMANDS]
    return tuple(name for name in names if name in kept)


def _late_text(cluster: PlannedCluster, start: str) -> str:
    """Return how likely a cluster is late for the quarter that is short without it; empty if none is, or it is ordered.

    Args:
        start: first month of the plan.
    """
    if cluster.late is None or cluster.order_by is None:
        return ""
    order = "even if ordered at the start" if cluster.order_by < start else f"unless ordered by {cluster.order_by}"
    return f"{cluster.name}: {percent(cluster.late)} likely late for {cluster.needed}, short without it, {order}"


def _choice_text(choice: OrderChoice) -> str:
    """Return another date of an order in words."""
    if choice.shift is None:
        return "never: rent instead"
    if not choice.shift:
        return "as planned"
    return f"{plural(abs(choice.shift), 'quarter')} {'later' if choice.shift > 0 else 'earlier'}"


def _saving(cluster: PlannedCluster) -> tuple[float, str]:
    """Return the mean saving by the best other date of an order, with words; 0 if it is best as planned."""
    if not cluster.choices:
        return 0.0, ""
    planned = next(choice for choice in cluster.choices if choice.shift == 0)
    best = min(cluster.choices, key=lambda choice: choice.cost)
    saved = planned.cost - best.cost
    if best.shift is None:
        return saved, f"renting what {cluster.name} would do saves {amount(saved, 2)}"
    return saved, f"ordering {cluster.name} {_choice_text(best)} saves {amount(saved, 2)}"


def _dates(plan: FleetPlan) -> str:
    """Return the orders that another date makes cheaper, the largest savings first."""
    savings = sorted((_saving(cluster) for cluster in plan.clusters), reverse=True)
    worth = [text for saved, text in savings if saved > 0]
    priced = any(cluster.choices for cluster in plan.clusters)
    return first_few(worth, 2) if worth else ("every order is cheapest as planned" if priced else "")


def _sites(plan: FleetPlan) -> str:
    rows = sorted(plan.sites, key=lambda site: (-site.over, -site.facility_peak_kw / (site.limit_kw or float("inf"))))
    texts = []
    for site in rows:
        limit = "" if site.limit_kw is None else f" of {kilowatts(site.limit_kw)}"
        over = f", {percent(site.over)} likely over" if site.over > 0 else ""
        texts.append(f"{site.site} {kilowatts(site.facility_peak_kw)}{limit}{over}")
    return first_few(texts)


def _carbon(plan: FleetPlan) -> str:
    totals = plan.totals
    return (
        f"{number(totals.energy_mwh.p50 / 1e3, 3)} GWh, {number(totals.carbon_t.p50, 3)} t CO2e, "
        f"{number(totals.embodied_t.p50, 3)} t more in the hardware delivered"
    )


def _fleet_plan_screen(plan: FleetPlan) -> _FirstScreen:
    """Return whether a fleet meets its demand, what it costs, and which orders to move."""
    names = _names(plan)
    late = sorted((cluster for cluster in plan.clusters if cluster.late), key=lambda cluster: -(cluster.late or 0.0))
    unpriced = [name for name in plan.models if name not in plan.shortfall_hour]
    state = f"state `shortfall: $4/hour`: no rent by the hour is known for {listed(unpriced)}" if unpriced else ""
    return _FirstScreen(
        head=(
            f"{plan.name} · {plural(len(plan.quarters), 'quarter')} from {plan.start} · "
            f"{plural(len(plan.clusters), 'order')}, {plural(len(plan.models), 'demand')}"
        ),
        verdict=(_met(plan), _money(plan)),
        figures=tuple(_quarter_row(quarter, names) for quarter in _shown_quarters(plan)),
        header=_quarter_header(names),
        advice=(
            ("Late", next(filter(None, (_late_text(cluster, plan.start) for cluster in late)), "")),
            ("Order", _dates(plan) or state),
            ("Sites", _sites(plan)),
            ("Carbon", _carbon(plan)),
            ("Columns", f"{plan.currency} on average; capacity over demand (chance to be short)"),
        ),
        unverified=_recalled_count(plan.unverified),
        tiles=(
            ("every demand met", percent(plan.totals.met), f"{percent(plan.chance)} wanted"),
            ("cash", amount(plan.totals.cash.p50, 3), f"{plan.currency} over {plural(len(plan.quarters), 'quarter')}"),
            ("highest peak", kilowatts(max(q.facility_peak_kw.p50 for q in plan.quarters)), "of all sites"),
            ("carbon", f"{number(plan.totals.carbon_t.p50, 3)} t", "CO2e of the energy"),
        ),
    )
