"""Capital: yearly cost and later value of a purchase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import choose

if TYPE_CHECKING:
    from ffplan.base.array_math import Number


def _annuity(rate: Number, years: Number) -> Number:
    """Return the equal yearly payment that repays one unit of capital [1 per year].

    Args:
        rate: cost of capital a year [1], at least 0.
        years: years of payments, at the end of each [year].

    Equation:
        r / (1 - (1 + r)^-n); 1 / n without interest

    Source:
        Definition of an annuity; 13 % over 4 years is 0.3362.
    """
    # arrays evaluate both branches: 1 keeps the unused one from dividing by 0
    safe = choose(rate > 0, rate, 1.0)
    payment: Number = choose(rate > 0, safe / (1 - (1 + safe) ** -years), 1 / years)
    return payment


def yearly_capital(price: Number, residual: Number, rate: Number, years: Number) -> Number:
    """Return the yearly cost of a purchase: write-off and cost of capital [currency per year].

    Args:
        price: purchase price [currency].
        residual: value after these years, over the price [1].
        rate: cost of capital a year [1].
        years: life [year].

    Equation:
        (price - residual * price * (1 + r)^-n) * annuity(r, n)

    Source:
        Definition: the present value of the payments equals price less discounted residual value.
    """
    # the residual value comes at the end of life, so it is worth less today
    present = price * (1 - residual * (1 + rate) ** -years)
    cost: Number = present * _annuity(rate, years)
    return cost
