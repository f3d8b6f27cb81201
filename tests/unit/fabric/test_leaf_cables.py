"""Whole ports of leaves that split ports take, by hand."""

from __future__ import annotations

from ffplan.fabric.sizing.leaf_cables import packed_cables, railed_cables


def test_leaves_filled_one_after_the_other() -> None:
    """Two leaves of 8 downlinks, split in two: 11 endpoints fill four ports of one and two of the other."""
    assert packed_cables(11, 0, 2, 8, 2) == 6


def test_others_take_what_rails_leave_free() -> None:
    """Two leaves of 8 with 3 ports of rails: two ports each, one half free; 3 others take both halves and a port."""
    assert railed_cables([(2, 3)], 3, 8, 2) == 5
