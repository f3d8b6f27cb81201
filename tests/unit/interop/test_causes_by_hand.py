"""Findings of an audit on fabrics of a few devices: what each says, what to do, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.interop.audit.cable_causes import _NAMED, _steps
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


def test_nothing_is_wrong_with_the_design_itself() -> None:
    made = found(FABRIC, FABRIC, there=False)
    assert (made.causes, made.effect) == ([], "")


def test_cables_that_are_not_there() -> None:
    """One alone; three at one leaf; all of a leaf, which is then to be looked at itself."""
    (one,) = found(FABRIC, FABRIC[1:]).causes
    assert (one.kind, one.severity, one.links) == ("missing-cable", "error", 1)
    assert one.what == "1 cable not found: a/nic0 to leaf-1/p1"
    assert one.where == ("a/nic0/p1", "leaf-1/p1")
    assert one.do == ("lay, reseat or replace the cable from a/nic0 to leaf-1/p1",)
    assert one.effect == LESS.format("a", 50, GONE)
    (three,) = found(FABRIC, (*FABRIC[2:4], *FABRIC[5:])).causes
    assert three.what.startswith("3 cables at leaf-1 not found: a/nic0 to leaf-1/p1, b/nic0 to leaf-1/p2 and leaf-1/p3")
    assert (three.links, len(three.where), len(three.do)) == (3, 6, 3)
    (whole,) = found(FABRIC, (*FABRIC[2:4], *FABRIC[6:])).causes
    assert whole.do == ("check leaf-1 itself: no link of it is up",)
    two = found(FABRIC, FABRIC[2:])
    assert [cause.links for cause in two.causes] == [1, 1]  # two of one leaf are two findings
    assert two.effect == LESS.format("a and b", 50, GONE)


def test_a_sentence_names_four_cables_and_a_list_twelve_steps() -> None:
    links = rows(16)
    (cause,) = found(links, links[13:]).causes
    assert cause.what.endswith("h03/nic0 to leaf-1/p4 and 9 more")
    assert (len(cause.do), cause.do[-1]) == (_NAMED + 1, "and 1 more")
    assert _steps([str(n) for n in range(12)]) == tuple(str(n) for n in range(12))
    assert _steps([str(n) for n in range(15)])[11:] == ("11", "and 3 more")


def test_cables_that_the_design_has_not() -> None:
    more: tuple[Link, ...] = (
        *(("leaf-1", 9, "spine-1", 9), ("leaf-1", 10, "spine-2", 9), ("leaf-1", 11, "leaf-2", 9)),
    )
    (one,) = found(FABRIC, (*FABRIC, more[0])).causes
    assert (one.kind, one.severity, one.links) == ("extra-cable", "warning", 1)
    assert one.what == "1 cable that the design does not have: leaf-1/p9 to spine-1/p9"
    assert one.where == ("leaf-1/p9", "spine-1/p9")
    (three,) = found(FABRIC, (*FABRIC, *more)).causes
    assert three.what.startswith(
        "3 cables at leaf-1 that the design does not have: leaf-1/p9 to spine-1/p9, leaf-1/p10"
    )
    assert three.links == 3


def test_a_moved_cable_with_and_without_another_that_is_gone() -> None:
    """The cable of spine-2 sits where that of spine-1 is to be; it is that of spine-1 that is not found."""
    (free,) = found(FABRIC, changed(FABRIC, {4: ("leaf-1", 7, "spine-1", 1)})).causes
    assert free.kind == "moved-cable"
    assert free.what == "the cable from spine-1/p1 ends in leaf-1/p7, and belongs in leaf-1/p3"
    assert free.do == ("move its end from leaf-1/p7 to leaf-1/p3",)
    assert (free.effect, free.links) == (SAME, 1)
    (taken,) = found(FABRIC, changed(FABRIC, {4: None, 5: ("leaf-1", 3, "spine-2", 1)})).causes
    assert taken.kind == "moved-cable"
    assert taken.what == (
        "the cable from spine-2/p1 ends in leaf-1/p3, and belongs in leaf-1/p4; "
        "1 cable not found: leaf-1/p3 to spine-1/p1"
    )
    assert taken.do == (
        "move its end from leaf-1/p3 to leaf-1/p4",
        "lay, reseat or replace the cable from leaf-1/p3 to spine-1/p1",
    )
    assert taken.effect == "leaf-1 keeps 50 % of the bandwidth to the tier above"
    (upper,) = found(FABRIC, changed(FABRIC, {4: ("leaf-1", 3, "spine-1", 2), 6: None})).causes
    assert upper.what.startswith("the cable from leaf-1/p3 ends in spine-1/p2, and belongs in spine-1/p1; 1 cable not")
    assert upper.effect == "leaf-2 keeps 50 % of the bandwidth to the tier above"


def test_swapped_cables_are_exchanged_at_one_device_where_that_can_be() -> None:
    leaf = changed(FABRIC, {4: ("leaf-1", 4, "spine-1", 1), 5: ("leaf-1", 3, "spine-2", 1)})
    spine = changed(FABRIC, {4: ("leaf-1", 3, "spine-1", 2), 6: ("leaf-2", 3, "spine-1", 1)})
    own = changed(FABRIC, {0: ("a/nic1", 1, "leaf-1", 1), 2: ("a/nic0", 1, "leaf-2", 1)})
    other = changed(FABRIC, {0: ("b/nic1", 1, "leaf-1", 1), 3: ("a/nic0", 1, "leaf-2", 2)})
    for built, ports, more in (
        (leaf, "leaf-1/p3 and leaf-1/p4", ""),
        (spine, "spine-1/p1 and spine-1/p2", ""),
        (own, "a/nic0 and a/nic1", ""),
        (other, "a/nic0 and b/nic1", ", or the names of the two nodes"),
    ):
        (cause,) = found(FABRIC, built).causes
        assert (cause.kind, cause.links, len(cause.where)) == ("swapped-cables", 2, 4)
        assert cause.what == f"the cables in {ports} are exchanged"
        assert cause.do == (f"exchange the cables in {ports}{more}",)
    across = changed(FABRIC, {4: ("leaf-1", 3, "spine-2", 2), 7: ("leaf-2", 4, "spine-1", 1)})
    (cause,) = found(FABRIC, across).causes
    assert cause.what == "the cables in leaf-1/p3 and leaf-2/p4 are exchanged"
    assert cause.effect.startswith("leaf-2 and spine-1 have 1 link too many")


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


@pytest.mark.parametrize(("step", "where", "way"), [(1, "high", "down"), (-1, "low", "up"), (2, "high", "down")])
def test_a_shift_says_how_far_and_which_way(step: int, where: str, way: str) -> None:
    """Cables that moved by two ports are two rows, of even and of odd ports."""
    links: tuple[Link, ...] = tuple((f"h{n}/nic0", 1, "leaf-1", 10 + n) for n in range(4))
    made = found(links, tuple((a, p, b, q + step) for a, p, b, q in links)).causes
    ports = f"{abs(step)} port{'s' * (abs(step) > 1)}"
    assert len(made) == abs(step)
    for cause in made:
        count = 4 // abs(step)
        assert (cause.kind, cause.links, cause.effect) == ("shifted-cables", count, SAME)
        assert cause.what == f"{count} cables at leaf-1 sit {ports} too {where}"
        assert cause.do == (f"move each {ports} {way} at leaf-1",)


def test_a_shift_over_the_place_of_a_cable_that_is_gone() -> None:
    """Uplinks 102 to 104 sit in 101 to 103: the one to spine-1 is not found, whichever way the row moved."""
    links = rows(4)
    first = next(place for place, link in enumerate(links) if link[0] == "leaf-1")
    low: dict[int, Link | None] = {first + n: ("leaf-1", 100 + n, f"spine-{n + 1}", 1) for n in (1, 2, 3)}
    (cause,) = found(links, changed(links, {first: None, **low})).causes
    assert cause.what == "3 cables at leaf-1 sit 1 port too low; 1 cable not found: leaf-1/p101 to spine-1/p1"
    assert cause.effect == "leaf-1 keeps 75 % of the bandwidth to the tier above"
    high: dict[int, Link | None] = {first + n: ("leaf-1", 102 + n, f"spine-{n + 1}", 1) for n in (0, 1, 2)}
    (cause,) = found(links, changed(links, {first + 3: None, **high})).causes
    assert cause.what == "3 cables at leaf-1 sit 1 port too high; 1 cable not found: leaf-1/p104 to spine-4/p1"


def test_cables_in_disorder_are_moved_one_by_one() -> None:
    """Each step keeps the lower end of a cable where it is."""
    links = rows(4)
    odd: dict[int, Link | None] = {
        **{0: ("h01/nic1", 1, "leaf-1", 1), 5: ("h02/nic0", 1, "leaf-2", 2), 2: ("h00/nic0", 1, "leaf-1", 3)}
    }
    (cause,) = found(links, changed(links, odd)).causes
    assert cause.kind == "permuted-cables"
    assert cause.what.startswith("3 cables are permuted among h00/nic0, leaf-1/p1, leaf-1/p3, h02/nic0 and 2 more")
    assert cause.do == (
        "move the cable of h00/nic0 from leaf-1/p3 to leaf-1/p1",
        "move the cable of h02/nic0 from leaf-2/p2 to leaf-1/p3",
        "move the cable of h01/nic1 from leaf-1/p1 to leaf-2/p2",
    )


def slow(links: tuple[Link, ...], rates: dict[int, tuple[int, float]]) -> _Audited:
    """Return what an audit finds where some links have other lanes and rates [Gb/s] than 4 and 400."""
    both = sides_of(links)
    lanes, rate = both.theirs_lanes.copy(), both.theirs_gbit_s.copy()
    for place, (own, gbit_s) in rates.items():
        lanes[place], rate[place] = own, gbit_s
    return causes(replace(both, theirs_lanes=lanes, theirs_gbit_s=rate))


@pytest.mark.parametrize(
    ("seen", "words", "why", "kept"),
    [
        ((1, 100.0), "1x NDR, 100 Gb/s", "lanes are dead, or it is a split port", 25),
        ((2, 200.0), "2x NDR, 200 Gb/s", "lanes are dead, or it is a split port", 50),
        ((4, 200.0), "4x HDR, 200 Gb/s", "it trained at less", 50),
        ((0, 300.0), "300 Gb/s", "it trained at less", 75),
        ((1, 0.0), "1x", "lanes are dead, or it is a split port", 25),
    ],
)
def test_a_slow_link(seen: tuple[int, float], words: str, why: str, kept: int) -> None:
    (cause,) = slow(rows(4), {0: seen}).causes
    assert (cause.kind, cause.severity, cause.links) == ("slow-link", "error", 1)
    assert cause.what == f"1 link at {words} in place of 400 Gb/s: h00/nic0 to leaf-1/p1"
    assert cause.do == (f"reseat or replace the cable: {why}",)
    assert cause.effect == LESS.format("h00", kept, HELD)


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


def test_what_slow_links_cost_together() -> None:
    """The least of a node's NICs; a link of unknown rate on one lane counts as a quarter here too."""
    made = slow(rows(4), {0: (4, 200.0), 1: (1, 0.0), 8: (4, 100.0)})
    assert made.effect == LESS.format("h00 and h01", 25, HELD) + (
        "; leaf-1 keeps 81 % of the bandwidth to the tier above"
    )
    assert slow(rows(4), {0: (4, 200.0)}).effect == ""  # of one finding alone it would say the same twice


