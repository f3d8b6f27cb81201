"""Printed ports, pods of switches, and the cables of a small fabric, worked by hand."""

from __future__ import annotations

import pytest

from ffplan.fabric.sizing.fat_tree import TreeRule, build_tree
from ffplan.fabric.wiring.network import CORE, INTERZONE, LEAF, SPINE
from ffplan.fabric.wiring.printed_ports import PrintedPorts
from ffplan.fabric.wiring.tree_links import pods_of_switches


def ports(splits: tuple[int, int], leaf_down: int) -> PrintedPorts:
    """Return a leaf, a spine, a core and an inter-zone switch whose ports are split in 4, 2, 1 and 4."""
    below, above = splits
    return PrintedPorts(
        role=[LEAF, SPINE, CORE, INTERZONE], split=(below, 2, 1, 4, 4), leaf_down=leaf_down, leaf_up_split=above
    )


@pytest.mark.parametrize(("port", "place"), [(0, (1, 1, 4)), (9, (3, 2, 4)), (10, (3, 3, 4)), (12, (4, 1, 4))])
def test_uplinks_of_the_same_split_share_ports_with_downlinks(port: int, place: tuple[int, int, int]) -> None:
    assert ports((4, 4), 10).place(0, port) == place


@pytest.mark.parametrize(
    ("tiers", "endpoints", "pods"),
    [
        (1, 8, [0]),
        (2, 16, [0] * 4 + [0] * 2),
        # pods of four leaves and four spines; two whole ones hold 32 endpoints, with two cores to each group
        (3, 32, [0] * 4 + [1] * 4 + [0] * 4 + [1] * 4 + [-1] * 4),
        # 36 endpoints: one leaf more, in a third pod with a spine of its own
        (3, 36, [0] * 4 + [1] * 4 + [2] + [0] * 4 + [1] * 4 + [2] + [-1] * 5),
        # 24: one whole pod, and two leaves with their spines
        (3, 24, [0] * 4 + [1] * 2 + [0] * 4 + [1] * 2 + [-1] * 3),
        # 8: two leaves below one pod
        (3, 8, [0] * 2 + [0] * 2 + [-1] * 1),
    ],
)
def test_pods_of_switches_of_eight_ports(tiers: int, endpoints: int, pods: list[int]) -> None:
    """Leaves, then spines, then cores, which are in no pod."""
    rule = TreeRule(tiers=tiers, radix=8, uplinks=4 if tiers > 1 else 0, rails=1, core_policy="minimal")
    assert pods_of_switches(build_tree(rule, endpoints)).tolist() == pods
