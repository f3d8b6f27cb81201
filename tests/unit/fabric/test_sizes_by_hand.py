"""Sizes of every family on switches of eight ports, the graphs of Slim Fly, and the links that a job crosses."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ffplan.fabric.sizing.endpoints import _interzone_finding, _rails_finding
from ffplan.fabric.sizing.families import Candidate, Request, candidates
from ffplan.fabric.sizing.low_diameter import _delta_of, _prime_power, _router_degree
from ffplan.fabric.sizing.plan import _dragonfly_cuts, reachable_nodes, zones_of
from ffplan.fabric.sizing.striping import switches_by_policy
from ffplan.fabric.sizing.tree_cuts import _leaf_of_unit, _tree_cuts
from tests.fabrics import field, mms_links
from tests.support import document


def sized(**changed: Any) -> tuple[dict[str, Candidate], list[str]]:
    """Return what holds 16 endpoints of one NIC a node, or other numbers, and what does not."""
    usual = {"endpoints": 16, "radix": 8, "rails": 1, "ratio": 1.0, "core_policy": "minimal", "tiers": (1, 2, 3)}
    found, small = candidates(Request(**{**usual, "planes": (2,), "most_split": None, **changed}))
    return {item.family: item for item in found}, small


TWO, THREE = "fat-tree, two tiers", "fat-tree, three tiers"
BY_NIC, BY_PORT = "2 planes by NIC", "2 planes by port"
RAILS, RAILS_3 = "rail-only, two tiers", "rail-only, three tiers"
UNITS, UNITS_3 = "rail-optimised, two tiers", "rail-optimised, three tiers"


@pytest.mark.parametrize(
    ("asked", "family", "counts", "links", "holds", "following"),
    [
        # four leaves of four up and four down, two spines; a fifth leaf needs four spines, for one link to each
        ({}, TWO, (4, 2, 0), 16, (16, 32), (20, 9)),
        ({"endpoints": 17}, TWO, (5, 4, 0), 20, (20, 32), (24, 10)),
        ({"endpoints": 32}, TWO, (8, 4, 0), 32, (32, 32), (None, None)),
        ({}, THREE, (4, 4, 2), 32, (16, 128), (20, 13)),
        ({"endpoints": 128}, THREE, (32, 32, 16), 256, (128, 128), (None, None)),
        # at 3:1 six ports go down and two up
        ({"endpoints": 48, "ratio": 3.0}, TWO, (8, 2, 0), 16, (48, 48), (None, None)),
        # a plane holds half of the ports on whole ports, or all of them on 16 halves of eight
        ({"endpoints": 64, "rails": 4}, BY_NIC, (16, 8, 0), 64, (64, 64), (None, None)),
        ({"endpoints": 24, "rails": 4}, BY_NIC, (6, 4, 0), 24, (24, 64), (32, 12)),
        ({"tiers": (2, 3)}, BY_PORT, (4, 2, 0), 32, (16, 128), (24, 10)),
        ({}, f"{BY_PORT}, one tier", (2, 0, 0), 0, (16, 16), (None, None)),
        ({"endpoints": 17}, BY_PORT, (6, 4, 0), 48, (24, 128), (32, 12)),
        ({"endpoints": 128}, BY_PORT, (32, 16, 0), 256, (128, 128), (None, None)),
        # four trees of four nodes each; units of four nodes have a leaf for each of four rails
        ({"endpoints": 64, "rails": 4}, RAILS, (16, 8, 0), 64, (64, 128), (80, 36)),
        ({"endpoints": 16, "rails": 4}, RAILS, (4, 4, 0), 16, (16, 128), (32, 12)),
        ({"endpoints": 64, "rails": 4}, RAILS_3, (16, 16, 8), 128, (64, 512), (80, 52)),
        ({"endpoints": 16, "rails": 4}, UNITS, (4, 2, 0), 16, (16, 32), (32, 12)),
        ({"endpoints": 24, "rails": 4}, UNITS, (8, 4, 0), 32, (32, 32), (None, None)),
        ({"endpoints": 64, "rails": 4}, UNITS_3, (16, 16, 8), 128, (64, 128), (80, 50)),
        # whole rails share a switch while they fit: two of four nodes each, one of six; all of two nodes
        ({"endpoints": 16, "rails": 4}, "rail-only, one tier", (2, 0, 0), 0, (16, 32), (32, 4)),
        ({"endpoints": 24, "rails": 4}, "rail-only, one tier", (4, 0, 0), 0, (32, 32), (None, None)),
        ({"endpoints": 8, "rails": 4}, "rail-only, one tier", (1, 0, 0), 0, (8, 32), (16, 2)),
        ({"endpoints": 8, "rails": 4}, "fat-tree, one tier", (1, 0, 0), 0, (8, 8), (None, None)),
    ],
)
def test_trees_of_eight_ports(
    asked: dict[str, Any],
    family: str,
    counts: tuple[int, int, int],
    links: int,
    holds: tuple[int, int],
    following: tuple[int | None, int | None],
) -> None:
    found = sized(**asked)[0][family]
    assert (found.leaf, found.spine, found.core) == counts
    assert (found.inter_switch_links, found.router, found.switches) == (links, 0, sum(counts))
    assert (found.endpoints, found.capacity) == holds
    assert (found.next_endpoints, found.next_switches) == following
    assert found.diameter == {"one tier": 1, "three tiers": 5}.get(family.partition(", ")[2], 3)
    by_port = family.startswith(BY_PORT)
    assert found.endpoint_links == asked.get("endpoints", 16) * (2 if by_port else 1)
    assert found.links_per_cable == (2 if by_port else 1)


@pytest.mark.parametrize(
    ("endpoints", "groups", "links", "following"),
    [
        (1, 2, 20, (24, 12)),  # two groups at least
        (16, 2, 20, (24, 12)),
        (17, 3, 30, (32, 16)),
        (32, 4, 36, (40, 20)),
        (33, 5, 50, (48, 24)),
        (72, 9, 90, (None, None)),
    ],
)
def test_dragonflies_of_eight_ports(endpoints: int, groups: int, links: int, following: Any) -> None:
    """Groups of four routers with two endpoints and two global links: six links inside, and each pair of groups has as
    many of the eight global links of a group as go round."""
    found = sized(endpoints=endpoints)[0]["dragonfly"]
    assert (found.router, found.endpoints, found.inter_switch_links) == (4 * groups, 8 * groups, links)
    assert (found.capacity, found.next_endpoints, found.next_switches, found.diameter) == (72, *following, 4)
    assert found.note == f"{groups} groups of 4 routers with 2 endpoints and 2 global links each"


@pytest.mark.parametrize(("endpoints", "each"), [(1, 1), (18, 1), (19, 2), (36, 2), (37, 3), (54, 3)])
def test_slim_flies_of_eight_ports(endpoints: int, each: int) -> None:
    """q = 3 gives 18 routers with 5 links and room for 3 endpoints; nothing larger has 8 ports."""
    found = sized(endpoints=endpoints)[0]["slim-fly"]
    assert (found.router, found.inter_switch_links, found.endpoints, found.capacity) == (18, 45, 18 * each, 54)
    assert (found.next_endpoints, found.next_switches, found.diameter) == (None, None, 3)
    assert found.note == f"q = 3, {each} of 3 endpoints on each router"


def test_a_slim_fly_that_is_no_graph_says_so() -> None:
    """On 11 ports q = 4 and 5 fit, both real; on 54 ports q = 23 is one and holds 19,044, q = 24 would hold 20,736."""
    found = sized(radix=11, endpoints=60)[0]["slim-fly"]
    assert (found.router, found.next_endpoints, found.next_switches) == (32, 200, 50)
    real, none = (sized(radix=54, endpoints=count)[0]["slim-fly"] for count in (19_044, 19_045))
    assert (real.router, real.note) == (1058, "q = 23, 18 of 18 endpoints on each router")
    assert (real.next_endpoints, real.capacity, none.capacity) == (None, 20_736, 20_736)
    assert none.router == 1152
    assert none.note.startswith(
        "q = 24, 17 of 18 endpoints on each router; 24 is not a prime power, so no such graph exists"
    )


def test_what_is_too_small_says_what_it_holds() -> None:
    found, small = sized(endpoints=1025)
    assert not found
    assert small == [
        "fat-tree, one tier: 8",
        "fat-tree, two tiers: 32",
        "fat-tree, three tiers: 128",
        f"{BY_NIC}: a node with 1 NIC joins 1 of them, and nothing joins the planes",
        f"{BY_PORT}, three tiers: 1,024",
        "dragonfly: 72",
        "slim-fly: 54",
    ]
    _, few = sized(endpoints=300, rails=4)
    assert "rail-optimised, two tiers: 32" in few
    assert "rail-only, one tier: 32" in few
    assert f"{BY_NIC}, three tiers: 256" in few
    _, odd = sized(endpoints=60, rails=3)
    assert f"{BY_NIC}: 3 NICs of a node cannot be dealt evenly over them" in odd


def test_the_fewest_switches_come_first() -> None:
    found, _ = candidates(
        Request(endpoints=64, radix=8, rails=4, ratio=1.0, core_policy="minimal", tiers=(2, 3), planes=(2,))
    )
    order = [(item.switches, item.inter_switch_links, item.family) for item in found]
    assert order == sorted(order)
    assert len(order) > 5


@pytest.mark.parametrize("q", [3, 4, 5, 7, 8, 9, 11, 13])
def test_a_slim_fly_reaches_every_router_in_two_steps(q: int) -> None:
    """2 q^2 routers of one degree, (3 q - delta) / 2; any two are neighbours or have one in common."""
    delta = _delta_of(q)
    assert delta is not None
    one, two = mms_links(q)
    routers = 2 * q * q
    assert (one < two).all()
    near = np.zeros((routers, routers), int)
    near[one, two] = near[two, one] = 1
    assert set(near.sum(axis=0)) == {_router_degree(q, delta)}
    assert len(one) == routers * _router_degree(q, delta) // 2
    assert ((near + near @ near + np.eye(routers, dtype=int)) > 0).all()


@pytest.mark.parametrize("q", [2, 3, 4, 5, 8, 9, 16, 25, 27])
def test_a_field_is_one(q: int) -> None:
    """Sums and products are those of a field: 0 and 1, inverses, and products over sums."""
    add, times = field(q)
    every = np.arange(q)
    assert (add == add.T).all()
    assert (times == times.T).all()
    assert (add[0] == every).all()
    assert (times[1] == every).all()
    assert not times[0].any()
    assert all(sorted(row) == every.tolist() for row in add.tolist())
    assert all(sorted(row) == every.tolist() for row in times[1:].tolist())
    chosen = range(q) if q < 10 else range(0, q, 3)
    for a, b, c in product(chosen, repeat=3):
        assert add[add[a, b], c] == add[a, add[b, c]]
        assert times[times[a, b], c] == times[a, times[b, c]]
        assert times[a, add[b, c]] == add[times[a, b], times[a, c]]


@pytest.mark.parametrize(
    ("q", "found"),
    [(1, None), (2, (2, 1)), (6, None), (7, (7, 1)), (8, (2, 3)), (9, (3, 2)), (12, None), (49, (7, 2)), (50, None)],
)
def test_prime_powers(q: int, found: tuple[int, int] | None) -> None:
    assert _prime_power(q) == found
    if found is None and q > 1:
        with pytest.raises(ValueError, match=f"{q} is no prime power"):
            field(q)


def test_a_graph_needs_a_size_that_is_not_2_modulo_4() -> None:
    with pytest.raises(ValueError, match="6 is 2 modulo 4"):
        mms_links(6)


def job(**changed: Any) -> tuple[Any, Any]:
    """Return a design of 64 nodes with four NICs of 25 GB/s, and its tree of leaves of 20 ports down and up."""
    fields = {"family": "rail-optimised", "scalable_unit": None, "zones": 1, "inter_zone": None}
    fields |= changed.pop("fabric", {})
    plan = {"switches_by_role": {"leaf": 16}, "planes": 1, "zones": 1, "uplinks": 20, "downlinks": 20, "tiers": 2}
    plan |= {"link_gbyte_s": 25.0, "links_by_tier": {"spine_core": 0}, "pod_leaves": 2, **changed.pop("plan", {})}
    group = SimpleNamespace(**{"count": 64, "zones": "split", **changed.pop("group", {})})
    design = SimpleNamespace(
        **{
            "spec": SimpleNamespace(fabric=SimpleNamespace(**fields)),
            "compute": SimpleNamespace(group=group, fabric_nics=range(4)),
            "rails_per_leaf": 1,
            "stripes": 1,
            "trunk_gbyte_s": 25.0,
            "trunk_links": 0,
            "job_groups": (0,),
            **changed,
        }
    )
    return design, SimpleNamespace(**plan)


def cuts(nodes: float, **changed: Any) -> dict[str, Any]:
    design, plan = job(**changed)
    return {item.name: item for item in _tree_cuts(design, plan, nodes)}


@pytest.fixture(autouse=True)
def _four_rails(monkeypatch: pytest.MonkeyPatch) -> None:
    from ffplan.fabric.sizing import tree_cuts

    monkeypatch.setattr(tree_cuts, "rails_of", lambda *_: 4)
    monkeypatch.setattr(tree_cuts, "_zone_demand", lambda *_: (256,))


@pytest.mark.parametrize(
    ("nodes", "sets", "held"), [(1, 1, 1), (2, 1, 1), (20, 1, 1), (21, 2, 20 / 21), (40, 2, 0.5), (41, 3, 20 / 41)]
)
def test_leaves_that_a_job_spans(nodes: int, sets: int, held: float) -> None:
    """Twenty nodes to the leaf of a rail; a job of one leaf crosses none. Four NICs of a node have 80 uplinks. Of 21
    nodes, 20 send one piece of 21 past their leaf, and one sends 20; between rails all but those of the node leave."""
    found = cuts(nodes)["leaf_uplinks"]
    assert (found.sets, found.links, found.gbyte_s, found.below) == (sets, 80, 2000.0, 20)
    assert found.label == "uplinks of a leaf on each of 4 rails"
    assert (found.crossing, found.lane, found.leaves) == (1, 1, 4)
    assert found.held == pytest.approx(held)
    assert found.aligned == pytest.approx(held * (1 - held))
    assert found.mixed == pytest.approx(held * (nodes - 1) / nodes)
    assert set(cuts(nodes)) == {"leaf_uplinks"}


def test_what_changes_the_leaves_of_a_job() -> None:
    """Units hold fewer nodes; rails that share a leaf, too, and pieces between those rails may stay on it."""
    assert (cuts(21, fabric={"scalable_unit": 8})["leaf_uplinks"].sets, cuts(8)["leaf_uplinks"].sets) == (3, 1)
    shared = cuts(21, rails_per_leaf=4)["leaf_uplinks"]
    assert (shared.sets, shared.below, shared.links, shared.label) == (5, 5, 20, "uplinks of a leaf")
    assert (shared.aligned, shared.mixed) == pytest.approx((5 * 16 / 21**2,) * 2)
    two = cuts(21, rails_per_leaf=2)["leaf_uplinks"]
    # ten nodes to two leaves; of the three other rails one is on the same leaf
    assert two.aligned == pytest.approx(10 * 11 / 21**2)
    assert two.mixed == pytest.approx((10 * 11 + 2 * 10 * 20) / 3 / 21**2)
    assert cuts(64, plan={"switches_by_role": {"leaf": 1}}) == {}
    assert cuts(64, plan={"uplinks": 0}) == {}
    planes = cuts(64, stripes=2, plan={"switches_by_role": {"leaf": 32}, "planes": 2})["leaf_uplinks"]
    assert (planes.links, planes.gbyte_s) == (160, 4000.0)
    assert cuts(64, plan={"switches_by_role": {"leaf": 6}, "planes": 2})["leaf_uplinks"].sets == 4


def test_a_leaf_of_two_of_four_rails() -> None:
    """Ten of 21 nodes, two NICs each: between the same NICs 10 x 11 pieces of 21 x 21 leave. Of 10 x 20 pieces to all
    NICs of the other nodes, half are for rails of this leaf, and of these 10 x 9 stay."""
    found = _leaf_of_unit(21, 21, 10, 0.5)
    assert (found.held, found.crossing) == (10 / 21, 1)
    assert (found.aligned, found.spread) == pytest.approx((10 * 11 / 441, (10 * 20 - 10 * 9 / 2) / 441))
    alone = _leaf_of_unit(np.array([1, 10]), np.array([1, 10]), 10, 1.0)
    assert [alone.aligned.tolist(), alone.crossing.tolist()] == [[0, 0], [0, 1]]


def packed(nodes: int, count: int = 16, **changed: Any) -> Any:
    """Return the uplinks that a job crosses in a tree that fills leaf after leaf of 20, rail after rail."""
    found = cuts(nodes, fabric={"family": "fat-tree"}, group={"count": count}, **changed)
    return found["leaf_uplinks"]


def test_a_leaf_with_the_end_of_one_rail_and_the_beginning_of_another() -> None:
    """16 nodes: leaf 0 has rail 0 and 4 of rail 1, leaf 1 12 of rail 1 and 8 of rail 2, leaf 2 the same of rails 3 and
    2, leaf 3 4 of rail 3. Out of leaf 1 go 12 x 4 + 8 x 8 of 16 x 16 pieces of each of four rails. Between all NICs
    20 x 44 of 64 x 64 leave it, less those within nodes: four have two NICs there, twelve have one."""
    found = packed(16)
    assert (found.label, found.links, found.gbyte_s, found.below) == ("uplinks of a leaf", 20, 500.0, 20)
    assert (found.sets, found.crossing, found.lane, found.leaves) == (2, 0.5, 0.25, 1)
    assert (found.held, found.aligned) == (20 / 64, (12 * 4 + 8 * 8) / 16**2 / 4)
    spread = (20 * 44 - (4 * 2 * 2 + 12 * 1 * 3)) / 64**2
    assert found.mixed == pytest.approx((4 * spread - found.aligned) / 3)


@pytest.mark.parametrize(
    ("nodes", "count", "sets", "aligned", "crossing"),
    [
        (1, 16, 1, 0, 0),
        (4, 16, 1, 0, 0),  # the four of rail 1 end leaf 0; rails 2 and 3 begin within leaves 1 and 2
        (5, 16, 2, 4 * 1, 0.25),  # one of rail 1 is on the next leaf
        (20, 20, 1, 0, 0),  # a leaf for each rail
        (30, 30, 2, 2 * 10 * 20, 0.5),  # leaf 1 has the last ten of rail 0 and the first ten of rail 1
        (25, 25, 2, 2 * 10 * 15, 0.5),  # leaf 2 has ten of rails 1 and 2 each; leaf 1 five and 15
        (64, 64, 4, 8 * 56 + 12 * 52, 0.5),  # leaf 6 has the last eight of rail 1 and twelve of rail 2
    ],
)
def test_busiest_leaves_of_packed_rails(nodes: int, count: int, sets: int, aligned: float, crossing: float) -> None:
    leaves = {"switches_by_role": {"leaf": -(-count * 4 // 20)}}
    found = packed(nodes, count, plan=leaves)
    assert (found.sets, found.crossing) == (sets, crossing)
    assert found.aligned == pytest.approx(aligned / nodes**2 / 4)


def test_storage_before_the_nodes_of_a_job_shifts_its_rails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten ports of storage: each of four rails of 20 nodes lies across two leaves, half of it on either; links to other
    zones take a port of each leaf, so that the first has nine and the second, of 19, eleven and eight."""
    from ffplan.fabric.sizing import tree_cuts

    monkeypatch.setattr(tree_cuts, "_zone_demand", lambda *_: (10, 80))
    shifted = packed(20, 20, job_groups=(1,))
    assert (shifted.sets, shifted.aligned, shifted.crossing) == (2, 200 / 400 / 4, 0.5)
    trunks = packed(20, 20, job_groups=(1,), trunk_links=16)
    assert (trunks.sets, trunks.below, trunks.aligned) == (2, 19, (11 * 9 + 8 * 12) / 400 / 4)