def test_the_worst_comes_first() -> None:
    """Errors before warnings, then those of most links."""
    built = (*changed(FABRIC, {0: None, 2: None, 3: None, 6: None}), ("leaf-1", 9, "spine-1", 9))
    made = found(FABRIC, (*built, ("box", 1, "leaf-1", 20)), ("box",))
    assert [(cause.kind, cause.links) for cause in made.causes] == [
        ("missing-cable", 3),
        ("missing-cable", 1),
        ("extra-cable", 1),
        ("unknown-device", 1),
    ]


def test_switches_and_nodes_that_are_not_there() -> None:
    """A leaf goes with its nodes where these are gone as well; what a spine costs, its leaves say."""
    (leaf,) = found(FABRIC, (*FABRIC[2:4], *FABRIC[6:]), there=False).causes
    assert (leaf.kind, leaf.links) == ("absent-switch", 4)
    assert leaf.what == "switch leaf-1 was not found, with 2 endpoints of 2 nodes below it"
    assert leaf.effect == LESS.format("a and b", 50, GONE)
    (spine,) = found(FABRIC, (*FABRIC[:4], FABRIC[5], FABRIC[7]), there=False).causes
    assert spine.what == "switch spine-1 was not found"
    assert (spine.links, spine.effect) == (2, "leaf-1 and leaf-2 keep 50 % of the bandwidth to the tier above")
    (node,) = found(FABRIC, changed(FABRIC, {0: None, 2: None}), there=False).causes
    assert (node.kind, node.where, node.links) == ("absent-node", ("a",), 2)
    assert node.do == ("check power and drivers of a, and its cables at leaf-1/p1 and leaf-2/p1",)
    assert node.effect == "a is off the fabric"
    (nic,) = found(FABRIC, FABRIC[1:], there=False).causes
    assert (nic.kind, nic.what, nic.where) == ("absent-nic", "a/nic0 of node a was not found", ("a/nic0",))
    assert nic.effect == LESS.format("a", 50, GONE)


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


