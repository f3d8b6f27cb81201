"""Capital: yearly cost and later value of a purchase."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import choose

if TYPE_CHECKING:
    from ffplan.base.array_math import Number


def annuity(rate: Any, years: Any) -> Number:
    """Return the equal yearly payment that repays one unit of capital.

    Args:
        rate: cost of capital a year [1], at least 0.
        years: years of payments, at the end of each [year].

    Returns:
        Payment over capital [1 per year], broadcast shape.

    Equation:
        r / (1 - (1 + r)^-n); 1 / n without interest

    Source:
        Definition of an annuity; 13 % over 4 years is 0.3362.
    """
    # arrays evaluate both branches: 1 keeps the unused one from dividing by 0
    safe = choose(rate > 0, rate, 1.0)
    payment: Number = choose(rate > 0, safe / (1 - (1 + safe) ** -years), 1 / years)
    return payment


def yearly_capital(price: Any, residual: Any, rate: Any, years: Any) -> Number:
    """Return the yearly cost of a purchase: write-off and cost of capital.

    Args:
        price: purchase price [currency].
        residual: value after these years, over the price [1].
        rate: cost of capital a year [1].
        years: life [year].

    Returns:
        Cost [currency per year], broadcast shape.

    Equation:
        (price - residual * price * (1 + r)^-n) * annuity(r, n)

    Source:
        Definition: the present value of the payments equals price less discounted residual value.
    """
    # the residual value comes at the end of life, so it is worth less today
    present = price * (1 - residual * (1 + rate) ** -years)
    cost: Number = present * annuity(rate, years)
    return cost


def declining_value(price: Any, decline: Any, years: Any) -> Number:
    """Return the value of a part some years after its purchase, as newer parts give more performance per money.

    Args:
        price: purchase price [currency].
        decline: growth of performance per money [orders of magnitude per year].
        years: years since [year].

    Returns:
        Value [currency], broadcast shape.

    Equation:
        price * 10^(-decline * years)

    Source:
        Epoch AI, training-cost-trends: 0.14 orders of magnitude a year.
    """
    value: Number = price * 10.0 ** (-decline * years)
    return value


def declining_cost(value: Any, decline: Any, hours: Any) -> Number:
    """Return the value that parts lose over hours of use, at their initial rate of decline.

    Args:
        value: value of one part at the start [currency].
        decline: growth of performance per money [orders of magnitude per year].
        hours: part-hours of use [h].

    Returns:
        Cost [currency], broadcast shape.

    Equation:
        value * decline * ln(10) / 8,766 h * hours

    Source:
        Epoch AI, training-cost-trends, cost_analysis_standalone.py: amortised cost of chips.
    """
    # ln 10 turns orders of magnitude into a rate of loss, the slope of `declining_value` at the start
    cost: Number = value * decline * math.log(10) / HOURS_OF_JULIAN_YEAR * hours
    return cost


HOURS_OF_JULIAN_YEAR = 8766
"""365.25 days of 24 hours."""
