"""Cash over time: what owning has cost by a month after the order, what renting the same has, and when both are even.

One account by date behind the months to break even, the cash flow and its curves.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.cost.rent import NEVER, break_even_months

if TYPE_CHECKING:
    from collections.abc import Iterable

_SAME = 1e-9
"""Months within which two dates are one [month]."""


@record
class Purchase:
    """Part of a cluster that is bought by one order."""

    order: float
    """Month of its order, from the first order [month]."""
    delivery: float
    """Month in which it is delivered and paid [month]."""
    ready: float
    """Month of its first job [month]."""
    running: float
    """Part of the running costs of the whole cluster that it takes from then on [1]."""
    accelerators: float
    """Part of the accelerators of the whole cluster [1]."""
    price: float
    """[currency]"""
    wait: float | None = 0.0
    """What the months from its order to its first job cost [currency]; None if that is unknown."""

    def waited(self, month: float) -> float:
        """Return what its wait has cost by a month [currency]; 0 where that is unknown."""
        if not self.wait or self.ready <= self.order:
            return 0.0
        return self.wait * min(max(month - self.order, 0.0) / (self.ready - self.order), 1.0)


@record
class Cash:
    """Purchases of a cluster, and the months that it runs."""

    purchases: tuple[Purchase, ...]
    running: float
    """Running costs of the whole cluster [currency per month]."""
    life: float
    """Months from the first job of the last purchase to the end [month]."""

    @property
    def end(self) -> float:
        """Return the month in which all of it is written off [month]."""
        return max(part.ready for part in self.purchases) + self.life

    @property
    def produced(self) -> float:
        """Return the months of all accelerators in production until the end [month]."""
        return sum(part.accelerators * (self.end - part.ready) for part in self.purchases)

    @property
    def wait(self) -> float | None:
        """Return what all waits cost [currency]; None if that is unknown."""
        waits = [part.wait for part in self.purchases if part.wait is not None]
        return sum(waits) if len(waits) == len(self.purchases) else None

    def bought(self, month: float) -> float:
        """Return what is paid for purchases by a month [currency]."""
        return sum(part.price for part in self.purchases if part.delivery <= month + _SAME)

    def ran(self, month: float) -> float:
        """Return what running has cost by a month [currency]."""
        return self.running * sum(part.running * max(month - part.ready, 0.0) for part in self.purchases)

    def waited(self, month: float) -> float:
        """Return what the waits for first jobs have cost by a month [currency]."""
        return sum(part.waited(month) for part in self.purchases)

    def rented(self, month: float) -> float:
        """Return the months of rent of the whole cluster that a rent of each part from its order on takes [month]."""
        return sum(part.accelerators * max(month - part.order, 0.0) for part in self.purchases)

    def at_once(self) -> Cash:
        """Return the same without any wait: parts run from their orders on, and later terms follow the first."""
        begin, parts = self.purchases[0].order, []
        for part in self.purchases:
            later = part.order > part.ready
            order = begin + part.order - part.ready if later else part.order
            parts.append(replace(part, order=order, delivery=order, ready=begin if later else order, wait=0.0))
        return replace(self, purchases=tuple(parts))

    def even(self, rent: float) -> float:
        """Return the month from the first order on after which owning has cost less for good.

        Args:
            rent: rent of the whole cluster [currency per month].

        Returns:
            Months [month]; infinite if running costs as much as the rent.

        Equation:
            purchases + waits + running costs = rent, each by date; the last month in which that holds

        Source:
            Definition; of one purchase (price + wait - rent * months of the wait) / (rent - running) after the wait.
        """

        def gap(month: float) -> float:
            return self.bought(month) + self.waited(month) + self.ran(month) - rent * self.rented(month)

        dates = sorted({date for part in self.purchases for date in (part.order, part.delivery, part.ready)})
        last, ahead = dates[-1], gap(dates[-1])
        if ahead > 0 or self.running >= rent:
            return (
                last + float(break_even_months(max(ahead, 0.0), self.running, rent)) if rent > self.running else NEVER
            )
        for begin, until in zip(dates[-2::-1], dates[:0:-1], strict=True):
            behind = gap(begin)
            if behind > 0:
                # the price of what is delivered at its end comes after it
                paid = self.bought(until) - self.bought(begin)
                return begin + (until - begin) * behind / (behind - (gap(until) - paid))
        return dates[0]


def again(first: Purchase, price: float, every: float, life: float) -> tuple[Purchase, ...]:
    """Return payments for something that is over before the hardware is: an upfront rent, or a building.

    Args:
        first: the purchase of the hardware, or the start of the rent.
        price: what one term of it costs [currency].
        every: months of a term [month].
        life: months from the first job to the end [month].

    Returns:
        Purchases of a price [currency], without accelerators or running costs.

    Equation:
        at each start of a term after the first, price x min(term, months left) / term

    Source:
        Definition; the last term counts for the months that are left.
    """
    count = ceil(life / every - _SAME)
    starts = [turn * every for turn in range(1, count)]
    return tuple(
        replace(
            first,
            order=first.ready + start,
            delivery=first.ready + start,
            running=0.0,
            accelerators=0.0,
            price=price * min(life - start, every) / every,
            wait=0.0,
        )
        for start in starts
    )


def one_purchase(lead: float, wait_months: float, price: float, wait: float | None) -> Purchase:
    """Return a whole cluster bought at once.

    Args:
        lead: from the order to the delivery [month].
        wait_months: from the order to the first job [month].
        price: purchase [currency].
        wait: what the wait costs [currency]; None if unknown.
    """
    return Purchase(order=0.0, delivery=lead, ready=wait_months, running=1.0, accelerators=1.0, price=price, wait=wait)


def month_of(dates: Iterable[float]) -> int:
    """Return the whole month by which the last of some dates has come [month]."""
    return ceil(max(dates) - _SAME)
