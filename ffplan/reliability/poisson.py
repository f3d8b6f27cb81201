"""The Poisson distribution: sums of probabilities, intervals of a rate, and how many spares are enough."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.elementary import exp, log

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats

STEPS = 200
"""Most halvings of a bracket; they stop where it is as narrow as a float."""


@lru_cache(maxsize=8)
def _log_factorials(most: int) -> Floats:
    """Return log(k!) for k = 0 to `most`."""
    return np.concatenate([[0.0], np.cumsum(log(np.arange(1, most + 1)))])


def _terms(mean: float) -> int:
    """Return the number of terms beyond which the distribution holds nothing."""
    return int(mean + 12 * np.sqrt(mean + 1) + 30)


def log_weights(mean: float, most: int) -> Floats:
    """Return the logarithms of the weights of 0, 1, 2 ... events, up to a common term.

    Args:
        mean: expected events [1]; above 0.
        most: last number of events.

    Returns:
        k log(mean) - log(k!) [1], shape [most + 1].
    """
    found: Floats = np.arange(most + 1) * log(mean) - _log_factorials(most)
    return found


def probabilities(mean: float, most: int | None = None) -> Floats:
    """Return the probabilities of 0, 1, 2 ... events.

    Args:
        mean: expected events [1].
        most: last number of events; so many that the rest is below 1e-15 if omitted.

    Returns:
        Probabilities [1], shape [most + 1].

    Equation:
        exp(k log(mean) - mean - log(k!))

    Source:
        Definition of the Poisson distribution.
    """
    last = _terms(mean) if most is None else most
    numbers = np.arange(last + 1)
    if mean <= 0:
        none: Floats = (numbers == 0).astype(float)
        return none
    found: Floats = exp(log_weights(mean, last) - mean)
    return found


def _root(function: Any, low: float, high: float) -> float:
    """Return where a rising function passes 0."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if function(middle) > 0 else (middle, high)
    return (low + high) / 2


@lru_cache(maxsize=4096)
def interval(events: int, exposure: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval of a rate from a number of events.

    Args:
        events: events counted [1].
        exposure: unit-years over which they were counted [year]; above 0.
        confidence: probability that the interval holds the rate [1].

    Returns:
        Lower and upper end [1/year]; from no events the lower is 0 and the upper one-sided.

    Raises:
        ValueError: where the exposure is not above 0, or events are below 0.

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
    high = events + 12 * np.sqrt(events + 1) + 30

    def below(mean: float, most: int) -> float:
        return float(probabilities(mean, most).sum())

    lower = _root(lambda mean: (1 - below(mean, events - 1)) - half, 0.0, float(events))
    upper = _root(lambda mean: half - below(mean, events), float(events), float(high))
    return lower / exposure, upper / exposure
