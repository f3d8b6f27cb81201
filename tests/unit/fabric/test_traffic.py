"""Hand-worked flows, trees and what is left after losses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ffplan.fabric.routing.degraded import DegradedJob, bisection, links_alive, zone_cuts
from ffplan.fabric.routing.double_binary_tree import binary_tree, double_binary_tree
from ffplan.fabric.routing.rank_order import aligned
from ffplan.fabric.routing.traffic import incast, permutation, ring
from ffplan.fabric.sizing.fat_tree import TreeRule, build_tree
from ffplan.fabric.sizing.slim_fly import field, mms_links, router_degree
from ffplan.fabric.wiring.cabling import cable_length
from ffplan.fabric.wiring.wiring import wire_tree

JOB = np.array([[0, 10], [1, 11], [2, 12], [3, 13]])
"""Four ranks, two rails."""


def test_ring() -> None:
    """Four ranks send 2 x 3/4 of the message to the next, half of it on each rail."""
    flows = ring(JOB, 8.0)
    assert flows.src.tolist() == [0, 10, 1, 11, 2, 12, 3, 13]
    assert flows.dst.tolist() == [1, 11, 2, 12, 3, 13, 0, 10]
    assert set(flows.nbytes.tolist()) == {6.0}


def test_binary_tree_of_eight() -> None:
    """NCCL's drawing: 0 over 4, 4 over 2 and 6, 2 over 1 and 3, 6 over 5 and 7."""
    assert binary_tree(8).tolist() == [-1, 2, 4, 2, 0, 6, 4, 6]
    assert double_binary_tree(8)[1].tolist() == [1, 3, 1, 7, 5, 3, 5, -1]  # mirrored
    assert double_binary_tree(5)[1].tolist() == [1, -1, 3, 0, 3]  # or shifted by one


def test_permutation() -> None:
    flows = permutation(JOB, 8.0, 5)
    assert sorted(flows.src.tolist()) == sorted(flows.dst.tolist()) == sorted(JOB.ravel().tolist())
    assert (flows.src != flows.dst).all()
    assert (flows.src // 10 == flows.dst // 10).all()  # a flow stays on its rail
    assert permutation(JOB, 8.0, 5).dst.tolist() == flows.dst.tolist()
    assert any(permutation(JOB, 8.0, seed).dst.tolist() != flows.dst.tolist() for seed in range(9))


def test_incast() -> None:
    """Two readers and three storage ports in each of two zones; each reader takes a third from each port."""
    zone = np.array([0, 1, 0, 1, 0, 0, 0, 1, 1, 1])
    plane = np.zeros(10, np.int16)
    flows = incast(np.array([[0], [1], [2], [3]]), np.array([4, 5, 6, 7, 8, 9]), zone, plane, 9.0)
    assert len(flows) == 4 * 3
    assert (zone[flows.src] == zone[flows.dst]).all()
    assert set(flows.nbytes.tolist()) == {3.0}
    with pytest.raises(ValueError, match="no storage port"):
        incast(np.array([[0], [1]]), np.array([4]), zone, plane, 9.0)


def full_tree() -> tuple[np.ndarray, object]:
    fabric = wire_tree(build_tree(TreeRule(tiers=2, radix=8, uplinks=4, rails=1, core_policy="minimal"), 32), 32, 25.0)
    return np.arange(32)[:, None], fabric


def test_bisection_and_what_a_spine_and_a_leaf_cost() -> None:
    """Eight leaves with four endpoints and one link to each of four spines, 25 GB/s each."""
    every, fabric = full_tree()
    nothing = np.zeros(0, np.int64)
    network = fabric.network  # type: ignore[attr-defined]
    assert zone_cuts(fabric, links_alive(network, nothing, nothing)).tolist() == [[400.0]]  # type: ignore[arg-type]
    assert bisection(fabric, links_alive(network, nothing, nothing)).tolist() == [400.0]  # type: ignore[arg-type]
    spine = DegradedJob(fabric, every).remaining(np.array([8]), nothing)  # type: ignore[arg-type]
    assert (spine.endpoints_lost, spine.endpoints_cut_off, spine.nodes_left) == (0, 0, 32)
    assert spine.bisection_gbyte_s == 300.0
    assert spine.zone_gbyte_s == (300.0,)
    leaf = DegradedJob(fabric, every).remaining(np.array([0]), nothing)  # type: ignore[arg-type]
    assert (leaf.endpoints_lost, leaf.nodes_left, leaf.bisection_gbyte_s) == (4, 28, 350.0)
    own = np.flatnonzero((network.links.tier == 1) & (network.links.a == 2))
    cut = DegradedJob(fabric, every).remaining(nothing, own)  # type: ignore[arg-type]
    assert (cut.endpoints_lost, cut.endpoints_cut_off, cut.nodes_left) == (0, 4, 28)


def test_cable_length() -> None:
    """Three rows of 3 m and two racks of 0.6 m, up and down 1.5 m, a metre to spare; within a rack ten units."""
    assert cable_length(3, 2, 0, False, row_pitch=3.0, rack_width=0.6, riser=1.5, slack=1.0) == pytest.approx(14.2)
    assert cable_length(0, 0, 10, True, row_pitch=3.0, rack_width=0.6, riser=1.5, slack=1.0) == pytest.approx(1.4445)


def test_fields_and_slim_fly_degree() -> None:
    """GF(4): x + x = 0, and the square of x is x + 1. q = 28 of the DeepSeek-V3 table has 42 links a router."""
    add, times = field(4)
    assert add[2, 2] == 0
    assert times[2, 2] == 3
    assert [router_degree(5, 1), router_degree(27, -1), router_degree(28, 0)] == [7, 41, 42]
    with pytest.raises(ValueError, match="no prime power"):
        mms_links(28)


def test_nodes_stand_in_the_order_of_their_first_nic() -> None:
    """Node 0 has its first NIC on the second leaf and its second NIC on the first."""
    endpoints = SimpleNamespace(leaf=np.array([1, 0, 0, 1]), slot=np.zeros(4, int), zone=np.zeros(4, int))
    network: Any = SimpleNamespace(endpoints=endpoints, switches=SimpleNamespace(pod=np.zeros(2, int)))
    assert aligned(network, np.array([[0, 1], [2, 3]])).tolist() == [1, 0]
