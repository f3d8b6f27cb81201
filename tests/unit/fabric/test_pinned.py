"""Numbers of the fabric worked by hand, where another formula would give another number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ffplan.base.paths import data_folder
from ffplan.fabric.routing.adaptive import CutTraffic
from ffplan.fabric.routing.degraded import bisection
from ffplan.fabric.routing.double_binary_tree import crossings
from ffplan.fabric.routing.failures import default_losses
from ffplan.fabric.routing.keys import hashed, splitmix
from ffplan.fabric.routing.tree_routing import TreeRouting
from ffplan.fabric.sizing.families import Candidate, Request, dragonfly, slim_fly, slim_fly_counts
from ffplan.fabric.sizing.fat_tree import TreeRule, build_tree
from ffplan.fabric.sizing.slim_fly import delta_of
from ffplan.fabric.wiring.cabling import cables
from ffplan.fabric.wiring.network import LEAF
from ffplan.fabric.wiring.wiring import wire_tree
from tests.support import ZONES_APART, assess_file, ffplan, vary_design, wired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def test_splitmix_gives_the_published_sequence() -> None:
    """SplitMix64 from seed 1234567, as printed by the reference program of Vigna."""
    golden = 0x9E3779B97F4A7C15
    seeds = np.array([(1234567 + number * golden) % 2**64 for number in range(5)], np.uint64)
    assert splitmix(seeds).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_hashes_differ_by_source_destination_seed_and_level() -> None:
    src, dst = np.arange(64), np.full(64, 7)
    rows = [hashed(src, dst, 1, 0), hashed(dst, src, 1, 0), hashed(src, dst, 2, 0), hashed(src, dst, 1, 1)]
    assert len({value for row in rows for value in row.tolist()}) == 4 * 64 - 1  # from 7 to 7 is the same both ways
    assert all((row >= 0).all() for row in rows)
    spread = np.bincount(hashed(np.arange(100_000), np.zeros(100_000, np.int64), 3, 0) % 16, minlength=16)
    assert abs(spread - 6250).max() < 400  # five standard deviations


def ask(endpoints: int, radix: int) -> Request:
    return Request(endpoints=endpoints, radix=radix, rails=1, ratio=1.0, core_policy="minimal", tiers=(2,), planes=(1,))


def only(make: Callable[[Request], Iterator[Candidate | str]], endpoints: int, radix: int) -> Any:
    (found,) = list(make(ask(endpoints, radix)))
    return found


def test_a_balanced_dragonfly() -> None:
    """Radix 16: p = 4, a = 8, h = 4, 33 groups at most (Kim et al. 2008); 100 endpoints take 4 groups of 8 routers."""
    found = only(dragonfly, 100, 16)
    assert (found.endpoints, found.router, found.leaf, found.spine, found.core) == (128, 32, 0, 0, 0)
    assert (found.capacity, found.next_endpoints, found.next_switches) == (33 * 8 * 4, 160, 40)
    assert found.switches == 32
    assert found.inter_switch_links >= 4 * 28 + 6  # every two routers of a group, and every two groups
    last = only(dragonfly, 33 * 32, 16)
    assert (last.next_endpoints, last.next_switches) == (None, None)
    assert only(dragonfly, 33 * 32 + 1, 16) == "dragonfly: 1,056"


def test_slim_flies_of_the_paper() -> None:
    """Besta and Hoefler 2014: q = 5 is the Hoffman-Singleton graph, 50 routers of degree 7, 175 links; q = 19 has 722
    routers of degree 29 and 10,830 endpoints."""
    assert slim_fly_counts(5, 1) == (50, 4, 200, 175)
    assert slim_fly_counts(19, -1) == (722, 15, 10_830, 722 * 29 // 2)
    assert [delta_of(q) for q in (4, 5, 6, 7, 19)] == [0, 1, None, -1, -1]
    found = only(slim_fly, 200, 11)
    assert (found.router, found.endpoints, found.inter_switch_links) == (50, 200, 175)
    assert only(slim_fly, 201, 11) == "slim-fly: 200"
    assert only(slim_fly, 1, 2) == "slim-fly: 0"


def test_the_narrowest_tier_of_three() -> None:
    """Radix 8 with four uplinks: one pod is as wide as its leaves; of more, the links to the cores can be narrower."""
    rule = TreeRule(tiers=3, radix=8, uplinks=4, rails=1, core_policy="minimal")
    assert build_tree(rule, 16).narrowest_links == 16
    assert build_tree(rule, 64).narrowest_links == 64
    assert build_tree(rule, 20).narrowest_links == 20


def test_links_between_switches_are_all_that_can_be_lost() -> None:
    """Two tiers have links between leaves and spines, which are no links to endpoints."""
    fabric = wire_tree(build_tree(TreeRule(tiers=2, radix=8, uplinks=4, rails=1, core_policy="minimal"), 32), 32, 25.0)
    (loss,) = [item for item in default_losses(fabric) if item.kind == "link"]
    assert len(loss.pool) == 32
    assert set(fabric.network.links.tier[loss.pool].tolist()) == {1}


def test_bisection_of_joined_zones_is_that_of_the_links_between_them() -> None:
    """Fire-Flyer 2: two zones, 40 links at 25 GB/s each out of either."""
    fabric = wired("fire-flyer-2").fabric
    assert bisection(fabric, np.ones(len(fabric.network.links), bool)).tolist() == [1000.0]


def test_pairs_across_zones_count_both_directions() -> None:
    """0 is above 1 and 2; 1 sends to another zone upward, 3 downward."""
    parent = np.array([[-1, 0, 0, 2]])
    assert crossings(parent, np.array([0, 1, 0, 0])).tolist() == [[0, 1]]
    assert crossings(parent, np.array([1, 0, 1, 0])).tolist() == [[0, 1], [2, 3]]


def test_traffic_between_zones_passes_the_pods_of_the_links_between_them(tmp_path: Path) -> None:
    """All that leaves a zone is counted once on its way to the pods with inter-zone links, less what starts there."""
    own = wired("fire-flyer-2")
    router = TreeRouting(own.fabric)
    endpoints = own.fabric.network.endpoints
    src = np.flatnonzero(endpoints.zone == 0)[:50]
    dst = np.flatnonzero(endpoints.zone == 1)[:50]
    cuts = CutTraffic(router)
    cuts.flows(src, dst, np.full(50, 2.0))
    load = cuts.loads()
    k = own.fabric.network.links
    trunk = np.flatnonzero(k.tier == 3)
    assert load[2 * trunk].sum() == pytest.approx(100.0)
    assert load[2 * trunk + 1].sum() == pytest.approx(100.0)
    up = np.flatnonzero(k.tier == 1)
    assert load[2 * up].sum() == pytest.approx(load[2 * up + 1].sum())
    assert (load >= 0).all()


def test_the_floor_of_the_superpod() -> None:
    """Four nodes a rack, eight racks of nodes and two of switches a row: 32 node racks fill four rows; the spines
    stand in a row of their own in the middle."""
    own = wired("superpod-h100-4su")
    table = cables(own.design, own.fabric)
    place, s = table.places, own.fabric.network.switches
    first = len(s)
    rows = np.unique(place.row[first:])
    assert rows.tolist() == [0, 1, 3, 4]
    upper = np.flatnonzero(s.role != LEAF)
    assert set(place.row[upper].tolist()) == {2}
    assert place.rows == 5
    per_row = [len(np.unique(place.rack[first:][place.row[first:] == row])) for row in rows]
    assert per_row == [8, 8, 8, 8]
    assert {4, 5}.isdisjoint(place.rack[first:].tolist())  # racks of leaf switches
    assert set(place.rack[np.flatnonzero(s.role == LEAF)].tolist()) <= {4, 5}
    units = place.unit[upper]
    assert len({(r, u) for r, u in zip(place.rack[upper].tolist(), units.tolist(), strict=True)}) == len(upper)
    k = own.fabric.network.links
    assert table.length_m is not None
    a, b = k.a[table.link], k.b[table.link]
    same = (place.row[a] == place.row[b]) & (place.rack[a] == place.rack[b])
    one = np.flatnonzero(~same)[0]
    across = 3.0 * abs(int(place.row[a[one]]) - int(place.row[b[one]]))
    across += 0.6 * abs(int(place.rack[a[one]]) - int(place.rack[b[one]]))
    assert table.length_m[one] == pytest.approx(np.ceil((across + 2 * 1.5 + 1) / 0.5 - 1e-9) * 0.5)
    assert len(table) == len(table.link) == 2040


def test_groups_of_a_dragonfly_are_named_from_one() -> None:
    titles = wired("dragonfly-a100").names.switches()
    assert titles[0].startswith(("g1-", "g01-", "g001-"))
    assert "router-01" in titles[0] or "router-1" in titles[0]


@pytest.mark.parametrize(("links", "code"), [(40, 0), (42, 2)])
def test_inter_zone_switches_may_be_full(links: int, code: int, tmp_path: Path) -> None:
    """Two 40-port switches hold 40 links of each of two zones, and no more."""
    path = vary_design(
        tmp_path, "fire-flyer-2", ("links_per_zone: 40", f"links_per_zone: {links}"), ("count: 135", "count: 130")
    )
    assert ffplan("design", str(path)).code == code


@pytest.mark.parametrize(("points", "code"), [(1425, 2), (1600, 0), (1599, 0)])
def test_access_points_hold_all_endpoints(points: int, code: int, tmp_path: Path) -> None:
    """1,250 compute NICs and 175 storage nodes with two NICs each are 1,600; fewer points are refused."""
    path = vary_design(
        tmp_path,
        "pcie-a100-three-tier",
        ("access_points: 1600", f"access_points: {points}"),
        ("count: 175", "count: 174"),
    )
    run = ffplan("design", str(path))
    assert run.code == code
    assert code == 0 or "[fabric-capacity]" in run.err


def test_uneven_zones_take_the_bisection_of_the_smaller(tmp_path: Path) -> None:
    """With 1,241 nodes one zone has 621 and the other 620; the bisection is that of twice the smaller."""
    found = []
    for count in (1240, 1241, 1242):
        path = vary_design(tmp_path, "fire-flyer-2", *ZONES_APART, ("count: 1250", f"count: {count}"))
        fabric = assess_file(path).fabric
        found.append((fabric.endpoints_per_zone, fabric.bisection_gbyte_s))
    assert [zones for zones, _ in found] == [(755, 755), (756, 755), (756, 756)]
    assert found[0][1] == found[1][1]


def test_uneven_shares_of_a_pod_are_fractions() -> None:
    """Three bytes over the sixteen uplinks of a pod: 0.1875 on each, and all of it together."""
    fabric = wire_tree(build_tree(TreeRule(tiers=3, radix=8, uplinks=4, rails=1, core_policy="minimal"), 64), 64, 25.0)
    cuts = CutTraffic(TreeRouting(fabric))
    cuts.flows(np.array([0]), np.array([40]), np.array([3.0]))
    load = cuts.loads()
    k = fabric.network.links
    up = np.flatnonzero((k.tier == 2) & (fabric.network.switches.pod[np.minimum(k.a, 39)] == 0) & (k.a < 40))
    assert set(np.round(load[2 * up], 6).tolist()) == {0.1875}
    assert load[2 * np.flatnonzero(k.tier == 2)].sum() == pytest.approx(3.0)


def test_a_spine_that_two_uplinks_share_is_reached_by_either() -> None:
    """Two spines with two links to each leaf: losing one link to a spine cuts no group off, losing both cuts two."""
    rule = TreeRule(tiers=2, radix=8, uplinks=4, rails=1, core_policy="minimal")
    fabric = wire_tree(build_tree(rule, 16), 16, 25.0)
    k = fabric.network.links
    own = np.flatnonzero((k.tier == 1) & (k.a == 0))
    one = int(k.b[own[0]])
    shared = own[k.b[own] == one]
    assert len(shared) == 2
    for lost, groups in ((1, 4), (2, 2)):
        alive = np.ones(len(k), bool)
        alive[shared[:lost]] = False
        (paths,) = TreeRouting(fabric, alive).trees
        assert int(paths.spine_reaches(np.array([0])).sum()) == groups


def test_units_of_six_rails_have_six_leaves_each(tmp_path: Path) -> None:
    """Nodes with six NICs, 12 to a unit: rail r of node n is at leaf 6 (n // 12) + r, at port n % 12."""
    text = (data_folder("catalogs") / "servers" / "nvidia" / "hgx-h100-8nic.yaml").read_text()
    parts = tmp_path / "parts"
    parts.mkdir()
    kept = [line for line in text.splitlines() if not line.startswith(("  - {id: nic6", "  - {id: nic7"))]
    (parts / "six-nic.yaml").write_text("\n".join(kept).replace("id: hgx-h100-8nic", "id: six-nic") + "\n")
    path = tmp_path / "six.yaml"
    path.write_text(
        "name: six\nnodes: [{role: compute, server: six-nic, count: 24}]\n"
        "fabric: {family: rail-optimised, scalable_unit: 12, switch: qm8700, tiers: 2, "
        "link: {endpoint: hdr-dac, inter_switch: hdr-aoc}}\n"
        "communication: {libraries: [nccl], message_size: 1 MiB}\nsite: {pue: 1.2}\n"
    )
    e = wired(path, str(parts)).fabric.network.endpoints
    assert e.leaf.tolist() == (6 * (e.node // 12) + e.port).tolist()
    assert e.slot.tolist() == (e.node % 12).tolist()


def test_what_goes_up_between_pods_comes_down_again_also_towards_other_zones(tmp_path: Path) -> None:
    """Two zones of three tiers: flows to the other zone rise in all pods, and come down in those with its links."""
    path = tmp_path / "zones.yaml"
    path.write_text(
        "name: z\nnodes: [{role: compute, server: fire-flyer-2-node, count: 1600}]\n"
        "fabric: {family: fat-tree, zones: 2, switch: qm8700, tiers: 3, "
        "inter_zone: {switches: 1, links_per_zone: 20}, link: {endpoint: hdr-dac, inter_switch: hdr-aoc}}\n"
        "communication: {libraries: [nccl], message_size: 1 MiB}\nsite: {pue: 1.2}\n"
    )
    fabric = wired(path).fabric
    router = TreeRouting(fabric)
    zone = fabric.network.endpoints.zone
    src, dst = np.flatnonzero(zone == 0), np.flatnonzero(zone == 1)
    traffic = CutTraffic(router)
    traffic.flows(src, dst, np.ones(len(src)))
    load = traffic.loads().reshape(-1, 2)
    cores = fabric.network.links.tier == 2
    up, down = load[cores].sum(axis=0)
    assert up == pytest.approx(down)
    tree = router.trees[0]
    pods = np.bincount(tree.pod_of(tree.trunk_leaf), minlength=tree.pods) / len(tree.trunk_leaf)
    count = np.bincount(tree.pod_of(router.leaf[src]), minlength=tree.pods)
    other = router.trees[1]
    pods_there = np.bincount(other.pod_of(other.trunk_leaf), minlength=other.pods) / len(other.trunk_leaf)
    there = np.bincount(other.pod_of(router.leaf[dst]), minlength=other.pods)
    assert up == pytest.approx((count * (1 - pods)).sum() + (there * (1 - pods_there)).sum())
