"""The report of `ffplan fleet`, and its first screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, at_least, first_few, kilowatts, listed, number, percent, plural, ranged
from ffplan.report.document import Document, Grid, Lines, _Body, _FirstScreen, _listing, _recalled_count, recalled

if TYPE_CHECKING:
    from ffplan.report.document import Block
    from ffplan.results.fleet_plan import FleetPlan, FleetQuarter, OrderChoice, PlannedCluster, Spread

_ROWS, _DEMANDS, _SITES, _GAPS = 6, 2, 2, 2
"""Quarters, demands, sites and missing figures of the first screen [1]."""
_SHOWN_NAME = 14
"""Letters of a demand's name over its column [1]."""


def _ranged(spread: Spread, unit: str = "") -> str:
    return ranged(spread.p50, spread.p10, spread.p90, unit)


def _met(plan: FleetPlan) -> str:
    text = f"{percent(plan.totals.met)} chance that every demand is met in every quarter."
    risks = [(row.short, row.missing, name, q.quarter) for q in plan.quarters for name, row in q.demand.items()]
    short, missing, demand, quarter = max(risks, key=lambda risk: risk[:2])
    if plan.totals.met >= plan.chance:
        return text
    return f"{text} Worst: {demand} in {quarter}, {percent(short)} risk of shortfall, {percent(missing)} on average."


def _over(plan: FleetPlan) -> str:
    """Return the site that is over its power with more than the chance allowed, or cannot be checked; empty if none."""
    worst = max(plan.sites, key=lambda site: site.over, default=None)
    if worst is not None and worst.over > 1 - plan.chance:
        risk = at_least(percent(worst.over), worst.unrated).capitalize()
        return f" {risk} risk that site {worst.site} is over its power."
    unchecked = next((site for site in plan.sites if site.unchecked), None)
    if unchecked is None:
        return ""
    power, lacks = kilowatts(unchecked.facility_peak_kw), first_few(unchecked.unrated, _GAPS)
    return f" The power of site {unchecked.site} cannot be checked: at least {power}, with no {lacks}."


def _unrated(plan: FleetPlan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(figure for cluster in plan.clusters for figure in cluster.unrated))


def _unbought(plan: FleetPlan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(what for cluster in plan.clusters for what in cluster.left_out))


def _unpaid(plan: FleetPlan) -> tuple[str, ...]:
    """Return what sums of money leave out: parts without a price, and energy of parts without a rating."""
    return (*_unrated(plan), *_unbought(plan))


def _gaps(plan: FleetPlan) -> list[str]:
    """Return what the amounts and powers leave out, a line for each."""
    bought: dict[tuple[str, ...], list[str]] = {}
    for cluster in plan.clusters:
        if cluster.left_out:
            bought.setdefault(cluster.left_out, []).append(cluster.name)
    lines = [f"of the purchase of {first_few(names, _GAPS)}: {listed(lacks)}" for lacks, names in bought.items()]
    return [*lines, *([f"of power and energy: {first_few(unrated, _GAPS)}"] if (unrated := _unrated(plan)) else [])]


def _money(plan: FleetPlan) -> str:
    totals = plan.totals
    book = totals.book_value.p50
    retired = f" Retired hardware has a book value of {amount(book, 3)}." if book else ""
    cash = at_least(_ranged(totals.cash, plan.currency), _unpaid(plan))
    return (
        f"{cash[0].upper()}{cash[1:]} over {plural(len(plan.quarters), 'quarter')}: "
        f"{amount(totals.purchase.p50, 3)} to buy, {amount(totals.running.p50, 3)} to run.{retired}"
    )


def _demand_cell(quarter: FleetQuarter, name: str) -> str:
    row = quarter.demand[name]
    if not row.needed.p50:
        return f"- ({percent(row.short)})"
    return f"{percent(row.capacity.p50 / row.needed.p50)} ({percent(row.short)})"


def _quarter_row(quarter: FleetQuarter, names: tuple[str, ...]) -> tuple[str, ...]:
    return (
        quarter.quarter,
        f"{quarter.accelerators:,.0f}",
        number(quarter.purchase.mean / 1e6, 3),
        number(quarter.running.mean / 1e6, 3),
        kilowatts(quarter.facility_peak_kw.p50),
        *(_demand_cell(quarter, name) for name in names),
    )


