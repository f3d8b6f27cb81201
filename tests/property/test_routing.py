"""What holds of every route, on healthy and on damaged fabrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ffplan.fabric.routing.link_loads import _countable, _StaticTraffic, flow_loads, outcome
from ffplan.fabric.routing.traffic import Flows
from ffplan.fabric.routing.tree_routing import TreeRouting, _CutTraffic, all_to_all_loads
from tests.fabrics import wire_tree
from tests.property.test_wiring import trees
from tests.support import examples

if TYPE_CHECKING:
    from ffplan.fabric.sizing.fat_tree import Tree
    from ffplan.fabric.wiring.wiring import WiredFabric


def every_pair(endpoints: int) -> tuple[Any, Any]:
    src, dst = np.meshgrid(np.arange(endpoints), np.arange(endpoints), indexing="ij")
    apart = src != dst
    return src[apart], dst[apart]


def assert_walks(fabric: WiredFabric, src: Any, dst: Any, links: Any, reached: Any) -> None:
    """Every path starts at its source, ends at its destination, and each link begins where the one before ended."""
    network = fabric.network
    first = len(network.switches)
    at = first + src
    for hop in range(links.shape[1]):
        used = links[:, hop] >= 0
        link, back = np.divmod(np.where(used, links[:, hop], 0), 2)
        start = np.where(back == 1, network.links.b[link], network.links.a[link])
        end = np.where(back == 1, network.links.a[link], network.links.b[link])
        assert (start[used] == at[used]).all()
        at = np.where(used, end, at)
    assert (at[reached] == first + dst[reached]).all()
    assert (links[~reached] == -1).all()


@given(trees(most=80), st.one_of(st.none(), st.integers(0, 99)))
@examples(150)
def test_every_path_of_a_healthy_tree_leads_where_it_should(tree: Tree, seed: int | None) -> None:
    fabric = wire_tree(tree, tree.endpoints)
    src, dst = every_pair(tree.endpoints)
    routes = TreeRouting(fabric).paths(src, dst, seed)
    assert routes.reached.all()
    assert_walks(fabric, src, dst, routes.links, routes.reached)


def reachable(fabric: WiredFabric, alive: Any) -> Any:
    """The oracle: who reaches whom by going up, then down, shape (endpoints, endpoints)."""
    network = fabric.network
    devices, switches = len(network.switches) + len(network.endpoints), len(network.switches)
    up = np.zeros((devices, devices), bool)
    up[network.links.a[alive], network.links.b[alive]] = True
    above = np.eye(devices, dtype=bool)
    for _ in range(3):
        above |= above @ up
    return (above[switches:] @ above[switches:].T) & ~np.eye(len(network.endpoints), dtype=bool)


@given(trees(most=60), st.integers(0, 2**32 - 1), st.floats(0, 0.4))
@examples(150)
def test_a_damaged_tree_is_routed_wherever_a_way_is_left(tree: Tree, seed: int, broken: float) -> None:
    fabric = wire_tree(tree, tree.endpoints)
    alive = np.random.default_rng(seed).random(len(fabric.network.links)) >= broken
    src, dst = every_pair(tree.endpoints)
    routes = TreeRouting(fabric, alive).paths(src, dst)
    assert_walks(fabric, src, dst, routes.links, routes.reached)
    used = routes.links[routes.links >= 0] // 2
    assert alive[used].all()
    router = TreeRouting(fabric, alive)
    table = np.array([router.trees[0].reaches(leaf) for leaf in range(tree.leaf)])
    ends = alive[src] & alive[dst]
    assert (routes.reached == (ends & table[router.leaf[src], router.leaf[dst]])).all()
    assert (routes.reached == reachable(fabric, alive)[src, dst]).all()


def lost_between_switches(fabric: WiredFabric, seed: int, broken: float) -> Any:
    """Return which links work where each between switches is lost with some probability."""
    links = fabric.network.links
    return (links.tier == 0) | (np.random.default_rng(seed).random(len(links)) >= broken)


@given(trees(most=60), st.integers(0, 2**32 - 1), st.floats(0, 0.4), st.one_of(st.none(), st.integers(0, 99)))
@examples(100)
def test_undisturbed_flows_keep_their_paths(tree: Tree, seed: int, broken: float, hashing: int | None) -> None:
    fabric = wire_tree(tree, tree.endpoints)
    src, dst = every_pair(tree.endpoints)
    whole = TreeRouting(fabric)
    left = whole.after(lost_between_switches(fabric, seed, broken))
    same = ~left.disturbed(src, dst)
    before, after = whole.paths(src, dst, hashing), left.paths(src, dst, hashing)
    assert after.reached[same].all()
    assert (before.links[same] == after.links[same]).all()


@given(trees(most=60), st.lists(st.tuples(st.integers(0, 2**32 - 1), st.floats(0, 0.3)), min_size=1, max_size=3))
@examples(100)
def test_counted_flows_load_links_like_flows_one_by_one(tree: Tree, losses: list[tuple[int, float]]) -> None:
    """To the letter: after a loss of the whole fabric, and after others."""
    fabric = wire_tree(tree, tree.endpoints)
    src, dst = every_pair(tree.endpoints)
    whole, flows = TreeRouting(fabric), Flows(src, dst, np.full(len(src), 62.5e6))
    if not _countable(flows):
        assert len(src) == 0
        return
    traffic = _StaticTraffic(whole, flows)
    for router in (*(whole.after(lost_between_switches(fabric, *loss)) for loss in losses), whole):
        load, lost = traffic.loads(router)
        one_by_one, missing = flow_loads(router, src, dst, flows.nbytes)
        assert lost == missing
        assert load.tolist() == one_by_one.tolist()
        traffic.loads(whole)


def test_flows_are_counted_only_where_no_sum_of_them_is_rounded() -> None:
    ends = np.arange(4)
    assert _countable(Flows(ends, ends + 4, np.full(4, 62.5e6)))
    assert not _countable(Flows(ends, ends + 4, np.full(4, 1e9 / 3)))
    assert not _countable(Flows(ends, ends + 4, np.array([1.0, 1.0, 2.0, 1.0])))
    assert not _countable(Flows(ends[:0], ends[:0], np.zeros(0)))


@given(trees(most=200))
@examples(100)
def test_counted_all_to_all_equals_the_sum_of_its_flows(tree: Tree) -> None:
    fabric = wire_tree(tree, tree.endpoints)
    router = TreeRouting(fabric)
    src, dst = every_pair(tree.endpoints)
    one_by_one, lost = flow_loads(router, src, dst, np.full(len(src), 3.0))
    assert lost == 0
    counted = all_to_all_loads(router, np.ones(tree.endpoints, bool), 3.0)
    assert np.array_equal(one_by_one, counted)


@given(trees(most=120))
@examples(80)
def test_adaptive_loads_are_no_higher_than_static_ones_and_add_up(tree: Tree) -> None:
    fabric = wire_tree(tree, tree.endpoints)
    router = TreeRouting(fabric)
    src, dst = every_pair(tree.endpoints)
    ones = np.ones(len(src))
    static, _ = flow_loads(router, src, dst, ones)
    listed, counted = _CutTraffic(router), _CutTraffic(router)
    listed.flows(src, dst, ones)
    counted.all_to_all([np.arange(tree.endpoints)], 1.0)
    assert np.allclose(listed.loads(), counted.loads())
    tier = np.repeat(fabric.network.links.tier, 2)
    assert np.isclose(listed.loads()[tier == 1].sum(), static[tier == 1].sum())
    assert np.isclose(listed.loads()[tier == 2].sum(), static[tier == 2].sum())
    for number in (1, 2):
        if (tier == number).any():
            assert listed.loads()[tier == number].max() <= static[tier == number].max() + 1e-9


@given(st.sampled_from([4, 6, 8, 12]), st.integers(2, 3))
def test_all_to_all_on_a_full_tree_is_bound_by_its_endpoints_alone(radix: int, tiers: int) -> None:
    """Destination-modulo routing spreads all-to-all perfectly over a full fat tree."""
    from ffplan.fabric.sizing.fat_tree import _build_tree, _TreeRule

    rule = _TreeRule(tiers=tiers, radix=radix, uplinks=radix // 2, rails=1, core_policy="equal-stripe")
    fabric = wire_tree(_build_tree(rule, rule.capacity), rule.capacity)
    load = all_to_all_loads(TreeRouting(fabric), np.ones(rule.capacity, bool), 1.0)
    assert outcome(fabric.network, load).share == 1.0
