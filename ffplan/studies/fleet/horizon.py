"""The quarters of a fleet over the draws: demand, capacity, and what each date of an order costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.record import record
from ffplan.cost.draws import drawn
from ffplan.cost.horizon import QUARTER, regrets, standing
from ffplan.cost.inputs import stated_input
from ffplan.cost.power import HOURS_PER_YEAR
from ffplan.cost.rent import MONTHS
from ffplan.design.ownership import assumed
from ffplan.results import fleet_plan as out

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ffplan.design.fleet_file import FleetDemand, FleetFile
    from ffplan.studies.cost.request import CostRequest
    from ffplan.studies.fleet.members import _Member

_SHIFTS = (-2, -1, 0, 1, 2)
"""Quarters by which an order is moved [quarter]."""
QUARTERS_A_YEAR = MONTHS / QUARTER
_QUARTER_HOURS = HOURS_PER_YEAR / QUARTERS_A_YEAR
_NEVER = 1e9
"""Month of a cluster that is not ordered [month]."""


@record
class _ClusterTimes:
    """When a member is paid, works and goes, over the draws, from the first quarter [month]."""

    delivered: Floats
    ready: Floats
    retired: Floats


def _total_of(arrays: Iterable[Floats]) -> Floats:
    """Return the sum of some arrays of one shape, one or more."""
    first, *rest = arrays
    total: Floats = np.array(first, dtype=float)
    for array in rest:
        total += array
    return total


class _Horizon:
    """A fleet over its quarters and the draws."""

    def __init__(self, fleet: FleetFile, members: Sequence[_Member], request: CostRequest) -> None:
        """Take demand and clusters.

        Args:
            request: draws and seed.
        """
        self.fleet, self.members, self.request = fleet, members, request
        self.times = [self._times(member, member.order) for member in members]
        self.needed = {demand.name: self._needed(demand) for demand in fleet.demand}
        self.capacity = {name: np.zeros_like(needed) for name, needed in self.needed.items()}
        for member, times in zip(members, self.times, strict=True):
            stands = self.stands(times)
            for name in member.work:
                self.capacity[name] += member.rate(name) * stands
        self.prices = {name: price for name in self.needed if (price := self._price(name)) is not None}
        self._costs = [self._cost(member, times) for member, times in zip(members, self.times, strict=True)]
        self._rents = {name: self.rent_of(name, self.capacity[name]).sum(axis=0) for name in self.prices}
        self._total = _total_of([*self._costs, *self._rents.values()])

    def stands(self, times: _ClusterTimes) -> Floats:
        """Return the share of each quarter in which a member works, by draw [1]."""
        return standing(times.ready, times.retired, self.fleet.quarters)

    def _draws(self, values: object) -> Floats:
        """Return values with one for every draw."""
        return np.broadcast_to(np.asarray(values, dtype=float), (max(self.request.draws, 1),))

    def _times(self, member: _Member, order: float) -> _ClusterTimes:
        ready = self._draws(order + member.waits)
        end = ready + member.life if member.retired is None else member.retired
        return _ClusterTimes(
            delivered=self._draws(order + member.delivered), ready=ready, retired=np.maximum(self._draws(end), ready)
        )

    def _needed(self, demand: FleetDemand) -> Floats:
        """Return a demand over quarters and draws; a draw keeps its quantile through all quarters."""
        kind = "tokens" if demand.tokens else "rate"
        rows = []
        for quarter in range(self.fleet.quarters):
            estimate = demand.estimates[quarter if len(demand.estimates) > 1 else 0]
            entry = stated_input(f"{demand.name}.{kind}", assumed(estimate, {}, None))
            rows.append(self._draws(drawn(entry, self.request.draws, self.request.seed)))
        return np.array(rows)

    def _price(self, demand: str) -> tuple[float, float] | None:
        """Return the rent of a missing unit of a demand for a quarter [currency], and its price of an hour.

        Of the accelerators that meet it, the one that does most for its price is rented, at its cheapest offer by the
        hour unless the fleet states a price. None if no offer is known.
        """
        stated = self.fleet.shortfall
        units = []
        for member in self.members:
            hourly = stated.amount if stated is not None else member.hourly
            work, rate = member.work.get(demand), float(np.mean(member.rate(demand)))
            if work is None or hourly is None or rate <= 0:
                continue
            hours = _QUARTER_HOURS * work.paid * member.cluster.use[demand] * member.cluster.count
            units.append((hourly * member.accelerators * hours / rate, hourly))
        return min(units, default=None)

    def _cost(self, member: _Member, times: _ClusterTimes) -> Floats:
        """Return what a member costs within the plan, write-off in place of its purchase [currency]."""
        end = QUARTER * self.fleet.quarters
        owned, runs = (
            np.clip(np.minimum(times.retired, end) - np.maximum(begin, 0.0), 0.0, None) / MONTHS
            for begin in (times.delivered, times.ready)
        )
        cost: Floats = member.capital * owned + member.running * runs
        return cost

    def short(self, demand: str, capacity: Floats) -> Floats:
        """Return what of a demand a capacity does not meet, by quarter and draw."""
        missing: Floats = np.maximum(self.needed[demand] - capacity, 0.0)
        return missing

    def rent_of(self, demand: str, capacity: Floats) -> Floats:
        """Return the rent of what a capacity does not meet, by quarter and draw [currency]."""
        return self.prices[demand][0] * self.short(demand, capacity)

    def without(self, place: int) -> dict[str, Floats]:
        """Return what all members but one do of the demands that it serves, by quarter and draw."""
        member, stands = self.members[place], self.stands(self.times[place])
        # a difference of sums may fall below 0 by rounding
        return {name: np.maximum(self.capacity[name] - member.rate(name) * stands, 0.0) for name in member.work}

    def choices(self, place: int, rest: dict[str, Floats]) -> tuple[out.OrderChoice, ...]:
        """Return other dates of an order, each with what the fleet then costs.

        Args:
            place: place of the member.
            rest: what all others do of its demands.
        """
        member = self.members[place]
        if member.order < 0 or not all(name in self.prices for name in self.needed):
            return ()
        fixed = self._total - self._costs[place] - _total_of(self._rents[name] for name in member.work)
        shifts = [shift for shift in _SHIFTS if member.order + QUARTER * shift >= 0]
        costs = []
        for shift in (*shifts, None):
            times = self._times(member, _NEVER if shift is None else member.order + QUARTER * shift)
            stands = self.stands(times)
            rents = [
                self.rent_of(name, others + member.rate(name) * stands).sum(axis=0) for name, others in rest.items()
            ]
            costs.append(_total_of([fixed, self._cost(member, times), *rents]))
        rows = zip((*shifts, None), costs, regrets(np.array(costs)), strict=True)
        return tuple(
            out.OrderChoice(shift=shift, cost=float(cost.mean()), regret=float(regret)) for shift, cost, regret in rows
        )

    def needed_from(self, rest: dict[str, Floats], chance: float) -> int | None:
        """Return the first quarter from which a demand is short without a member; None if none is.

        Args:
            rest: what all others do of its demands.
            chance: chance wanted that it is met [1].
        """
        first = []
        for name, capacity in rest.items():
            risk = (self.short(name, capacity) > 0).mean(axis=1)
            first += [int(quarter) for quarter in np.flatnonzero(risk > 1 - chance)[:1]]
        return min(first, default=None)