def _quarter_header(plan: FleetPlan, names: tuple[str, ...]) -> tuple[str, ...]:
    short = (name if len(name) <= _SHOWN_NAME else f"{name[: _SHOWN_NAME - 1]}…" for name in names)
    return ("quarter", "GPUs", "buy mn", "run mn", _headed("peak", plan), *short)


def _headed(title: str, plan: FleetPlan) -> str:
    """Return the title of a column of powers or energies."""
    return f"{title}, at least" if _unrated(plan) else title


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


def _shown_part(plan: FleetPlan) -> str:
    """Return how many quarters the first screen shows; empty if all."""
    count = len(plan.quarters)
    return f"{_ROWS} of {count} quarters, those at most risk; " if count > _ROWS else ""


def _names(plan: FleetPlan) -> tuple[str, ...]:
    """Return the demands of the first screen: those most likely to be short, in their order."""
    names = list(plan.models)
    risk = {name: max(quarter.demand[name].short for quarter in plan.quarters) for name in names}
    kept = sorted(names, key=lambda name: -risk[name])[:_DEMANDS]
    return tuple(name for name in names if name in kept)


def _late_text(cluster: PlannedCluster, plan: FleetPlan) -> str:
    """Return how likely a cluster is late for the quarter that is short without it; empty if in time, or placed."""
    if cluster.late is None or cluster.order_by is None or cluster.late <= 1 - plan.chance:
        return ""
    early = cluster.order_by < plan.start
    order = "even if ordered at the start" if early else f"unless ordered by {cluster.order_by}"
    return f"{cluster.name}: {percent(cluster.late)} likely late for {cluster.needed}, short without it, {order}"


def _unused_text(cluster: PlannedCluster, plan: FleetPlan) -> str:
    """Return how likely a cluster is ready only after it retires; empty if that is less than the chance allowed."""
    if cluster.unused <= 1 - plan.chance:
        return ""
    return f"{cluster.name}: {percent(cluster.unused)} likely ready only after it retires in {cluster.retire}"


def _late(plan: FleetPlan) -> list[str]:
    """Return a line for each order that is too late, the likeliest first."""
    ranked = sorted(plan.clusters, key=lambda one: -max(one.late or 0.0, one.unused))
    return [text for one in ranked for say in (_unused_text, _late_text) if (text := say(one, plan))]


def _columns(plan: FleetPlan) -> str:
    """Return the meaning of the columns of the quarters."""
    bare = any(row.purchase.mean and not row.facility_peak_kw.p50 for row in _shown_quarters(plan))
    early = " (0 kW beside a purchase: nothing stands in most draws)" if bare else ""
    money = f"{_shown_part(plan)}GPUs and {plan.currency} on average"
    return f"{money}, peak in the median{early}; capacity over demand (risk)"


def _choice_text(choice: OrderChoice) -> str:
    if choice.shift is None:
        return "never: rent instead"
    if not choice.shift:
        return "as planned"
    return f"{plural(abs(choice.shift), 'quarter')} {'later' if choice.shift > 0 else 'earlier'}"


def _saving(cluster: PlannedCluster, plan: FleetPlan) -> tuple[float, str]:
    """Return the average saving of the best date of an order [currency], and a sentence on it; 0 if best as planned."""
    planned = next(choice for choice in cluster.choices if choice.shift == 0)
    best = min(cluster.choices, key=lambda choice: choice.cost)
    saved = planned.cost - best.cost
    way = f"ordering {cluster.name} {_choice_text(best)}"
    if best.shift is None:
        hours = dict.fromkeys(number(plan.shortfall_hour[name], 3) for name in cluster.use)
        way = f"renting what is missing without {cluster.name} at {listed(hours)} an hour"
    return saved, f"{way} saves {number(saved / 1e6, 2)} mn on average, all else as planned"


def _dates(plan: FleetPlan) -> str:
    savings = [_saving(cluster, plan) for cluster in plan.clusters if cluster.choices]
    partial = [cluster.name for cluster in plan.clusters if cluster.left_out and not cluster.placed]
    if partial and not savings:
        return f"owning {first_few(partial, _GAPS)} is not compared with rent, nor other dates: the purchase is partial"
    if not savings:
        return ""
    most, text = max(savings)
    return text if most > 0 else "no order is cheaper two quarters earlier or later, or left out"


