"""Draws of uncertain inputs, and their quantiles: one seeded stream for each key, so that designs share their draws."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.base.array_math import Floats, Number
    from ffplan.cost.inputs import Input

P95 = 1.6449
"""Standard deviations from the median to P95 of a normal distribution."""
P90 = 1.2816
"""The same to P90."""
OWN = "@"
"""What follows it in a key tells apart the figures of two designs; their draws stay at one quantile."""
TABLE_DRAWS = 20_001
"""Draws behind a quantile that has no closed form [1]."""


def triangular(uniform: Any, low: float, likely: float, high: float) -> Any:
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
    below = low + np.sqrt(uniform * (width * (likely - low)))
    above = high - np.sqrt((1 - uniform) * (width * (high - likely)))
    return np.where(uniform < mode, below, above)


def _generator(seed: int, key: str) -> Any:
    import numpy as np

    return np.random.Generator(np.random.PCG64([seed, zlib.crc32(key.encode())]))


def _normal(found: Input, deviates: Any) -> Any:
    import numpy as np

    if found.distribution == "lognormal":
        up, down = np.log(found.high / found.likely) / P95, np.log(found.likely / found.low) / P95
        return found.likely * np.exp(np.where(deviates > 0, up, down) * deviates)
    up, down = (found.high - found.likely) / P95, (found.likely - found.low) / P95
    return found.likely + np.where(deviates > 0, up, down) * deviates


def drawn(found: Input, draws: int, seed: int) -> Number:
    """Return the draws of one input.

    Args:
        found: the input.
        draws: number of draws [1].
        seed: seed of everything.

    Returns:
        Shape [draws]; a number where the input has no width.
    """
    if found.fixed:
        return found.likely
    stream = _generator(seed, found.key.partition(OWN)[0])
    low, likely, high = found.low, found.likely, found.high
    if found.distribution in ("normal", "lognormal"):
        values: Floats = _normal(found, stream.standard_normal(draws))
        return values
    if found.distribution == "uniform":
        flat: Floats = low + (high - low) * stream.random(draws)
        return flat
    if found.distribution == "pert":
        width = high - low
        first, second = 1 + 4 * (likely - low) / width, 1 + 4 * (high - likely) / width
        bent: Floats = low + width * stream.beta(first, second, draws)
        return bent
    found_values: Floats = triangular(stream.random(draws), low, likely, high)
    return found_values


def sample(inputs: Iterable[Input], draws: int, seed: int) -> dict[str, Number]:
    """Return draws of every input by name.

    Args:
        inputs: the inputs.
        draws: number of draws [1].
        seed: seed of everything.
    """
    return {found.name: drawn(found, draws, seed) for found in inputs}


def ends(found: Input) -> tuple[float, float]:
    """Return P10 and P90 of an input."""
    import numpy as np

    if found.fixed:
        return found.likely, found.likely
    if found.distribution in ("normal", "lognormal"):
        low, high = _normal(found, np.array([-P90, P90]))
    elif found.distribution == "uniform":
        low, high = (found.low + part * (found.high - found.low) for part in (0.1, 0.9))
    elif found.distribution == "pert":
        low, high = np.quantile(np.asarray(drawn(found, TABLE_DRAWS, 0)), [0.1, 0.9])
    else:
        low, high = triangular(np.array([0.1, 0.9]), found.low, found.likely, found.high)
    return float(low), float(high)