def tree(full: int, last: int | None) -> dict[str, Any]:
    """Return a tree of pods of eight leaves with ten links up from each of 20 groups, and a last one of fewer."""
    rule = SimpleNamespace(uplinks=20, rails=4)
    smaller = None if last is None else SimpleNamespace(up=last, leaves=4)
    trees = (SimpleNamespace(rule=rule, pod=SimpleNamespace(up=10), last_pod=smaller, full_pods=full),)
    return {"tiers": 3, "links_by_tier": {"spine_core": 320}, "pod_leaves": 8, "trees": trees}


@pytest.mark.parametrize(
    ("nodes", "sets", "aligned"), [(1, 1, 0), (40, 1, 0), (41, 2, 40 / 41**2), (64, 2, 40 * 24 / 64**2)]
)
def test_pods_of_two_units(nodes: int, sets: int, aligned: float) -> None:
    """Eight leaves to a pod: two units of 20 nodes. A last pod with half of the links counts twice."""
    found = cuts(nodes, plan=tree(2, None))["bisection"]
    assert (found.sets, found.links, found.gbyte_s, found.below) == (sets, 200, 5000.0, 40)
    assert (found.aligned, found.mixed) == (pytest.approx(aligned), pytest.approx(aligned))
    half = cuts(nodes, plan=tree(1, 5))["bisection"]
    assert half.aligned == pytest.approx(2 * aligned)
    assert half.crossing == (2 if nodes > 40 else 0)
    assert "bisection" not in cuts(nodes, plan=tree(1, None))


