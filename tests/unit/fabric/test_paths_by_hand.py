"""Paths between leaves of small trees, link by link, against a plain search; choices by hand."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.fabric.routing import tree_paths
from ffplan.fabric.routing.routing import Keys
from ffplan.fabric.routing.tree_paths import _TreePaths
from ffplan.fabric.sizing.fat_tree import _build_tree, _TreeRule
from tests.fabrics import wire_tree

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Ints
    from ffplan.fabric.wiring.wiring import WiredFabric


@cache
def fabric(tiers: int, radix: int, uplinks: int, endpoints: int) -> WiredFabric:
    rule = _TreeRule(tiers=tiers, radix=radix, uplinks=uplinks, rails=1, core_policy="minimal")
    return wire_tree(_build_tree(rule, endpoints), endpoints, 25.0)


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
        paths = _TreePaths(own.trees[0])
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


def test_one_tier_has_no_way_between_leaves() -> None:
    own = fabric(1, 8, 0, 8)
    paths = _TreePaths(own.trees[0])
    steps, ok = paths.steps(np.zeros(3, int), np.zeros(3, int), keys(3))
    assert steps.tolist() == [[-1] * 4] * 3
    assert ok.all()
    assert paths.reaches(0).tolist() == [True]
    assert paths.pod_of(np.array([0])).tolist() == [0]
