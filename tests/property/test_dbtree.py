"""What holds of double binary trees over any zones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ffplan.fabric.routing.double_binary_tree import crossing_pairs, double_binary_tree, joined_trees


@given(st.integers(1, 3000))
def test_each_tree_is_binary_and_no_rank_is_inner_in_both_but_one(ranks: int) -> None:
    trees = double_binary_tree(ranks)
    inner = []
    for parent in trees:
        assert (parent < 0).sum() == 1
        children = np.bincount(parent[parent >= 0], minlength=ranks)
        assert children.max() <= 2
        inner.append(children > 0)
    assert (inner[0] & inner[1]).sum() <= 1


@given(st.lists(st.integers(0, 200), min_size=1, max_size=6).filter(any))
def test_joined_trees_cross_zones_with_one_pair_each(sizes: list[int]) -> None:
    trees = joined_trees(sizes)
    ranks, zones = sum(sizes), sum(1 for size in sizes if size)
    zone = np.repeat(np.arange(len(sizes)), sizes)
    assert crossing_pairs(trees, zone) == zones - 1
    for parent in trees:
        assert (parent < 0).sum() == 1
        assert np.bincount(parent[parent >= 0], minlength=ranks).max(initial=0) <= 2
        at = np.arange(ranks)
        for _ in range(8 * zones + 16):  # deep enough for any of these trees
            at = np.where(at >= 0, parent[at], -1)
        assert (at < 0).all(), "a rank does not lead to the root"
