"""Jobs on the shipped fabrics: routes between zones, orders of ranks, classes of traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.fabric.family import plan_fabric, wire
from ffplan.fabric.routing import job_loads
from ffplan.fabric.routing.link_loads import flow_loads, outcome
from ffplan.fabric.routing.traffic import one_by_one
from ffplan.fabric.routing.tree_routing import TreeRouting
from ffplan.fabric.routing.virtual_lanes import lane_rates
from ffplan.inputs.document import read_document
from tests.property.test_routing import assert_walks
from tests.support import ROOT, vary_design

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
    found = job_loads.counted_all_to_all(router, job, 89.0, kind)
    assert found is not None
    return found[0]


def test_all_to_all_over_zones_counted_and_listed(tmp_path: Path) -> None:
    design, fabric = load(
        vary_design(tmp_path, "fire-flyer-2", ("count: 1250", "count: 90"), ("count: 135", "count: 9"))
    )
    job = job_loads.pick_job(design, fabric, None, "aligned", 0)
    router = TreeRouting(fabric)
    flows = one_by_one(job.ports, fabric.network.endpoints.plane, 89.0)
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
