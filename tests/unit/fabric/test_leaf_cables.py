"""Whole ports of leaves that split ports take, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ffplan.fabric.sizing.fat_tree import Pod
from ffplan.fabric.sizing.leaf_cables import packed_cables, railed_cables
from ffplan.fabric.sizing.leaf_fill import parts_between, tree_cables
from tests.support import wired


def test_leaves_filled_one_after_the_other() -> None:
    """Two leaves of 8 downlinks, split in two: 11 endpoints fill four ports of one and two of the other."""
    assert packed_cables(11, 0, 2, 8, 2) == 6


def test_others_take_what_rails_leave_free() -> None:
    """Two leaves of 8 with 3 ports of rails: two ports each, one half free; 3 others take both halves and a port."""
    assert railed_cables([(2, 3)], 3, 8, 2) == 5


@pytest.mark.parametrize(
    ("name", "below", "above", "bought"),
    [
        ("superpod-b300-4su", 13, 7, 7 + 4),  # two links a module at both ends: ceil(13/2) + ceil(7/2)
        ("dgx-a100-10k", 13, 7, 20),  # ports whole: as many as cables are laid
    ],
)
def test_modules_between_switches(name: str, below: int, above: int, bought: int) -> None:
    design = wired(name).design
    assert parts_between(design, below + above, below, above) == bought


def test_cables_of_pods_that_are_not_all_full() -> None:
    """Three pods of 4 leaves with 8 uplinks, one of 2, and 20 links to cores.

    Two links of a pair share a port where a leaf has an even number to each spine: 8 / 4 in full pods, 8 / 8 in the
    last.
    """
    tree = wired("dgx-a100-10k").fabric.trees[0].tree
    rule = replace(tree.rule, uplinks=8, splits=(2, 2))
    some = replace(tree, rule=rule, spine_core=20, full_pods=3, pod=Pod(4, 4, 1), last_pod=Pod(2, 8, 1))
    assert tree_cables(some, 1) == 20 + 96 + 16
    assert tree_cables(some, 2) == 20 + 48 + 16
