"""The capacity of a tree never falls as the ports of its switch rise, so that the smallest switch can be bisected."""

from __future__ import annotations

import pytest

from ffplan.fabric.sizing.capacity import MOST_RADIX
from ffplan.fabric.sizing.fat_tree import TreeRule
from ffplan.fabric.sizing.formulas import leaf_uplinks


@pytest.mark.parametrize("tiers", [1, 2, 3])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.25, 5 / 3, 2.0, 3.0, 7.0, 15.0])
def test_capacity_grows_with_the_radix(tiers: int, ratio: float) -> None:
    capacities = [
        TreeRule(
            tiers=tiers, radix=radix, uplinks=int(leaf_uplinks(radix, ratio)), rails=1, core_policy="equal-stripe"
        ).capacity
        for radix in range(4, MOST_RADIX + 2)
    ]
    assert capacities == sorted(capacities)
    assert capacities[-1] > capacities[0]
