"""What is left of three tiers after losses, worked by hand, and ranks across zones."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.fabric.routing.cuts import _zone_cuts, between_zones
from ffplan.fabric.routing.degraded import DegradedJob, _links_alive
from ffplan.fabric.routing.job_loads import all_nodes
from ffplan.fabric.sizing.fat_tree import _build_tree, _TreeRule
from ffplan.fabric.wiring.network import CORE, LEAF, SPINE
from tests.fabrics import wire_tree
from tests.support import SMALL, wired

if TYPE_CHECKING:
    from ffplan.base.array_math import Ints
    from ffplan.fabric.wiring.wiring import WiredFabric

NONE = np.zeros(0, np.int64)


@pytest.fixture(scope="module")
def pods() -> WiredFabric:
    """64 endpoints at 25 GB/s: four pods of four leaves and four spines, and eight cores; every level is 1,600 GB/s."""
    rule = _TreeRule(tiers=3, radix=8, uplinks=4, rails=1, core_policy="minimal")
    return wire_tree(_build_tree(rule, 64), 64, 25.0)


def of_role(fabric: WiredFabric, role: int) -> Ints:
    found: Ints = np.flatnonzero(fabric.network.switches.role == role)
    return found


def test_a_core_takes_two_links_from_each_pod(pods: WiredFabric) -> None:
    """350 of 400 GB/s leave each pod: 4 x 350 / 2."""
    every = np.arange(64)[:, None]
    left = DegradedJob(pods, every).remaining(of_role(pods, CORE)[:1], NONE)
    assert (left.bisection_gbyte_s, left.zone_gbyte_s, left.endpoints_lost) == (700.0, (700.0,), 0)


def test_uplinks_of_one_pod_bind_that_pod_alone(pods: WiredFabric) -> None:
    """Three links less out of one pod: 325 and three times 400, halved."""
    k, s = pods.network.links, pods.network.switches
    pod = np.append(s.pod, np.full(64, -1))  # endpoints are in none
    own = np.flatnonzero((k.tier == 2) & (pod[k.a] == 1))[:3]
    assert _zone_cuts(pods, _links_alive(pods.network, NONE, own)).tolist() == [[762.5]]


def test_leaves_bind_where_they_carry_less_than_the_pod(pods: WiredFabric) -> None:
    """Two uplinks less at each of two leaves of a pod: 50 + 50 + 100 + 100 below, 400 above."""
    k = pods.network.links
    own = np.concatenate([np.flatnonzero((k.tier == 1) & (k.a == leaf))[:2] for leaf in of_role(pods, LEAF)[:2]])
    assert _zone_cuts(pods, _links_alive(pods.network, NONE, own)).tolist() == [[750.0]]


@pytest.mark.parametrize(
    ("lost", "left"),
    [
        (((0, 0),), 16 - 4),
        (((0, 0), (1, 0)), 16 - 4),  # both spines of the same cores
        (((0, 0), (1, 1)), 16 - 8),  # the cores of each have lost the spine of the other pod
        (((0, 0), (0, 1), (1, 2)), 16 - 12),
        (((0, 0), (0, 1), (1, 2), (1, 3)), 0),
    ],
)
def test_a_core_carries_what_both_of_its_pods_have_left(lost: tuple[tuple[int, int], ...], left: int) -> None:
    """Two pods of 16 endpoints at 25 GB/s, with four links from each of four spines to cores that are its own."""
    rule = _TreeRule(tiers=3, radix=8, uplinks=4, rails=1, core_policy="minimal")
    fabric = wire_tree(_build_tree(rule, 32), 32, 25.0)
    spines = of_role(fabric, SPINE).reshape(2, 4)
    gone = np.array([spines[place] for place in lost])
    assert _zone_cuts(fabric, _links_alive(fabric.network, gone, NONE)).tolist() == [[25.0 * left]]


@pytest.mark.parametrize(("pod", "left"), [(0, 10.5), (1, 10.5)])
def test_a_split_cuts_a_pod_that_is_larger_than_the_other(pod: int, left: float) -> None:
    """25 endpoints in pods of 16 and 9, split into 12.5 of the first and the rest, which is 3.5 of it and the second.

    Without a spine of the first pod, its leaves pass on 12 of 16. Without one of the second, its leaves of 4, 4 and 1
    endpoints pass on 3 + 3 + 1: these and 3.5 within the first pod are left.
    """
    fabric = wired(SMALL / "apart.yaml", str(SMALL / "parts")).fabric
    s = fabric.network.switches
    spine = np.flatnonzero((s.role == SPINE) & (s.zone == 0) & (s.pod == pod))[:1]
    cuts = _zone_cuts(fabric, _links_alive(fabric.network, spine, NONE))
    assert cuts.tolist() == [[25.0 * left, 25.0 * 12.5]]


@pytest.mark.parametrize("routing", ["adaptive", "static"])
@pytest.mark.parametrize(
    ("lost", "nodes", "rate"),
    [
        (("p1-leaf-01",), 9, 0.5),  # two rails of the first four nodes have a port each
        (("p1-leaf-01", "p2-leaf-02"), 9, 0.5),  # other rails in the other plane
        (("p1-leaf-01", "p2-leaf-01"), 5, 1.0),  # both ports of two NICs of the first four nodes
        (("p1-leaf-01", "p2-leaf-05"), 5, 0.5),  # those rails meet in no plane: the first four, or the next, stay
        (("p1-leaf-01", "p1-leaf-05", "p1-leaf-09"), 9, 0.5),  # a rail of all nodes has lost one plane
    ],
)
def test_a_nic_works_on_with_a_port_in_another_plane(
    lost: tuple[str, ...], nodes: int, rate: float, routing: str
) -> None:
    """Nine nodes of eight NICs with a port in two planes; units of four, four and one, with a leaf for two rails."""
    own = wired(SMALL / "planes.yaml", str(SMALL / "parts"))
    job = DegradedJob(own.fabric, all_nodes(own.design, own.fabric), routing, own.design.stripes)
    switches = np.array([own.names.switches().index(name) for name in lost])
    left = job.remaining(switches, NONE)
    assert left.nodes_left == nodes
    alone = DegradedJob(own.fabric, job.every[-nodes:], routing, own.design.stripes)
    assert left.allreduce_gbyte_s == pytest.approx(rate * alone.remaining(NONE, NONE).allreduce_gbyte_s)


def test_leaves_without_a_way_up_cut_their_endpoints_off(pods: WiredFabric) -> None:
    k = pods.network.links
    own = np.flatnonzero((k.tier == 1) & (k.a == of_role(pods, LEAF)[3]))
    left = DegradedJob(pods, np.arange(64)[:, None]).remaining(NONE, own)
    assert (left.endpoints_cut_off, left.nodes_left) == (4, 60)
    assert pods.network.nbytes > 0


@pytest.fixture(scope="module")
def leaves() -> WiredFabric:
    """Four leaves with four endpoints each, and two spines with two links to each leaf."""
    rule = _TreeRule(tiers=2, radix=8, uplinks=4, rails=1, core_policy="minimal")
    return wire_tree(_build_tree(rule, 16), 16, 25.0)


def test_two_leaves_that_reach_a_third_alone_have_no_static_routes(leaves: WiredFabric) -> None:
    """Leaf 1 has lost one spine and leaf 2 the other: both reach leaf 0, neither the other."""
    k = leaves.network.links
    one, two = of_role(leaves, SPINE)[:2]
    lost = np.flatnonzero((k.tier == 1) & (((k.a == 1) & (k.b == one)) | ((k.a == 2) & (k.b == two))))
    left = DegradedJob(leaves, np.array([[0], [4], [8]]), "static").remaining(NONE, lost)
    assert left.nodes_left == 3
    assert left.allreduce_gbyte_s == 0.0


def test_without_links_to_the_cores_nothing_leaves_a_pod(pods: WiredFabric) -> None:
    from ffplan.fabric.routing.tree_routing import TreeRouting

    alive = pods.network.links.tier != 2
    routes = TreeRouting(pods, alive).paths(np.array([0, 0, 0]), np.array([1, 5, 20]))
    assert routes.reached.tolist() == [True, True, False]


@pytest.mark.parametrize("routing", ["adaptive", "static"])
def test_what_draws_share_changes_no_draw(pods: WiredFabric, routing: str) -> None:
    """One job asked for many losses answers as a job made for each: nothing of a loss stays behind."""
    random, every = np.random.default_rng(3), np.arange(64)[:, None]
    shared = DegradedJob(pods, every, routing)
    switches, links = len(pods.network.switches), np.flatnonzero(pods.network.links.tier > 0)
    for _ in range(12):
        loss = random.choice(switches, random.integers(0, 4), replace=False), random.choice(links, 6, replace=False)
        alone = DegradedJob(pods, every, routing).remaining(*loss)
        assert astuple(shared.remaining(*loss)) == astuple(alone)
        assert shared.remaining(*loss) is shared.remaining(*loss)


@pytest.mark.parametrize(
    ("name", "zones"),
    [
        ("planes", (1800.0,)),  # nine nodes of eight NICs: 25 GB/s of each in either plane, halved, in both
        ("apart", None),
    ],
)
def test_zones_carry_what_their_planes_do_together(name: str, zones: tuple[float, ...] | None) -> None:
    own = wired(SMALL / f"{name}.yaml", str(SMALL / "parts"))
    fabric = own.fabric
    nodes = fabric.network.endpoints
    every = np.arange(len(nodes))[nodes.group == 0].reshape(-1, 1)
    left = DegradedJob(fabric, every).remaining(NONE, NONE)
    assert len(left.zone_gbyte_s) == fabric.zones
    if zones is not None:
        assert left.zone_gbyte_s == zones
        assert left.bisection_gbyte_s == pytest.approx(sum(zones))


def test_flows_of_an_endpoint_without_its_link_are_not_counted(pods: WiredFabric) -> None:
    """Who counts flows takes out those of lost endpoints first: here endpoint 5 has lost its link, and 6 sends none."""
    from ffplan.fabric.routing.link_loads import _StaticTraffic
    from ffplan.fabric.routing.traffic import Flows
    from ffplan.fabric.routing.tree_routing import TreeRouting

    whole, src = TreeRouting(pods), np.array([0, 5])
    traffic = _StaticTraffic(whole, Flows(src, np.array([20, 40]), np.full(2, 1e6)))
    without = [pods.network.links.tier >= 0 for _ in range(2)]
    for alive, end in zip(without, (5, 6), strict=True):
        alive[end] = False
    with pytest.raises(ValueError, match="without its link"):
        traffic.loads(whole.after(without[0]))
    load, lost = traffic.loads(whole.after(without[1]))
    assert (load[10], load[12], lost) == (1e6, 0.0, 0)


@pytest.mark.parametrize(
    ("rates", "left"),
    [
        ([[100.0, 100.0], [100.0, 100.0]], 200.0),
        ([[100.0, 0.0], [100.0, 100.0]], 100.0),
        ([[100.0, 0.0], [0.0, 100.0]], 0.0),  # neither switch joins both zones
        ([[50.0, 50.0], [75.0, 25.0]], 75.0),
        ([[100.0, 100.0], [100.0, 100.0], [25.0, 0.0]], 25.0),  # one of three zones is split beside
        ([[100.0], [100.0], [50.0], [75.0]], 125.0),  # the two that send least
    ],
)
def test_what_zones_send_to_the_others(rates: list[list[float]], left: float) -> None:
    """A row for each zone, with its links to each switch between zones [GB/s]."""
    assert between_zones(np.array(rates)) == left
