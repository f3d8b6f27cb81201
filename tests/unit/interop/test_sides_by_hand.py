"""A design beside a fabric as built: one numbering of devices, what the files could show, and who stands where."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.fabric.wiring.network import CORE, LEAF, SPINE
from ffplan.interop.asbuilt.matching import _AGREEING, Matched, _agreeing, _agreement, _alike, _Votes
from ffplan.interop.asbuilt.model import PORTS, AsBuilt, BuiltDevice, both_ways, port_name, renumbered
from ffplan.interop.audit.cables import pairs_apart_from
from ffplan.interop.audit.places import _closed, _cycles, _links_of, _places, exchanged
from ffplan.interop.audit.report import _open, _renamed, _rows, audit
from ffplan.interop.audit.sides import Designed, compare, designed, sides, simulated
from ffplan.interop.exported import subnet
from tests.unit.interop.small_sides import FABRIC, Link, sides_of
from tests.unit.interop.test_causes_by_hand import changed, found, renamed, said
from tests.unit.interop.test_programs_by_hand import small

NAMES = ["leaf", "spine", "a/nic0", "b/nic0"]
WANTED = Designed(
    NAMES,
    np.array([[2 * PORTS + 1, 1], [3 * PORTS + 1, 2], [3, PORTS + 1]], np.int64),
    np.array([200.0, 200.0, 400.0]),
    np.array([1, 2, 0, 0]),
)
"""Two hosts at a leaf, which has one link to a spine."""


def built_of(names: dict[str, bool], rate: list[float] | None = None) -> AsBuilt:
    """Return the same fabric as built, in the order of the design; True are devices whose own links are listed."""
    devices = [
        BuiltDevice(name=name, kind="host" if "/" in name else "switch", ports=0, line=1, seen=seen)
        for name, seen in names.items()
    ]
    ends = np.sort(WANTED.ends, axis=1)
    rates = np.array([200.0, 200.0, 400.0] if rate is None else rate)
    return AsBuilt(devices=devices, ends=ends, lanes=np.full(3, 4), gbit_s=rates, form="a form")


def matched_as(*place: int) -> Matched:
    return Matched(place=np.array(place), confidence=np.array([100, 67, 0, 100]), known={0: 0})


def test_strangers_are_numbered_behind_the_design() -> None:
    names = dict.fromkeys(["leaf", "odd", "a/nic0", "else"], True)
    both = sides(WANTED, built_of(names), matched_as(0, -1, 2, -1))
    assert both.names == [*NAMES, "odd", "else"]
    assert both.devices == 4
    assert both.present.tolist() == [True, False, True, False]
    assert sorted(both.theirs.tolist()) == sorted([[1, 2 * PORTS + 1], [2, 5 * PORTS + 1], [3, 4 * PORTS + 1]])
    assert both.ours.tolist() == WANTED.ends.tolist()
    assert both.ours_gbit_s.tolist() == [200.0, 200.0, 400.0]


def test_links_that_the_files_could_not_show_are_left_out() -> None:
    """The file of the spine alone says nothing of the links of hosts; a netlist lists all."""
    for listed, count in (({"spine"}, 1), ({"leaf"}, 3), (set(), 3), (set(NAMES), 3), ({"spine", "a/nic0"}, 2)):
        built = built_of({name: name in listed for name in NAMES})
        assert len(sides(WANTED, built, matched_as(0, 1, 2, 3)).ours) == count
    stranger = built_of({"leaf": False, "odd": True, "a/nic0": False, "b/nic0": False})
    assert len(sides(WANTED, stranger, matched_as(0, -1, 2, 3)).ours) == 0


def test_a_simulated_fabric_has_no_rates() -> None:
    """ibsim's links without a speed stand at 4x SDR, all of them; two links are enough to say so."""
    every = dict.fromkeys(NAMES, True)
    built = built_of(every, [10.0, 10.0, 10.0])
    assert simulated(built)
    both = sides(WANTED, built, matched_as(0, 1, 2, 3))
    assert (both.theirs_gbit_s.tolist(), both.theirs_lanes.tolist()) == ([0.0] * 3, [0] * 3)
    assert _open(built) == ["every link reads 4x SDR because ibsim links have no speed: rates are not compared"]
    two = replace(built, ends=built.ends[:2], gbit_s=built.gbit_s[:2], lanes=built.lanes[:2])
    assert simulated(two)
    one = replace(built, ends=built.ends[:1], gbit_s=built.gbit_s[:1], lanes=built.lanes[:1])
    assert not simulated(one)
    assert not simulated(built_of(every, [10.0, 10.0, 20.0]))
    assert _open(built_of(every)) == []
    for rates, words in (([0.0, 0.0, 10.0], "2 links"), ([0.0, 5.0, 10.0], "1 link")):
        assert _open(built_of(every, rates)) == [
            f"the rate of {words} is not in the file: slow links would go unnoticed"
        ]


