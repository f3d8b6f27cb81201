"""Hand-worked dragonflies: counts, links, cuts, and where flows go; source: Kim et al., ISCA 2008."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.fabric.family import fabric_cuts, plan_fabric, routing_of, wire
from ffplan.fabric.routing import job_loads
from ffplan.fabric.routing.dragonfly_routing import _best_mixture, _GroupTraffic, _minimal_loads, _valiant_loads
from ffplan.fabric.routing.link_loads import outcome
from ffplan.fabric.sizing.low_diameter import _dragonfly_taper, dragonfly_bisection, dragonfly_groups
from ffplan.fabric.wiring.links import _global_port
from tests.fabrics import dragonfly_of
from tests.support import document, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.design.resolved import ResolvedDesign

DESIGN = """
name: small
nodes: [{role: compute, server: dgx-a100-320gb, count: 200}]
fabric:
  family: dragonfly
  switch: qm8700
  link: {endpoint: hdr-dac, inter_switch: hdr-aoc}
site: {pue: 1.25}
"""


def small(count: int = 200) -> ResolvedDesign:
    return resolve(document(DESIGN.replace("200}", f"{count}}}")), Catalog())


def test_counts_by_hand() -> None:
    """40 ports: p = h = 10, a = 20. 1,600 NICs are 8 groups of 200; 200 global ports over 7 peers are 28 each."""
    plan = plan_fabric(small())
    assert plan.switches_by_role == {"router": 160}
    assert plan.links_by_tier == {"endpoint": 1600, "intra_group": 8 * 190, "inter_group": 28 * 28}
    assert (plan.spare_ports, plan.switches, plan.links) == (0, 160, 1600 + 1520 + 784)
    assert plan.oversubscription == pytest.approx(200 / 196)
    assert plan.bisection_gbyte_s == pytest.approx(16 * 28 * 25)  # four groups against four
    assert plan.inter_switch_cables == 1520 + 784
    assert dragonfly_groups(201, 40) == dragonfly_groups(1, 40) == 2
    assert dragonfly_bisection(3, 100, 20, 25.0, 1e9) == (100 + 100) * 25
    assert dragonfly_bisection(21, 10, 20, 25.0, 1e9) == 1100 * 25  # routers of group 1 by where their links lead
    assert dragonfly_bisection(8, 28, 20, 25.0, 100.0) == 50.0
    assert _dragonfly_taper(200, 25.0, 196, 25.0) == pytest.approx(200 / 196)


def test_a_cut_holds_half_of_the_links_out_of_a_group() -> None:
    design = small()
    (cut,) = fabric_cuts(design, plan_fabric(design), np.array([25, 26, 200]))
    assert cut.sets.tolist() == [1, 2, 8]
    assert (cut.links, cut.gbyte_s) == (196, 196 * 25 / 2)


def test_global_ports_follow_the_distance_of_groups() -> None:
    shape = dragonfly_of(8, 40)
    one, two, turn = np.array([0, 7, 3]), np.array([1, 0, 2]), np.array([0, 1, 27])
    assert _global_port(shape, one, two, turn).tolist() == [0, 7, 6 + 27 * 7]


def test_loads_of_one_pair_of_groups() -> None:
    """All of group 0 sends to group 1: 28 links carry it, or with detours all 196, those to others twice as long."""
    shape = dragonfly_of(8, 40)
    src = np.arange(20)
    traffic = _GroupTraffic.of_flows(shape, src, src + 20, np.full(20, 196.0))
    inside = 2 * 8 * 190
    short, long = _minimal_loads(traffic)[inside:], _valiant_loads(traffic)[inside:]
    assert sorted(set(short.round(9).tolist())) == [0.0, 20 * 196 / 28]
    assert short.sum() == pytest.approx(20 * 196)
    assert long.sum() == pytest.approx(2 * 20 * 196)
    assert long.max() == pytest.approx(20 * 196 / 6 / 28)
    # at the best a seventh goes straight, and all links out of the group are alike
    assert _best_mixture(traffic)[inside:].max() == pytest.approx(20 * 196 / 7 / 28)


def test_a_uniform_load_takes_no_detours() -> None:
    design = small()
    fabric = wire(design, plan_fabric(design))
    job = job_loads.pick_job(design, fabric, None, "aligned", 0)
    counted = job_loads._counted_all_to_all(routing_of(fabric), job, 1599.0, "adaptive")
    assert counted is not None
    load, lost = counted
    flows = job_loads.flows_of(design, fabric, job, "all-to-all", 1599.0, 0)
    listed, _ = job_loads.loads_of(routing_of(fabric), flows, "adaptive", 0)
    assert lost == 0
    assert np.allclose(load, listed)
    assert outcome(fabric.network, load).share == 1.0
    across = load[2 * np.flatnonzero(fabric.network.links.tier == 5)]
    assert np.allclose(across, 200 * 200 / 28 * 1599 / 8 / 1599)


def test_rails_of_several_planes_are_counted_apart() -> None:
    text = DESIGN.replace("family: dragonfly", "family: dragonfly\n  planes: 4").replace("200}", "20}")
    design = resolve(document(text), Catalog())
    fabric = wire(design, plan_fabric(design))
    job = job_loads.pick_job(design, fabric, None, "aligned", 0)
    load, lost = job_loads.loads_for(
        design, routing_of(fabric), job, "rail-all-to-all", routing="adaptive", nbytes=8e9, seed=0
    )
    assert lost == 0
    assert load[: 2 * len(fabric.network.endpoints)] == pytest.approx(1e9)


def test_a_full_dragonfly_has_as_many_groups_as_global_ports_and_one() -> None:
    assert plan_fabric(small(200 * 201 // 8)).switches_by_role == {"router": 20 * 201}


def test_what_a_dragonfly_refuses(tmp_path: Path) -> None:
    trees = (("family: fat-tree", "family: dragonfly"), ("tiers: 3", "tiers: 1"))
    path = str(vary_design(tmp_path, "dgx-a100-10k", *trees))
    done = ffplan("design", path)
    assert done.code == 2
    assert "`tiers` belongs to trees" in done.err
    assert "`core_policy` belongs to trees" in done.err
    (tmp_path / "df.yaml").write_text(DESIGN.replace("200}", "5026}"))
    done = ffplan("design", str(tmp_path / "df.yaml"))
    assert done.code == 2
    assert "a balanced dragonfly of 40-port routers has 40,200" in done.err
    (tmp_path / "df.yaml").write_text(DESIGN)
    for command in (["faults"], ["verify", "--with", "opensm"]):
        done = ffplan(*command, str(tmp_path / "df.yaml"))
        assert done.code == 2
        assert "is a dragonfly" in done.err
    assert ffplan("fabric route", "fire-flyer-2", "-r", "valiant").code == 2
    done = ffplan("fabric route", "fire-flyer-2", "-t", "all-to-all", "-r", "valiant")
    assert done.code == 2
    assert "a fat-tree has no valiant routing; it has static, ecmp, adaptive" in done.err


def test_a_design_of_one_node_has_one_host(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(DESIGN.replace("200}", "1}"))
    done = ffplan("fabric export", str(tmp_path / "one.yaml"), "--to", "hosts")
    assert (done.code, done.out, done.err) == (0, "compute-1\n", "")


def test_an_exchange_over_all_groups_needs_no_detours(tmp_path: Path) -> None:
    """Four groups of 200 GPUs: 198 links of 25 GB/s out of each carry 150 bytes a byte, 33 GB/s; a NIC carries 24.2."""
    file = tmp_path / "df.yaml"
    file.write_text(
        "name: df\nnodes: [{role: compute, server: hgx-h100-8nic, count: 100}]\n"
        "fabric: {family: dragonfly, switch: qm8700, link: {endpoint: hdr-dac, inter_switch: hdr-aoc}}\n"
        "communication: {libraries: [nccl], message_size: 1 GiB}\nsite: {pue: 1.3}\n"
    )
    (row,) = json.loads(ffplan(f"collective {file} --op all-to-all -a direct -f json").out)["rows"]
    assert row["limited_by"] == "nic"
    assert (row["runner_up"], row["runner_up_gbyte_s"]) == ("group_links", pytest.approx(33.0))
    route = ffplan(f"fabric route {file} -t all-to-all -r adaptive").out
    assert "100 % of the ideal" in route
