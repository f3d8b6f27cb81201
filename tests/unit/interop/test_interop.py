"""Other people's formats: host lists, NCCL's XML, ibnetdiscover, Slurm; and what the commands make of them."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import networkx as nx
import pytest

from ffplan.base.hostlist import fold, unfold
from ffplan.interop.programs import _find_library, _find_program, _ProgramError, _run_program, _wait_for, running
from ffplan.interop.topology.reading import read_server
from ffplan.interop.verify_slurm import _read_topology
from tests.support import ZONES_APART, checker, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path


def p4d() -> str:
    """The PCIe tree of an AWS p4d.24xlarge as its NCCL topology file gives it, ids and rates included."""
    link = 'link_speed="8 GT/s" link_width="16"'
    gpu, efa = 'class="0x030200" vendor="0x10de" device="0x20b0"', 'class="0x020000" vendor="0x1d0f" device="0xefa0"'
    cpus = []
    for numa, buses in enumerate((("10", "20"), ("90", "a0"))):
        switches = []
        for number, bus in enumerate(buses, start=2 * numa + 1):
            devices = [
                f'<pci busid="0000:{bus}:{slot}.0" {what} {link}/>'
                for slot, what in (("1c", gpu), ("1d", gpu), ("1b", efa))
            ]
            head = f'<pci busid="ffff:ff:{number:02}.0" class="0x060400" vendor="0xffff" device="0xffff" {link}>'
            switches.append(head + "".join(devices) + "</pci>")
        ids = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85"'
        cpus.append(f'<cpu numaid="{numa}" {ids}>{"".join(switches)}</cpu>')
    return f'<system version="1">{"".join(cpus)}</system>'


def test_host_lists_fold_and_unfold() -> None:
    names = ["n01", "n02", "n03", "n07", "login", "n10"]
    assert fold(names) == "login,n[01-03,07,10]"
    assert sorted(unfold(fold(names))) == sorted(names)
    assert fold(["a9", "a10"]) == "a9,a10"  # widths differ, so they cannot share a bracket
    assert unfold("x[8-11],y") == ["x8", "x9", "x10", "x11", "y"]
    with pytest.raises(ValueError, match="not a range of numbers"):
        unfold("x[1-b]")
    with pytest.raises(ValueError, match="not a host list"):
        unfold("x[1")


def test_the_p4d_topology() -> None:
    """Two groups of two GPUs and an adapter behind a PCIe switch on each of two sockets."""
    inside = read_server(p4d().encode(), "p4d.xml")
    assert [len(socket.ports) for socket in inside.sockets] == [2, 2]
    for port in (port for socket in inside.sockets for port in socket.ports):
        assert port.switched
        assert (len(port.gpus), len(port.nics)) == (2, 1)
        assert {str(device.link) for device in (*port.gpus, *port.nics)} == {"x16 Gen3"}
    assert {gpu.pci_id for gpu in inside.gpus} == {"10de:20b0"}


def test_an_imported_server_works_once_it_is_filled_in(tmp_path: Path) -> None:
    source = tmp_path / "p4d.xml"
    source.write_text(p4d())
    done = ffplan("fabric import nccl", str(source), "--id", "p4d-mine", "--cpu", "xeon-8480c")
    assert done.code == 0
    assert "still to fill in: memory.channels" in done.err
    text = done.out
    for name, value in (("channels", "6"), ("rate", "2933 MT/s"), ("dimms", "12"), ("capacity", "576 GB")):
        text = text.replace(f"{name}: {{value: TODO", f"{name}: {{value: {value}")
    text = text.replace("power: {}", "nvlink: {switched: true}\npower: {other: {value: 900 W, source: filled}}")
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "p4d-mine.yaml").write_text(text)
    changes = (
        ("server: dgx-a100-320gb, count: 1250", "server: p4d-mine, count: 40"),
        ("tiers: 3", "tiers: 2"),
        ("  core_policy: per-rail-whole-pods", "  #"),
        *((line, "#") for line in ("cost:", "  price_book", "  exclude")),
    )
    design = vary_design(tmp_path, "dgx-a100-10k", *changes)
    done = ffplan("design", str(design), "--catalog", str(parts), "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["hardware"]["nics_on_fabric"] == 4
    exported = ffplan("fabric export", str(design), "--catalog", str(parts), "--to", "nccl").out
    again = read_server(exported.encode(), "again.xml")
    original = read_server(p4d().encode(), "p4d.xml")
    for one, two in zip(again.sockets, original.sockets, strict=True):
        assert [[d.pci_id for d in (*p.gpus, *p.nics)] for p in one.ports] == [
            [d.pci_id for d in (*p.gpus, *p.nics)] for p in two.ports
        ]


def test_diff_names_what_is_missing_extra_and_miswired(tmp_path: Path) -> None:
    net = ffplan("fabric export", "fire-flyer-2", "--to", "ibsim", "--zone", "1").out
    blocks = {re.search(r'"(.*?)"', block)[1]: block for block in net.split("\n\n") if block.strip()}  # type: ignore[index]
    leaf, spine, other = blocks["z1-leaf-01"], blocks["z1-spine-01"], blocks["z1-spine-02"]
    # swap two cables: leaf-01 p21 and p22 lead to the first two spines the other way round
    swapped = leaf.replace('[21]\t"z1-spine-01"[1]', '[21]\t"z1-spine-02"[1]').replace(
        '[22]\t"z1-spine-02"[1]', '[22]\t"z1-spine-01"[1]'
    )
    blocks["z1-leaf-01"] = swapped
    blocks["z1-spine-01"] = spine.replace('"z1-leaf-01"[21]', '"z1-leaf-01"[22]')
    blocks["z1-spine-02"] = other.replace('"z1-leaf-01"[22]', '"z1-leaf-01"[21]')
    # unplug a node; let another be gone; plug in a stranger
    blocks["compute-0002/nic0"] = blocks["compute-0002/nic0"].splitlines()[0]
    blocks["z1-leaf-01"] = blocks["z1-leaf-01"].replace('[2]\t"compute-0002/nic0"[1]\te=4\n', "")
    del blocks["compute-0003/nic0"]
    blocks["z1-leaf-01"] = blocks["z1-leaf-01"].replace('[3]\t"compute-0003/nic0"[1]\te=4\n', "")
    blocks["z1-leaf-01"] += '\n[20]\t"stranger"[1]'
    blocks["stranger"] = 'Hca\t1 "stranger"\n[1]\t"z1-leaf-01"[20]'
    built = tmp_path / "built.txt"
    built.write_text("\n\n".join(blocks.values()) + "\n")
    done = ffplan("fabric audit fire-flyer-2", str(built), "--zone", "1", "--format", "json")
    assert done.code == 1, done.err
    report = json.loads(done.out)
    checker("audit").validate(report)
    assert report["absent"] == ["compute-0003/nic0"]
    assert report["unknown"] == ["stranger"]
    assert report["missing"] == [["compute-0002/nic0/p1", "z1-leaf-01/p2"], ["compute-0003/nic0/p1", "z1-leaf-01/p3"]]
    assert report["extra"] == [["stranger/p1", "z1-leaf-01/p20"]]
    assert {"port": "z1-leaf-01/p21", "designed": "z1-spine-01/p1", "found": "z1-spine-02/p1"} in report["miswired"]
    assert len(report["miswired"]) == 4
    text = ffplan("fabric audit", "fire-flyer-2", str(built), "--zone", "1").out
    assert "1,556 links as designed, 4 findings" in text


def test_diff_of_a_fabric_with_other_names(tmp_path: Path) -> None:
    built = tmp_path / "built.txt"
    built.write_text(
        'Switch 2 "S-1" # "tor-1"\n[1] "S-2"[1] # "tor-2"\nSwitch 2 "S-2" # "tor-2"\n[1] "S-1"[1] # "tor-1"\n'
    )
    done = ffplan("fabric audit", "fire-flyer-2", str(built))
    assert done.code == 2
    assert "no device of this file is in the design" in done.err


def test_graphml_and_dot_hold_the_fabric(tmp_path: Path) -> None:
    path = tmp_path / "fabric.graphml"
    assert ffplan("fabric export", "fire-flyer-2", "--to", "graphml", "-o", str(path)).code == 0
    graph = nx.read_graphml(path, force_multigraph=True)
    assert len(graph) == 122 + 1520
    assert graph.number_of_edges() == 3200
    assert graph.nodes["z1-leaf-01"]["role"] == "leaf"
    dot = ffplan("fabric export", "dgx-a100-10k", "--to", "dot").out
    assert dot.count(" -- ") == 2 * 25  # 25 pods of leaves and of spines, and the cores, each tier of a pod one box
    assert dot.count("[label=") == 51 + 50
    assert '"core x 320"' in dot
    assert sum(map(int, re.findall(r'" -- ".*label="(\d+)"', dot))) == 20_000


def test_edges_of_graphml_join_the_ports_of_the_cable_list(tmp_path: Path) -> None:
    path = tmp_path / "fabric.graphml"
    assert ffplan("fabric export", "superpod-h100-4su", "--to", "graphml", "-o", str(path)).code == 0
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    root = ET.parse(path)
    edges = [
        (edge.get("source"), edge.get("target"), {item.get("key"): item.text for item in edge.findall("g:data", space)})
        for edge in root.iterfind(".//g:edge", space)
    ]
    found = {frozenset([(one, int(data["a_port"] or 0)), (two, int(data["b_port"] or 0))]) for one, two, data in edges}
    rows = csv.DictReader(io.StringIO(ffplan("fabric export", "superpod-h100-4su", "--to", "cables").out))
    wanted = {
        frozenset([(f"{row['from_device']}/{row['from_port']}", 1), (row["to_device"], int(row["to_port"]))])
        if row["from_port"].startswith("nic")
        else frozenset([(row["from_device"], int(row["from_port"])), (row["to_device"], int(row["to_port"]))])
        for row in rows
    }
    assert found == wanted
    assert {data["gbyte_s"] for _, _, data in edges} == {"50.0"}
    assert {data["tier"] for _, _, data in edges} == {"endpoint", "leaf_spine"}
    graph = nx.read_graphml(path, force_multigraph=True)
    assert {node["zone"] for _, node in graph.nodes(data=True)} == {0}


def test_dot_keeps_to_a_page() -> None:
    """Graphviz sets every label of an edge between the tiers, and would set a fabric without tiers in a row."""
    wide = ffplan("fabric export", "superpod-h100-4su", "--to", "dot").out
    assert "rankdir=BT; nodesep=0.1; ranksep=3.2;" in wide  # 32 leaves
    assert 'label="2 links between two switches, unless an edge says otherwise";' in wide
    assert wide.count('" -- "') == 512
    assert re.findall(r'" -- "[^"]*" \[label', wide) == []
    flat = ffplan("fabric export", "dragonfly-a100", "--to", "dot").out
    assert "layout=neato;" in flat
    assert "group=" not in flat
    assert flat.count("\\n190 links inside") == 50  # 20 routers of a group, each joined to each
    assert flat.count('" -- "') == 50 * 49 // 2
    zones = ffplan("fabric export", "fire-flyer-2", "--to", "dot").out
    assert [int(count) for count in re.findall(r" x (\d+)\\n", zones)] == [40, 40]


def test_dot_counts_every_endpoint(tmp_path: Path) -> None:
    for design, count in (("gb200-nvl72-16", 1152), ("superpod-h100-4su", 1016)):
        dot = ffplan("fabric export", design, "--to", "dot").out
        found = [int(number) for number in re.findall(r"\\n(\d+) endpoints", dot)]
        assert sum(found) == count
        assert "-01\\n" in dot  # the first leaf has its share
    single = vary_design(tmp_path, "superpod-h100-4su", ("count: 127", "count: 1"))
    assert re.findall(r"\\n(\d+) endpoints", ffplan("fabric export", str(single), "--to", "dot").out) == ["1"] * 8


def test_the_list_of_cables() -> None:
    rows = list(csv.DictReader(io.StringIO(ffplan("fabric export", "superpod-h100-4su", "--to", "cables").out)))
    assert len(rows) == 1016 + 1024
    ends = [(row["from_device"], row["from_port"]) for row in rows] + [
        (row["to_device"], row["to_port"]) for row in rows
    ]
    assert len(set(ends)) == len(ends)
    assert rows[0]["from_place"] == "row 1 rack 1 U1"
    plain = list(csv.DictReader(io.StringIO(ffplan("fabric export", "fire-flyer-2", "--to", "cables").out)))
    assert len(plain) == 3200
    assert "length_m" not in plain[0]


def test_cables_of_split_ports(tmp_path: Path) -> None:
    """Two 200 Gb/s ports share a 400 Gb/s port and its cable."""
    path = vary_design(tmp_path, "superpod-h100-4su", ("  tiers: 2", "  tiers: 2\n  breakout: 2"))
    rows = list(csv.DictReader(io.StringIO(ffplan("fabric export", str(path), "--to", "cables").out)))
    report = json.loads(ffplan("design", str(path), "--format", "json").out)["fabric"]
    assert report["ports_per_switch"] == 128
    to_leaves = {row["label"] for row in rows if row["to_device"].startswith("leaf")}
    assert report["cables"]["endpoint"] == len(to_leaves) == 24 * 16 + 8 * 16  # 31 nodes use 16 whole ports
    assert report["cables"]["inter_switch"] == report["links"]["leaf_spine"] // 2  # two links lead to each spine
    assert len({row["label"] for row in rows}) == report["cables"]["total"]
    ends = [(row["to_device"], row["to_port"]) for row in rows]
    assert len(set(ends)) == len(ends) == report["links"]["total"]
    for name in ("leaf-01", "spine-01"):  # both parts of whole ports, from the first, as printed on the switch
        used = [port for device, port in ends if device == name]
        assert set(used) == {f"{port}/{part}" for port in range(1, len(used) // 2 + 1) for part in (1, 2)}
    up = {row["from_port"] for row in rows if row["from_device"] == "leaf-01"}  # 32 whole ports down, the rest up
    assert up == {f"{port}/{part}" for port in range(33, 65) for part in (1, 2)}


def test_slurm_topology_has_one_root_per_unconnected_part(tmp_path: Path) -> None:
    def roots(text: str) -> list[str]:
        found = _read_topology(text)
        below = {name for _, _, switches in found.values() for name in switches}
        return [name for name in found if name not in below]

    assert roots(ffplan("fabric export", "fire-flyer-2", "--to", "slurm").out) == ["interzone"]
    assert roots(ffplan("fabric export", "dgx-a100-10k", "--to", "slurm").out) == ["fabric"]
    apart = vary_design(tmp_path, "fire-flyer-2", *ZONES_APART)
    assert roots(ffplan("fabric export", str(apart), "--to", "slurm").out) == ["z1-fabric", "z2-fabric"]


def test_a_missing_program_is_named_with_its_package() -> None:
    with pytest.raises(Exception, match="install the Debian package `opensm`"):
        _find_program("no-such-opensm", "opensm")
    with pytest.raises(Exception, match="install the Debian package `libumad2sim0`"):
        _find_library("no-such-library.so", "libumad2sim0")


def test_programs_that_fail_or_hang_are_stopped(tmp_path: Path) -> None:
    with pytest.raises(_ProgramError, match="exit code 3: oh"):
        _run_program(["sh", "-c", "echo oh >&2; exit 3"], tmp_path, 5)
    with pytest.raises(_ProgramError, match=r"longer than 0\.2 s"):
        _run_program(["sleep", "9"], tmp_path, 0.2)
    with (
        running(["sleep", "9"], tmp_path, "log") as job,
        pytest.raises(_ProgramError, match=r"not ready within 0\.1 s"),
    ):
        _wait_for(lambda: False, job, 0.1, "not ready")
    assert job.process.poll() is not None
    with (
        running(["sh", "-c", "echo gone"], tmp_path, "log") as job,
        pytest.raises(_ProgramError, match="not ready: gone"),
    ):
        _wait_for(lambda: False, job, 5, "not ready")


def test_a_split_port_keeps_the_name_of_its_nic_with_and_without_a_floor(tmp_path: Path) -> None:
    """Names of NICs may hold any letter; both lists of cables print them whole."""
    change = ("  tiers: 2", "  tiers: 2\n  planes: 2\n  planes_by: port\n  breakout: 2")
    with_floor = vary_design(tmp_path, "superpod-h100-4su", change)
    text = with_floor.read_text()
    start, end = text.index("floor:\n"), text.index("communication:\n")
    without = tmp_path / "without.yaml"
    without.write_text((text[:start] + text[end:]).replace(", rack_units: 8", ""))
    names = []
    for path in (with_floor, without):
        rows = list(csv.DictReader(io.StringIO(ffplan("fabric export", str(path), "--to", "cables").out)))
        names.append([(row["from_device"], row["from_port"], row["to_device"], row["to_port"]) for row in rows])
    assert names[0] == names[1]
    assert names[0][0][1] == "nic0p1"


def test_a_signal_waits_for_the_program_that_is_being_started(tmp_path: Path) -> None:
    """A signal between the start of a program and its being known is put off, so that the program is stopped."""
    import os
    import signal

    from ffplan.interop import programs

    def interrupted() -> None:
        with programs.ended_in_order():
            with programs._start():
                os.kill(os.getpid(), signal.SIGTERM)
            with running(["sleep", "60"], tmp_path, "log") as job:
                raise AssertionError(f"{job} should not have gone on")

    with pytest.raises(SystemExit) as caught:
        interrupted()
    assert caught.value.code == 143
    assert programs._asked == []
    with pytest.raises(SystemExit), programs.ended_in_order():
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_slurm_lists_every_leaf_below_its_own_pod() -> None:
    """The first NICs of 1,250 nodes fill 63 leaves: three pods of 20, and three leaves of the fourth."""
    found = _read_topology(ffplan("fabric export", "dgx-a100-10k", "--to", "slurm").out)
    pods = [switches for name, (_, _, switches) in found.items() if name.startswith("pod-")]
    assert [len(switches) for switches in pods] == [20, 20, 20, 3]
    assert [min(switches) for switches in pods] == ["leaf-001", "leaf-021", "leaf-041", "leaf-061"]
    assert len({leaf for switches in pods for leaf in switches}) == 63
