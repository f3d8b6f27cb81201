"""Capital: yearly cost and later value of a purchase; and performance for its price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def relative_performance(rates: list[Any], base_rates: list[Any]) -> Number:
    """Return the performance of an accelerator relative to another [1].

    Args:
        rates: measured matrix-multiplication rates, one per precision [TFLOP/s].
        base_rates: rates of the baseline, same precisions [TFLOP/s].

    Equation:
        mean over precisions of rate / base rate

    Source:
        An et al., arXiv 2408.14158, Table II: (107/131 + 220/263) / 2 = 0.827, printed 83 %. FP16 alone gives
        84 %, TF32 alone 82 %.
    """
    ratios = [rate / base for rate, base in zip(rates, base_rates, strict=True)]
    mean: Number = sum(ratios) / len(ratios)
    return mean


def cost_performance(performance: Number, price: Number) -> Number:
    """Return the performance per unit of money, relative to a baseline [1].

    Args:
        performance: relative performance of an accelerator [1].
        price: relative price of a node with equally many accelerators [1].

    Equation:
        performance / price

    Source:
        An et al., arXiv 2408.14158, Table II: 0.83 / 0.60 = 1.38. With the node price of Table III, 11,250 / 19,000
        = 0.592, it is 1.40: the two tables of the paper round differently.
    """
    return performance / price
