"""Numbers of the fabric worked by hand, where another formula would give another number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ffplan.fabric.routing.routing import _hashed, _splitmix
from ffplan.fabric.routing.tree_routing import TreeRouting, _CutTraffic
from ffplan.fabric.sizing.families import Candidate, Request, _slim_fly, _slim_fly_counts
from ffplan.fabric.sizing.fat_tree import _build_tree, _TreeRule
from ffplan.fabric.sizing.low_diameter import _delta_of
from tests.fabrics import wire_tree
from tests.support import wired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def test_splitmix_gives_the_published_sequence() -> None:
    """SplitMix64 from seed 1234567, as printed by the reference program of Vigna."""
    golden = 0x9E3779B97F4A7C15
    seeds = np.array([(1234567 + number * golden) % 2**64 for number in range(5)], np.uint64)
    assert _splitmix(seeds).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_hashes_differ_by_source_destination_seed_and_level() -> None:
    src, dst = np.arange(64), np.full(64, 7)
    rows = [_hashed(src, dst, 1, 0), _hashed(dst, src, 1, 0), _hashed(src, dst, 2, 0), _hashed(src, dst, 1, 1)]
    assert len({value for row in rows for value in row.tolist()}) == 4 * 64 - 1  # from 7 to 7 is the same both ways
    assert all((row >= 0).all() for row in rows)
    spread = np.bincount(_hashed(np.arange(100_000), np.zeros(100_000, np.int64), 3, 0) % 16, minlength=16)
    assert abs(spread - 6250).max() < 400  # five standard deviations


def ask(endpoints: int, radix: int) -> Request:
    return Request(endpoints=endpoints, radix=radix, rails=1, ratio=1.0, core_policy="minimal", tiers=(2,), planes=(1,))


def only(make: Callable[[Request], Iterator[Candidate | str]], endpoints: int, radix: int) -> Any:
    (found,) = list(make(ask(endpoints, radix)))
    return found


def test_slim_flies_of_the_paper() -> None:
    """Besta and Hoefler 2014: q = 5 is the Hoffman-Singleton graph, 50 routers of degree 7, 175 links; q = 19 has 722
    routers of degree 29 and 10,830 endpoints."""
    assert _slim_fly_counts(5, 1) == (50, 4, 200, 175)
    assert _slim_fly_counts(19, -1) == (722, 15, 10_830, 722 * 29 // 2)
    assert [_delta_of(q) for q in (4, 5, 6, 7, 19)] == [0, 1, None, -1, -1]
    found = only(_slim_fly, 200, 11)
    assert (found.router, found.endpoints, found.inter_switch_links) == (50, 200, 175)
    assert only(_slim_fly, 201, 11) == "slim-fly: 200"
    assert only(_slim_fly, 1, 2) == "slim-fly: 0"


def test_traffic_between_zones_passes_the_pods_of_the_links_between_them(tmp_path: Path) -> None:
    """All that leaves a zone is counted once on its way to the pods with inter-zone links, less what starts there."""
    own = wired("fire-flyer-2")
    router = TreeRouting(own.fabric)
    endpoints = own.fabric.network.endpoints
    src = np.flatnonzero(endpoints.zone == 0)[:50]
    dst = np.flatnonzero(endpoints.zone == 1)[:50]
    cuts = _CutTraffic(router)
    cuts.flows(src, dst, np.full(50, 2.0))
    load = cuts.loads()
    k = own.fabric.network.links
    trunk = np.flatnonzero(k.tier == 3)
    assert load[2 * trunk].sum() == pytest.approx(100.0)
    assert load[2 * trunk + 1].sum() == pytest.approx(100.0)
    up = np.flatnonzero(k.tier == 1)
    assert load[2 * up].sum() == pytest.approx(load[2 * up + 1].sum())
    assert (load >= 0).all()


def test_a_spine_that_two_uplinks_share_is_reached_by_either() -> None:
    """Two spines with two links to each leaf: losing one link to a spine cuts no group off, losing both cuts two."""
    rule = _TreeRule(tiers=2, radix=8, uplinks=4, rails=1, core_policy="minimal")
    fabric = wire_tree(_build_tree(rule, 16), 16, 25.0)
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
