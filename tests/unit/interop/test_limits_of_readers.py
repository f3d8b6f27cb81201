"""How much is read, and how much a program can take: what just does, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ffplan.base.errors import InputError, UsageError
from ffplan.interop import exported, opensm, verify_opensm, workloads, xml_tree
from ffplan.interop.asbuilt import model
from ffplan.interop.asbuilt.ibnetdiscover import _read_listing, _read_report
from ffplan.interop.asbuilt.matching import _matched
from ffplan.interop.asbuilt.read import read_as_built
from ffplan.interop.logs import read
from ffplan.interop.logs.measured import _refuse
from tests.unit.interop.test_programs_by_hand import answer, report, small

LINKS = ((0, 1, 4, 1), (0, 2, 5, 1), (1, 1, 6, 1), (1, 2, 7, 1), (0, 3, 2, 1), (0, 4, 3, 1), (1, 3, 2, 2), (1, 4, 3, 2))
"""Devices 0 and 1 are leaves with two hosts each, 2 and 3 spines; every device is told by ports."""
KINDS = ["switch"] * 4 + ["host"] * 4


def ends(links: tuple[tuple[int, int, int, int], ...]) -> np.ndarray:
    return np.array([(a * model.PORTS + p, b * model.PORTS + q) for a, p, b, q in links], np.int64)


def test_files_of_64_mib_and_topologies_of_4() -> None:
    assert (model.MOST_BYTES, workloads.MOST_BYTES, xml_tree.MOST_BYTES) == (64 << 20, 64 << 20, 4 << 20)
    assert (read._MOST_ROWS, workloads._MOST_JOBS) == (1_000_000, 5_000_000)
    assert model.PORTS == 1 << 20


def test_rows_of_a_sheet_and_jobs_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The heading is line 1 of a sheet; rows that are not filled in may be more."""
    monkeypatch.setattr(read, "_MOST_ROWS", 3)
    sheet = "check,measured\n" + "memory,1\n" * 2
    assert len(read.read_log(sheet + "memory,\n" * 5, "s.csv")) == 2
    with pytest.raises(InputError, match=r"^s.csv:4:1: error: more than 3 rows"):
        read.read_log(sheet + "memory,1\n", "s.csv")
    monkeypatch.setattr(workloads, "_MOST_JOBS", 2)
    jobs = "arrival_s,gpus,run_s\n" + "0,1,60\n" * 2
    assert len(workloads.read_jobs(jobs, "j.csv", 8)[0]) == 2
    with pytest.raises(InputError, match=r"^j.csv:4:1: error: more than 2 jobs"):
        workloads.read_jobs(jobs + "0,1,60\n", "j.csv", 8)


def test_a_refusal_has_its_place() -> None:
    with pytest.raises(InputError, match=r"^a.txt:7:3: error: odd"):
        _refuse("a.txt", 7, "odd", "mend it", 3)
    with pytest.raises(InputError, match=r"^a.txt:7:1: error: odd"):
        _refuse("a.txt", 7, "odd", "mend it")


def test_switches_of_infiniband_have_254_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """`floor` has switches of 24 ports; the engine is not asked where a switch has more than can be numbered."""
    assert verify_opensm._MOST_PORTS == 254
    radix = small("floor").fabric.network.radix
    answer(monkeypatch, {}, {})
    monkeypatch.setattr(verify_opensm, "_MOST_PORTS", radix)
    assert report("ftree", "floor").passed
    monkeypatch.setattr(verify_opensm, "_MOST_PORTS", radix - 1)
    own = small("floor")
    with pytest.raises(UsageError, match=f"a switch of {radix} ports cannot be an InfiniBand switch"):
        verify_opensm.verify_opensm(own.design, own.fabric, own.names, (("ftree",), 7.0), lambda *_: None)


