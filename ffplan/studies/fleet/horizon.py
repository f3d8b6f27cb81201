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
    from ffplan.studies.fleet.members import Member

_SHIFTS = (-2, -1, 0, 1, 2)
"""Quarters by which an order is moved [quarter]."""
QUARTERS_A_YEAR = MONTHS / QUARTER
_QUARTER_HOURS = HOURS_PER_YEAR / QUARTERS_A_YEAR
_NEVER = 1e9
"""Month of a cluster that is not ordered [month]."""


@record
class Times:
    """When a member is paid, works and goes, over the draws, from the first quarter [month]."""

    delivered: Floats
    ready: Floats
    retired: Floats


def total_of(arrays: Iterable[Floats]) -> Floats:
    """Return the sum of some arrays of one shape, one or more."""
    first, *rest = arrays
    total: Floats = np.array(first, dtype=float)
    for array in rest:
        total += array
    return total


class Horizon:
    """A fleet over its quarters and the draws."""

    def __init__(self, fleet: FleetFile, members: Sequence[Member], request: CostRequest) -> None:
        """Take demand and clusters.

        Args:
            request: draws and seed.
        """
        self.fleet, self.members, self.request = fleet, members, request
        self.times = [self._times(member, member.order) for member in members]
        self.needed = {demand.name: self._needed(demand) for demand in fleet.demand}
        self.capacity = {name: self._capacity(name) for name in self.needed}
        self.prices = {name: price for name in self.needed if (price := self._price(name)) is not None}
        self.costs = [self._cost(place, times) for place, times in enumerate(self.times)]

    def _draws(self, values: object) -> Floats:
        """Return values with one for every draw."""
        return np.broadcast_to(np.asarray(values, dtype=float), (max(self.request.draws, 1),))

    def _times(self, member: Member, order: float) -> Times:
        ready = self._draws(order + member.waits)
        end = ready + member.life if member.retired is None else member.retired
        return Times(
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

    def _capacity(self, demand: str) -> Floats:
        """Return what all members do of a demand in each quarter."""
        return total_of(self._adds(demand, place, times) for place, times in enumerate(self.times))

    def _adds(self, demand: str, place: int, times: Times) -> Floats:
        """Return what a member does of a demand in each quarter."""
        return self.members[place].rate(demand) * standing(times.ready, times.retired, self.fleet.quarters)

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

    def _cost(self, place: int, times: Times) -> Floats:
        """Return what a member costs within the plan, write-off in place of its purchase [currency]."""
        member, quarters = self.members[place], self.fleet.quarters
        owned = standing(times.delivered, times.retired, quarters).sum(axis=0)
        runs = standing(times.ready, times.retired, quarters).sum(axis=0)
        cost: Floats = (member.capital * owned + member.running * runs) / QUARTERS_A_YEAR
        return cost

    def short(self, demand: str, capacity: Floats) -> Floats:
        """Return what of a demand a capacity does not meet, by quarter and draw."""
        missing: Floats = np.maximum(self.needed[demand] - capacity, 0.0)
        return missing

    def rent_of(self, demand: str, capacity: Floats) -> Floats:
        """Return the rent of what a capacity does not meet, by quarter and draw [currency]."""
        return self.prices[demand][0] * self.short(demand, capacity)

    def without(self, demand: str, place: int) -> Floats:
        """Return what all members but one do of a demand."""
        rest: Floats = self.capacity[demand] - self._adds(demand, place, self.times[place])
        return np.maximum(rest, 0.0)  # a difference of sums may fall below 0 by rounding

    def choices(self, place: int) -> tuple[out.OrderChoice, ...]:
        """Return other dates of an order, each with what the fleet then costs."""
        member = self.members[place]
        if member.order < 0 or not all(name in self.prices for name in self.needed):
            return ()
        costs_of_others = [cost for other, cost in enumerate(self.costs) if other != place]
        unmet = [self.rent_of(name, self.capacity[name]).sum(axis=0) for name in self.needed if name not in member.work]
        fixed = total_of([np.zeros(max(self.request.draws, 1)), *costs_of_others, *unmet])
        rest = {name: self.without(name, place) for name in member.work}
        shifts = [shift for shift in _SHIFTS if member.order + QUARTER * shift >= 0]
        costs = []
        for shift in (*shifts, None):
            times = self._times(member, _NEVER if shift is None else member.order + QUARTER * shift)
            rents = [
                self.rent_of(name, others + self._adds(name, place, times)).sum(axis=0) for name, others in rest.items()
            ]
            costs.append(total_of([fixed, self._cost(place, times), *rents]))
        rows = zip((*shifts, None), costs, regrets(np.array(costs)), strict=True)
        return tuple(
            out.OrderChoice(shift=shift, cost=float(cost.mean()), regret=float(regret)) for shift, cost, regret in rows
        )

    def needed_from(self, place: int, chance: float) -> int | None:
        """Return the first quarter from which a demand is short without a member; None if none is.

        Args:
            chance: chance wanted that it is met [1].
        """
        first = []
        for name in self.members[place].work:
            risk = (self.short(name, self.without(name, place)) > 0).mean(axis=1)
            first += [int(quarter) for quarter in np.flatnonzero(risk > 1 - chance)[:1]]
        return min(first, default=None)
