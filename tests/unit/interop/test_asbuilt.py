"""A fabric as built against its design: by hand on four devices, and hostile numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.interop.asbuilt.ibnetdiscover import _read_listing
from ffplan.interop.asbuilt.model import PORTS, _peer_of
from ffplan.interop.asbuilt.names import named
from ffplan.interop.audit.report import audit, placed
from ffplan.interop.audit.sides import Designed
from tests.unit.interop.small_sides import whole_ports

if TYPE_CHECKING:
    from ffplan.results.as_built import DiffReport

NET = """\
Switch 4 "S-1" # "leaf"
[1] "H-1"[1]
[2] "H-2"[1]
[4] "S-2"[1]
Switch 4 "S-2" # "spine"
[1] "S-1"[4]
Hca 1 "H-1" # "a"
[1] "S-1"[1]
Hca 1 "H-2" # "b"
[1] "S-1"[2]
"""
NAMES = ["leaf", "spine", "a", "b"]


def ends(*rows: tuple[int, int, int, int]) -> Designed:
    """Links as (device, port, device, port), ports counted from 1."""
    import numpy as np

    found = np.array([(a * PORTS + p, b * PORTS + q) for a, p, b, q in rows], np.int64)
    rates, roles = np.full(len(found), 200.0), np.array([1, 2, 0, 0])
    return Designed(
        names=NAMES,
        ends=found,
        gbit_s=rates,
        roles=roles,
        places=np.zeros((4, 2), np.int64),
        printed=whole_ports(roles),
        beside="",
    )


def compare(wanted: Designed, text: str = NET) -> DiffReport:
    """The audit of a listing against links of a design."""
    built = _read_listing(text, "x")
    return audit(wanted, built, placed(wanted, built, named(built.devices, wanted.names, (), "")), "d")


def strays(report: DiffReport) -> set[tuple[str, str, str]]:
    """Port, designed and found end of everything miswired."""
    found = [(item.port, item.designed, item.found) for item in report.miswired]
    assert len(found) == len(set(found))
    return set(found)


AS_BUILT = ((0, 1, 2, 1), (0, 2, 3, 1), (0, 4, 1, 1))


def test_a_moved_cable_is_miswired_and_not_missing() -> None:
    """The cable of `b` was to be in port 3 of the leaf and is in port 2: its end at `b` is right."""
    report = compare(ends(AS_BUILT[0], (0, 3, 3, 1), AS_BUILT[2]))
    assert (report.same, report.missing, report.extra) == (2, (), ())
    assert strays(report) == {("b/p1", "leaf/p3", "leaf/p2")}


def test_a_link_with_both_ports_free_is_missing_and_one_at_strange_ports_is_extra() -> None:
    report = compare(ends(*AS_BUILT[:2], (0, 3, 1, 2)))
    assert report.missing == (("leaf/p3", "spine/p2"),)
    assert report.extra == (("leaf/p4", "spine/p1"),)
    assert report.miswired == ()


def test_devices_of_one_side_alone_are_named() -> None:
    """A host at the port of another is told by its wiring; one at a free port is unknown."""
    wanted = replace(ends(*AS_BUILT), names=[*NAMES[:3], "c"])
    report = compare(wanted)
    assert (report.absent, report.unknown) == ((), ())
    assert [(item.found, item.designed, item.confidence) for item in report.by_wiring] == [("b", "c", 1.0)]
    report = compare(ends(AS_BUILT[0], (0, 3, 3, 1), AS_BUILT[2]), NET.replace('"b"', '"x"'))
    assert (report.absent, report.unknown) == (("b",), ("x",))
    assert [cause.kind for cause in report.causes] == ["absent-node", "unknown-device"]


def test_the_other_end_of_a_port() -> None:
    import numpy as np

    pairs = np.array([[7, 1], [3, 2]], np.int64)
    assert _peer_of(pairs, np.array([3, 7, 4])).tolist() == [2, 1, -1]
    assert _peer_of(pairs[:0], np.array([3])).tolist() == [-1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'Switch {"9" * 5000} "S-1"\n', "no device is described; line 1: `Switch 999"),
        (f'Switch 4 "S-1"\n[{"1" * 5000}] "S-2"[1]\n', "is neither a device nor a port"),
    ],
)
def test_numbers_of_thousands_of_digits_are_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        _read_listing(text, "net.txt")


def test_line_ends_of_other_systems_and_routers() -> None:
    built = _read_listing(NET.replace("\n", "\r\n") + 'Rt 2 "R-1" # "router"\n', "x")
    assert [(device.name, device.kind, device.line) for device in built.devices] == [
        ("leaf", "switch", 1),
        ("spine", "switch", 5),
        ("a", "host", 7),
        ("b", "host", 9),
        ("router", "router", 11),
    ]
    assert len(built.ends) == 3
