"""Paths between leaves of small trees, link by link, against a plain search; choices by hand."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.fabric.routing import tree_paths
from ffplan.fabric.routing.keys import Keys
from ffplan.fabric.routing.tree_paths import TreePaths, pick
from ffplan.fabric.sizing.fat_tree import TreeRule, build_tree
from tests.fabrics import wire_tree

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Ints
    from ffplan.fabric.wiring.wiring import WiredFabric


def test_the_choice_among_what_is_left() -> None:
    """Of columns 0, 2 and 3, key 4 takes the second; a row of one has no other, and an empty one none."""
    mask = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]], bool)
    for key, columns in ((0, [0, 1, 0]), (1, [2, 1, 1]), (2, [3, 1, 2]), (4, [2, 1, 0]), (7, [2, 1, 3])):
        column, found = pick(mask, np.full(4, key))
        assert column[[0, 1, 3]].tolist() == columns
        assert found.tolist() == [True, True, False, True]


@cache
def fabric(tiers: int, radix: int, uplinks: int, endpoints: int) -> WiredFabric:
    rule = TreeRule(tiers=tiers, radix=radix, uplinks=uplinks, rails=1, core_policy="minimal")
    return wire_tree(build_tree(rule, endpoints), endpoints, 25.0)


SHAPES = [
    (2, 8, 4, 16),  # four leaves with two links to each of two spines
    (2, 8, 4, 9),  # three leaves, one of which has one endpoint
    (2, 12, 4, 24),  # at 2:1, all four uplinks to one spine
    (3, 8, 4, 32),  # two pods of four leaves
    (3, 8, 4, 24),  # and one of two leaves, with two links to each of two spines
    (3, 8, 2, 60),  # at 3:1, two pods of four leaves and one of two
    (3, 4, 2, 16),
    (3, 8, 4, 12),  # three leaves below one pod that is not full
]


def keys(count: int, *, leaf: int | Ints = 0, spine: int | Ints = 0, core: int | Ints = 0) -> Keys:
    columns = [np.broadcast_to(np.asarray(value, np.int64), count).copy() for value in (leaf, spine, core, 0)]
    return Keys(leaf=columns[0], spine=columns[1], core=columns[2], trunk=columns[3])


def joined(own: WiredFabric, alive: Bools) -> dict[int, set[int]]:
    """Return the leaves that each leaf reaches: up to a spine and down, or up to a core and down."""
    k, role = own.network.links, own.network.switches.role
    above: dict[int, set[int]] = {}
    below: dict[int, set[int]] = {}
    for link in np.flatnonzero(alive & (k.tier > 0)).tolist():
        a, b = int(k.a[link]), int(k.b[link])
        above.setdefault(a, set()).add(b)
        below.setdefault(b, set()).add(a)
    found = {}
    for leaf in np.flatnonzero(role == 0).tolist():
        spines = above.get(leaf, set())
        cores = set[int]().union(*(above.get(spine, set()) for spine in spines))
        down = spines.union(*(below.get(core, set()) for core in cores))
        found[leaf] = set[int]({leaf}).union(*(below.get(spine, set()) for spine in down))
    return found


def follow(own: WiredFabric, links: list[int], start: int, alive: Bools) -> int:
    """Return where directed links lead from a leaf, each of which must work and begin where the last one ended."""
    k = own.network.links
    for step in links:
        if step < 0:
            continue
        link, down = divmod(step, 2)
        ends = (int(k.a[link]), int(k.b[link]))
        assert alive[link]
        assert ends[down] == start
        start = ends[1 - down]
    return start


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lost", [0.0, 0.15, 0.4, 0.7])
def test_paths_lead_there_over_links_that_work(
    shape: tuple[int, int, int, int], lost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the keys, and whichever part of the links between switches is lost."""
    monkeypatch.setattr(tree_paths, "CHUNK", 64)  # so that flows are routed in several parts
    own = fabric(*shape)
    links = own.network.links
    for seed in range(3):
        chance = np.random.default_rng(seed)
        alive = (chance.random(len(links)) >= lost) | (links.tier == 0)
        paths = TreePaths(own.trees[0])
        if lost:
            paths = paths.after(alive)
        leaves, reach = paths.tree.leaf, joined(own, alive)
        src, dst = (item.ravel() for item in np.meshgrid(np.arange(leaves), np.arange(leaves)))
        apart = src != dst
        src, dst = np.tile(src[apart], 4), np.tile(dst[apart], 4)
        drawn = chance.integers(0, 1 << 40, (3, len(src)))
        steps, ok = paths.steps(src, dst, keys(len(src), leaf=drawn[0], spine=drawn[1], core=drawn[2]))
        for one, two, way, arrives in zip(src.tolist(), dst.tolist(), steps.tolist(), ok.tolist(), strict=True):
            assert arrives == (two in reach[one]), (one, two)
            if arrives:
                assert follow(own, way, one, alive) == two
                assert (way[0] >= 0, way[3] >= 0, way[1] >= 0) == (True, True, way[2] >= 0)
                here = paths.pod_of(np.array([one, two]))
                assert not (here[0] != here[1] and way[1] < 0)
        for leaf in range(leaves):
            assert set(np.flatnonzero(paths.reaches(leaf)).tolist()) == reach[leaf]


