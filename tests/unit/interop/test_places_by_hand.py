"""Which device of the design a device as built is: by its name, by a map, by its wiring, and by its host."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.interop.asbuilt.builder import Builder
from ffplan.interop.asbuilt.matching import Matched, _features, _settled, _spread, _Votes, matched
from ffplan.interop.asbuilt.model import PORTS, BuiltDevice, as_built_report
from ffplan.interop.asbuilt.names import (
    _LONGEST,
    _adapter_of,
    _forms_of,
    _mapped,
    _slot,
    _usual,
    named,
    read_map,
    together,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("node01 mlx5_0", ("node01", (0, 0))),
        ("node01/mlx5_13", ("node01", (13, 0))),
        ("node01  mlx5_2p1", ("node01", (2, 1))),
        ("node01 HCA-1", ("node01", (0, 0))),
        ("node01 hca-3", ("node01", (2, 0))),
        ("node01 HCA-0", ("node01", (0, 0))),
        ("node01 eth10", ("node01", (10, 0))),
        ("node01 ens3f1np1", ("node01", (3, 0))),
        ("node01 enp1s0", ("node01", (0, 0))),
        ("n1.example.com nic0p12", ("n1.example.com", (0, 12))),
        ("node01", None),
        ("node01 5", None),
        ("node01 mlx5_", None),
        ("node01 mlx5_12345x", None),
    ],
)
def test_descriptions_of_adapters(text: str, found: tuple[str, tuple[int, int]] | None) -> None:
    """HCAs count from 1, all others from 0; a port that the name leaves out is the only one."""
    assert _adapter_of(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("leaf-01", ["leaf-01"]),
        ("MF0;leaf-01:MQM9700/U1", ["MF0;leaf-01:MQM9700/U1", "leaf-01"]),
        ("Leaf-01:U2", ["Leaf-01:U2", "Leaf-01", "leaf-01"]),
        ("Leaf-01.dc1.example.com", ["Leaf-01.dc1.example.com", "Leaf-01", "leaf-01"]),
        ("10.0.0.7", ["10.0.0.7"]),
        ("00:00:5e:00:53:01", ["00:00:5e:00:53:01"]),
    ],
)
def test_forms_of_a_name(text: str, found: list[str]) -> None:
    assert _forms_of(text) == found


def test_rows_of_a_map() -> None:
    text = "Found, Designed\n\n# racks\nib-1 , leaf-1\n~rack([0-9]+)-u([0-9]+),compute-\\1\\2\n"
    rules = read_map(text, "m.csv")
    assert [(rule.found, rule.designed, rule.line, rule.pattern is None) for rule in rules] == [
        ("ib-1", "leaf-1", 4, True),
        ("~rack([0-9]+)-u([0-9]+)", "compute-\\1\\2", 5, False),
    ]
    assert _mapped("ib-1", rules, "m.csv") == "leaf-1"
    assert _mapped("rack2-u17", rules, "m.csv") == "compute-217"
    assert _mapped("rack2-u17b", rules, "m.csv") is None  # the whole name counts
    name = "rack" + "1" * (_LONGEST - 6) + "-u"
    assert _mapped(f"{name}1"[: _LONGEST + 1], rules, "m.csv") is None
    assert _mapped(f"rack{'1' * (_LONGEST - 7)}-u1", rules, "m.csv") is not None  # of 200 letters


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("~" + "a" * 200 + ",b", ""),
        ("~" + "a" * 201 + ",b", "has 201 characters"),
        ("~a*b+c*d{2},x", ""),
        ("~a*b+c*d+e*,x", "repeats a group, or repeats more than four times"),
        ("~(ab)+,x", "repeats a group"),
        ("~a\\*\\*\\*\\*\\*,x", ""),
        ("~[a,x", "is not a regular expression"),
        ("a,b,c", "`a,b,c` is not a pair of names"),
        ("a,", "is not a pair of names"),
    ],
)
def test_rows_that_are_refused_and_those_that_just_do(row: str, words: str) -> None:
    text = f"x,y\n{row}\n"
    if not words:
        assert len(read_map(text, "m.csv")) == 2
        return
    with pytest.raises(InputError) as caught:
        read_map(text, "m.csv")
    assert str(caught.value).startswith("m.csv:2:1")
    assert words in str(caught.value)


DESIGNED = ("leaf-1", "leaf-2", "n1/nic0", "n1/nic1", "n2/nic0", "n2/nic1", "solo/nic0")


def host(name: str) -> BuiltDevice:
    return BuiltDevice(name=name, kind="host", ports=1, line=1)


def switch(name: str) -> BuiltDevice:
    return BuiltDevice(name=name, kind="switch", ports=4, line=1)


def told(devices: list[BuiltDevice], rows: str = "") -> dict[str, str]:
    """Return the names of the design by those as built."""
    found = named(devices, DESIGNED, read_map(rows, "m.csv"), "m.csv")
    return {devices[number].name: DESIGNED[place] for number, place in found.items()}


def test_names_lead_to_devices() -> None:
    """Complete nodes have adapters 4 and 6: adapter 6 of the other one is its second NIC."""
    devices = [host("N1.example.com mlx5_4"), host("n1 mlx5_6"), host("n2 mlx5_6"), host("SOLO"), switch("LEAF-1")]
    assert told(devices) == {"n2 mlx5_6": "n2/nic1", "SOLO": "solo/nic0", "LEAF-1": "leaf-1"} | {
        "N1.example.com mlx5_4": "n1/nic0",
        "n1 mlx5_6": "n1/nic1",
    }
    assert told([host("n1/nic1"), host("n2/nic0")]) == {"n1/nic1": "n1/nic1", "n2/nic0": "n2/nic0"}
    assert told([host("n1"), host("x mlx5_0"), switch("leaf-9")]) == {}  # a node of two NICs; strangers
    assert told([switch("leaf-1"), switch("MF0;leaf-1:M/U1")]) == {"leaf-1": "leaf-1"}  # one place, one device
    assert told([switch("solo")]) == {}  # a switch is no node


def test_a_map_stands_before_names() -> None:
    assert told([switch("leaf-2"), switch("x")], "leaf-2,leaf-1\nx,leaf-2\n") == {"leaf-2": "leaf-1", "x": "leaf-2"}
    assert told([host("box mlx5_1"), host("box mlx5_0")], "box,N2\n") == {
        "box mlx5_1": "n2/nic1",
        "box mlx5_0": "n2/nic0",
    }


def test_numbers_of_the_design_s_own_nics() -> None:
    wanted = {"compute-1/nic0": (0, 0), "compute-1/nic12p3": (12, 3), "gpu-7/eth": (0, 0), "n1/port10p11": (10, 11)}
    assert {name: _slot(name) for name in wanted} == wanted


def test_numbers_that_most_complete_hosts_have() -> None:
    """Two hosts of two NICs have 0 and 2, one has 0 and 1, one is incomplete."""
    slots = {"a": (0, 2), "b": (0, 1), "c": (2, 0), "d": (7,)}
    adapters = {name: [((slot, 0), 1) for slot in own] for name, own in slots.items()}
    assert _usual(adapters, {key: [1, 2] for key in slots}) == [(0, 0), (2, 0)]
    assert _usual({"d": adapters["d"]}, {"d": [1, 2]}) == []


def placed_together(places: dict[str, str], designed: tuple[str, ...]) -> dict[str, str]:
    """Return the names of the design by adapter, once those of a node are kept together."""
    at = np.array([designed.index(name) if name else -1 for name in places.values()], np.int64)
    where = Matched(place=at, confidence=np.full(len(at), 100), known={})
    made = together(where, [host(name) for name in places], designed).place.tolist()
    return {name: designed[place] if place >= 0 else "" for name, place in zip(places, made, strict=True)}


def test_adapters_of_a_node_stay_together() -> None:
    """Three of four say n1: the fourth goes with them, each to its own number; two of four say nothing."""
    nics = tuple(f"{node}/nic{n}" for node in ("n1", "n2") for n in range(4))
    box = [f"box mlx5_{n}" for n in range(4)]
    three = dict(zip(box, ("n1/nic0", "n1/nic1", "n2/nic2", "n1/nic3"), strict=True))
    assert placed_together(three, nics) == dict(zip(box, nics[:4], strict=True))
    two = dict(zip(box, ("n1/nic0", "n1/nic1", "n2/nic2", "n2/nic3"), strict=True))
    assert placed_together(two, nics) == two
    both = {**three, **{f"other mlx5_{n}": "" for n in range(4)}}
    both |= {"other mlx5_0": "n1/nic2", "other mlx5_1": "n1/nic2", "other mlx5_2": "n1/nic2"}
    assert placed_together(both, nics) == both  # both would be n1
    assert placed_together({"box mlx5_0": "n1/nic3"}, nics) == {"box mlx5_0": "n1/nic3"}  # one adapter is no node
    swapped = dict(zip(box, ("n1/nic1", "n1/nic0", "n1/nic2", "n1/nic3"), strict=True))
    assert placed_together(swapped, nics) == dict(zip(box, nics[:4], strict=True))


LINKS = ((0, 1, 4, 1), (0, 2, 5, 1), (1, 1, 6, 1), (1, 2, 7, 1), (0, 3, 2, 1), (0, 4, 3, 1), (1, 3, 2, 2), (1, 4, 3, 2))
"""Devices 0 and 1 are leaves with two hosts each, 2 and 3 spines; every device is told by ports."""
KINDS = ["switch"] * 4 + ["host"] * 4
ORDER = (5, 3, 0, 7, 6, 1, 4, 2)
"""Number of each device in a file that lists them in another order."""


def ends(links: tuple[tuple[int, int, int, int], ...], order: tuple[int, ...] = tuple(range(8))) -> np.ndarray:
    return np.array([(order[a] * PORTS + p, order[b] * PORTS + q) for a, p, b, q in links], np.int64).reshape(-1, 2)


def places(links: tuple[tuple[int, int, int, int], ...], known: dict[int, int] | None = None) -> Matched:
    """Return the places of devices in another order, by device of the design."""
    kinds = [""] * 8
    for device, number in enumerate(ORDER):
        kinds[number] = KINDS[device]
    found = matched({ORDER[a]: b for a, b in (known or {}).items()}, ends(links, ORDER), ends(LINKS), kinds, KINDS)
    rows = list(ORDER)
    return replace(found, place=found.place[rows], confidence=found.confidence[rows])


@pytest.mark.parametrize("known", [{}, {0: 0}, {7: 7}, {2: 2, 3: 3}])
def test_devices_are_told_by_their_wiring(known: dict[int, int]) -> None:
    found = places(LINKS, known)
    assert found.place.tolist() == list(range(8))
    assert found.confidence.tolist() == [100] * 8
    assert found.by_name == len(known)


def test_wrong_cables_leave_the_places() -> None:
    """Two uplinks of leaf 0 are swapped: two of its four links, and one of two of each spine, are as designed."""
    odd = (*LINKS[:4], (0, 4, 2, 1), (0, 3, 3, 1), *LINKS[6:])
    found = places(odd, {6: 6, 4: 4})
    assert found.place.tolist() == list(range(8))
    assert found.confidence.tolist() == [50, 100, 50, 50, 100, 100, 100, 100]


def test_a_device_without_a_link_has_no_place() -> None:
    lone = tuple(link for link in LINKS if 3 not in (link[0], link[2]))
    found = places(lone, {0: 0})
    assert found.place.tolist() == [0, 1, 2, -1, 4, 5, 6, 7]
    assert found.confidence.tolist() == [100, 100, 100, 0, 100, 100, 100, 100]
    assert places((), {}).place.tolist() == [-1] * 8


def test_votes_of_neighbours() -> None:
    """A neighbour with a place counts 1, and 2 where the device's own port is that of the design too."""
    built = ((0, 1, 4, 1), (0, 9, 5, 1))
    votes = _Votes(ends(built), ends(LINKS))
    place = np.full(8, -1, np.int64)
    place[4], place[5] = 4, 5
    assert votes.candidates(place, 8).tolist() == [[0, 0, 3]]
    place[5] = 6  # port 1 of device 6 leads to device 1
    assert votes.candidates(place, 8).tolist() == [[0, 0, 2], [0, 1, 1]]


