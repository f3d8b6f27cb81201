"""A fleet over its quarters: what it does of the demand, what it costs, and what other dates of an order would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.errors import UsageError
from ffplan.base.version import __version__
from ffplan.cost.horizon import QUARTER, standing, value_left, within_quarter
from ffplan.design.fleet_file import month_text, read_fleet
from ffplan.inputs.design_files import find_fleet
from ffplan.inputs.document import read_document
from ffplan.results import fleet_plan as out
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.result import ToolInfo
from ffplan.studies.basis.provenance import files_of, recalled_figures
from ffplan.studies.cost.cost import band
from ffplan.studies.cost.ledger import CostRequest
from ffplan.studies.fleet.horizon import QUARTERS_A_YEAR, _ClusterTimes, _Horizon, _total_of
from ffplan.studies.fleet.members import _FleetDesigns, _Member, _Members

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.base.array_math import Floats
    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document


def _month(horizon: _Horizon, months: object) -> str:
    return month_text(horizon.fleet.start + int(np.floor(np.median(np.asarray(months)))))


def _cluster_row(horizon: _Horizon, place: int, chance: float) -> out.PlannedCluster:
    member, times = horizon.members[place], horizon.times[place]
    cluster, start = member.cluster, horizon.fleet.start
    rest = horizon.without(place)
    quarter = horizon.needed_from(rest, chance)
    waits = np.asarray(member.waits)
    latest = None if quarter is None else QUARTER * quarter - float(np.quantile(waits, chance))
    return out.PlannedCluster(
        name=cluster.name,
        design=member.design.spec.name,
        site=cluster.site,
        count=cluster.count,
        accelerators=cluster.count * member.accelerators,
        order=month_text(cluster.order),
        placed=member.order < 0,
        ready_months=_spread(waits),
        ready=_month(horizon, times.ready),
        retire=_month(horizon, times.retired),
        rented=member.rented,
        purchase=_spread(member.price),
        year=_spread(member.capital + member.running_cost),
        facility_peak_kw=member.peak_kw * cluster.count,
        unrated=member.unrated,
        left_out=member.left_out,
        use=dict(cluster.use),
        capacity={name: _spread(member.rate(name)) for name in member.work},
        plan={name: work.plan for name, work in member.work.items()},
        needed=None if quarter is None else horizon.date(quarter),
        late=_late(horizon, place, quarter),
        unused=float(times.unused.mean()),
        order_by=None if latest is None or member.order < 0 else month_text(start + int(np.floor(latest))),
        choices=horizon.choices(place, rest),
    )


def _late(horizon: _Horizon, place: int, quarter: int | None) -> float | None:
    """Return the chance that a member comes too late for a quarter: it is not ready by then, and demand is short."""
    if quarter is None:
        return None
    unready = horizon.times[place].ready > QUARTER * quarter
    return float((unready & horizon.short_of(horizon.members[place], quarter)).mean())


def _spread(values: object) -> out.Spread:
    drawn = np.asarray(values, dtype=float)
    quantiles = band(drawn.mean(), drawn)
    return out.Spread(quantiles.likely, quantiles.p10, quantiles.p50, quantiles.p90)


class _Ledger:
    """Money, power and carbon of a fleet, by quarter and draw."""

    def __init__(self, horizon: _Horizon) -> None:
        quarters = horizon.fleet.quarters
        shape = quarters, horizon.request.draws
        self.purchase, self.running, self.book_value = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.energy, self.carbon, self.embodied = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.accelerators, self.peak = np.zeros(shape), np.zeros(shape)
        self.of_site = {name: np.zeros(shape) for name in horizon.fleet.sites}
        self.unrated: dict[str, dict[str, None]] = {name: {} for name in horizon.fleet.sites}
        for member, times in zip(horizon.members, horizon.times, strict=True):
            count, year = member.cluster.count, member.year
            stands = horizon.stands(times)
            arrives = within_quarter(times.delivered, quarters)
            self.purchase += arrives * member.price
            self.running += standing(times.ready, times.paid, quarters) * member.running / QUARTERS_A_YEAR
            self.book_value += within_quarter(times.retired, quarters) * ~times.unused * _value(member, times)
            self.energy += stands * count * year.energy_mwh / QUARTERS_A_YEAR
            self.carbon += stands * count * year.carbon_t / QUARTERS_A_YEAR
            self.embodied += arrives * count * year.embodied_t
            self.accelerators += stands * count * member.accelerators
            peak = (standing(times.delivered, times.retired, quarters) > 0) * count * member.peak_kw
            self.peak += peak
            if member.cluster.site is not None:
                self.of_site[member.cluster.site] += peak
                if peak.any():
                    self.unrated[member.cluster.site] |= dict.fromkeys(member.unrated)
        self.shortfall: Floats | None = None
        if len(horizon.prices) == len(horizon.needed):
            self.shortfall = _total_of(
                horizon.by_quarter(horizon.rent_of(name, capacity)).sum(axis=1)
                for name, capacity in horizon.capacity.items()
            )


def _value(member: _Member, times: _ClusterTimes) -> Floats:
    """Return what members are worth where they retire [currency]; nothing of a rent."""
    hardware = sum(member.year.purchase.get(kind, 0.0) for kind in ("hardware", "discount"))
    age = times.retired - times.ready
    left = value_left(hardware, member.residual, age, member.life)
    return np.asarray(member.cluster.count * (left + value_left(member.year.building, 0.0, age, member.building_life)))


def _quarter_row(horizon: _Horizon, ledger: _Ledger, quarter: int) -> out.FleetQuarter:
    return out.FleetQuarter(
        quarter=horizon.date(quarter),
        accelerators=float(ledger.accelerators[quarter].mean()),
        purchase=_spread(ledger.purchase[quarter]),
        running=_spread(ledger.running[quarter]),
        book_value=_spread(ledger.book_value[quarter]),
        shortfall=None if ledger.shortfall is None else _spread(ledger.shortfall[quarter]),
        facility_peak_kw=_spread(ledger.peak[quarter]),
        energy_mwh=_spread(ledger.energy[quarter]),
        carbon_t=_spread(ledger.carbon[quarter]),
        embodied_t=_spread(ledger.embodied[quarter]),
        demand={name: _demand_row(horizon, name, quarter) for name in horizon.needed},
    )


def _demand_row(horizon: _Horizon, name: str, quarter: int) -> out.QuarterDemand:
    """Return a demand in a quarter; what is served is the least of its months."""
    needed, capacity = (horizon.by_quarter(values[name])[quarter] for values in (horizon.needed, horizon.capacity))
    missing = np.maximum(needed - capacity, 0.0)
    return out.QuarterDemand(
        needed=_spread(needed[0]),
        capacity=_spread(capacity.min(axis=0)),
        short=float((missing > 0).any(axis=0).mean()),
        missing=float((missing / np.where(needed > 0, needed, 1.0)).mean()),
    )


def _totals(horizon: _Horizon, ledger: _Ledger) -> out.FleetTotals:
    def total(values: Floats) -> out.Spread:
        return _spread(values.sum(axis=0))

    unmet = [(horizon.short(name, capacity) > 0).any(axis=0) for name, capacity in horizon.capacity.items()]
    return out.FleetTotals(
        purchase=total(ledger.purchase),
        running=total(ledger.running),
        book_value=total(ledger.book_value),
        shortfall=None if ledger.shortfall is None else total(ledger.shortfall),
        cash=total(ledger.purchase + ledger.running),
        energy_mwh=total(ledger.energy),
        carbon_t=total(ledger.carbon),
        embodied_t=total(ledger.embodied),
        met=float(1 - np.any(unmet, axis=0).mean()),
    )


def _site_rows(horizon: _Horizon, ledger: _Ledger) -> tuple[out.FleetSiteRow, ...]:
    rows = []
    for name, site in horizon.fleet.sites.items():
        peaks = np.quantile(ledger.of_site[name], 0.9, axis=1)
        highest = int(peaks.argmax())
        limit = None if site.power is None else site.power / 1e3
        over = 0.0 if limit is None else float((ledger.of_site[name] > limit).any(axis=0).mean())
        rows.append(
            out.FleetSiteRow(
                site=name,
                limit_kw=limit,
                facility_peak_kw=float(peaks[highest]),
                quarter=horizon.date(highest),
                over=over,
                unrated=tuple(ledger.unrated[name]),
            )
        )
    return tuple(rows)


_ASSUMPTIONS = (
    "A demand keeps its quantile through all quarters, and demands are independent of each other. Lead times of all "
    "orders keep one quantile.",
    "A cluster works for its demands by their share of its node-hours. It trains in part of a quarter for that part, "
    "and serves in the months that it stands whole.",
    "Training reaches the fastest plan with its failures, effort and idle hours; serving counts requests within the "
    "targets at the peak, on the nodes that are up.",
    "A purchase is paid at its delivery, a rent month by month to the end of its term, what is paid upfront spread "
    "over it without interest. Retired hardware is worth its price written off in equal parts; that is no cash.",
    "What is missing is rented by the hour, whatever its size: training for its hours, serving for all hours of the "
    "month at the peak. Rents stay as they are today.",
    "Other dates of an order keep all other orders as planned. They cost the write-off of hardware and interest, "
    "also on rent paid upfront. What is ready only after it retires is written off whole, and a rent runs for a term.",
    "A power limit holds the rated maximum of every cluster that is delivered and not yet retired in the quarter.",
)


_MOST_CELLS = 2_000_000
"""Most draws over all quarters that memory holds [1]."""


def check_fleet(document: Document, catalog: Catalog) -> None:
    """Look up every name of a fleet file: designs, and models and engines of demand.

    Raises:
        InputError: if the file is wrong, a name is unknown, or a design is wrong.
    """
    designs = _FleetDesigns(catalog, CostRequest(draws=0), document.file)
    _Members(read_fleet(document), document, designs, lambda _: None).check()


def plan_fleet(
    file: str, catalog: Catalog, request: CostRequest, *, chance: float, tell: Callable[[str], None]
) -> out.FleetPlan:
    """Return a fleet over its quarters, by the name of its file.

    Args:
        chance: chance wanted that demand is met and orders are in time [1].

    Raises:
        InputError: if the file is wrong, names, dates or shares contradict each other, or a cluster cannot do what it
            is used for.
        UsageError: if no shipped fleet has the name, or the draws are too many for memory.
    """
    document = read_document(*find_fleet(file))
    return _plan_document(document, _FleetDesigns(catalog, request, document.file), chance=chance, tell=tell)


def _plan_document(
    document: Document, designs: _FleetDesigns, *, chance: float, tell: Callable[[str], None] = lambda _: None
) -> out.FleetPlan:
    """Return a fleet over its quarters, as `plan_fleet` does, by the content of its file."""
    fleet, request = read_fleet(document), designs.request
    if request.draws * fleet.quarters > _MOST_CELLS:
        most = _MOST_CELLS // fleet.quarters
        raise UsageError(f"ffplan fleet: --draws: at most {most:,} for {fleet.quarters} quarters")
    members = _Members(fleet, document, designs, tell).read()
    horizon = _Horizon(fleet, members, request)
    ledger = _Ledger(horizon)
    unverified = dict.fromkeys(figure for member in members for figure in recalled_figures(member.catalog))
    order = sorted(range(len(members)), key=lambda place: (members[place].order, place))
    return out.FleetPlan(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        name=fleet.name,
        file=document.file,
        sha256=document.sha256,
        currency=members[0].currency,
        start=month_text(fleet.start),
        chance=chance,
        draws=request.draws,
        seed=request.seed,
        totals=_totals(horizon, ledger),
        quarters=tuple(_quarter_row(horizon, ledger, quarter) for quarter in range(fleet.quarters)),
        clusters=tuple(_cluster_row(horizon, place, chance) for place in order),
        sites=_site_rows(horizon, ledger),
        models={demand.name: demand.train or demand.serve or "" for demand in fleet.demand},
        units={demand.name: "tokens a quarter" if demand.train else "requests/s" for demand in fleet.demand},
        shortfall_hour={name: price.hour for name, price in horizon.prices.items()},
        shortfall_offer={name: price.offer for name, price in horizon.prices.items()},
        assumptions=_ASSUMPTIONS,
        catalog=files_of(member.catalog for member in members),
        unverified=tuple(unverified),
    )
