"""What faults of a fabric of two nodes, two leaves and two spines cost, every figure by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.fabric.wiring.network import LEAF, SPINE
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.audit.cables import CableGroup, groups, kind_of, parts_not_found, sharing, shift_of
from ffplan.interop.audit.effects import capacity, of_losses, of_miswiring
from ffplan.interop.audit.sides import Designed, Sides, compare, slow_links
from tests.unit.interop.small_sides import FABRIC, Link, sides_of


def lost(found: Sides, *rows: tuple[int, float]) -> list[tuple[tuple[int, int], float]]:
    """Return links by their place in the list with the part that each loses."""
    return [((int(found.ours[row, 0]), int(found.ours[row, 1])), part) for row, part in rows]


def cost(links: tuple[Link, ...], *rows: tuple[int, float]) -> str:
    """Return what losses cost."""
    found = sides_of(links)
    return of_losses(capacity(found), lost(found, *rows))


def test_links_of_a_device_to_the_tier_above() -> None:
    """A NIC has one link up, a leaf two; spines have none."""
    found = sides_of(FABRIC)
    have = capacity(found)
    named = {(found.names[device], tier): count for (device, tier), count in have.up.items()}
    assert named == {
        **{(nic, LEAF + 1): 1 for nic in ("a/nic0", "a/nic1", "b/nic0", "b/nic1")},
        ("leaf-1", SPINE + 1): 2,
        ("leaf-2", SPINE + 1): 2,
    }
    assert {host: [found.names[end] for end in ends] for host, ends in have.ends.items()} == {
        "a": ["a/nic0", "a/nic1"],
        "b": ["b/nic0", "b/nic1"],
    }


JOB = "a job with {} communicates between nodes at {} of its rate: {}"
HELD = "its slowest NIC holds the others back"
UP = "of the bandwidth to the tier above"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], ""),
        ([(0, 1.0)], JOB.format("a", "50 %", "1 of its 2 NICs gone")),
        ([(0, 1.0), (2, 1.0)], "a is off the fabric"),
        ([(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)], "a and b are off the fabric"),
        ([(0, 0.75)], JOB.format("a", "25 %", HELD)),
        ([(0, 0.25), (2, 0.75)], JOB.format("a", "25 %", HELD)),
        ([(0, 0.25), (1, 0.75)], JOB.format("a and b", "25 %", HELD)),
        ([(1, 1.0), (0, 0.25)], JOB.format("b and a", "50 %", "1 of its 2 NICs gone")),
        ([(0, 1.0), (2, 1.0), (3, 0.5)], "a is off the fabric; " + JOB.format("b", "50 %", HELD)),
        ([(4, 1.0)], f"leaf-1 keeps 50 % {UP}"),
        ([(4, 0.5)], f"leaf-1 keeps 75 % {UP}"),
        ([(4, 1.0), (5, 1.0)], f"leaf-1 keeps 0 % {UP}"),
        ([(4, 1.0), (6, 1.0)], f"leaf-1 and leaf-2 keep 50 % {UP}"),
        ([(4, 1.0), (6, 0.5)], f"leaf-1 and leaf-2 keep 50 % or more {UP}"),
        ([(4, 1.0), (1, 1.0), (3, 1.0)], f"b is off the fabric; leaf-1 keeps 50 % {UP}"),
    ],
)
def test_what_losses_cost(rows: list[tuple[int, float]], words: str) -> None:
    assert cost(FABRIC, *rows) == words


def test_tiers_are_told_from_below() -> None:
    """A spine with four links to cores loses one: three quarters are left; its leaf loses its only link."""
    links: tuple[Link, ...] = (
        ("leaf-1", 1, "spine-1", 1),
        *(("spine-1", 1 + port, f"core-{port}", 1) for port in (1, 2, 3, 4)),
    )
    assert cost(links, (1, 1.0), (0, 1.0)) == f"leaf-1 keeps 0 % {UP}; spine-1 keeps 75 % {UP}"


def test_the_bandwidth_between_zones_is_one_sum() -> None:
    """Four leaves of one link each to the switches between zones: one of the four is gone."""
    links: tuple[Link, ...] = tuple((f"leaf-{n}", 1, f"zone-{n % 2}", n) for n in (1, 2, 3, 4))
    assert cost(links, (2, 1.0)) == "75 % of the bandwidth between zones is left"
    assert cost(links, (0, 1.0), (2, 1.0)) == "50 % of the bandwidth between zones is left"


def test_a_link_between_routers_is_one_of_both() -> None:
    """Three routers joined each to each: either end keeps one of its two links."""
    links: tuple[Link, ...] = (
        ("router-1", 1, "router-2", 1),
        ("router-1", 2, "router-3", 1),
        ("router-2", 2, "router-3", 2),
    )
    have = capacity(sides_of(links))
    assert set(have.up.values()) == {2}
    assert cost(links, (0, 1.0)) == "router-1 and router-2 keep 50 % of the links to other routers"


def test_ports_of_a_nic_are_called_so() -> None:
    links: tuple[Link, ...] = tuple((f"a/nic0p{n}", 1, "leaf-1", n) for n in (1, 2, 3, 4))
    assert cost(links, (0, 1.0)) == JOB.format("a", "75 %", "1 of its 4 NIC ports gone")
    one: tuple[Link, ...] = tuple((f"a/nic{n}", 1, "leaf-1", n) for n in (1, 2, 3, 4))
    assert cost(one, (0, 1.0)) == JOB.format("a", "75 %", "1 of its 4 NICs gone")


def rewired(links: tuple[Link, ...], *built: Link) -> str:
    """Return what cables at other ports cost."""
    found = sides_of(links, built)
    rows = compare(found)
    return of_miswiring(
        capacity(found),
        [(one, two) for one, two in found.ours[rows.lost].tolist()],
        [(one, two) for one, two in found.theirs[rows.stray].tolist()],
    )


def test_what_cables_at_other_ports_cost() -> None:
    same = (*FABRIC[:4], ("leaf-1", 4, "spine-1", 1), ("leaf-1", 3, "spine-2", 1), *FABRIC[6:])
    assert rewired(FABRIC, *same).startswith("the same devices are joined at other ports: no bandwidth is lost")
    nodes: tuple[Link, ...] = (("a/nic0", 1, "leaf-2", 1), FABRIC[1], ("a/nic1", 1, "leaf-1", 1), *FABRIC[3:])
    assert rewired(FABRIC, *nodes).startswith("other switches are above a: traffic that was to stay below one")
    piled: tuple[Link, ...] = (*FABRIC[:5], ("leaf-1", 4, "spine-1", 2), ("leaf-2", 3, "spine-2", 1), FABRIC[7])
    words = rewired(FABRIC, *piled)
    assert words == "leaf-2 and spine-2 have 1 link too many, and others too few: routes pile up on what is left"


def test_kinds_of_groups_of_cables() -> None:
    """A port is a number; those below 1 << 20 are of device 0."""

    def kind(gone: list[tuple[int, int]], new: list[tuple[int, int]]) -> str:
        return kind_of(CableGroup(gone, new))

    assert kind([(1, 2)], []) == "missing"
    assert kind([], [(1, 2)]) == "extra"
    assert kind([(1, 2)], [(1, 3)]) == "moved"
    assert kind([(1, 2), (3, 4)], [(1, 3)]) == "moved"
    assert kind([(1, 2), (3, 4)], [(1, 4), (3, 2)]) == "swapped"
    far = 5 * PORTS
    assert kind([(1, far), (2, far + 2 * PORTS)], [(2, far), (3, far + 2 * PORTS)]) == "shifted"  # 5 ports, not 4
    assert kind([(1, far), (2, far + 2 * PORTS)], [(4, far), (3, far + 2 * PORTS)]) == "permuted"


def shifted(step: int, count: int, around: int = 0, odd: int = 0) -> tuple[int, int] | None:
    """Return the shift of cables of device 1, of which some came round to other ports, and some went astray."""
    far = [(10 + n) * PORTS + 1 for n in range(count)]
    gone = [(PORTS + 20 + n, end) for n, end in enumerate(far)]
    new = [(PORTS + 20 + n + step, end) for n, end in enumerate(far)]
    for n in range(around):
        new[n] = (PORTS + 90 + 5 * n, far[n])
    for n in range(around, around + odd):
        new[n] = (PORTS + 70 - 3 * n, far[n])
    return shift_of(CableGroup(gone, new))


def test_a_shift_is_of_all_cables_but_those_that_came_round() -> None:
    assert shifted(1, 2) == (1, 1)
    assert shifted(-2, 5) == (1, -2)
    assert shifted(1, 4, around=1) == (1, 1)
    assert shifted(1, 4, around=1, odd=1) is None  # two are apart, and a shift by one lets one come round
    assert shifted(2, 4, around=2) == (1, 2)
    assert shifted(3, 1) is None  # one cable alone says nothing
    assert shift_of(CableGroup([(PORTS + 1, 2 * PORTS)], [(3 * PORTS, 2 * PORTS)])) is None  # at another device


def test_links_that_share_a_device() -> None:
    """Device 1 has three of the five links, device 4 two of those left."""
    pairs = [(PORTS + n, (9 + n) * PORTS) for n in (1, 2, 3)] + [(4 * PORTS, 20 * PORTS), (4 * PORTS + 1, 21 * PORTS)]
    assert sharing(pairs, 3) == [(1, pairs[:3]), (-1, [pairs[3]]), (-1, [pairs[4]])]
    assert sharing(pairs, 2) == [(1, pairs[:3]), (4, pairs[3:])]
    assert sharing(pairs, 4) == [(-1, [pair]) for pair in pairs]
    assert sharing([], 1) == []
    hub = [(1 * PORTS + port, (2 if port < 3 else 3) * PORTS + port) for port in range(5)]
    rest = [(2 * PORTS + 8, 4 * PORTS + 1), (2 * PORTS + 9, 5 * PORTS + 1), (3 * PORTS + 9, 5 * PORTS + 2)]
    assert sharing(hub + rest, 2) == [(1, hub), (2, rest[:2]), (-1, [rest[2]])]  # 2 had four links, and 5 had two
    both = [(PORTS, 2 * PORTS), (PORTS + 1, 2 * PORTS + 1)]
    assert sharing(both, 2) == [(1, both)]  # of two alike, the first
    assert sharing([(PORTS, PORTS + 1)], 2) == [(-1, [(PORTS, PORTS + 1)])]  # a link counts once for its device


def test_parts_that_are_not_found() -> None:
    """Three joined switches of six links inside; one more link to what was found is a fifth of five, not below it."""
    inside: tuple[Link, ...] = tuple(
        (f"leaf-{one}", 10 * two + n, f"spine-{two}", 10 * one + n) for one in (1, 2) for two in (1,) for n in (1, 2, 3)
    )
    outside: tuple[Link, ...] = (("leaf-1", 99, "spine-9", 1),)

    def parts(links: tuple[Link, ...]) -> list[list[str]]:
        found = sides_of(links)
        gone = {place for place, name in enumerate(found.names) if name != "spine-9"}
        return [sorted(found.names[device] for device in part) for part in parts_not_found(found, gone)]

    assert parts(inside) == [["leaf-1", "leaf-2", "spine-1"]]
    assert parts((*inside, *outside)) == [["leaf-1", "leaf-2", "spine-1"]]  # 1 < 0.2 x 6
    assert parts((*inside[:5], *outside)) == []  # 1 = 0.2 x 5
    assert parts(inside[:3]) == []  # two switches are no part
    nodes: tuple[Link, ...] = (*inside, ("n/nic0", 1, "leaf-2", 90))
    assert parts(nodes) == [["leaf-1", "leaf-2", "n/nic0", "spine-1"]]


def test_groups_share_ports_and_leave_out_what_is_explained() -> None:
    """A swap of two cables of leaf-1, and a cable of leaf-2 that is gone."""
    built = (*FABRIC[:4], ("leaf-1", 4, "spine-1", 1), ("leaf-1", 3, "spine-2", 1), FABRIC[6])
    found = sides_of(FABRIC, built)
    rows = compare(found)
    assert (rows.same.tolist(), rows.lost.tolist(), rows.stray.tolist()) == (
        [True] * 4 + [False, False, True, False],
        [4, 5, 7],
        [4, 5],
    )
    assert rows.built_rows.tolist() == [0, 1, 2, 3, -1, -1, 6, -1]
    assert sorted((kind_of(group), len(group.lost), len(group.stray)) for group in groups(found, rows, set())) == [
        ("missing", 1, 0),
        ("swapped", 2, 2),
    ]
    leaf = found.names.index("leaf-2")
    assert [kind_of(group) for group in groups(found, rows, {leaf})] == ["swapped"]
    spine = found.names.index("spine-1")
    assert [kind_of(group) for group in groups(found, rows, {spine})] == ["moved", "missing"]


@pytest.mark.parametrize(
    ("rate", "lanes", "slow"),
    [
        (400.0, 4, False),
        (380.0, 4, False),
        (379.9, 4, True),
        (100.0, 1, True),
        (0.0, 1, True),
        (0.0, 4, False),
        (0.0, 0, False),
    ],
)
def test_links_below_95_of_100_of_their_rate_are_slow(rate: float, lanes: int, slow: bool) -> None:
    """Where the rate is unknown, one lane alone tells."""
    found = sides_of(FABRIC[:2])
    found = replace(found, theirs_gbit_s=np.array([400.0, rate]), theirs_lanes=np.array([4, lanes]))
    links = slow_links(found, compare(found))
    assert [(item.lanes, item.gbit_s, item.wanted_gbit_s) for item in links] == [(lanes, rate, 400.0)] * slow
    assert [item.ends for item in links] == [tuple(found.ours[1].tolist())] * slow


def test_names_and_tiers_of_ports() -> None:
    """An endpoint has one port and goes by its own name; a stranger has its ports, and no tier."""
    found = sides_of(FABRIC, (*FABRIC, ("box", 2, "leaf-1", 9)), ("box",))
    nic, leaf, spine, box = (found.names.index(name) * PORTS + 3 for name in ("a/nic0", "leaf-1", "spine-1", "box"))
    assert [found.port(end) for end in (nic, leaf, box)] == ["a/nic0", "leaf-1/p3", "box/p3"]
    assert [found.full(end) for end in (nic, leaf, box)] == ["a/nic0/p3", "leaf-1/p3", "box/p3"]
    assert [found.roles_of(end) for end in (nic, leaf, spine, box)] == [0, 1, 2, -1]
    assert found.lower((spine, leaf)) == leaf // PORTS
    assert found.lower((nic, leaf)) == nic // PORTS
    assert found.lower((leaf, box)) == box // PORTS
    other = found.names.index("leaf-2") * PORTS + 1
    assert found.lower((other, leaf)) == min(leaf, other) // PORTS
    assert found.devices == 8


def test_a_design_says_hosts_and_switches() -> None:
    made = Designed(["x", "y", "z"], np.zeros((0, 2), np.int64), np.zeros(0), np.array([0, 1, 5]))
    assert made.kinds == ["host", "switch", "switch"]
