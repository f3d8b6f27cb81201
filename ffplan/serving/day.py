"""Hours of a day or a week: the block of nodes that no copy needs, and which of them to rent for a term."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

HOURS = 24
"""Hours of a day [h]."""


@record
class _FreeBlock:
    """Nodes that are free together for some hours in a row."""

    nodes: int
    start: int
    """First hour, from the first of the file [h]."""
    hours: int


def free_block(free: Sequence[int]) -> _FreeBlock | None:
    """Return the block with most node-hours that are free in a row, around the end of the file; None without any.

    Args:
        free: free nodes of each hour [1]. Hours follow in a circle: the last is before the first.

    Equation:
        over starts s and lengths n <= hours: the largest n min(free[s], ..., free[s + n - 1]); of equals the longest

    Source:
        Definition: a job of fixed size holds its nodes from its first hour to its last.
    """
    least = around = np.array(free, dtype=np.int64)
    best = (0, 0, 0)
    for length in range(1, len(free) + 1):
        start = int(np.argmax(least))
        best = max(best, (int(least[start]) * length, length, -start))
        least = np.minimum(least, np.roll(around, -length))
    area, length, start = best
    return _FreeBlock(area // length, -start, length) if area else None


def reserved_nodes(nodes: Sequence[int], committed: float, hourly: float) -> int:
    """Return the nodes to rent for a term, where the others are rented for the hours in which they are needed.

    Args:
        nodes: nodes that each hour needs [1].
        committed: rent of an hour of the term, used or not [currency].
        hourly: rent of an hour in use [currency].

    Equation:
        the nodes k = 1, 2, ... for which hourly * (hours that need k or more) > committed * hours

    Source:
        Definition: each node is rented the cheaper way, and the hours that need node k fall with k.
    """
    levels = np.arange(1, max(nodes, default=0) + 1)
    used = (np.array(nodes)[None, :] >= levels[:, None]).sum(axis=1)
    return int((hourly * used > committed * len(nodes)).sum())
