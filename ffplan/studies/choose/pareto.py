"""Points that no other point beats: the front over any metrics, and its knee."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Floats, Ints


BULGE = 1e-6
"""Least distance of a knee from the line between the ends of its front, both scaled to 1 [1]."""


def front(values: Floats) -> Ints:
    """Return the points that no other point beats, by rising first metric.

    A point beats another where it is no worse in every metric and better in one; of equal points the first is kept.

    Args:
        values: metrics of the points, smaller is better, shape (points, metrics); rows with NaN are left out.

    Source:
        Definition of Pareto dominance. Points are taken by their sum of ranks, so that each point taken is on the front
        and strikes out what it beats.
    """
    known = np.flatnonzero(~np.isnan(values).any(axis=1))
    own = values[known]
    if values.shape[1] == 2:
        order = np.lexsort((own[:, 1], own[:, 0]))
        second = own[order, 1]
        before = np.concatenate([[np.inf], np.minimum.accumulate(second)[:-1]])
        chosen: Ints = known[order[second < before]]
        return chosen
    kept: list[int] = []
    order = np.lexsort((*own.T[::-1], own.argsort(axis=0).argsort(axis=0).sum(axis=1)))
    own, known = own[order], known[order]
    while len(own):
        best = own[0]
        kept.append(int(known[0]))
        left = (own < best).any(axis=1)
        own, known = own[left], known[left]
    found = np.array(kept, np.int64)
    found = found[~_beaten(values[found])]
    return found[np.lexsort((found, values[found, 0]))]


def _beaten(values: Floats) -> Bools:
    """Return which points another one beats, shape (points,)."""
    found = np.zeros(len(values), bool)
    for row in values:
        found |= (row <= values).all(axis=1) & (row < values).any(axis=1)
    return found


def knee(values: Floats) -> int | None:
    """Return the point of a front that is farthest from the line between its ends, or nearest to the ideal.

    Args:
        values: metrics of the points of a front, smaller is better, shape (points, metrics).

    Returns:
        Its position; None with fewer than three points, or where an end is as good, as on a straight line.

    Equation:
        largest 1 - x - y of two metrics scaled to [0, 1] over the front; smallest sum of squares of more

    Source:
        Das, "On characterizing the knee of the Pareto curve", 1999: the point of the largest bulge.
    """
    if len(values) < 3:
        return None
    low, high = values.min(axis=0), values.max(axis=0)
    scaled = (values - low) / np.where(high > low, high - low, 1.0)
    if values.shape[1] == 2:
        bulge = 1 - scaled.sum(axis=1)
        return int(bulge.argmax()) if bulge.max() > BULGE else None
    return int((scaled**2).sum(axis=1).argmin())
