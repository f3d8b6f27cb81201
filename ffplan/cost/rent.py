"""Rent against purchase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import choose
from ffplan.base.record import record
from ffplan.cost.capital import _annuity
from ffplan.cost.power import HOURS_PER_YEAR

if TYPE_CHECKING:
    from ffplan.base.array_math import Number

MONTHS = 12
NEVER = float("inf")


@record
class RentTerm:
    """Terms of a rent."""

    years: float | None
    """Years of paying for every hour [year]; None if only hours in use are paid."""
    upfront: float = 0.0
    """Share of the term's rent paid upfront [1]."""

    @property
    def committed(self) -> bool:
        """Whether every hour of the term is paid, used or not."""
        return self.years is not None


def prepaid_year(rent: Number, term: RentTerm, rate: Number) -> Number:
    """Return the yearly cost of upfront rent, with cost of capital.

    Args:
        rent: rent of a year [currency per year].
        term: terms of the rent: a share u at the start of n years.
        rate: cost of capital a year [1].

    Returns:
        Cost [currency per year], broadcast shape; 0 without upfront rent.

    Equation:
        u * rent * n * annuity(r, n)

    Source:
        Definition: equal yearly payments with the present value of a single payment.
    """
    if term.years is None or not term.upfront:
        return 0.0
    return term.upfront * rent * term.years * _annuity(rate, term.years)


def rented_hour(price: Number, utilisation: Number, term: RentTerm, rate: Number) -> Number:
    """Return the price of an accelerator-hour in use [currency].

    Args:
        price: price of an hour paid [currency].
        utilisation: hours in use over all hours [1].
        term: terms of the rent: a share u upfront.
        rate: cost of capital a year [1].

    Equation:
        ((1 - u) * price + `prepaid_year`) / utilisation where every hour is paid, else price

    Source:
        Definition.
    """
    if not term.committed:
        return price
    # a committed hour is paid whether used or not
    return ((1.0 - term.upfront) * price + prepaid_year(price, term, rate)) / utilisation


def break_even_months(capital: Number, running: Number, rent: Number) -> Number:
    """Return the months of rent after which a purchase has cost less.

    Args:
        capital: price of the purchase [currency].
        running: cost of running it [currency per month].
        rent: rent of the same [currency per month].

    Returns:
        Months [month], broadcast shape; infinite if running costs as much as the rent.

    Equation:
        capital / (rent - running)

    Source:
        Definition. A DGX A100 of 199,000 USD against eight accelerators at 4.10 USD/h: 8.3 months, running costs left
        out; "renting for two years equals buying" (An et al., arXiv 2408.14158) holds at the three-year rate of 1.45.
    """
    # arrays evaluate both branches below: 1 keeps the unused one from dividing by 0
    saved = rent - running
    months: Number = choose(saved > 0, capital / choose(saved > 0, saved, 1.0), NEVER)
    return months


def break_even_utilisation(fixed: Number, used: Number, price: Number, accelerators: Number) -> Number:
    """Return the utilisation above which owning is cheaper than renting by the hour.

    Args:
        fixed: cost of owning a year without any job [currency per year].
        used: additional cost of a year in full use [currency per year].
        price: rent of an accelerator-hour [currency].
        accelerators: accelerators [1].

    Returns:
        Utilisation [1], broadcast shape; infinite if no use is enough.

    Equation:
        fixed + used * u = price * accelerators * 8,760 h * u, solved for u

    Source:
        Definition.
    """
    # a year of rent in full use, less what use itself costs the owner
    margin = price * accelerators * HOURS_PER_YEAR - used
    utilisation: Number = choose(margin > 0, fixed / choose(margin > 0, margin, 1.0), NEVER)
    return utilisation