def _sites(plan: FleetPlan) -> str:
    rows = sorted(plan.sites, key=lambda site: (-site.over, -site.facility_peak_kw / (site.limit_kw or float("inf"))))
    texts = []
    for site in rows:
        limit = "" if site.limit_kw is None else f" of {kilowatts(site.limit_kw)}"
        over = f", {at_least(percent(site.over), site.unrated)} likely over" if site.over > 0 else ""
        peak = at_least(kilowatts(site.facility_peak_kw), site.unrated)
        texts.append(f"{site.site} {peak}{limit}{over}")
    return first_few(texts, _SITES)


def _carbon(plan: FleetPlan) -> str:
    totals = plan.totals
    energy = at_least(f"{number(totals.energy_mwh.p50 / 1e3, 3)} GWh", _unrated(plan))
    return (
        f"{energy}, {number(totals.carbon_t.p50, 3)} t CO2e, "
        f"{number(totals.embodied_t.p50, 3)} t embodied in what is delivered"
    )


def _fleet_plan_screen(plan: FleetPlan) -> _FirstScreen:
    names = _names(plan)
    peak = max(q.facility_peak_kw.p50 for q in plan.quarters)
    unpriced = [name for name in plan.models if name not in plan.shortfall_hour]
    state = f"state `shortfall: $4/hour`: no rent by the hour is known for {listed(unpriced)}" if unpriced else ""
    return _FirstScreen(
        head=(
            f"{plan.name} · {plural(len(plan.quarters), 'quarter')} from {plan.start} · "
            f"{plural(len(plan.clusters), 'order')}, {plural(len(plan.models), 'demand')}"
        ),
        verdict=(_met(plan) + _over(plan), _money(plan)),
        figures=tuple(_quarter_row(quarter, names) for quarter in _shown_quarters(plan)),
        header=_quarter_header(plan, names),
        advice=(
            ("Late", next(iter(_late(plan)), "")),
            ("Order", _dates(plan) or state),
            ("Sites", _sites(plan)),
            ("Carbon", _carbon(plan)),
            ("Left out", "; ".join(_gaps(plan))),
            ("Columns", _columns(plan)),
        ),
        unverified=_recalled_count(plan.unverified),
        tiles=(
            ("every demand met", percent(plan.totals.met), f"{percent(plan.chance)} wanted"),
            (
                "cash",
                at_least(amount(plan.totals.cash.p50, 3), _unpaid(plan)),
                f"{plan.currency} over {plural(len(plan.quarters), 'quarter')}",
            ),
            ("highest peak", at_least(kilowatts(peak), _unrated(plan)), "of all sites"),
            ("carbon", at_least(f"{number(plan.totals.carbon_t.p50, 3)} t", _unrated(plan)), "CO2e of the energy"),
        ),
    )


def _ends(spread: Spread) -> str:
    return f"{amount(spread.p50, 3)} ({amount(spread.p10, 3)} to {amount(spread.p90, 3)})"


def _orders(plan: FleetPlan) -> Grid:
    rows = tuple(
        (
            cluster.name,
            f"{cluster.count:,} x {cluster.design}",
            cluster.site or "",
            f"{cluster.accelerators:,}",
            cluster.order,
            cluster.ready,
            cluster.retire,
            "rented" if cluster.rented else at_least(amount(cluster.purchase.p50, 3), cluster.left_out),
            at_least(amount(cluster.year.p50, 3), (*cluster.left_out, *cluster.unrated)),
            at_least(kilowatts(cluster.facility_peak_kw), cluster.unrated),
        )
        for cluster in plan.clusters
    )
    names = ("cluster", "design", "site", "GPUs", "order", "ready", "retire", "to buy", "a year", "peak")
    return Grid("Orders", rows, names)


def _uses(plan: FleetPlan) -> Grid:
    rows = tuple(
        (cluster.name, demand, percent(cluster.use[demand]), cluster.plan[demand], _ends(capacity), plan.units[demand])
        for cluster in plan.clusters
        for demand, capacity in cluster.capacity.items()
    )
    return Grid("Use", rows, ("cluster", "demand", "share", "plan", "capacity", "unit"))


