"""Findings of an audit on fabrics of a few devices: what each says, what to do, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.interop.audit.report import _Audited, causes
from tests.unit.interop.small_sides import FABRIC, Link, sides_of

SAME = "the same devices are joined at other ports: no bandwidth is lost, but tables and labels are wrong"
NAMES = "no bandwidth is lost; tables, labels and the order of ranks by name are wrong"
LESS = "a job with {} communicates between nodes at {} % of its rate: {}"
GONE, HELD = "1 of its 2 NICs gone", "its slowest NIC holds the others back"


def rows(hosts: int, spines: int = 4) -> tuple[Link, ...]:
    """Return a fabric of nodes with a NIC at each of two leaves, which have a link to every spine from port 101 on."""
    down = [(f"h{n:02}/nic{rail}", 1, f"leaf-{rail + 1}", n + 1) for rail in (0, 1) for n in range(hosts)]
    up = [(f"leaf-{rail + 1}", 101 + n, f"spine-{n + 1}", rail + 1) for rail in (0, 1) for n in range(spines)]
    return (*down, *up)


def changed(links: tuple[Link, ...], to: dict[int, Link | None]) -> tuple[Link, ...]:
    """Return links of which some, by their place, are others or gone."""
    made = (to.get(place, link) for place, link in enumerate(links))
    return tuple(link for link in made if link is not None)


def found(
    links: tuple[Link, ...], built: tuple[Link, ...], unknown: tuple[str, ...] = (), *, there: bool = True
) -> _Audited:
    """Return what an audit finds; devices without a link are there all the same unless said otherwise."""
    both = sides_of(links, built, unknown)
    return causes(replace(both, present=np.ones_like(both.present)) if there else both)


def said(made: _Audited) -> list[tuple[str, str]]:
    """Return kind and sentence of every finding."""
    return [(cause.kind, cause.what) for cause in made.causes]


def renamed(names: dict[str, str], links: tuple[Link, ...] = FABRIC) -> tuple[Link, ...]:
    """Return links of devices under other names."""
    return tuple((names.get(a, a), p, names.get(b, b), q) for a, p, b, q in links)


def test_three_pairs_at_one_switch_or_between_two_are_one_finding() -> None:
    links = rows(16)
    (one,) = found(links, changed(links, {n: (links[n ^ 1][0], 1, "leaf-1", n + 1) for n in range(6)})).causes
    assert (one.kind, one.links, one.effect) == ("swapped-cables", 6, SAME)
    assert one.what == "3 pairs of cables are exchanged at leaf-1"
    assert one.do == tuple(f"exchange leaf-1/p{n} and leaf-1/p{n + 1}" for n in (1, 3, 5))

    def rails(count: int) -> dict[int, Link | None]:
        near = {n: (f"h{n:02}/nic1", 1, "leaf-1", n + 1) for n in range(count)}
        return {**near, **{16 + n: (f"h{n:02}/nic0", 1, "leaf-2", n + 1) for n in range(count)}}

    (two,) = found(links, changed(links, rails(3))).causes
    assert two.what == "3 pairs of cables are exchanged between leaf-1 and leaf-2"
    assert two.do[0] == "see whether these nodes count their adapters the other way, and name them by a map; else"
    assert two.do[1:] == tuple(f"exchange h{n:02}/nic0 and h{n:02}/nic1" for n in range(3))
    assert two.effect.startswith("other switches sit above h00, h01 and h02")
    assert said(found(links, changed(links, rails(2)))) == [
        ("swapped-cables", f"the cables in h{n:02}/nic0 and h{n:02}/nic1 are exchanged") for n in (0, 1)
    ]


def slow(links: tuple[Link, ...], rates: dict[int, tuple[int, float]]) -> _Audited:
    """Return what an audit finds where some links have other lanes and rates [Gb/s] than 4 and 400."""
    both = sides_of(links)
    lanes, rate = both.theirs_lanes.copy(), both.theirs_gbit_s.copy()
    for place, (own, gbit_s) in rates.items():
        lanes[place], rate[place] = own, gbit_s
    return causes(replace(both, theirs_lanes=lanes, theirs_gbit_s=rate))


def test_slow_links_that_run_alike_go_together() -> None:
    """Three at one leaf; more than half of the fabric; two rates are two findings; so are two links of one leaf."""
    links, half = rows(4), (4, 200.0)
    (three,) = slow(links, dict.fromkeys(range(3), half)).causes
    assert three.what.startswith("3 links at leaf-1 at 4x HDR, 200 Gb/s in place of 400 Gb/s: ")
    assert three.do == (
        "check the speed that leaf-1 is set to, and its firmware",
        "reseat or replace the cables: they trained at less",
    )
    assert [cause.links for cause in slow(links, dict.fromkeys(range(2), half)).causes] == [1, 1]
    assert [cause.links for cause in slow(links, {0: half, 1: (2, 200.0), 2: half}).causes] == [1, 1, 1]
    assert [cause.links for cause in slow(links, dict.fromkeys(range(8), half)).causes] == [4, 4]  # half, not more
    (whole,) = slow(links, dict.fromkeys(range(9), half)).causes
    assert whole.what.startswith("9 links at 4x HDR")
    assert whole.do == ("check the speed that the fabric is set to, or whether the files are of another fabric",)
    assert len(slow(links[:3], dict.fromkeys(range(2), half)).causes) == 2  # two of three are too few to say so


def test_a_plane_that_is_in_no_file_is_one_part() -> None:
    """Three joined switches with all NICs at them; what they cost, the nodes say. Two switches are two findings."""
    second: tuple[Link, ...] = (
        *((f"h{n:02}/nic{2 + leaf}", 1, f"leaf-{3 + leaf}", n + 1) for leaf in (0, 1) for n in range(4)),
        *((f"leaf-{3 + leaf}", 101 + n, "spine-9", 4 * leaf + n) for leaf in (0, 1) for n in (1, 2)),
    )
    made = found((*rows(4), *second), rows(4), there=False)
    (cause,) = made.causes
    assert (cause.kind, cause.severity, cause.links) == ("absent-part", "error", 12)
    assert cause.where == ("leaf-3", "leaf-4", "spine-9")
    assert cause.what == (
        "3 switches of one connected part not found (leaf-3, leaf-4 and spine-9), with 8 endpoints: a plane, a zone, "
        "or a pod"
    )
    assert cause.effect == LESS.format("h00, h01, h02 and 1 more", 50, "2 of its 4 NICs gone")
    half = tuple(link for link in second if "leaf-3" in link)
    made = found((*rows(4), *second), (*rows(4), *half), there=False)
    assert [(cause.kind, cause.where, cause.links) for cause in made.causes] == [("absent-switch", ("leaf-4",), 6)]


def test_three_devices_in_a_ring_and_in_a_row() -> None:
    """In a ring each has the place of another; in a row the last has a new one, and the first leaves its own."""
    links = rows(2, spines=4)
    ring = renamed({"spine-1": "spine-2", "spine-2": "spine-3", "spine-3": "spine-1"}, links)
    (cause,) = found(links, ring, there=False).causes
    assert cause.what == "spine-1, spine-3, spine-2 are exchanged in a ring"
    assert cause.links == 6
    row = renamed({"spine-1": "new", "spine-2": "spine-1", "spine-3": "spine-2"}, links)
    (cause,) = found(links, row, ("new",), there=False).causes
    assert (cause.kind, cause.where) == ("moved-device", ("new", "spine-1", "spine-2", "spine-3"))
    assert cause.what == (
        "3 devices have moved: new is in the place of spine-1, spine-1 in the place of spine-2, and so on"
    )
    assert cause.do == ("name them as the design does, or by a map (--map), or move the cables",)
    assert cause.effect == NAMES
    short = renamed({"spine-1": "new", "spine-2": "spine-1"}, links)
    (cause,) = found(links, short, ("new",), there=False).causes
    assert cause.what.endswith("new is in the place of spine-1, spine-1 in the place of spine-2")


def test_a_stranger_in_the_place_of_a_device() -> None:
    for names in ({"spine-1": "new"}, {"a/nic0": "new mlx5_0", "a/nic1": "new mlx5_1"}):
        (cause,) = found(FABRIC, renamed(names), tuple(names.values()), there=False).causes
        title = next(iter(names)).partition("/")[0]
        assert cause.kind == "moved-device"
        assert cause.what == f"new is in the place of {title}"
        assert cause.do[0].startswith("name it as the design does")
        assert (cause.links, cause.effect) == (2, NAMES)


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ((0,), 75),  # one of four links of a zone
        ((0, 1, 2, 3), 0),  # all of one zone
        ((0, 4), 75),  # one of either at the same switch
        ((0, 6), 50),  # one of either at two switches: the other link of each leads nowhere
        ((0, 1, 4, 5), 50),  # all links of one switch
        ((0, 1, 6, 7), 0),  # each zone has one switch left, and not the same
    ],
)
def test_what_is_left_between_zones_is_what_both_have(gone: tuple[int, ...], left: int) -> None:
    """Two zones of four links, two to each of two switches."""
    down: list[Link] = [(f"h{zone}{n}/nic0", 1, f"z{zone}-leaf-1", n + 1) for zone in (1, 2) for n in range(3)]
    up: list[Link] = [
        (f"z{zone}-leaf-1", 10 + 2 * switch + n, f"zone-{switch + 1}", 2 * zone + n)
        for zone in (1, 2)
        for switch in (0, 1)
        for n in (0, 1)
    ]
    links = (*down, *up)
    built = tuple(link for place, link in enumerate(links) if place - len(down) not in gone)
    made = found(links, built)
    words = {cause.effect for cause in made.causes} if len(made.causes) == 1 else {made.effect}
    assert words == {f"{left} % of the bandwidth between zones is left"}


@pytest.mark.parametrize(
    ("lost", "kept", "why"),
    [
        ((0,), 50, "1 of its 4 NIC ports gone, and its slowest NIC holds the others back"),
        ((0, 1), 50, "2 of its 4 NIC ports gone"),  # one NIC of two
        ((0, 2), 50, "2 of its 4 NIC ports gone, and its slowest NIC holds the others back"),
        ((0, 1, 2), 25, "3 of its 4 NIC ports gone, and its slowest NIC holds the others back"),
    ],
)
def test_a_nic_with_one_of_two_ports_holds_its_node_back(lost: tuple[int, ...], kept: int, why: str) -> None:
    """Two NICs of two ports, one in either plane."""
    links: tuple[Link, ...] = tuple(
        (f"{host}/nic{nic}p{port}", 1, f"leaf-{port}", 2 * row + nic + 1)
        for row, host in enumerate("ab")
        for nic in (0, 1)
        for port in (1, 2)
    )
    made = found(links, tuple(link for place, link in enumerate(links) if place not in lost))
    words = {cause.effect for cause in made.causes} if len(made.causes) == 1 else {made.effect}
    assert words == {f"a job with a communicates between nodes at {kept} % of its rate: {why}"}
