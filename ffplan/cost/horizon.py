"""Clusters over the quarters of a plan: when they stand, what is left of their price, and what a date costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Number

QUARTER = 3.0
"""Months of a quarter [month]."""


def standing(begin: Number, end: Number, count: int, length: float = QUARTER) -> Floats:
    """Return the share of each period in which a cluster stands.

    Args:
        begin: month from which it stands, counted from the first period [month].
        end: month from which it does not [month].
        count: periods of the plan.
        length: months of a period: a quarter, unless given [month].

    Returns:
        Shares [1], shape [count, draws].

    Equation:
        (min(end, end of the period) - max(begin, its start)) / length, at least 0

    Source:
        Definition.
    """
    import numpy as np

    starts = length * np.arange(count)[:, None]
    months = np.minimum(end, starts + length) - np.maximum(begin, starts)
    share: Floats = np.clip(months, 0.0, None) / length
    return share


def within_quarter(month: Number, quarters: int) -> Number:
    """Return which quarter a month lies in.

    Args:
        month: months from the first quarter [month]; before it and after the last quarter it lies in none.

    Returns:
        True or false, shape [quarters, draws].
    """
    import numpy as np

    starts = QUARTER * np.arange(quarters)[:, None]
    return (month >= starts) & (month < starts + QUARTER)


def value_left(price: Number, residual: Number, age: Number, life: Number) -> Number:
    """Return the value of a purchase at an age [currency].

    Args:
        price: what was paid [currency].
        residual: value at the end of its life, over the price [1].
        age: years since the first job [year].
        life: years until it is written off [year].

    Equation:
        price * (1 - (1 - residual) * min(age / life, 1))

    Source:
        Straight-line depreciation, by definition.
    """
    import numpy as np

    return price * (1 - (1 - residual) * np.clip(age / life, 0.0, 1.0))


def regrets(costs: Floats) -> Floats:
    """Return how much each choice costs over the best one in hindsight, on average [currency].

    Args:
        costs: cost of each choice in each draw, shape [choices, draws] [currency].

    Equation:
        mean over draws of (cost - least cost of the draw)

    Source:
        Definition of expected opportunity loss.
    """
    losses: Floats = (costs - costs.min(axis=0)).mean(axis=1)
    return losses