def _choices(cluster: PlannedCluster) -> Grid:
    rows = tuple((_choice_text(choice), amount(choice.cost, 4), amount(choice.regret, 3)) for choice in cluster.choices)
    return Grid(f"Dates of {cluster.name}", rows, ("order", "cost of the fleet", "regret"))


def _demands(plan: FleetPlan) -> Grid:
    rows = tuple(
        (
            quarter.quarter,
            name,
            _ends(row.needed),
            _ends(row.capacity),
            percent(row.short),
            percent(row.missing),
        )
        for quarter in plan.quarters
        for name, row in quarter.demand.items()
    )
    return Grid("Demand", rows, ("quarter", "demand", "needed", "capacity", "short", "missing"))


def _statement(plan: FleetPlan) -> Grid:
    rows = tuple(
        (
            quarter.quarter,
            _ends(quarter.purchase),
            _ends(quarter.running),
            amount(quarter.book_value.mean, 3),
            number(quarter.energy_mwh.p50, 4),
            number(quarter.carbon_t.p50, 4),
            number(quarter.embodied_t.mean, 4),
        )
        for quarter in plan.quarters
    )
    names = (
        "quarter",
        "purchase",
        "running",
        "book value",
        _headed("MWh", plan),
        _headed("t CO2e", plan),
        "t in hardware",
    )
    return Grid("Statement", rows, names)


def _whole(plan: FleetPlan) -> Lines:
    totals, unrated = plan.totals, _unrated(plan)
    rows = (
        ("every demand met", percent(totals.met)),
        ("cash", at_least(_ends(totals.cash), _unpaid(plan))),
        ("purchases", at_least(_ends(totals.purchase), _unbought(plan))),
        ("running", at_least(_ends(totals.running), _unpaid(plan))),
        ("rent of what is missing", "no price" if totals.shortfall is None else _ends(totals.shortfall)),
        ("book value of what retires", _ends(totals.book_value)),
        ("energy, MWh", at_least(_ends(totals.energy_mwh), unrated)),
        ("carbon, t CO2e", at_least(_ends(totals.carbon_t), unrated)),
        ("embodied carbon, t", _ends(totals.embodied_t)),
    )
    return Lines("Totals", rows)


def _site_grid(plan: FleetPlan) -> Grid:
    rows = tuple(
        (
            site.site,
            at_least(kilowatts(site.facility_peak_kw), site.unrated),
            site.quarter,
            "" if site.limit_kw is None else kilowatts(site.limit_kw),
            "cannot be checked" if site.unchecked and not site.over else at_least(percent(site.over), site.unrated),
        )
        for site in plan.sites
    )
    return Grid("Sites", rows, ("site", "highest peak", "quarter", "limit", "risk over"))


def _body(plan: FleetPlan) -> _Body:
    names = tuple(plan.models)
    late = _late(plan)
    hours = [
        f"{name}: {number(price, 3)} {plan.currency} an hour, {plan.shortfall_offer[name]}"
        for name, price in plan.shortfall_hour.items()
    ]
    blocks: list[Block] = [
        _whole(plan),
        Grid("Quarters", tuple(_quarter_row(q, names) for q in plan.quarters), _quarter_header(plan, names)),
        _orders(plan),
        *([_site_grid(plan)] if plan.sites else []),
        _uses(plan),
        *([_listing("Left out", gaps)] if (gaps := _gaps(plan)) else []),
        *([_listing("Late", late)] if late else []),
        *(_choices(cluster) for cluster in plan.clusters if cluster.choices),
        _demands(plan),
        _statement(plan),
        *([_listing("Rent of what is missing", hours)] if hours else []),
        _listing("Assumptions", plan.assumptions),
        *recalled(plan.unverified),
    ]
    return _Body(
        f"Fleet {plan.name}, {plural(len(plan.quarters), 'quarter')} from {plan.start}",
        blocks,
        footer=f"ffplan {plan.tool.version}, fleet SHA-256 {plan.sha256}",
    )


def fleet_plan_document(plan: FleetPlan) -> Document:
    """Return a fleet over its quarters in every form."""
    return Document(plan, _body, rows=lambda: plan.quarters, first=_fleet_plan_screen)
