"""Hand-worked counts of fat trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.fabric.sizing import formulas as f
from ffplan.fabric.sizing.fat_tree import _build_tree, _TreeRule

if TYPE_CHECKING:
    from ffplan.base.array_math import Number


def test_uplinks_of_a_leaf_with_two_rates() -> None:
    """HPN 7.0: 128 ports of 200G, 32 of 800G, down; at 16:15 they want 60 of 400G, 30 of 800G, up."""
    assert f._uplinks_of(128, 4, 2, 16 / 15) == 60
    assert f._uplinks_of(64, 2, 1, 1.0) == 32  # MegaScale
    assert f._uplinks_of(1, 4, 1, 8.0) == 1
    assert f._uplinks_of(np.array([16, 48]), 1, 1, 3.0).tolist() == [6, 16]


def test_leaf_uplinks() -> None:
    assert f.leaf_uplinks(40, 1.0) == 20
    assert f.leaf_uplinks(40, 3.0) == 10
    assert f.leaf_uplinks(40, 2.0) == 14  # 26 down over 14 up is 1.86, still within 2:1
    assert f.leaf_uplinks(40, 4e10) == 1  # a leaf without uplinks would be no leaf
    assert f.leaf_uplinks(40, 1e-3) == 39
    assert f.leaf_uplinks(np.array([40, 64, 128]), 1.0).tolist() == [20, 32, 64]


def test_switches_of_40_ports() -> None:
    """Leaves of 20 downlinks; a full pod, 25 of which are the 500 leaves and 500 spines of the paper."""
    assert (f.leaf_switches(800, 20), f.leaf_switches(801, 20)) == (40, 41)
    assert (f.pod_spines(20, 20, 20, 40), f.pod_spines(1, 20, 1, 40)) == (20, 1)
    assert f.pod_spines(3, 20, 3, 40) == 4  # three would have the ports, but do not divide the 20 uplinks
    assert (f._spine_uplinks(40, 20, 1.0), f._spine_uplinks(40, 10, 3.0)) == (20, 10)
    assert f._spine_uplinks(41, 21, 1.0) == 20  # an odd port stays free


def test_a_leaf_sends_what_its_ports_or_its_uplinks_carry() -> None:
    """A leaf of 48 ports at 25 GB/s behind 16 uplinks, and one of 8."""
    assert f._leaf_cut(1, 48, 25.0, 16, 25.0) + f._leaf_cut(1, 8, 25.0, 16, 25.0) == 400 + 200


def test_rail_leaves_of_the_superpods() -> None:
    """RA-11333: leaf r of each 32-node unit takes HCA r; 95 nodes are three units of eight leaves."""
    assert f.rail_leaves(95, 32, 8, 95 * 8 + 4, 32) == 24
    assert f.rail_leaves(96, 32, 8, 96 * 8 + 4, 32) == 25  # no port left for the appliances: a leaf of their own


def test_core_policies_of_ten_thousand_endpoints() -> None:
    # 500 leaf and 500 spine switches of 40 ports; 25 pods of 400
    assert f.core_minimal(10_000, 40) == 250
    assert f.core_per_rail_whole_pods(10_000, 8, downlinks=20, uplinks=20, pod_leaves=20, spine_up=20, radix=40) == 320
    assert f.core_equal_stripe(500, 20, 20, 40) == 400


def test_core_per_rail_of_the_b200_superpod() -> None:
    """RA-11334: 16, 32 and 64 scalable units of 32 nodes with 8 rails have 64, 128 and 256 core switches."""
    endpoints = np.array([512, 1024, 2048]) * 8
    assert f.core_per_rail_whole_pods(
        endpoints, 8, downlinks=32, uplinks=32, pod_leaves=32, spine_up=32, radix=64
    ).tolist() == [64, 128, 256]
    trees = [
        _build_tree(_TreeRule(tiers=3, radix=64, uplinks=32, rails=8, core_policy="per-rail-whole-pods"), int(n))
        for n in endpoints
    ]
    assert [(tree.leaf, tree.spine, tree.core) for tree in trees] == [(128, 128, 64), (256, 256, 128), (512, 512, 256)]


def test_a_smaller_last_pod_shares_cores_by_whole_groups() -> None:
    """Five pods of three leaves and one of one leaf, 8 uplinks each, spines of 16 ports thinned 3:1.

    A full pod has 24 uplinks on two spines of 12, four groups each, and one link up for each group: 8 links a pod. The
    leaf that is left has one spine, of all eight groups. Four groups divide both, so two runs of four groups, each with
    6 pods x 4 links = 24 links on cores of 16 ports: two cores each.
    """
    rule = _TreeRule(
        tiers=3, radix=16, uplinks=8, rails=1, core_policy="equal-stripe", leaf_down=8, pod_size=3, spine_ratio=3.0
    )
    tree = _build_tree(rule, 128, 16)
    assert (tree.leaf, tree.spine, tree.core) == (16, 11, 4)
    assert (tree.spine_core, tree.spare_core_ports) == (48, 16)
    assert [(pod.leaves, pod.spines, pod.up) for pod in (tree.pod, tree.last_pod) if pod] == [(3, 2, 1), (1, 1, 1)]


def test_tree_capacity() -> None:
    assert [f._tree_capacity(tiers, 40, 20, 20) for tiers in (1, 2, 3)] == [40, 800, 16_000]
    assert f._tree_capacity(2, 128, 64, 64) == 8192
    assert f._tree_capacity(3, 64, 32, 32) == 65_536
    with pytest.raises(ValueError, match="4 tiers"):
        f._tree_capacity(4, 40, 20, 20)


def test_zone_bisection() -> None:
    def cut(zones: Number, links: int) -> Number:
        return f._zone_bisection(zones, links, 1.0, 760.0, 380.0)

    assert cut(1, 0) == 380
    assert cut(2, 40) == 40
    assert cut(4, 40) == 80
    assert cut(3, 40) == 420  # one zone on each side, the third split
    assert cut(3, 9999) == 1140  # never more than half of all endpoints
    assert cut(2, 0) == 0
    assert f._zone_bisection(np.array([1, 2]), 40, 1.0, 760.0, 380.0).tolist() == [380, 40]