def test_nics_and_nodes_that_are_gone_beside_a_switch() -> None:
    """A leaf goes with one of its two nodes' NICs; the other node is named by itself, with what is left to look at."""
    (leaf, node) = found(FABRIC, (FABRIC[3], *FABRIC[6:]), there=False).causes
    assert (leaf.kind, leaf.what) == (
        "absent-switch",
        "switch leaf-1 was not found, with 2 endpoints of 2 nodes below it",
    )
    assert (node.kind, node.where, node.links) == ("absent-node", ("a",), 1)
    assert node.do == ("check power and drivers of a, and its cables at leaf-2/p1",)
    assert node.effect == "a is off the fabric"


def test_devices_that_the_design_has_not() -> None:
    """Adapters of one host go together; one that is wired to nothing takes no port."""
    names = ("box mlx5_0", "box mlx5_1", "lone")
    made = found(FABRIC, (*FABRIC, (names[0], 1, "leaf-1", 9), (names[1], 1, "leaf-2", 9)), names)
    wired, alone = made.causes
    assert (wired.kind, wired.severity, wired.links, wired.where) == ("unknown-device", "warning", 2, names[:2])
    assert wired.what == "box with 2 adapters is not in the design at leaf-1/p9 and leaf-2/p9"
    assert wired.effect == "it takes ports that the design leaves free"
    assert (alone.what, alone.links, alone.effect) == ("lone is not in the design, wired to nothing", 0, "none")