def test_a_switch_moves_to_where_most_neighbours_say() -> None:
    """Leaves 0 and 1 took each other's places; a known one stays."""
    forwards = [np.array([True] * 4 + [False] * 4)] * 2
    votes = _Votes(ends(LINKS), ends(LINKS))
    place = np.array([1, 0, 2, 3, 6, 7, 4, 5], np.int64)
    assert _settled(place, {2: 2, 3: 3}, votes, forwards)
    assert place.tolist() == list(range(8))
    assert not _settled(place, {}, votes, forwards)
    place = np.array([1, 0, 2, 3, -1, -1, -1, -1], np.int64)
    assert not _settled(place, {0: 1, 1: 0, 2: 2, 3: 3}, votes, forwards)


def test_places_spread_from_device_to_device() -> None:
    """From one host all others are found; a host is never taken for a switch."""
    forwards = [np.array([True] * 4 + [False] * 4)] * 2
    place = np.full(8, -1, np.int64)
    place[4] = 4
    _spread(place, _Votes(ends(LINKS), ends(LINKS)), forwards)
    assert place.tolist() == list(range(8))
    other = [forwards[0], np.array([False, True, True, True, False, False, False, False])]
    place = np.full(8, -1, np.int64)
    place[4] = 4
    _spread(place, _Votes(ends(LINKS), ends(LINKS)), other)
    assert place.tolist() == [-1] * 4 + [4] + [-1] * 3


