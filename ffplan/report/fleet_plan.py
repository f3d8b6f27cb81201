"""The report of `ffplan fleet`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, kilowatts, number, percent
from ffplan.report.document import Document, Grid, Lines, _Body, _listing, recalled
from ffplan.report.first.fleet_plan import (
    _choice_text,
    _fleet_plan_screen,
    _late_text,
    _quarter_header,
    _quarter_row,
)

if TYPE_CHECKING:
    from ffplan.report.document import Block
    from ffplan.results.fleet_plan import FleetPlan, PlannedCluster, Spread


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
            "rented" if cluster.rented else amount(cluster.purchase.p50, 3),
            amount(cluster.year.p50, 3),
            kilowatts(cluster.facility_peak_kw),
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
    names = ("quarter", "purchase", "running", "book value", "MWh", "t CO2e", "t in hardware")
    return Grid("Statement", rows, names)


def _whole(plan: FleetPlan) -> Lines:
    totals = plan.totals
    rows = (
        ("every demand met", percent(totals.met)),
        ("cash", _ends(totals.cash)),
        ("purchases", _ends(totals.purchase)),
        ("running", _ends(totals.running)),
        ("rent of what is missing", "no price" if totals.shortfall is None else _ends(totals.shortfall)),
        ("book value of what retires", _ends(totals.book_value)),
        ("energy, MWh", _ends(totals.energy_mwh)),
        ("carbon, t CO2e", _ends(totals.carbon_t)),
        ("embodied carbon, t", _ends(totals.embodied_t)),
    )
    return Lines("Totals", rows)


def _site_grid(plan: FleetPlan) -> Grid:
    rows = tuple(
        (
            site.site,
            kilowatts(site.facility_peak_kw),
            site.quarter,
            "" if site.limit_kw is None else kilowatts(site.limit_kw),
            percent(site.over),
        )
        for site in plan.sites
    )
    return Grid("Sites", rows, ("site", "highest peak", "quarter", "limit", "risk over"))


def _body(plan: FleetPlan) -> _Body:
    names = tuple(plan.models)
    late = [text for cluster in plan.clusters if (text := _late_text(cluster, plan))]
    hours = [
        f"{name}: {number(price, 3)} {plan.currency} an hour, {plan.shortfall_offer[name]}"
        for name, price in plan.shortfall_hour.items()
    ]
    blocks: list[Block] = [
        _whole(plan),
        Grid("Quarters", tuple(_quarter_row(q, names) for q in plan.quarters), _quarter_header(names)),
        _orders(plan),
        *([_site_grid(plan)] if plan.sites else []),
        _uses(plan),
        *([_listing("Late", late)] if late else []),
        *(_choices(cluster) for cluster in plan.clusters if cluster.choices),
        _demands(plan),
        _statement(plan),
        *([_listing("Rent of what is missing", hours)] if hours else []),
        _listing("Assumptions", plan.assumptions),
        *recalled(plan.unverified),
    ]
    return _Body(
        f"Fleet {plan.name}, {len(plan.quarters)} quarters from {plan.start}",
        blocks,
        footer=f"ffplan {plan.tool.version}, fleet SHA-256 {plan.sha256}",
    )


def fleet_plan_document(plan: FleetPlan) -> Document:
    """Return a fleet over its quarters in every form."""
    return Document(plan, _body, rows=lambda: plan.quarters, first=_fleet_plan_screen)
