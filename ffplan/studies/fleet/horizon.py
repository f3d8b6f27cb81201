"""The quarters of a fleet over the draws: demand, capacity, and what each date of an order costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Bools, Floats
from ffplan.base.record import record
from ffplan.cost.draws import drawn
from ffplan.cost.horizon import QUARTER, regrets, standing
from ffplan.cost.inputs import stated_input
from ffplan.cost.power import HOURS_PER_YEAR
from ffplan.cost.rent import MONTHS
from ffplan.design.fleet_file import month_text
from ffplan.design.ownership import assumed
from ffplan.results import fleet_plan as out

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ffplan.design.fleet_file import FleetDemand, FleetFile
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.fleet.members import _Member

_SHIFTS = (-2, -1, 0, 1, 2)
"""Quarters by which an order is moved [quarter]."""
QUARTERS_A_YEAR = MONTHS / QUARTER
_QUARTER_HOURS = HOURS_PER_YEAR / QUARTERS_A_YEAR
_MONTHS_OF_QUARTER, _ROUNDING = round(QUARTER), 1e-9
_NEVER = 1e9
"""Month of a cluster that is not ordered [month]."""


@record
class _ClusterTimes:
    """When a member is paid, works and goes, over the draws, from the first quarter [month]."""

    delivered: Floats
    ready: Floats
    retired: Floats
    """As the file says, also where it is ready only after it; else the end of its life."""
    paid: Floats
    """End of what runs: of a rent for a term the end of its last term, of which there is one at least."""

    @property
    def unused(self) -> Bools:
        """Whether it is ready only after it retires, and never works."""
        unused: Bools = self.ready >= self.retired
        return unused


@record
class _MissingPrice:
    unit: Floats
    """Rent of a missing token, or of a missing request a second for a quarter, over the draws [currency]."""
    hour: float
    """Likely rent of an accelerator [currency per hour]."""
    offer: str
    """Name of the offer; of the accelerator where the fleet states a price."""


def _total_of(arrays: Iterable[Floats]) -> Floats:
    first, *rest = arrays
    total: Floats = np.array(first, dtype=float)
    for array in rest:
        total += array
    return total


class _Horizon:
    def __init__(self, fleet: FleetFile, members: Sequence[_Member], request: CostRequest) -> None:
        self.fleet, self.members, self.request = fleet, members, request
        self.times = [self._times(member, member.order) for member in members]
        self.monthly = {demand.name for demand in fleet.demand if demand.serve is not None}
        self.needed = {demand.name: self._needed(demand) for demand in fleet.demand}
        self.capacity = {name: np.zeros_like(needed) for name, needed in self.needed.items()}
        for member, times in zip(members, self.times, strict=True):
            for name, work in self.works(member, times).items():
                self.capacity[name] += work
        self.prices = {name: price for name in self.needed if (price := self._price(name)) is not None}
        self._costs = [self._cost(member, times) for member, times in zip(members, self.times, strict=True)]
        self._rents = {name: self.rent_of(name, self.capacity[name]).sum(axis=0) for name in self.prices}
        self._total = _total_of([*self._costs, *self._rents.values()])

    def date(self, quarter: int) -> str:
        return month_text(self.fleet.start + _MONTHS_OF_QUARTER * quarter)

    def stands(self, times: _ClusterTimes) -> Floats:
        """Return the share of each quarter in which a member works, by draw [1]."""
        return standing(times.ready, times.retired, self.fleet.quarters)

    def works(self, member: _Member, times: _ClusterTimes) -> dict[str, Floats]:
        """Return what a member does of each demand: tokens by quarter, and requests by month.

        Requests arrive in every hour: a member counts in the months that it stands whole.
        """
        shares: dict[bool, Floats] = {}
        if any(name not in self.monthly for name in member.work):
            shares[False] = self.stands(times)
        if any(name in self.monthly for name in member.work):
            months = standing(times.ready, times.retired, self.fleet.quarters * _MONTHS_OF_QUARTER, 1.0)
            shares[True] = (months >= 1 - _ROUNDING).astype(float)
        return {name: member.rate(name) * shares[name in self.monthly] for name in member.work}

    def by_quarter(self, values: Floats) -> Floats:
        return values.reshape(self.fleet.quarters, -1, values.shape[-1])

    def _draws(self, values: object) -> Floats:
        return np.broadcast_to(np.asarray(values, dtype=float), (self.request.draws,))

    def _times(self, member: _Member, order: float) -> _ClusterTimes:
        ready = self._draws(order + member.waits)
        end = ready + member.life if member.retired is None else member.retired
        retired = paid = self._draws(end)
        if member.term is not None:
            paid = ready + member.term * np.maximum(np.ceil((retired - ready) / member.term - _ROUNDING), 1.0)
        delivered = self._draws(order + member.delivered)
        return _ClusterTimes(delivered=delivered, ready=ready, retired=retired, paid=paid)

    def _needed(self, demand: FleetDemand) -> Floats:
        """Return a demand over its periods and the draws; a draw keeps its quantile through all of them."""
        kind = "tokens" if demand.tokens else "rate"
        rows = []
        for quarter in range(self.fleet.quarters):
            estimate = demand.estimates[quarter if len(demand.estimates) > 1 else 0]
            entry = stated_input(f"{demand.name}.{kind}", assumed(estimate, {}, None))
            rows.append(self._draws(drawn(entry, self.request.draws, self.request.seed)))
        return np.repeat(np.array(rows), _MONTHS_OF_QUARTER if demand.name in self.monthly else 1, axis=0)

    def _price(self, demand: str) -> _MissingPrice | None:
        """Return the rent of what is missing of a demand; None if no offer is known.

        Of the accelerators that meet it, the one that does most for its price is rented, at its cheapest offer by the
        hour unless the fleet states a price. It has the errors of the owned ones.
        """
        stated, prices = self.fleet.shortfall, list[_MissingPrice]()
        for member in self.members:
            rate = self._draws(member.rate(demand))
            hourly = stated.amount if stated is not None else member.hourly
            if demand not in member.work or hourly is None:
                continue
            hours = _QUARTER_HOURS * member.work[demand].paid * member.cluster.use[demand] * member.cluster.count
            # a draw in which nothing meets the targets rents at the average rate
            unit = hourly * member.accelerators * hours / np.where(rate > 0, rate, rate.mean())
            offer = member.offer if stated is None else member.accelerator
            prices.append(_MissingPrice(unit, float(np.median(np.asarray(hourly))), offer))
        return min(prices, key=lambda price: float(price.unit.mean()), default=None)

    def _cost(self, member: _Member, times: _ClusterTimes) -> Floats:
        """Return what a member costs within the plan, write-off in place of its purchase [currency].

        A purchase that never works is written off whole at its delivery.
        """
        end = QUARTER * self.fleet.quarters
        owned, runs = (
            np.clip(np.minimum(until, end) - np.maximum(begin, 0.0), 0.0, None) / MONTHS
            for begin, until in ((times.delivered, times.retired), (times.ready, times.paid))
        )
        arrives = (times.delivered >= 0) & (times.delivered < end)
        bought = np.where(times.unused, arrives * member.price, member.capital * owned)
        cost: Floats = bought + member.running_cost * runs
        return cost

    def short(self, demand: str, capacity: Floats) -> Floats:
        missing: Floats = np.maximum(self.needed[demand] - capacity, 0.0)
        return missing

    def short_of(self, member: _Member, quarter: int) -> Bools:
        """Return whether a demand that a member serves is short in a quarter, as planned, by draw."""
        shorts = []
        for name in member.work:
            needed, capacity = (self.by_quarter(values[name])[quarter] for values in (self.needed, self.capacity))
            shorts.append((needed > capacity).any(axis=0))
        short: Bools = np.any(shorts, axis=0)
        return short

    def rent_of(self, demand: str, capacity: Floats) -> Floats:
        """Return the rent of what a capacity does not meet, by period and draw [currency]."""
        periods = _MONTHS_OF_QUARTER if demand in self.monthly else 1
        return self.prices[demand].unit / periods * self.short(demand, capacity)

    def without(self, place: int) -> dict[str, Floats]:
        """Return what all members but one do of the demands that it serves, by period and draw."""
        works = self.works(self.members[place], self.times[place])
        # a difference of sums may fall below 0 by rounding
        return {name: np.maximum(self.capacity[name] - work, 0.0) for name, work in works.items()}

    def choices(self, place: int, rest: dict[str, Floats]) -> tuple[out.OrderChoice, ...]:
        """Return the other dates of an order; none of one that was placed, or whose purchase is partial."""
        member = self.members[place]
        if member.order < 0 or member.left_out or not all(name in self.prices for name in self.needed):
            return ()
        fixed = self._total - self._costs[place] - _total_of(self._rents[name] for name in member.work)
        shifts = [shift for shift in _SHIFTS if member.order + QUARTER * shift >= 0]
        costs = []
        for shift in (*shifts, None):
            times = self._times(member, _NEVER if shift is None else member.order + QUARTER * shift)
            works = self.works(member, times)
            rents = [self.rent_of(name, others + works[name]).sum(axis=0) for name, others in rest.items()]
            costs.append(_total_of([fixed, self._cost(member, times), *rents]))
        rows = zip((*shifts, None), costs, regrets(np.array(costs)), strict=True)
        return tuple(
            out.OrderChoice(shift=shift, cost=float(cost.mean()), regret=float(regret)) for shift, cost, regret in rows
        )

    def needed_from(self, rest: dict[str, Floats], chance: float) -> int | None:
        """Return the first quarter from which a demand is short without a member; None if none is."""
        first = []
        for name, capacity in rest.items():
            risk = (self.by_quarter(self.short(name, capacity)) > 0).any(axis=1).mean(axis=1)
            first += [int(quarter) for quarter in np.flatnonzero(risk > 1 - chance)[:1]]
        return min(first, default=None)