def test_devices_told_by_their_wiring_are_listed_by_the_design_s_names() -> None:
    built = built_of(dict.fromkeys(["x", "y", "z", "w"], True))
    listed = _renamed(NAMES, built, matched_as(3, 1, -1, 0))
    assert [(item.found, item.designed, item.confidence) for item in listed] == [
        ("w", "leaf", 1.0),
        ("y", "spine", 0.67),
    ]


def test_a_report_counts_and_lists() -> None:
    names = dict.fromkeys(["leaf", "odd", "a/nic0", "b/nic0"], True)
    report = audit(WANTED, built_of(names), matched_as(0, -1, 2, 3), "mine")
    assert (report.design, report.form, report.same, report.by_name) == ("mine", "a form", 3, 1)
    assert (report.absent, report.unknown) == (("spine",), ("odd",))
    assert [cause.kind for cause in report.causes] == ["moved-device"]  # it holds the place of the spine
    slow = audit(WANTED, built_of(dict.fromkeys(NAMES, True), [100.0, 200.0, 0.0]), matched_as(0, 1, 2, 3), "mine")
    assert [(item.a, item.b, item.designed_gbit_s, item.found_gbit_s, item.lanes) for item in slow.slow] == [
        ("a/nic0/p1", "leaf/p1", 200.0, 100.0, 4)
    ]
    assert slow.remarks == ("the rate of 1 link is not in the file: slow links would go unnoticed",)


def listed(built: tuple[Link, ...]) -> tuple[object, ...]:
    both = sides_of(FABRIC, built)
    missing, extra, miswired = _rows(both, compare(both))
    return missing, extra, [(item.port, item.designed, item.found) for item in miswired]


def test_links_are_missing_extra_or_miswired_by_their_ports() -> None:
    """A cable at a free port keeps one end; one at the port of another leaves that without any."""
    assert listed(FABRIC[1:]) == ((("a/nic0/p1", "leaf-1/p1"),), (), [])
    assert listed((*FABRIC, ("spine-2", 9, "leaf-1", 9))) == ((), (("leaf-1/p9", "spine-2/p9"),), [])
    moved = changed(FABRIC, {4: ("leaf-1", 7, "spine-1", 1)})
    assert listed(moved) == ((), (), [("spine-1/p1", "leaf-1/p3", "leaf-1/p7")])
    swapped = changed(FABRIC, {4: ("leaf-1", 4, "spine-1", 1), 5: ("leaf-1", 3, "spine-2", 1)})
    assert listed(swapped) == (
        (),
        (),
        [
            ("leaf-1/p3", "spine-1/p1", "spine-2/p1"),
            ("leaf-1/p4", "spine-2/p1", "spine-1/p1"),
            ("spine-1/p1", "leaf-1/p3", "leaf-1/p4"),
            ("spine-2/p1", "leaf-1/p4", "leaf-1/p3"),
        ],
    )


