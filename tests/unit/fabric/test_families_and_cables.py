"""Families, capacities, scale-up domains and cables of leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ffplan.fabric.sizing import scale_up as s
from ffplan.fabric.sizing.endpoints import MOST_RADIX
from ffplan.fabric.sizing.families import Candidate, Request, _plane_trees, _rail_trees, candidates
from ffplan.fabric.sizing.fat_tree import Pod, _TreeRule
from ffplan.fabric.sizing.formulas import leaf_uplinks
from ffplan.fabric.sizing.leaf_cables import _packed_cables, _railed_cables
from ffplan.fabric.sizing.leaf_fill import _parts_between, _tree_cables
from tests.support import assess_file, wired


@pytest.mark.parametrize("tiers", [1, 2, 3])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.25, 5 / 3, 2.0, 3.0, 7.0, 15.0])
def test_capacity_grows_with_the_radix(tiers: int, ratio: float) -> None:
    capacities = [
        _TreeRule(
            tiers=tiers, radix=radix, uplinks=int(leaf_uplinks(radix, ratio)), rails=1, core_policy="equal-stripe"
        ).capacity
        for radix in range(4, MOST_RADIX + 2)
    ]
    assert capacities == sorted(capacities)
    assert capacities[-1] > capacities[0]


def planes_by_port(planes: int, most: int | None) -> Candidate | str:
    """Return planes by port on a switch of 64 ports, each of which splits into `most`."""
    ask = Request(
        endpoints=512,
        radix=64,
        rails=1,
        ratio=1.0,
        core_policy="minimal",
        tiers=(2,),
        planes=(planes,),
        most_split=most,
    )
    return list(_plane_trees(ask))[-1]


@pytest.mark.parametrize(("planes", "most"), [(2, 2), (2, 4), (4, 4), (4, None)])
def test_a_port_splits_into_as_many_planes_as_it_has_parts(planes: int, most: int | None) -> None:
    found = planes_by_port(planes, most)
    assert isinstance(found, Candidate)
    assert found.links_per_cable == planes


@pytest.mark.parametrize(("planes", "most"), [(4, 2), (2, 1), (8, 4)])
def test_more_planes_than_parts_are_refused(planes: int, most: int) -> None:
    assert planes_by_port(planes, most) == f"{planes} planes by port: the switch splits a port into {most} at most"


@pytest.mark.parametrize(("nodes", "switches"), [(39, 8), (40, 8), (41, None)])
def test_as_many_nodes_as_a_switch_has_ports_need_one_switch_a_rail(nodes: int, switches: int | None) -> None:
    """Eight rails on switches of 40 ports; a node more has no place on one tier."""
    ask = Request(endpoints=8 * nodes, radix=40, rails=8, ratio=1.0, core_policy="minimal", tiers=(1,), planes=(1,))
    (found,) = _rail_trees(ask)
    if switches is None:
        assert isinstance(found, str)
    else:
        assert isinstance(found, Candidate)
        assert found.switches == switches
        assert "1 rail on each switch" in found.note


def test_leaves_filled_one_after_the_other() -> None:
    """Two leaves of 8 downlinks, split in two: 11 endpoints fill four ports of one and two of the other."""
    assert _packed_cables(11, 0, 2, 8, 2) == 6


def test_others_take_what_rails_leave_free() -> None:
    """Two leaves of 8 with 3 ports of rails: two ports each, one half free; 3 others take both halves and a port."""
    assert _railed_cables([(2, 3)], 3, 8, 2) == 5


@pytest.mark.parametrize(
    ("name", "below", "above", "bought"),
    [
        ("superpod-b300-4su", 13, 7, 7 + 4),  # two links a module at both ends: ceil(13/2) + ceil(7/2)
        ("dgx-a100-10k", 13, 7, 20),  # ports whole: as many as cables are laid
    ],
)
def test_modules_between_switches(name: str, below: int, above: int, bought: int) -> None:
    design = wired(name).design
    assert _parts_between(design, below + above, below, above) == bought


def test_cables_of_pods_that_are_not_all_full() -> None:
    """Three pods of 4 leaves with 8 uplinks, one of 2, and 20 links to cores.

    Two links of a pair share a port where a leaf has an even number to each spine: 8 / 4 in full pods, 8 / 8 in the
    last.
    """
    tree = wired("dgx-a100-10k").fabric.trees[0].tree
    rule = replace(tree.rule, uplinks=8, splits=(2, 2))
    some = replace(tree, rule=rule, spine_core=20, full_pods=3, pod=Pod(4, 4, 1), last_pod=Pod(2, 8, 1))
    assert _tree_cables(some, 1) == 20 + 96 + 16
    assert _tree_cables(some, 2) == 20 + 48 + 16


def test_a_switched_domain() -> None:
    """GB200 NVL72: 72 GPUs with 18 links; NVIDIA prints 130 TB/s both ways for all, 64.8 TB/s each way."""
    assert s.switch_links(72, 18) == 1296
    assert s.switch_bisection(72, 900.0) == 32_400.0


def test_a_mesh() -> None:
    """Eight MI300X: 28 links of 64 GB/s each way; 4 x 4 of them cross the middle. Three: one against two."""
    assert s.mesh_links(8) == 28
    assert s.mesh_bisection(8, 448.0) == 16 * 64.0
    assert s.mesh_bisection(3, 10.0) == 2 * 5.0


@pytest.mark.parametrize(
    ("axes", "links", "rate", "across"),
    [
        ((16, 16), 512, 200.0, 1600.0),  # TPU v5e: 1.6 TB/s in its documentation
        ((4, 4, 4), 192, 300.0, 1600.0),
        ((2, 4), 12, 100.0, 100.0),  # four links along the pair, eight along the ring
    ],
)
def test_a_torus(axes: tuple[int, ...], links: int, rate: float, across: float) -> None:
    assert s.torus_links(axes) == links
    assert s.torus_bisection(axes, rate) == across


@pytest.mark.parametrize(
    ("name", "kind", "switches", "links", "across"),
    [
        ("gb200-nvl72-64", "switch", 18, 1296, 32_400.0),
        ("superpod-h100-4su", "switch", 4, 144, 1800.0),
        ("mi355x-pod", "mesh", 0, 28, None),
        ("tpu-v6e-pod", "torus", 0, 512, None),
        ("deepseek-v3-2048", "switch", None, None, None),
    ],
)
def test_what_a_design_says_of_its_domains(
    name: str, kind: str, switches: int | None, links: int | None, across: float | None
) -> None:
    found = assess_file(name).fabric.scale_up
    assert found is not None
    assert (found.kind, found.switches_per_domain, found.links_per_domain) == (kind, switches, links)
    assert across is None or found.bisection_gbyte_s == pytest.approx(across)


@pytest.mark.parametrize(
    ("endpoints", "tiers", "leaf", "spine", "core"), [(65, (1, 2, 3), 2, 0, 0), (65, (2, 3), 4, 2, 0)]
)
def test_planes_take_the_fewest_of_the_tiers_asked_for(
    endpoints: int, tiers: tuple[int, ...], leaf: int, spine: int, core: int
) -> None:
    """65 NICs with a port in each of two planes: a switch of 128 half ports for each plane, or two-tier planes."""
    ask = Request(
        endpoints=65, radix=64, rails=1, ratio=1.0, core_policy="minimal", tiers=tiers, planes=(2,), most_split=2
    )
    (found,) = [one for one in candidates(ask)[0] if one.family.startswith("2 planes by port")]
    assert (found.leaf, found.spine, found.core) == (leaf, spine, 0)
    only = Request(
        endpoints=5000, radix=64, rails=1, ratio=1.0, core_policy="minimal", tiers=(1,), planes=(2,), most_split=2
    )
    assert "2 planes by port, one tier: 128" in candidates(only)[1]
