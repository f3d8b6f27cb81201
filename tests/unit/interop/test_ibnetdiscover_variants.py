"""Forms of `ibnetdiscover` over its generations, and what people keep around its output."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.interop.asbuilt.read import read_as_built
from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.interop.asbuilt.model import AsBuilt

LISTING = """\
vendid=0x2c9
devid=0xd2f2
sysimgguid=0x100
switchguid=0x100(100)
Switch\t65 "S-0000000000000100"\t\t# "leaf-01:Quantum-2" enhanced port 0 lid 1 lmc 0
[1]\t"H-0000000000000010"[1](10) \t\t# "node01 mlx5_0" lid 9 4xNDR
[65]\t"H-0000000000000108"[1](108) \t\t# "Mellanox Technologies Aggregation Node" lid 3 4xHDR

caguid=0x10
Ca\t1 "H-0000000000000010"\t\t# "node01 mlx5_0"
[1](10) \t"S-0000000000000100"[1]\t\t# lid 9 lmc 0 "leaf-01:Quantum-2" lid 1 4xNDR

caguid=0x108
Ca\t1 "H-0000000000000108"\t\t# "Mellanox Technologies Aggregation Node"
[1](108) \t"S-0000000000000100"[65]\t\t# lid 3 lmc 0 "leaf-01:Quantum-2" lid 1 4xHDR
"""
REPORT = """\
CA   131  1 0x24 4x QDR - SW   146 32 0xf4 ( 'node01 mlx4_0' - 'MF0;ib6:SX6036/U1' )
SW   146 32 0xf4 4x QDR - CA   131  1 0x24 ( 'MF0;ib6:SX6036/U1' - 'node01 mlx4_0' )
"""


def read(text: str, *, partial: bool = False) -> AsBuilt:
    return read_as_built([("x", text)], partial=partial)


def names(built: AsBuilt) -> list[tuple[str, str]]:
    return [(device.kind, device.name) for device in built.devices]


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        (LISTING, 0),
        ("\ufeff" + LISTING, 0),
        (LISTING.replace("\n", "\r\n"), 0),
        ("#\n# Topology file: generated on Mon\n#\n" + LISTING, 0),
        ("Topology file: generated on Mon\nInitiated from node 0 port 1\n" + LISTING, 0),
        ("[root@head ~]# ibnetdiscover\n" + LISTING + "[root@head ~]# \n", 2),
        ("$ sudo ibnetdiscover\n" + LISTING, 1),
        ("Last login: Mon\n\n" + LISTING, 1),
        (f"```\n{LISTING}```\n", 0),
        (f"# Our fabric\n\nAs it was found:\n\n```\n{LISTING}```\n\nIt has one leaf.\n", 3),
        (LISTING.replace("Switch\t", "\x1b[1;32mSwitch\x1b[0m\t") + "\0\0", 0),
        (LISTING.replace("\nCa", "\nibwarn: [3] _do_madrpc: recv failed\nWARNING: slow\nCa", 1), 2),
        ("libibverbs: Warning: no userspace driver\n" + LISTING, 1),
        ("\n".join(f"    {line}" for line in LISTING.splitlines()), 0),
        (LISTING.replace("caguid=0x10\n", "rev=0x0\nlocal_port=1\ncaguid=0x10\n"), 0),
        (LISTING.replace("[65]", "[2]\n[3]\t\t# down\n[65]", 1), 0),
        (LISTING.replace("[1]\t", "[1][ext 1/2]\t", 1), 0),
        (LISTING.replace("Ca\t", "HCA\t"), 0),
        (f"Chassis 1 (guid 0x100)\nHostname: core\n\n# Spine Nodes\n{LISTING}\nNon-Chassis Nodes\n", 0),
    ],
)
def test_text_around_a_listing_is_passed_over(text: str, passed: int) -> None:
    built = read(text)
    assert names(built) == [("switch", "leaf-01:Quantum-2"), ("host", "node01 mlx5_0")]
    assert built.gbit_s.tolist() == [400.0]
    said = [words for words in built.remarks if words.startswith("skipped")]
    count = f"skipped {passed} line{'s' if passed > 1 else ''} "
    assert said[0].startswith(count) if passed else said == [], said


@pytest.mark.parametrize(
    "front",
    [
        "sm-01: ",
        "2026-03-04T10:11:12 ",
        "[2026-03-04 10:11:12.345678] ",
        "2026-03-04T10:11:12Z ",
        "> ",
        "{n}\t",
        "  {n}:",
    ],
)
def test_what_stands_in_front_of_every_line_is_passed_over(front: str) -> None:
    """As pdsh and ts put it there, and mails and `grep -n`; lines keep their numbers."""
    lines = LISTING.splitlines()
    text = "".join(f"{front.format(n=n)}{line}\n" for n, line in enumerate(lines, start=1))
    built = read(text)
    assert names(built) == [("switch", "leaf-01:Quantum-2"), ("host", "node01 mlx5_0")]
    at = next(n for n, line in enumerate(lines, start=1) if line.startswith("caguid"))
    with pytest.raises(InputError, match=f"^x:{at}:1: error: `what 0x10` is neither"):
        read(text.replace("caguid=", "what ", 1))


def test_lines_of_several_hosts_are_no_listing() -> None:
    """Of two hosts at once lines are mixed."""
    text = "".join(f"sm-0{n % 2}: {line}\n" for n, line in enumerate(LISTING.splitlines()))
    with pytest.raises(InputError, match="no device is described; line 1: `sm-00: "):
        read(text)


NODES = """\
ibwarn: [2] slow
Switch\t : 0xf4521403001bcda0 ports 36 devid 0xc738 vendid 0x2c9 "MF0;sw1:SX6036/U1"
Ca\t : 0xf4521403007e3a40 ports 2 devid 0x1003 vendid 0x2c9 "node01 mlx4_0"
Rt\t : 0xf4521403007e3a50 ports 2 devid 0x1003 vendid 0x2c9 ""
"""


def test_a_list_of_nodes_has_devices_without_links(tmp_path: Path) -> None:
    """`ibnetdiscover -l`, or -S, -H or -R; an audit needs links."""
    built = read(NODES, partial=True)
    assert names(built) == [("switch", "MF0;sw1:SX6036/U1"), ("host", "node01 mlx4_0"), ("router", "f4521403007e3a50")]
    assert [device.ports for device in built.devices] == [36, 2, 2]
    assert (len(built.ends), len(built.lanes), len(built.gbit_s)) == (0, 0, 0)
    assert "the file is a list of nodes: no links are in it" in built.remarks
    with pytest.raises(InputError, match=r"a list of nodes \(-l, -S, -H or -R\), without links"):
        read(NODES)
    with pytest.raises(InputError, match="is described twice"):
        read(NODES + NODES, partial=True)
    with pytest.raises(InputError, match="x:5:1: error: the tool gave up here: `iberror: failed`"):
        read(NODES + "ibpanic: iberror: failed\n", partial=True)
    (tmp_path / "nodes").write_text(NODES)
    run = ffplan("fabric import ibnetdiscover", str(tmp_path / "nodes"))
    assert (run.code, json.loads(run.out)["switches"]) == (0, ["MF0;sw1:SX6036/U1"])


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (LISTING.encode("utf-16"), 0, ""),  # as PowerShell writes it
        (LISTING.encode("utf-16-be"), 0, ""),
        (LISTING.replace("node01", "n\xf601").encode("latin-1"), 0, ""),
        (gzip.compress(LISTING.encode()), 2, "this is packed; unpack it first"),
        (b"\x8f\xe7\x83\x2b\0\0\0\1\xff", 2, "a cache of ibnetdiscover is printed by"),
        (b"\xff\xfe\x00", 2, "this is no text"),
    ],
)
def test_bytes_of_an_output(data: bytes, code: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(data)
    run = ffplan("fabric import ibnetdiscover", str(tmp_path / "out"))
    assert run.code == code
    assert words in run.err
    if not code:
        found = json.loads(run.out)
        assert (len(found["switches"]), len(found["hosts"]), len(found["links"])) == (1, 1, 1)
        assert found["hosts"][0] in ("node01 mlx5_0", "n\xf601 mlx5_0")


def test_aggregation_nodes_of_switches_are_no_hosts() -> None:
    """Every switch that reduces has one, at a port beyond its cages."""
    built = read(LISTING)
    assert len(built.ends) == 1
    assert built.remarks == ("left out 1 aggregation node: parts of switches that reduce, no hosts",)
    assert built.shared == ()


@pytest.mark.parametrize(
    ("comment", "name"),
    [
        ('"node "A" mlx5_0"', 'node "A" mlx5_0'),
        ('"bob\'s # HCA"', "bob's # HCA"),
        ('" HCA-1 "', "HCA-1"),
        ('""', "H-0000000000000010"),
        ("MT23108 InfiniHost lid 9 lmc 0", "MT23108 InfiniHost"),
        ("ISR9024 enhanced port 0 lid 1 lmc 0", "ISR9024"),
        ("ISR9024 base port 0 lid 1 lmc 0", "ISR9024"),
        ("", "H-0000000000000010"),
    ],
)
def test_names_with_quotes_and_without(comment: str, name: str) -> None:
    built = read(LISTING.replace('0010"\t\t# "node01 mlx5_0"', f'0010"\t\t# {comment}'))
    assert names(built)[1] == ("host", name)


@pytest.mark.parametrize(
    ("first", "second"),
    [("node - 1", "leaf - 2"), ("it's", "leaf"), ("", "leaf"), ("node", ""), ("a' b", "leaf"), ("  a  ", " b ")],
)
def test_names_of_a_report(first: str, second: str) -> None:
    built = read(REPORT.replace("node01 mlx4_0", first).replace("MF0;ib6:SX6036/U1", second))
    assert names(built) == [("host", first.strip() or "0x24"), ("switch", second.strip() or "0xf4")]


@pytest.mark.parametrize("free", ["SW 146 22 0xf4 4x QDR 'b'", "SW 146 22 0xf4 4x QDR b", "SW 146 22 0xf4 4x QDR"])
def test_free_ports_of_a_report(free: str) -> None:
    built = read(f"[root@head ~]# ibnetdiscover -p\n{REPORT.replace('0x', '')}{free.replace('0x', '')}\n")
    assert len(built.ends) == 1
    assert "1 port without a cable" in built.remarks


def test_a_part_of_an_output_will_do_for_an_import_alone(tmp_path: Path) -> None:
    """The devices that are wired to have the name that their neighbours know."""
    part = LISTING.partition("caguid=0x10\n")[0]
    with pytest.raises(InputError, match=r"^x:6:1: error: `H-0000000000000010` is a neighbour without an entry"):
        read(part)
    built = read(part, partial=True)
    assert names(built) == [("switch", "leaf-01:Quantum-2"), ("host", "node01 mlx5_0")]
    assert [device.seen for device in built.devices] == [True, False]
    assert "2 devices are neighbours without an entry: the output is incomplete" in built.remarks
    alone = LISTING[LISTING.index("caguid=0x10\n") :].partition("caguid=0x108")[0]
    assert ("switch", "leaf-01:Quantum-2") in names(read(alone, partial=True))
    place = tmp_path / "part.txt"
    place.write_text(part)
    run = ffplan("fabric import ibnetdiscover", str(place))
    assert run.code == 0
    assert "ffplan fabric import: 2 devices are neighbours without an entry" in run.err
    assert ffplan("fabric audit superpod-h100-4su", str(place)).code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("all is well\n", "no device is described; line 1: `all is well` is none"),
        ("< " + LISTING.replace("\n", "\n< "), "no device is described"),
        (LISTING[:-60], "is neither a device nor a port; it is the last line: the file may be cut off"),
        (LISTING.replace("caguid=", "what ", 1), r"`what 0x10` is neither a device nor a port \["),
        (LISTING + LISTING, "is described twice"),
        (LISTING + "no such file\n", "`no such file` is neither a device nor a port"),
        (LISTING.replace("ibpanic", "") + "ibpanic: [7] main: can't open\n", "the tool gave up here"),
    ],
)
def test_what_is_no_whole_listing(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(text, partial=True)