def test_features_count_every_link() -> None:
    found = _features(ends(((0, 1, 4, 1), (0, 2, 2, 7))), np.array([True] * 4 + [False] * 4))
    assert found[0] == {1 * 2 * PORTS + 1 * 2: 1, 2 * 2 * PORTS + 7 * 2 + 1: 1}


def test_a_link_takes_the_lower_of_what_its_ends_say() -> None:
    """Ends of 400 and 200 Gb/s; one end that does not say; lanes where both say the same rate."""
    for one, two, wanted in (
        ((4, 400.0), (4, 200.0), (4, 200.0)),
        ((4, 200.0), (4, 400.0), (4, 200.0)),
        ((0, 0.0), (4, 400.0), (4, 400.0)),
        ((4, 400.0), (0, 0.0), (4, 400.0)),
        ((0, 200.0), (2, 200.0), (2, 200.0)),
        ((2, 200.0), (0, 200.0), (2, 200.0)),
        ((0, 0.0), (0, 0.0), (0, 0.0)),
    ):
        builder = Builder("x", "a form")
        a, b = builder.device("A", "a", "switch", 4, 1), builder.device("B", "b", "switch", 4, 2)
        builder.end(a, 1, b, 2, 3, one)
        builder.end(b, 2, a, 1, 4, two)
        built = builder.built()
        assert built.ends.tolist() == [[1, PORTS + 2]]
        assert (built.lanes.tolist(), built.gbit_s.tolist()) == ([wanted[0]], [wanted[1]])