def test_a_design_as_links_between_ports() -> None:
    """Pods of 16 leaves, 16 spines, 8 cores and 60 NICs; a NIC has port 1, and ports of switches count from 1."""
    own = small("pods")
    network = own.fabric.network
    first = len(network.switches)
    made = designed(network, own.names, subnet(network, None, None))
    assert len(made.ends) == len(network.links) == 60 + 128 + 128
    assert np.bincount(made.roles).tolist() == [60, 16, 16, 8]
    assert (LEAF + 1, SPINE + 1, CORE + 1) == (1, 2, 3)
    titles = own.names.devices()
    k = network.links
    for row in (0, 59, 60, 200, 315):
        a, p, b, q = (int(column[row]) for column in (k.a, k.a_port, k.b, k.b_port))
        ends = [port_name(made.names, int(end)) for end in made.ends[row]]
        assert ends == [f"{titles[a]}/p{1 if a >= first else p + 1}", f"{titles[b]}/p{q + 1}"]
        assert made.gbit_s[row] == 8 * k.gbyte_s[row]


def test_ports_and_devices_by_number() -> None:
    ends = np.array([[PORTS + 3, 2 * PORTS + 4]], np.int64)
    assert renumbered(ends, np.array([9, 7, 5])).tolist() == [[7 * PORTS + 3, 5 * PORTS + 4]]
    assert both_ways(ends).tolist() == [[PORTS + 3, 2 * PORTS + 4], [2 * PORTS + 4, PORTS + 3]]
    assert port_name(["a", "b"], PORTS + 3) == "b/p3"
    assert pairs_apart_from({1}, ends) == pairs_apart_from({2}, ends) == []
    assert pairs_apart_from({0, 3}, ends) == [(PORTS + 3, 2 * PORTS + 4)]
    both = sides_of(FABRIC)
    leaf = both.names.index("leaf-1")
    assert [row for row, pair in enumerate(both.ours.tolist()) if tuple(pair) in _links_of(both, {leaf})] == [
        0,
        1,
        4,
        5,
    ]
    assert _links_of(both, set()) == []