def test_pods_that_cut_units_and_rails() -> None:
    """Pods of three of the four leaves of a unit: the first has rails 0 to 2 of 20 nodes, the second rail 3 of them and
    rails 0 and 1 of the others. Pods of a packed tree of 16 nodes, two leaves each: rails 0, 1 and half of 2."""
    found = cuts(40, plan=tree(3, None) | {"pod_leaves": 3})["bisection"]
    assert (found.sets, found.below, found.lane, found.crossing) == (2, 15, 0.75, 0.75)
    assert (found.held, found.aligned) == (3 / 8, pytest.approx(3 / 4 * 20 * 20 / 1600))
    # 60 of 160 endpoints, with three NICs of each of 20 nodes, or one of 20 and two of 20
    spread = [(60 * 100 - 20 * 3 * 1) / 160**2, (60 * 100 - 20 * 3 - 20 * 2 * 2) / 160**2]
    assert found.mixed == pytest.approx((4 * max(spread) - found.aligned) / 3)
    rows = {"fabric": {"family": "fat-tree"}, "group": {"count": 16}}
    inside = cuts(16, plan=tree(2, None) | {"pod_leaves": 2}, **rows)["bisection"]
    assert (inside.sets, inside.below, inside.lane, inside.crossing) == (2, 40, 0.25, 0.25)
    assert (inside.held, inside.aligned) == (40 / 64, 8 * 8 / 16**2 / 4)


