"""Number of sufficient spares; a light module, since every report of a design needs it."""

from __future__ import annotations

from math import exp, lgamma, log

MOST = 10_000_000
"""Upper limit of the search [1]."""


def enough(mean: float, probability: float) -> int:
    """Return the number of spares that suffices with a probability.

    Args:
        mean: expected events at once [1].
        probability: below 1 [1].

    Equation:
        least s with P(X <= s) >= probability, X Poisson

    Source:
        Quantile of the Poisson distribution; k-out-of-n redundancy with rare failures.
    """
    if mean <= 0:
        return 0
    total, number = exp(-mean), 0
    while total < probability and number < MOST:
        number += 1
        # in logarithms, since mean^k and k! overflow long before their ratio does
        total += exp(number * log(mean) - mean - lgamma(number + 1))
    return number
