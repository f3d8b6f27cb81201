"""Double binary trees, and the joining of several zones' trees through one pair of nodes.

A rank r > 0 with lowest set bit b hangs under r with that bit cleared and the next one set, or, where that rank does
not exist, under r with the bit cleared. Rank 0 is the root. In the second tree an even number of ranks is mirrored, an
odd one shifted by one, so that every rank but one is inner in one tree at most; each tree carries half of the data.

Source: Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
Computing 35 (2009), in the form that NCCL uses. The trees of a zone and the pair between zones: derived, for the rule
of An et al., arXiv 2408.14158, section III-B, that only one pair of nodes communicates across zones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ffplan.base.array_math import Ints


def _binary_tree(ranks: int) -> Ints:
    """Return the parent of every rank in the first tree, -1 for the root, shape (ranks,)."""
    rank = np.arange(ranks)
    bit = rank & -rank
    parent = (rank ^ bit) | (bit << 1)
    # beyond the last rank the bit is cleared only
    parent = np.where(parent >= ranks, rank ^ bit, parent)
    if ranks:
        parent[0] = -1
    return parent


def _double_binary_tree(ranks: int) -> Ints:
    """Return the parent of every rank in both trees, -1 for the roots, shape (2, ranks)."""
    first = _binary_tree(ranks)
    if ranks % 2 == 0:
        # even: the mirror image, whose inner ranks are leaves of the first tree
        second = np.where(first[::-1] < 0, -1, ranks - 1 - first[::-1])
    else:
        # odd: one rank on, for the same reason
        shifted = np.roll(first, 1)
        second = np.where(shifted < 0, -1, (shifted + 1) % max(1, ranks))
    return np.stack([first, second])


def _joined_trees(sizes: list[int]) -> Ints:
    """Return both trees over zones of consecutive ranks, with one pair of ranks between neighbouring zones.

    In the first tree the root b of a zone hangs under a, the root of the second tree of the zone before; in the second
    tree a hangs under b. Both are at the fringe of the other tree, so neither gets more than two children.

    Empty zones are skipped. Returns the parent of every rank in both trees, -1 for the roots, shape (2, ranks).
    """
    parts: list[Ints] = []
    start, before = 0, -1
    for size in (size for size in sizes if size):
        trees = _double_binary_tree(size)
        trees = np.where(trees < 0, -1, trees + start)
        root_one = start + int(np.flatnonzero(trees[0] < 0)[0])
        root_two = start + int(np.flatnonzero(trees[1] < 0)[0])
        if before >= 0:
            trees[0, root_one - start] = before
            # `before` counts over all zones; the array of the zone before starts at its own first rank
            parts[-1][1, before - (start - parts[-1].shape[1])] = root_one
        parts.append(trees)
        before = root_two
        start += size
    return np.concatenate(parts, axis=1) if parts else np.zeros((2, 0), np.int64)


def crossings(parent: Ints, zone: Ints) -> Ints:
    """Return the different pairs of ranks that communicate across zones, shape (pairs, 2).

    Args:
        parent: parent of every rank in each tree, -1 for roots, shape (trees, ranks).
        zone: zone of every rank, shape (ranks,).
    """
    ranks = parent.shape[1]
    child = np.broadcast_to(np.arange(ranks), parent.shape)
    real = parent >= 0
    start, end = child[real], parent[real]
    across = zone[start] != zone[end]
    low, high = np.minimum(start, end)[across], np.maximum(start, end)[across]
    # one number for each unordered pair, so that a pair in both trees counts once
    return np.stack(np.divmod(np.unique(low * ranks + high), ranks), axis=1)


def _crossing_pairs(parent: Ints, zone: Ints) -> int:
    """Return how many different pairs of ranks communicate across zones."""
    return len(crossings(parent, zone))