@pytest.mark.parametrize(("nodes", "zones", "leaves"), [(1, 1, 1), (32, 1, 2), (33, 2, 2), (64, 2, 2)])
def test_links_between_zones(nodes: int, zones: int, leaves: int) -> None:
    """Two zones of 32 nodes, 40 links from each of two planes; a job fills one zone after the other, and then one node
    of 33 exchanges pieces with 32. It is spread evenly over zones that it asks for."""
    fabric = {"zones": 2, "inter_zone": SimpleNamespace(links_per_zone=40)}
    found = cuts(nodes, fabric=fabric, plan={"planes": 2, "zones": 2})
    assert (found["zone_links"].sets, found["zone_links"].links, found["zone_links"].gbyte_s) == (zones, 80, 2000.0)
    assert found["zone_links"].below == 32
    assert found["leaf_uplinks"].sets == leaves
    first = min(nodes, 32)
    assert found["zone_links"].held == first / nodes
    assert found["zone_links"].leaving(0.1, 1.0) == pytest.approx(first * (nodes - first) / nodes**2)
    assert found["leaf_uplinks"].held == min(nodes, 20) / nodes
    every, plan = job(fabric=fabric)
    every.compute.group.zones = "every"
    assert "zone_links" not in {item.name for item in _tree_cuts(every, plan, nodes)}
    assert zones_of(every, nodes) == 1
    given, plan = job(fabric=fabric, plan={"planes": 2, "zones": 2})
    assert {item.sets for item in _tree_cuts(given, plan, 2, zones=2) if item.name == "zone_links"} == {2}
    leaf, between = _tree_cuts(given, plan, 48, zones=2)
    assert (leaf.sets, leaf.held, between.held) == (2, 20 / 48, 0.5)