def test_devices_move_with_their_ports() -> None:
    both = sides_of(FABRIC[:2])
    made = both.moved({0: 2, 2: 0})
    assert (made.theirs // PORTS).tolist() == [[2, 1], [0, 1]]
    assert (made.theirs % PORTS).tolist() == (both.theirs % PORTS).tolist()
    assert both.moved({}).theirs.tolist() == both.theirs.tolist()


NODES: tuple[Link, ...] = (
    *((f"{host}/nic{n}", 1, f"leaf-{n + 1}", port) for port, host in enumerate("abc", start=1) for n in range(4)),
    *((f"leaf-{n + 1}", 9, "spine-1", n + 1) for n in range(4)),
)
"""Three nodes of four NICs, each at a leaf of its own, and a spine."""


def crossed(*nics: int) -> dict[str, str]:
    """Return the names of some NICs of a and b, each with that of the other."""
    one = {f"a/nic{n}": f"b/nic{n}" for n in nics}
    return {**one, **{two: own for own, two in one.items()}}


def moves(built: tuple[Link, ...], links: tuple[Link, ...] = NODES) -> dict[str, str]:
    both = sides_of(links, built)
    both = replace(both, present=np.ones_like(both.present))
    return {both.names[one]: both.names[two] for one, two in exchanged(both).items()}


def test_a_node_stands_where_most_of_its_nics_are() -> None:
    """All four, or three of four: the last goes with them. Two of four are swapped cables."""
    assert moves(NODES) == {}
    assert moves(renamed(crossed(0, 1, 2, 3), NODES)) == crossed(0, 1, 2, 3)
    assert moves(renamed(crossed(0, 1, 2), NODES)) == crossed(0, 1, 2, 3)
    assert moves(renamed(crossed(0, 1), NODES)) == {}
    gone = tuple(link for link in renamed(crossed(0, 1, 2, 3), NODES) if link[0] != "a/nic3")
    assert moves(gone) == crossed(0, 1, 2, 3)
    assert said(found(NODES, gone)) == [
        ("exchanged-devices", "a and b are exchanged"),
        ("missing-cable", "1 cable not found: b/nic3 to leaf-4/p2"),
    ]
    single: tuple[Link, ...] = (("a/nic0", 1, "leaf-1", 1), ("b/nic0", 1, "leaf-1", 2), ("c/nic0", 1, "leaf-1", 3))
    assert moves(renamed({"a/nic0": "b/nic0", "b/nic0": "a/nic0"}, single), single) == {}  # cables, or names


def test_a_switch_stands_where_more_than_half_of_its_links_are() -> None:
    """Of two spines that are at two leaves, one cable of each is swapped: half of the links say nothing."""
    swapped = {"spine-1": "spine-2", "spine-2": "spine-1"}
    assert moves(renamed(swapped, FABRIC), FABRIC) == swapped
    half = (*FABRIC[:4], ("leaf-1", 3, "spine-2", 1), ("leaf-1", 4, "spine-1", 1), *FABRIC[6:])
    assert moves(half, FABRIC) == {}


def test_votes_for_the_places_of_devices() -> None:
    """(device, place, links that say so, links of the device); most first."""
    both = sides_of(FABRIC, renamed({"spine-1": "spine-2", "spine-2": "spine-1"}))
    at = {name: place for place, name in enumerate(both.names)}
    rows = {tuple(row) for row in _places(both).tolist()}
    assert (at["spine-1"], at["spine-2"], 2, 2) in rows
    assert (at["leaf-1"], at["leaf-1"], 4, 4) in rows
    assert (at["a/nic0"], at["a/nic0"], 1, 1) in rows
    counts = _places(both)[:, 2].tolist()
    assert counts == sorted(counts, reverse=True)


def test_moves_in_rings_and_rows() -> None:
    assert _cycles({1: 2, 2: 1, 5: 6}) == [{1: 2, 2: 1}, {5: 6}]
    assert _cycles({}) == []
    both = sides_of(FABRIC)
    a, b = ([both.names.index(f"{host}/nic{n}") for n in (0, 1)] for host in "ab")
    assert len(_cycles({a[0]: b[0], b[1]: a[1]}, by_host=both)) == 1  # devices of two hosts
    assert len(_cycles({a[0]: b[0], b[1]: a[1]})) == 2
    gone = replace(both, present=np.array([True] * 7 + [False]))
    assert _closed({1: 2, 2: 1}, both)
    assert not _closed({1: 2}, both)
    assert _closed({1: 7}, gone)


def test_how_much_of_a_guess_agrees() -> None:
    """Of three links of two new devices, two are as designed; the third is at another port."""
    ours = np.array([[1, PORTS + 1], [2, PORTS + 2], [3, 2 * PORTS + 1]], np.int64)
    theirs = np.array([[1, PORTS + 1], [2, PORTS + 2], [4, 2 * PORTS + 1]], np.int64)
    votes = _Votes(theirs, ours)
    trial, before = np.array([0, 1, 2]), np.array([-1, 1, 2])
    assert _agreement(trial, before, votes) == pytest.approx(2 / 3)
    assert _agreement(before, before, votes) == 0.0
    assert _agreeing(trial, votes).tolist() == [67, 100, 0]
    assert _alike(before, votes.built, votes).tolist() == [False] * 6
    assert _AGREEING == 0.5


def test_findings_name_hosts_where_all_of_their_nics_stand_elsewhere() -> None:
    built = renamed(crossed(0, 1, 2, 3), NODES)
    (cause,) = found(NODES, built).causes
    assert (cause.what, cause.where, cause.links) == ("a and b are exchanged", ("a", "b"), 8)