@pytest.mark.parametrize("shape", SHAPES[3:])
def test_keys_choose_among_links_in_turn(shape: tuple[int, int, int, int]) -> None:
    """On a whole tree key `leaf` is the uplink, `spine` the link to the cores, `core` one of those down to the pod."""
    own = fabric(*shape)
    paths = TreePaths(own.trees[0])
    tree, u = paths.tree, paths.uplinks
    k = own.network.links
    dst = tree.leaf - 1
    for src in (0, tree.leaf - 2):
        if int(paths.pod_of(np.array(src))) == int(paths.pod_of(np.array(dst))):
            group = np.arange(2 * u)
            steps, _ = paths.steps(np.full(2 * u, src), np.full(2 * u, dst), keys(2 * u, leaf=group))
            first = own.trees[0].first_leaf_spine
            assert steps[:, 0].tolist() == (2 * (first + src * u + group % u)).tolist()
            assert steps[:, 3].tolist() == (2 * (first + dst * u + group % u) + 1).tolist()
            continue
        pod = tree.pod
        assert pod is not None
        up = pod.up
        leaf, spine, core = (item.ravel() for item in np.meshgrid(np.arange(u), np.arange(up), np.arange(6)))
        count = len(leaf)
        steps, ok = paths.steps(
            np.full(count, src), np.full(count, dst), keys(count, leaf=leaf, spine=spine + up, core=core)
        )
        assert ok.all()
        assert np.unique(steps[:, 1]).size == u * up  # every link of the pod to the cores is used
        for n in range(count):
            middle = int(k.b[steps[n, 1] // 2])
            down = np.flatnonzero((k.tier == 2) & (k.b == middle))
            lower = own.network.switches.pod[k.a[down]] == paths.pod_of(np.array(dst))
            assert steps[n, 2] // 2 == down[lower][core[n] % lower.sum()]


def test_a_lost_uplink_is_replaced_on_its_spine() -> None:
    """Four leaves with two links to each of two spines: without uplink 0 of leaf 1, spine 0 goes down by uplink 1."""
    own = fabric(2, 8, 4, 16)
    wired = own.trees[0]
    alive = np.ones(len(own.network.links), bool)
    alive[wired.first_leaf_spine + 4] = False
    paths = TreePaths(wired).after(alive)
    steps, ok = paths.steps(np.zeros(4, int), np.ones(4, int), keys(4, leaf=np.arange(4)))
    assert ok.all()
    assert ((steps[:, 3] - 1) // 2 - wired.first_leaf_spine).tolist() == [5, 5, 6, 7]
    back, ok = paths.steps(np.ones(6, int), np.zeros(6, int), keys(6, leaf=np.arange(6)))
    assert ok.all()
    assert (back[:, 0] // 2 - wired.first_leaf_spine).tolist() == [5, 6, 7, 5, 6, 7]
    assert paths.disturbed(np.array([0, 1, 2, 2]), np.array([1, 2, 3, 0])).tolist() == [True, True, False, False]


def test_what_a_lost_link_to_a_core_disturbs() -> None:
    """Flows out of its pod and into it, and none within a pod or between others."""
    own = fabric(3, 8, 4, 48)  # three pods of four leaves
    wired = own.trees[0]
    alive = np.ones(len(own.network.links), bool)
    alive[wired.first_spine_core + 16] = False  # the first of the second pod's
    paths = TreePaths(wired).after(alive)
    found = paths.disturbed(np.array([0, 4, 4, 0, 0]), np.array([4, 8, 5, 8, 1]))
    assert found.tolist() == [True, True, False, False, False]


def test_rows_of_links_to_the_cores() -> None:
    """Two pods of 4 x 4 links, then a smaller one of 4 x 2: link t of group g of pod p is (4 p + g) 4 + t, or 32 + 2 g
    + t in the last one."""
    own = fabric(3, 8, 4, 40)
    paths = TreePaths(own.trees[0])
    last = paths.tree.last_pod
    assert last is not None
    assert (last.leaves, last.spines, last.up) == (2, 2, 2)
    pod, group, link = np.array([0, 1, 1, 2, 2]), np.array([3, 0, 2, 0, 3]), np.array([1, 0, 3, 1, 1])
    assert paths.row_of(pod, group, link).tolist() == [13, 16, 27, 33, 39]
    assert paths.up_of(np.array([0, 1, 2])).tolist() == [4, 4, 2]
    assert paths._groups(np.array([0, 7, 8, 9])).tolist() == [1, 1, 2, 2]
    whole = TreePaths(fabric(3, 8, 4, 32).trees[0])
    assert whole.row_of(np.array([1]), np.array([2]), np.array([3])).tolist() == [27]
    assert whole.up_of(np.array([1])).tolist() == [4]


def test_one_tier_has_no_way_between_leaves() -> None:
    own = fabric(1, 8, 0, 8)
    paths = TreePaths(own.trees[0])
    steps, ok = paths.steps(np.zeros(3, int), np.zeros(3, int), keys(3))
    assert steps.tolist() == [[-1] * 4] * 3
    assert ok.all()
    assert paths.reaches(0).tolist() == [True]
    assert paths.pod_of(np.array([0])).tolist() == [0]