@pytest.mark.parametrize(
    ("zones", "joined", "spread", "nodes"),
    [
        (1, False, "split", 64),
        (2, False, "split", 32),
        (3, False, "split", 22),
        (2, True, "split", 64),
        (2, False, "every", 64),
    ],
)
def test_nodes_that_one_collective_can_span(zones: int, joined: bool, spread: str, nodes: int) -> None:
    design, _ = job(fabric={"zones": zones, "inter_zone": object() if joined else None})
    design.compute.group.zones = spread
    assert reachable_nodes(design) == nodes


def test_links_out_of_a_group_of_a_dragonfly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight nodes of four ports to a group of 32; three links to each of four others, half of them for detours."""
    from ffplan.fabric.sizing import plan as sizing

    monkeypatch.setattr(sizing, "ports_per_plane", lambda *_: 4)
    shape = SimpleNamespace(group_ports=32, pair_links=3, groups=5)
    design, plan = job(plan={"dragonfly": shape, "planes": 2})
    for nodes, sets in ((8, 1), (9, 2), (40, 5)):
        (found,) = _dragonfly_cuts(design, plan, nodes)
        assert (found.sets, found.links, found.gbyte_s, found.below) == (sets, 24, 300.0, 8.0)
        assert found.held == 8 / nodes
    shape.group_ports = 2
    assert _dragonfly_cuts(design, plan, 3)[0].sets == 3  # a node is not cut


def test_what_links_between_zones_would_fit() -> None:
    """Four zones of 30 links on two switches of 40 ports: 80 of 120. At most 20 a zone, or three switches; 30 links go
    round three, five and six switches, and three have ports enough."""
    fabric = SimpleNamespace(zones=4, inter_zone=SimpleNamespace(links_per_zone=30, switches=2))
    text = document("fabric:\n  inter_zone:\n    links_per_zone: 30\n")
    found = _interzone_finding(
        SimpleNamespace(spec=SimpleNamespace(fabric=fabric), document=text),  # type: ignore[arg-type]
        SimpleNamespace(radix=40),  # type: ignore[arg-type]
    )
    assert found.message == ("120 links between zones need more ports than 2 inter-zone switches of 40 ports have (80)")
    assert found.remedy == "use at most 20 links per zone, or 3 inter-zone switches"
    assert (found.line, found.rule) == (3, "fabric-capacity")


def test_what_scalable_units_would_fit() -> None:
    """32 leaves at most, eight for a unit: four units."""
    rule: Any = SimpleNamespace(capacity=640, downlinks=20, rails=8, tiers=2, radix=40)
    found = _rails_finding(SimpleNamespace(document=document("fabric: {family: x}\n")), rule, 40)  # type: ignore[arg-type]
    assert found.message == (
        "scalable units with a leaf for each of 8 rails need 40 leaves; "
        "a two-tier tree of 40-port switches has 32 at most"
    )
    assert found.remedy == "use at most 4 scalable units, more tiers, or `family: fat-tree`"


@pytest.mark.parametrize(("family", "tiers"), [("fat-tree", 1), ("fat-tree", 2), ("dragonfly", 3)])
def test_only_three_tiers_have_a_core_policy(family: str, tiers: int) -> None:
    fabric = SimpleNamespace(family=family, tiers=tiers)
    assert switches_by_policy(SimpleNamespace(spec=SimpleNamespace(fabric=fabric))) == {}  # type: ignore[arg-type]