def test_what_a_builder_refuses() -> None:
    builder = Builder("x", "a form")
    with pytest.raises(InputError, match=r"^x:9:1: error: a port before any device"):
        builder.port(1, "B", 1, 9)
    with pytest.raises(InputError, match=r"^x:1:1: error: no device is described"):
        builder.built()
    builder.device("A", "a", "switch", 2, 1)
    for own in (0, 3):
        with pytest.raises(InputError, match=rf"^x:2:1: error: port {own} of `a`, which has 2"):
            builder.port(own, "B", 1, 2)
    builder.port(2, "B", 1, 3)
    with pytest.raises(InputError, match="`A` is described twice, first in line 1"):
        builder.device("A", "again", "switch", 2, 5)
    assert builder.built().undescribed[0] == ("B", 3)
    again = Builder("x", "a form")
    again.device("A", "a", "switch", 3, 1)
    for line, port in enumerate((2, 1, 2, 1), start=3):
        again.port(port, "B", line, line)
    with pytest.raises(InputError, match=r"^x:5:1: error: port 2 of `a` is listed twice"):
        again.built()
    for port, refused in ((0, False), (PORTS - 1, False), (PORTS, True), (-1, True)):
        fresh = Builder("x", "a form")
        device = fresh.device("A", "a", "switch", 0, 1)
        if refused:
            with pytest.raises(InputError, match="a port is below 1,048,576"):
                fresh.end(device, 1, device, port, 2)
        else:
            fresh.end(device, 1, device, port, 2)