def test_a_subnet_of_just_so_many_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plane of `floor` has 44 NICs, four leaves and a spine."""
    answer(monkeypatch, {}, {})
    monkeypatch.setattr(verify_opensm, "_MOST_LIDS", 49)
    assert report("ftree", "floor").passed
    monkeypatch.setattr(verify_opensm, "_MOST_LIDS", 48)
    with pytest.raises(UsageError, match="plane 1 has 49 switches and ports of hosts"):
        report("ftree", "floor")


def test_roots_and_ranks_of_one_zone() -> None:
    own = small("joined")
    network = own.fabric.network
    inside = np.ones(len(network.switches) + len(network.endpoints), bool)
    inside[: len(network.switches)] = network.switches.role == 0
    assert opensm._expected_ranks(network, inside) == (8,)
    assert [int(network.switches.role[switch]) for switch in opensm._roots(network, inside)] == [0] * 8


def test_parts_of_a_fabric_that_nothing_joins() -> None:
    """Two copies side by side, of which names tell nothing, and one where two switches have no links at all."""
    other = tuple((a + 8, p, b + 8, q) for a, p, b, q in LINKS)
    both = np.concatenate([ends(LINKS), np.array([(a << 20 | p, b << 20 | q) for a, p, b, q in other], np.int64)])
    found = _matched({0: 0, 8: 8}, both, both, [*KINDS, *KINDS], [*KINDS, *KINDS])
    assert found.place.tolist() == list(range(16))
    lone = _matched({}, ends(LINKS), ends(LINKS), [*KINDS, "switch", "switch"], KINDS)
    assert lone.place.tolist() == [*range(8), -1, -1]
    none = _matched({}, ends(LINKS), ends(LINKS), [*KINDS], ["host"] * 8)
    assert none.place.tolist() == [-1] * 8


LISTING = """\
vendid=0x2c9
Switch 40 "S-1" # "leaf" base port 0
[1](1) "H-1"[1](1) # "a mlx5_0" lid 9 4xHDR
[2][ext 7] "H-2"[1] # "4xSDR of b" lid 9 2xNDR
[3]
[4] (guid)
Ca 1 "H-1"
[1] "S-1"[1]
?? 1 "H-2" # ""
[1] "S-1"[2]
"""


def test_lines_of_a_listing() -> None:
    """Without a description a device goes by its guid; the rate stands behind the description of the peer."""
    built = _read_listing(LISTING, "x")
    assert [(item.name, item.kind, item.ports, item.line) for item in built.devices] == [
        ("leaf", "switch", 40, 2),
        ("H-1", "host", 1, 7),
        ("H-2", "host", 1, 9),
    ]
    assert (built.lanes.tolist(), built.gbit_s.tolist()) == ([4, 2], [200.0, 200.0])
    with pytest.raises(InputError, match=r"^x:2:1: error: port 41 of `leaf`, which has 40"):
        _read_listing(LISTING.replace("vendid=0x2c9\n", "").replace("[1](1)", "[41]"), "x")


def test_lines_of_a_report() -> None:
    """Kinds of both ends, the rate in two words, and a router."""
    text = "# a comment\nSW 1 3 0x0b 4x NDR - CA 2 1 0x0a ( 'leaf-1' - 'n1 mlx5_0' )\n"
    text += "RT 9 2 0x0c 2x HDR - SW 1 4 0x0b ( '' - 'leaf-1' )\n"
    built = _read_report(text, "x")
    assert [(item.name, item.kind, item.line) for item in built.devices] == [
        ("leaf-1", "switch", 2),
        ("n1 mlx5_0", "host", 2),
        ("0x0c", "router", 3),
    ]
    assert built.ends.tolist() == [[3, model.PORTS + 1], [4, 2 * model.PORTS + 2]]
    assert built.gbit_s.tolist() == [400.0, 100.0]
    assert read_as_built([("x", text)]).form == "ibnetdiscover -p"


def test_a_zone_of_a_dragonfly_has_its_routers() -> None:
    """`circle` is one zone of 36 routers and 72 NICs; switches between zones are of none."""
    network = small("circle").fabric.network
    assert exported.subnet(network, None, 0).sum() == 36 + 72
    assert exported.subnet(network, 1, None).sum() == 0
    joined = small("joined").fabric.network
    inside = [exported.subnet(joined, None, zone) for zone in (0, 1)]
    assert [int(part[: len(joined.switches)].sum()) for part in inside] == [6, 6]
    assert not (inside[0] & inside[1]).any()
    assert exported.subnet(joined, None, None).all()


def test_what_no_reader_knows_is_refused_at_its_first_line() -> None:
    for text in ('{"a": 1}', "\n\n[{}]"):
        with pytest.raises(InputError, match=r"^x:1:1: error: this is neither output of ibnetdiscover"):
            read_as_built([("x", text)])
