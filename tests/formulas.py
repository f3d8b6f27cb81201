"""Formulas of papers that published figures are computed with, and that no report uses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ffplan.base.array_math import Number

HOURS_OF_JULIAN_YEAR = 8766
"""365.25 days of 24 hours."""


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
    cost: Number = value * decline * math.log(10) / HOURS_OF_JULIAN_YEAR * hours
    return cost


def rsc_ettr(nodes: Any, rate: Any, overhead: Any, interval: Any, write: Any) -> Number:
    """Return the effective training time by Meta's formula.

    Args:
        nodes: nodes of the job [1].
        rate: failures of a node [1/s].
        overhead: restart [s].
        interval: between checkpoints [s].
        write: stop of the job at a checkpoint [s].

    Returns:
        ETTR [1], broadcast shape.

    Equation:
        (1 - N r (u0 + dt / 2)) / (1 + w / dt)

    Source:
        Kokolis et al., arXiv 2410.21680, section III.
    """
    ettr: Number = (1 - nodes * rate * (overhead + interval / 2)) / (1 + write / interval)
    return ettr