def test_ends_that_disagree_and_ends_that_stand_alone() -> None:
    builder = Builder("x", "a form")
    a, b, c = (builder.device(key, key.lower(), "switch", 4, line) for line, key in enumerate("ABC", start=1))
    builder.end(a, 1, b, 1, 7)
    builder.end(b, 1, c, 1, 8)
    with pytest.raises(InputError, match=r"^x:7:1: error: port 1 of `b` names another port at its end"):
        builder.built()
    for count, words in (
        (1, "a link is listed at one end only, first in line 7"),
        (2, "2 links are listed at one end only"),
    ):
        builder = Builder("x", "a form")
        a, b = builder.device("A", "a", "switch", 4, 1), builder.device("B", "b", "switch", 4, 2)
        for port in range(1, 1 + count):
            builder.end(a, port, b, port, 6 + port)
        (remark,) = builder.built().remarks
        assert remark.startswith(words)
        assert remark.endswith("first in line 7")


def test_names_that_several_devices_share() -> None:
    """Each has its own with its key; those of switches that reduce are no finding."""
    builder = Builder("x", "a form")
    for key, name in (("1", "box"), ("2", "box"), ("3", "box"), ("4", "Mellanox Technologies Aggregation Node")) * 1:
        builder.device(key, name, "host", 1, int(key))
    builder.device("5", "Mellanox Technologies Aggregation Node", "host", 1, 5)
    builder.skip("hello  ", 3)
    builder.skip("again", 4)
    built = builder.built()
    assert [device.name for device in built.devices][:3] == ["box", "box (2)", "box (3)"]
    assert built.shared == ("box",)
    assert built.remarks == (
        "skipped 2 lines of other programs, first line 3: `hello`",
        "left out 2 aggregation nodes: parts of switches that reduce, no hosts",
    )
    assert builder.device_of("2", "other", "switch", 9) == 1
    assert builder.device_of("9", "new", "switch", 9) == 5


def test_the_report_is_by_name_whatever_the_order_of_the_file() -> None:
    builder = Builder("x", "a form")
    c, a, b = (builder.device(key, key, kind, 4, 1) for key, kind in (("c", "host"), ("a", "switch"), ("b", "router")))
    builder.end(c, 1, a, 3, 1, (4, 400.0))
    builder.end(a, 2, b, 1, 1)
    report = as_built_report(builder.built(), "x")
    assert (report.switches, report.hosts) == (("a",), ("c",))
    assert [(link.a, link.b, link.gbit_s, link.lanes) for link in report.links] == [
        ("a/p2", "b/p1", None, None),
        ("a/p3", "c/p1", 400.0, 4),
    ]