@pytest.mark.parametrize(
    ("names", "links"),
    [
        ({"leaf-1": "leaf-2", "leaf-2": "leaf-1"}, 8),
        ({"spine-1": "spine-2", "spine-2": "spine-1"}, 4),
        ({"a/nic0": "b/nic0", "b/nic0": "a/nic0", "a/nic1": "b/nic1", "b/nic1": "a/nic1"}, 4),
    ],
)
def test_two_devices_in_each_other_s_places(names: dict[str, str], links: int) -> None:
    (cause,) = found(FABRIC, renamed(names), there=False).causes
    one, two = sorted({name.partition("/")[0] for name in names})
    assert (cause.kind, cause.where, cause.links) == ("exchanged-devices", (one, two), links)
    assert cause.what == f"{one} and {two} are exchanged"
    assert cause.do == (f"exchange their names, or their {links} cables",)
    assert cause.effect == NAMES


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


def test_names_that_several_devices_have() -> None:
    (one,) = causes(sides_of(FABRIC), ("x",)).causes
    (two,) = causes(sides_of(FABRIC), ("x", "y")).causes
    assert (one.kind, one.severity, one.what, one.where) == (
        *("shared-name", "warning"),
        *("several devices call themselves x", ("x",)),
    )
    assert two.what == "2 names have several devices each: x and y"
