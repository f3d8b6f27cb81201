"""Branches of the formulas that few designs take, each on one that does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import ffplan
from ffplan.base.errors import InputError
from ffplan.fabric.routing.job_loads import flows_of, pick_job
from ffplan.fabric.sizing.leaf_fill import leaf_fill
from tests.support import ROOT, SMALL, vary_design, wired
from tests.support import ffplan as run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_ring_sends_to_the_next() -> None:
    own = wired("superpod-h100-4su")
    job = pick_job(own.design, own.fabric, 4, "aligned", 0)
    found = flows_of(own.design, own.fabric, job, "ring", 8.0, 0)
    assert found.dst.tolist() == np.roll(job.ports, -1, axis=0).ravel().tolist()
    assert set(found.nbytes.tolist()) == {2 * 3 / 4 * 8.0 / job.ports.shape[1]}


def test_an_even_change_that_cannot_be_built_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from ffplan.fabric.family import plan_fabric
    from ffplan.fabric.sizing import striping

    design = wired("pcie-a100-three-tier").design
    plan = plan_fabric(design)

    def refuse(_: object) -> None:
        raise InputError(design.document.finding("fabric-capacity", ("fabric",), "no", "none"))

    monkeypatch.setattr(striping, "plan_trees", refuse)
    assert striping.even_change(design, plan) is None


def test_spines_of_a_pod_share_the_uplinks_evenly(tmp_path: Path) -> None:
    """64 uplinks of a leaf over 60 spines; 64 or less that divide them would do."""
    file = vary_design(tmp_path, "spectrum-x-4096", ("spine: {per_pod: 64}", "spine: {per_pod: 60}"))
    done = run("design", str(file))
    assert done.code == 2
    assert "uplinks of a leaf cannot be dealt evenly over 60 spines" in done.err
    assert "64" in done.err.partition("\n")[2]


def test_racks_hold_nodes_of_other_networks_too(tmp_path: Path) -> None:
    """Storage nodes that the compute fabric does not join take racks between compute and switches all the same."""
    floor = (ROOT / "designs" / "superpod-h100-4su.yaml").read_text().partition("floor:")[2].partition("\n\n")[0]
    text = (ROOT / "designs" / "h100-1k-four-networks.yaml").read_text()
    whole = tmp_path / "whole.yaml"
    racks = text.replace("per_rack: 4}", "rack_units: 8, per_rack: 4}").replace(
        "count: 16}", "count: 16, rack_units: 2}"
    )
    whole.write_text(f"{racks}\nfloor:{floor}\n")
    less = tmp_path / "less.yaml"
    less.write_text(whole.read_text().replace("count: 16, rack", "count: 400, rack"))
    done = [run("fabric", "export", str(file), "--to", "cables") for file in (whole, less)]
    assert [run.code for run in done] == [0, 0], done[0].err + done[1].err
    assert done[0].out != done[1].out  # the leaves stand further along


def test_given_downlinks_of_a_leaf_leave_no_choice_of_uplinks() -> None:
    """Over arrays as one by one: HPN's leaves have 128 ports of 200G down, and as many up as the ratio asks for."""
    text = (ROOT / "designs" / "hpn-dual-plane.yaml").read_text().replace("uplinks: 60, ", "")
    many = ffplan.assess_many(text, {"fabric.oversubscription": np.array([2.0, 4.0])})
    for place, ratio in enumerate((2, 4)):
        one = ffplan.assess_many(text, {"fabric.oversubscription": float(ratio)})
        assert many["fabric.links.total"][place] == one["fabric.links.total"][()]
    # 1,920 nodes on 15 units of 8 leaves a plane; 32 or 16 links of 400G from each of 240 leaves
    assert np.diff(many["fabric.links.total"]) == [-240 * 16]


def test_uplinks_are_those_that_the_spines_of_a_pod_can_share(tmp_path: Path) -> None:
    """3:2 over 128 ports wants 52 uplinks; 27 spines share 54, the least above, and 24 none that a unit leaves."""
    changed = ("  leaf: {downlinks: 64, uplinks: 64}\n", "  oversubscription: 3:2\n")
    file = vary_design(tmp_path, "spectrum-x-4096", changed, ("spine: {per_pod: 64}", "spine: {per_pod: 27}"))
    found = wired(file)
    rule = found.fabric.trees[0].tree.rule
    assert (rule.uplinks, rule.downlinks) == (54, 74)
    file = vary_design(tmp_path, "spectrum-x-4096", changed, ("spine: {per_pod: 64}", "spine: {per_pod: 24}"))
    assert "use 1 or 2 or 4 or 13 or 26 or 52" in run("design", str(file)).err


def test_links_between_zones_leave_room_on_every_leaf() -> None:
    """Four links on four leaves of 8 downlinks leave seven ports each: 24 endpoints fill three, and three are left."""
    own = wired(SMALL / "joined.yaml", str(SMALL / "parts"))
    design, tree = own.design, own.fabric.trees[0].tree
    assert (design.trunk_links, tree.leaf, tree.rule.downlinks) == (4, 4, 8)
    assert leaf_fill(design, tree, (19, 5)) == [(3, 7), (1, 3)]
    fewer = replace(tree, leaf=3)  # four links on three leaves: two on one of them
    assert leaf_fill(design, fewer, (19, 5)) == [(4, 6)]


def test_the_first_reason_of_a_grid_is_kept(tmp_path: Path) -> None:
    """More nodes than ports, and fewer access points than nodes."""
    path = vary_design(tmp_path, "pcie-a100-three-tier", ("access_points: 1600", "access_points: 1300"))
    found = ffplan.assess_many(path, {"nodes[0].count": np.array([1200, 1500, 20_000])})
    assert found.why.tolist()[1:] != found.why.tolist()[2:]
    assert "too few ports" in found.why[2]
