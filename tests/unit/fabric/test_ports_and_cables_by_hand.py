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


@pytest.mark.parametrize(
    ("port", "place", "name"),
    [
        (0, (1, 1, 4), "1/1"),
        (3, (1, 4, 4), "1/4"),
        (4, (2, 1, 4), "2/1"),
        (9, (3, 2, 4), "3/2"),  # the last of ten downlinks, on three whole ports
        (10, (4, 1, 2), "4/1"),  # uplinks begin on the next whole port
        (11, (4, 2, 2), "4/2"),
        (12, (5, 1, 2), "5/1"),
    ],
)
def test_uplinks_of_another_split_begin_on_a_whole_port(port: int, place: tuple[int, int, int], name: str) -> None:
    found = ports((4, 2), 10)
    assert found.place(0, port) == place
    assert found.name(0, port) == name


@pytest.mark.parametrize(("port", "place"), [(0, (1, 1, 4)), (9, (3, 2, 4)), (10, (3, 3, 4)), (12, (4, 1, 4))])
def test_uplinks_of_the_same_split_share_ports_with_downlinks(port: int, place: tuple[int, int, int]) -> None:
    assert ports((4, 4), 10).place(0, port) == place


@pytest.mark.parametrize(
    ("switch", "port", "name"),
    [(1, 0, "1/1"), (1, 10, "6/1"), (1, 11, "6/2"), (2, 0, "1"), (2, 10, "11"), (2, 11, "12"), (3, 11, "3/4")],
)
def test_other_switches_have_one_split(switch: int, port: int, name: str) -> None:
    """Ports from the tenth on of a spine, a core and an inter-zone switch are those of any other port there."""
    assert ports((4, 2), 10).name(switch, port) == name


def test_whole_uplinks_have_no_parts() -> None:
    """Eight downlinks on two ports; uplink 0 is port 3, whole."""
    found = ports((4, 1), 8)
    assert [found.name(0, port) for port in (7, 8, 9)] == ["2/4", "3", "4"]


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
