"""Which device of the design a device as built is: by its name, by a map, by its wiring, and by its host."""

from __future__ import annotations

import pytest

from ffplan.base.errors import InputError
from ffplan.interop.asbuilt.builder import _Builder
from ffplan.interop.asbuilt.model import PORTS, _BuiltDevice
from ffplan.interop.asbuilt.names import (
    _LONGEST,
    _mapped,
    named,
    read_map,
)


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


def host(name: str) -> _BuiltDevice:
    return _BuiltDevice(name=name, kind="host", ports=1, line=1)


def switch(name: str) -> _BuiltDevice:
    return _BuiltDevice(name=name, kind="switch", ports=4, line=1)


def told(devices: list[_BuiltDevice], rows: str = "") -> dict[str, str]:
    """Return the names of the design by those as built."""
    found = named(devices, DESIGNED, read_map(rows, "m.csv"), "m.csv")
    return {devices[number].name: DESIGNED[place] for number, place in found.items()}


def test_what_a_builder_refuses() -> None:
    builder = _Builder("x", "a form")
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
    again = _Builder("x", "a form")
    again.device("A", "a", "switch", 3, 1)
    for line, port in enumerate((2, 1, 2, 1), start=3):
        again.port(port, "B", line, line)
    with pytest.raises(InputError, match=r"^x:5:1: error: port 2 of `a` is listed twice"):
        again.built()
    for port, refused in ((0, False), (PORTS - 1, False), (PORTS, True), (-1, True)):
        fresh = _Builder("x", "a form")
        device = fresh.device("A", "a", "switch", 0, 1)
        if refused:
            with pytest.raises(InputError, match="a port is below 1,048,576"):
                fresh.end(device, 1, device, port, 2)
        else:
            fresh.end(device, 1, device, port, 2)


def test_ends_that_disagree_and_ends_that_stand_alone() -> None:
    builder = _Builder("x", "a form")
    a, b, c = (builder.device(key, key.lower(), "switch", 4, line) for line, key in enumerate("ABC", start=1))
    builder.end(a, 1, b, 1, 7)
    builder.end(b, 1, c, 1, 8)
    with pytest.raises(InputError, match=r"^x:7:1: error: port 1 of `b` names another port at its end"):
        builder.built()
    for count, words in (
        (1, "a link is listed at one end only, first in line 7"),
        (2, "2 links are listed at one end only"),
    ):
        builder = _Builder("x", "a form")
        a, b = builder.device("A", "a", "switch", 4, 1), builder.device("B", "b", "switch", 4, 2)
        for port in range(1, 1 + count):
            builder.end(a, port, b, port, 6 + port)
        (remark,) = builder.built().remarks
        assert remark.startswith(words)
        assert remark.endswith("first in line 7")
