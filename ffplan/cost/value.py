"""Value for money: relative performance and cost-performance of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ffplan.base.array_math import Number


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
