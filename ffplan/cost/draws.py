"""Draws of uncertain inputs, and their quantiles: one seeded stream per key, so that designs share draws."""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

from ffplan.base.formatting import OWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.random import Generator

    from ffplan.base.array_math import Floats, Number
    from ffplan.cost.inputs import Input

P95 = 1.6449
"""Standard deviations from the median to P95 of a normal distribution."""
GRID = 2001
"""Points of the density of a beta distribution [1]."""
_KEPT, _MOST_DRAWS = 128, 20_000
"""Inputs whose draws are kept, for designs that share them, and draws of one at most [1]."""
_Ends = tuple[float, float, float, float, float]
"""Low, likely and high value of an input, and its bounds."""


def triangular(uniform: Number, low: float, likely: float, high: float) -> Number:
    """Return the value of a triangular distribution at a probability.

    Args:
        uniform: probabilities [1].
        low: smallest value.
        likely: most likely value.
        high: largest value.

    Returns:
        Values, shape of `uniform`.

    Equation:
        low + sqrt(p (high - low)(likely - low)) below the mode; high - sqrt((1 - p)(high - low)(high - likely)) above

    Source:
        Inverse of the distribution function.
    """
    import numpy as np

    width = high - low
    mode = (likely - low) / width
    under = uniform < mode
    away = np.sqrt(np.where(under, uniform * (width * (likely - low)), (1 - uniform) * (width * (high - likely))))
    return np.where(under, low + away, high - away)


def _generator(seed: int, key: str) -> Generator:
    import numpy as np

    # a stream per key, so that another input does not shift draws; `hash` differs between processes
    return np.random.Generator(np.random.PCG64([seed, zlib.crc32(key.encode())]))


def normal(probability: Number) -> Number:
    """Return the standard normal deviate at a probability [1].

    Args:
        probability: above 0 and below 1 [1], any shape.

    Equation:
        rational approximations of the inverse of the distribution function, in the middle and in the tails

    Source:
        P. J. Acklam, An algorithm for computing the inverse normal cumulative distribution function, 2003: relative
        error below 1.15e-9.
    """
    import numpy as np

    from ffplan.base.elementary import log

    # the logarithm below is infinite at 0 and 1
    p = np.clip(np.asarray(probability, dtype=float), 1e-12, 1 - 1e-12)
    tail = np.sqrt(-2 * log(np.minimum(p, 1 - p)))
    outer = np.polyval(TAIL[0], tail) / np.polyval(TAIL[1], tail)
    offset = p - 0.5
    square = offset * offset
    inner = offset * np.polyval(MIDDLE[0], square) / np.polyval(MIDDLE[1], square)
    return np.where(p < LOW_TAIL, outer, np.where(p > 1 - LOW_TAIL, -outer, inner))


LOW_TAIL = 0.02425
"""Probability below which the tail's approximation applies [1]."""
MIDDLE = (
    (
        *(-3.969683028665376e01, 2.209460984245205e02, -2.759285104469687e02),
        *(1.383577518672690e02, -3.066479806614716e01, 2.506628277459239e00),
    ),
    (
        *(-5.447609879822406e01, 1.615858368580409e02, -1.556989798598866e02),
        *(6.680131188771972e01, -1.328068155288572e01, 1.0),
    ),
)
"""Coefficients of the middle's approximation: numerator and denominator."""
TAIL = (
    (
        *(-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e00),
        *(-2.549732539343734e00, 4.374664141464968e00, 2.938163982698783e00),
    ),
    (7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e00, 3.754408661907416e00, 1.0),
)
"""Coefficients of the tails' approximation."""


def _beta(first: float, second: float, probability: Number) -> Number:
    """Return quantiles of a beta distribution with both parameters at least 1, from its density on a grid."""
    import numpy as np

    grid = np.linspace(0.0, 1.0, GRID)
    density = grid ** (first - 1) * (1 - grid) ** (second - 1)
    # trapezoids; their width cancels when the sum is scaled to 1
    steps = (density[1:] + density[:-1]) / 2
    below = np.concatenate([[0.0], np.cumsum(steps)])
    return np.interp(probability, below / below[-1], grid)


def _ends_of(parameter: Input) -> _Ends:
    return parameter.low, parameter.likely, parameter.high, parameter.least, parameter.most


def _quantile(parameter: Input, probability: Number) -> Number:
    """Return an input at probabilities [1], within its bounds, in their shape."""
    return _percent_point(parameter.distribution, _ends_of(parameter), probability)


def _percent_point(distribution: str, values: _Ends, probability: Number) -> Number:
    import numpy as np

    from ffplan.base.elementary import exp, log

    low, middle, high, least, most = values
    if distribution == "uniform":
        return low + (high - low) * np.asarray(probability)
    if distribution == "pert":
        width = high - low
        # 4 is the weight of the mode that defines PERT
        first, second = 1 + 4 * (middle - low) / width, 1 + 4 * (high - middle) / width
        return low + width * _beta(first, second, probability)
    if distribution in ("normal", "lognormal"):
        deviates = normal(probability)
        if distribution == "lognormal":
            # one width for each side, so that P5, median and P95 are all met
            up, down = log(high / middle) / P95, log(middle / low) / P95
            drawn_values = middle * exp(np.where(deviates > 0, up, down) * deviates)
        else:
            drawn_values = middle + np.where(deviates > 0, high - middle, middle - low) / P95 * deviates
        # the tails of both distributions have no end, but a share or a PUE has
        return np.clip(drawn_values, least, most)
    return triangular(np.asarray(probability), low, middle, high)


@lru_cache(maxsize=_KEPT)
def _draws(key: str, distribution: str, values: _Ends, draws: int, seed: int) -> Floats:
    import numpy as np

    samples = np.asarray(_percent_point(distribution, values, _generator(seed, key).random(draws)))
    samples.flags.writeable = False  # all who ask share them
    return samples


def drawn(parameter: Input, draws: int, seed: int) -> Number:
    """Return the draws of one input.

    Args:
        draws: number of draws [1].

    Returns:
        Shape [draws], read-only; a number if the input has no width.
    """
    if parameter.fixed:
        return parameter.likely
    find = _draws if draws <= _MOST_DRAWS else _draws.__wrapped__  # ten million draws take 80 MB an input
    # without the design: figures of two designs share their quantile in every draw
    return find(parameter.key.partition(OWN)[0], parameter.distribution, _ends_of(parameter), draws, seed)


def sample(inputs: Iterable[Input], draws: int, seed: int) -> dict[str, Number]:
    """Return draws of every input by name.

    Args:
        draws: number of draws [1].
    """
    return {parameter.name: drawn(parameter, draws, seed) for parameter in inputs}


def ends(parameter: Input) -> tuple[float, float]:
    """Return P10 and P90 of an input."""
    import numpy as np

    if parameter.fixed:
        return parameter.likely, parameter.likely
    low, high = np.asarray(_quantile(parameter, np.array([0.1, 0.9])))
    return float(low), float(high)
