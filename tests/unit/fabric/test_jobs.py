"""Jobs on the shipped fabrics: routes between zones, orders of ranks, classes of traffic, losses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.fabric.family import plan_fabric, wire
from ffplan.fabric.routing import job_loads
from ffplan.fabric.routing.cuts import _zone_cuts
from ffplan.fabric.routing.degraded import DegradedJob, _links_alive, default_losses
from ffplan.fabric.routing.dragonfly_routing import _DragonflyRouting
from ffplan.fabric.routing.job_loads import aligned
from ffplan.fabric.routing.link_loads import flow_loads, lane_rates, outcome
from ffplan.fabric.routing.traffic import _binary_tree, _double_binary_tree, _one_by_one, incast, permutation, ring
from ffplan.fabric.routing.tree_routing import TreeRouting
from ffplan.fabric.sizing.fat_tree import _build_tree, _TreeRule
from ffplan.fabric.sizing.low_diameter import _router_degree
from ffplan.fabric.wiring.cabling import _cable_length
from ffplan.inputs.document import read_document
from tests.fabrics import bisection, field, mms_links, wire_tree
from tests.property.test_routing import assert_walks
from tests.support import ROOT, vary_design, wired

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.base.array_math import Floats
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.wiring.wiring import WiredFabric


def load(path: Path) -> tuple[ResolvedDesign, WiredFabric]:
    design = resolve(read_document(path, path.name), Catalog())
    return design, wire(design, plan_fabric(design))


def shipped(name: str) -> tuple[ResolvedDesign, WiredFabric]:
    return load(ROOT / "designs" / f"{name}.yaml")


def test_paths_between_zones_lead_where_they_should() -> None:
    _, fabric = shipped("fire-flyer-2")
    random = np.random.default_rng(3)
    src, dst = random.integers(0, len(fabric.network.endpoints), (2, 20_000))
    keep = src != dst
    src, dst = src[keep], dst[keep]
    for seed in (None, 7):
        routes = TreeRouting(fabric).paths(src, dst, seed)
        assert routes.reached.all()
        assert_walks(fabric, src, dst, routes.links, routes.reached)
    across = fabric.network.endpoints.zone[src] != fabric.network.endpoints.zone[dst]
    assert ((routes.links[:, 5] >= 0) == across).all()


def counted(router: TreeRouting, job: job_loads.JobNodes, kind: str) -> Floats:
    found = job_loads._counted_all_to_all(router, job, 89.0, kind)
    assert found is not None
    return found[0]


def test_all_to_all_over_zones_counted_and_listed(tmp_path: Path) -> None:
    design, fabric = load(
        vary_design(tmp_path, "fire-flyer-2", ("count: 1250", "count: 90"), ("count: 135", "count: 9"))
    )
    job = job_loads.pick_job(design, fabric, None, "aligned", 0)
    router = TreeRouting(fabric)
    flows = _one_by_one(job.ports, fabric.network.endpoints.plane, 89.0)
    listed, lost = flow_loads(router, flows.src, flows.dst, flows.nbytes)
    assert lost == 0
    assert np.allclose(listed, counted(router, job, "static"))
    adaptive, _ = job_loads.loads_of(router, flows, "adaptive", 0)
    assert np.allclose(adaptive, counted(router, job, "adaptive"))


def test_the_fire_flyer_rule_one_pair_of_nodes_across_zones() -> None:
    """Section III-B: only one pair of nodes communicates across zones. One tree over all ranks has ten."""
    design, fabric = shipped("fire-flyer-2")
    job = job_loads.pick_job(design, fabric, None, "aligned", 0)
    assert job_loads.pairs_across_zones(job, "tree") == 1
    assert job_loads.pairs_across_zones(job, "library-tree") == 10
    blind = job_loads.pick_job(design, fabric, None, "alternating", 0)
    assert job_loads.pairs_across_zones(blind, "library-tree") == 938


def test_storage_reads_stay_within_their_zone() -> None:
    design, fabric = shipped("fire-flyer-2")
    job = job_loads.pick_job(design, fabric, None, "aligned", 0)
    loads, lost = job_loads.loads_for(design, TreeRouting(fabric), job, "incast", routing="static", nbytes=1e6, seed=0)
    assert lost == 0
    assert loads.reshape(-1, 2)[fabric.network.links.tier == 3].sum() == 0
    # 625 readers of a zone share 135 storage ports: each sends 625 / 135 megabytes
    result = outcome(fabric.network, loads)
    assert result.ideal_s == pytest.approx(625 / 135 * 1e6 / 25e9)


def test_lane_rates() -> None:
    """Hand-worked: one link of 10; the first class needs 10 alone, the second 5. Half each: 5 and 5, so rates 0.5 and
    1."""
    one, two, rate = np.array([10.0]), np.array([5.0]), np.array([10.0])
    assert lane_rates(one, two, rate, 0.5).alone == (1.0, 2.0)
    assert lane_rates(one, two, rate, 0.5).together == (0.5, 1.0)
    # on links of their own they do not meet
    apart = lane_rates(np.array([10.0, 0.0]), np.array([0.0, 5.0]), np.array([10.0, 10.0]), 0.5)
    assert apart.together == apart.alone
    # the second is bound elsewhere to a rate of 0.4, so the first gets the 8 that it leaves
    bound = lane_rates(np.array([10.0, 0.0]), np.array([5.0, 25.0]), np.array([10.0, 10.0]), 0.5)
    assert bound.together == pytest.approx((0.8, 0.4))


def test_a_dragonfly_is_routed_whole() -> None:
    fabric = wired("dragonfly-a100").fabric
    with pytest.raises(ValueError, match="with all of its links"):
        _DragonflyRouting(fabric, np.ones(len(fabric.network.links), bool))
    member = np.zeros(len(fabric.network.endpoints), bool)
    member[:40] = True
    router = _DragonflyRouting(fabric)
    assert router.all_to_all(member, 1.0, "static") is None
    spread = router.all_to_all(member, 1.0, "adaptive")
    assert spread is not None
    ends = np.flatnonzero(member)
    assert spread[2 * ends].tolist() == [39.0] * 40


def test_one_of_each_kind_is_lost_and_one_link_of_a_hundred() -> None:
    """32,768 NICs on four planes of 128 leaves and 64 spines, with as many links between them."""
    losses = default_losses(wired("fire-flyer-next").fabric)
    assert [(loss.kind, loss.count, len(loss.pool)) for loss in losses] == [
        ("leaf", 1, 512),
        ("spine", 1, 256),
        ("plane", 1, 4),
        ("link", 328, 32_768),
    ]


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
    assert _binary_tree(8).tolist() == [-1, 2, 4, 2, 0, 6, 4, 6]
    assert _double_binary_tree(8)[1].tolist() == [1, 3, 1, 7, 5, 3, 5, -1]  # mirrored
    assert _double_binary_tree(5)[1].tolist() == [1, -1, 3, 0, 3]  # or shifted by one


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
    fabric = wire_tree(
        _build_tree(_TreeRule(tiers=2, radix=8, uplinks=4, rails=1, core_policy="minimal"), 32), 32, 25.0
    )
    return np.arange(32)[:, None], fabric


def test_bisection_and_what_a_spine_and_a_leaf_cost() -> None:
    """Eight leaves with four endpoints and one link to each of four spines, 25 GB/s each."""
    every, fabric = full_tree()
    nothing = np.zeros(0, np.int64)
    network = fabric.network  # type: ignore[attr-defined]
    assert _zone_cuts(fabric, _links_alive(network, nothing, nothing)).tolist() == [[400.0]]  # type: ignore[arg-type]
    assert bisection(fabric, _links_alive(network, nothing, nothing)).tolist() == [400.0]  # type: ignore[arg-type]
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
    assert _cable_length(3, 2, 0, False, row_pitch=3.0, rack_width=0.6, riser=1.5, slack=1.0) == pytest.approx(14.2)
    assert _cable_length(0, 0, 10, True, row_pitch=3.0, rack_width=0.6, riser=1.5, slack=1.0) == pytest.approx(1.4445)


def test_fields_and_slim_fly_degree() -> None:
    """GF(4): x + x = 0, and the square of x is x + 1. q = 28 of the DeepSeek-V3 table has 42 links a router."""
    add, times = field(4)
    assert add[2, 2] == 0
    assert times[2, 2] == 3
    assert [_router_degree(5, 1), _router_degree(27, -1), _router_degree(28, 0)] == [7, 41, 42]
    with pytest.raises(ValueError, match="no prime power"):
        mms_links(28)


def test_nodes_stand_in_the_order_of_their_first_nic() -> None:
    """Node 0 has its first NIC on the second leaf and its second NIC on the first."""
    endpoints = SimpleNamespace(leaf=np.array([1, 0, 0, 1]), slot=np.zeros(4, int), zone=np.zeros(4, int))
    network: Any = SimpleNamespace(endpoints=endpoints, switches=SimpleNamespace(pod=np.zeros(2, int)))
    assert aligned(network, np.array([[0, 1], [2, 3]])).tolist() == [1, 0]
