"""Keys that select among the links that lead on: ranks of destinations, or hashes of flows."""

from __future__ import annotations

import numpy as np

from ffplan.base.array_math import Ints
from ffplan.base.record import record


@record
class Keys:
    """Keys that select among the links at each step, one row per flow."""

    leaf: Ints
    spine: Ints
    core: Ints
    trunk: Ints


def _splitmix(value: Ints) -> Ints:
    """Return well-mixed 64-bit hashes [1] of unsigned integers, any shape (Steele, Lea, Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        z = value.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _hashed(src: Ints, dst: Ints, seed: int, level: int) -> Ints:
    """Return hashes [1] of flows for one level of choices, not negative, shape (flows,)."""
    mixed = _splitmix(_splitmix(src) ^ (dst.astype(np.uint64) << np.uint64(20)) ^ np.uint64(seed * 8 + level))
    return (mixed >> np.uint64(1)).astype(np.int64)
