"""The Poisson distribution: probabilities, and confidence intervals of rates."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.elementary import exp, log

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats

STEPS = 200
"""Most halvings of a bracket; they stop at the resolution of a float."""
LEAST = 1e-300
"""Replacement for an expected value of 0 before its logarithm [1]."""
DEPTH = 4
"""Halvings evaluated at a time: one call for all middles is cheaper than one each."""


@lru_cache(maxsize=32)
def _table(size: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(log(np.arange(1, size + 1)))])


def _log_factorials(most: int) -> Floats:
    """Return log(k!) for k = 0 to `most`, from a shared table."""
    return _table(1 << most.bit_length())[: most + 1]


def terms(mean: float) -> int:
    """Return the number of terms beyond which the distribution is negligible.

    Args:
        mean: expected events [1].
    """
    # twelve standard deviations, and 30 more where the mean is small and the tail long
    return int(mean + 12 * np.sqrt(mean + 1) + 30)


def _log_weights(mean: Any, most: int) -> Floats:
    """Return log(weight) of 0, 1, ... `most` events, up to a common term; `mean` is one number or a column."""
    weights: Floats = np.arange(most + 1) * log(mean) - _log_factorials(most)
    return weights


def _probabilities(mean: Any, most: int | None = None) -> Floats:
    """Return the probabilities of 0, 1, 2 ... events.

    Args:
        mean: expected events [1]; one number, or a column of them with `most`.
        most: last number of events; if omitted, the rest is below 1e-15.

    Returns:
        Probabilities [1], shape [most + 1].

    Equation:
        exp(k log(mean) - mean - log(k!))

    Source:
        Definition of the Poisson distribution.
    """
    last = terms(mean) if most is None else most
    above = np.maximum(mean, LEAST)
    chances: Floats = np.where(np.less_equal(mean, 0), np.arange(last + 1) == 0, exp(_log_weights(above, last) - above))
    return chances


def _middles(low: float, high: float, depth: int) -> list[float]:
    """Return all possible middles of `depth` halvings of a bracket, level by level."""
    brackets, levels = [(low, high)], []
    for _ in range(depth):
        middles = [(first + last) / 2 for first, last in brackets]
        levels += middles
        pairs = zip(brackets, middles, strict=True)
        brackets = [half for (first, last), middle in pairs for half in ((first, middle), (middle, last))]
    return levels


def _root(function: Any, low: float, high: float) -> float:
    """Return the root of a rising array function by bisection, several halvings at a time."""
    for _ in range(STEPS // DEPTH):
        above = (function(np.array(_middles(low, high, DEPTH))) > 0).tolist()
        node = 0
        for _ in range(DEPTH):
            middle = (low + high) / 2
            if middle in (low, high):
                return middle
            low, high = (low, middle) if above[node] else (middle, high)
            # heap order: the halves of node i are 2 i + 1 and 2 i + 2
            node = 2 * node + (1 if above[node] else 2)
    return (low + high) / 2


@lru_cache(maxsize=4096)
def interval(events: int, exposure: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the confidence interval of a rate from a number of events.

    Args:
        events: events counted [1].
        exposure: unit-years of counting [year]; above 0.
        confidence: probability that the interval holds the rate [1].

    Returns:
        Lower and upper end [1/year]; from no events the lower is 0 and the upper one-sided.

    Raises:
        ValueError: if the exposure is not above 0, or events are below 0.

    Equation:
        [chi2(a / 2, 2 n) / 2 T, chi2(1 - a / 2, 2 n + 2) / 2 T], found as the means at which n events or more, or n or
        fewer, have probability a / 2; from no events -log(a) / T, three over T at 95 %

    Source:
        Garwood, Fiducial limits for the Poisson distribution, Biometrika 28, 1936.
    """
    if not exposure > 0 or events < 0:
        raise ValueError("an interval needs an exposure above 0 and no negative count")
    tail = 1 - confidence
    if events == 0:
        return 0.0, float(-log(tail)) / exposure
    half = tail / 2
    # a bracket: twelve standard deviations above the count
    high = events + 12 * np.sqrt(events + 1) + 30

    def below(means: Floats, most: int) -> Floats:
        sums: Floats = _probabilities(means[:, np.newaxis], most).sum(axis=1)
        return sums

    lower = _root(lambda mean: (1 - below(mean, events - 1)) - half, 0.0, float(events))
    upper = _root(lambda mean: half - below(mean, events), float(events), float(high))
    return lower / exposure, upper / exposure
