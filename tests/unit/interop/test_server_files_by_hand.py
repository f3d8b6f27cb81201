"""Server files of a few devices: every line that a topology file gives, and what is said where it gives too little."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from ffplan.base.errors import InputError
from ffplan.interop.topology.devices import _PcieRate
from ffplan.interop.topology.model import _group_sockets, _NumaNode, _PciDevice, _slow_links, _slow_ports
from ffplan.interop.topology.reading import read_server
from ffplan.interop.topology.scale_up import _ScaleUpLink, _structure
from ffplan.interop.topology.server_file import _numbered, _sources
from ffplan.interop.topology.writing import _element_of, _remark
from ffplan.interop.xml_tree import _parse
from tests.support import read_yaml
from tests.unit.interop.test_topology import PARTS, ROME, file_of, gpu, net, nic, read, written

BRIDGE = 'class="0x060400"'


def device(bus: str, number: int | None = None, link: _PcieRate | None = None, **more: Any) -> _PciDevice:
    return _PciDevice(bus=bus, pci_id="", name="", number=number, link=link, **more)


def bridged(bus: str, *devices: str) -> str:
    return f'<pci busid="{bus}" {BRIDGE}>{"".join(devices)}</pci>'


def test_the_lines_of_two_sockets() -> None:
    """Two GPUs and a NIC behind one port; a GPU alone; a NIC alone on the other socket."""
    shared = bridged("0:a", gpu("0:1"), gpu("0:2"), nic("0:3", net(200000, "m0")))
    one = f"<cpu numaid='0' {ROME}>{shared}{gpu('0:4')}</cpu>"
    two = f"<cpu numaid='1' {ROME}>{nic('0:5', net(200000, 'm1'))}</cpu>"
    made = file_of(read(one, two))
    data = read_yaml(made.text)
    assert [socket["id"] for socket in data["sockets"]] == ["cpu0", "cpu1"]
    assert data["sockets"][0]["root_ports"] == [
        {"id": "cpu0-rp0", "pcie_switch": True},
        {"id": "cpu0-rp1", "pcie_switch": False},
    ]
    assert data["sockets"][1]["root_ports"] == [{"id": "cpu1-rp0", "pcie_switch": False}]
    assert data["sockets"][0]["memory"] == data["sockets"][1]["memory"]
    assert made.text.count("memory: &memory") == made.text.count("memory: *memory") == 1
    assert [(item["id"], item["root_port"]) for item in data["accelerators"]] == [
        ("gpu1", "cpu0-rp0"),
        ("gpu2", "cpu0-rp0"),
        ("gpu4", "cpu0-rp1"),
    ]
    assert [(item["id"], item["root_port"], item["network"]) for item in data["nics"]] == [
        ("nic0", "cpu0-rp0", "compute"),
        ("nic1", "cpu1-rp0", "storage"),
    ]
    assert "1 NIC beside GPUs are taken for the compute network, the other 1 for storage" in made.warnings
    assert "m0, 200 Gb/s" in made.text
    assert (data["kind"], data["id"], data["vendor"]) == ("server", "mine", "unknown")
    assert set(data["sources"]) == {"xml", "filled"}


def test_devices_by_their_own_numbers_or_by_their_place() -> None:
    gpus = [device("a", 3), device("b", 1)]
    assert list(_numbered(gpus, "gpu").values()) == ["gpu3", "gpu1"]
    assert list(_numbered(gpus, "nic").values()) == ["nic0", "nic1"]
    assert list(_numbered([device("a", 1), device("b", 1)], "gpu").values()) == ["gpu0", "gpu1"]
    assert list(_numbered([device("a", 1), device("b")], "gpu").values()) == ["gpu0", "gpu1"]


def test_sources_anywhere_in_a_value() -> None:
    value = {"a": {"value": 1, "source": "x"}, "b": [{"source": "y"}, 3], "source": {"c": {"source": "z"}}}
    assert _sources(value) == {"x", "y", "z"}
    assert _sources(5) == set()


@pytest.mark.parametrize(
    ("rate", "warned"),
    [(200000, False), (190500, False), (210500, False), (189000, True), (212000, True), (100000, True)],
)
def test_a_port_within_5_of_100_of_its_part(rate: int, warned: bool) -> None:
    made = file_of(read(f"<cpu>{gpu('0:1')}{nic('0:2', net(rate))}</cpu>"))
    assert any("name a part of the rate that is used" in words for words in made.warnings) == warned
    assert read_yaml(made.text)["nics"][0]["part"] == "connectx-6-200g"


@pytest.mark.parametrize(
    ("speed", "width", "kept"),
    [("16 GT/s", 16, None), ("16 GT/s", 8, 0.5), ("8 GT/s", 16, 0.5), ("2.5 GT/s", 16, None)],
)
def test_a_slower_link_of_all_gpus(speed: str, width: int, kept: float | None) -> None:
    """An A100 has sixteen lanes of generation 4; one of generation 1 sleeps."""
    place = f'class="0x030200" vendor="0x10de" device="0x20b0" link_speed="{speed}" link_width="{width}"'
    data = written(read(f"<cpu>{gpu('0:1', more=place)}{gpu('0:2', more=place)}</cpu>"))
    part = PARTS.accelerators["10de:20b0"][0]
    assert part.pcie is not None
    if kept is None:
        assert "accelerator_pcie" not in data
    else:
        found: Any = data["accelerator_pcie"]
        assert found["value"] == f"{part.pcie.bandwidth.value * kept:.4g} GB/s"


def linked(pairs: dict[tuple[int, int], int], kind: str = "nvlink") -> dict[str, object]:
    """Return the server file of GPUs 1, 2, ... joined by links with their counts."""
    every = sorted({end for pair in pairs for end in pair})
    inside = {
        own: "".join(
            f'<{kind} target="0:{b if a == own else a}" count="{count}" tclass="0x030200"/>'
            for (a, b), count in pairs.items()
            if own in (a, b)
        )
        for own in every
    }
    return written(read(f"<cpu>{''.join(gpu(f'0:{own}', inside=inside[own]) for own in every)}</cpu>"))


def test_scale_up_networks_in_the_file() -> None:
    ring = dict.fromkeys([(1, 2), (2, 3), (3, 4), (1, 4)], 1)
    assert linked({(1, 2): 4, (3, 4): 4})["nvlink"] == {"pairs": [["gpu1", "gpu2"], ["gpu3", "gpu4"]]}
    assert linked(ring)["nvlink"] == {"links": [["gpu1", "gpu2"], ["gpu1", "gpu4"], ["gpu2", "gpu3"], ["gpu3", "gpu4"]]}
    double: Any = linked({**ring, (3, 4): 2})["nvlink"]
    assert double["counts"] == [1, 1, 1, 2]
    assert linked(dict.fromkeys(combinations((1, 2, 3, 4), 2), 1), "xgmi")["nvlink"] == {"mesh": True, "name": "xGMI"}
    assert "nvlink" not in written(read(f"<cpu>{gpu('0:1')}</cpu>"))


def test_warnings_where_no_links_are_listed() -> None:
    """One GPU needs none; where the part has none, as a card of PCIe alone, nothing is missing."""
    words = "the file lists no links between GPUs"

    def warned(*gpus: str) -> bool:
        return any(item.startswith(words) for item in file_of(read(f"<cpu>{''.join(gpus)}</cpu>")).warnings)

    assert not warned(gpu("0:1"))
    assert warned(gpu("0:1"), gpu("0:2"))
    bare = next(pci for pci, parts in sorted(PARTS.accelerators.items()) if len(parts) == 1 and parts[0].nvlink is None)
    vendor, _, code = bare.partition(":")
    more = f'class="0x030200" vendor="0x{vendor}" device="0x{code}"'
    assert not warned(gpu("0:1", more=more), gpu("0:2", more=more))


def test_gpus_of_two_kinds() -> None:
    """A server file has one kind: two that are known, or one that is not, are told."""
    ids = [pci for pci, parts in sorted(PARTS.accelerators.items()) if len(parts) == 1][:2]
    assert PARTS.accelerators[ids[0]][0].id != PARTS.accelerators[ids[1]][0].id
    places = ['class="0x030200" vendor="0x{}" device="0x{}"'.format(*pci.split(":")) for pci in (*ids, "10de:fffe")]

    def warned(*more: str) -> bool:
        made = file_of(read(f"<cpu>{''.join(gpu(f'0:{n}', more=m) for n, m in enumerate(more))}</cpu>"))
        return any("the GPUs have several PCI ids" in words for words in made.warnings)

    assert not warned(places[0], places[0])
    assert warned(places[0], places[1])
    assert warned(places[0], places[2])


def test_a_server_that_stands_in() -> None:
    """Its CPU, memory and power are taken with their sources; how many GPUs it has is compared."""
    beside = "".join(gpu(f"0:{n}", more='class="0x030200"') for n in range(1, 9))
    made = file_of(read(f"<cpu {ROME}>{beside}</cpu>"), "dgx-a100-320gb")
    data = read_yaml(made.text)
    assert made.todo == ()
    assert (
        "the file has no PCI ids: the GPUs are assumed to be `a100-sxm-40gb`, as in the given server" in made.warnings
    )
    assert not any("this file" in words for words in made.warnings)
    assert set(data["sources"]) > {"xml"}
    assert "filled" not in data["sources"]
    assert data["nvlink"]["switched"] is True
    made = file_of(read(f"<cpu {ROME}>{gpu('0:1')}</cpu>"), "dgx-a100-320gb")
    assert "`dgx-a100-320gb` has 8 accelerators, this file 1" in made.warnings
    other = 'vendor="GenuineIntel" familyid="6" modelid="143"'
    made = file_of(read(f"<cpu {other}>{gpu('0:1')}</cpu>"), "dgx-a100-320gb")
    assert made.todo[0].startswith("cpu: ") == any("name them" in words for words in made.warnings)


def test_gpus_on_slower_links_than_others() -> None:
    """Below 99 of 100 of the best; a link at generation 1 is one that sleeps."""
    fast, slow = _PcieRate(4, 16), _PcieRate(4, 8)
    gpus = [device("a", link=fast), device("b", link=slow, line=7), device("c"), device("d", link=_PcieRate(1, 16))]
    (words,) = _slow_links(gpus)
    assert words.startswith("line 7: the GPU b runs at x8 Gen4, 15.8 GB/s, where others run at x16 Gen4, 31.5 GB/s")
    assert "2.0 times as long" in words
    assert _slow_links([]) == []


def test_nics_behind_slower_links_than_their_ports() -> None:
    """Two that are alike are one warning; within 1 of 100 there is none."""

    def words(*nics: _PciDevice) -> list[str]:
        return _slow_ports(nics)

    slow = [device(bus, link=_PcieRate(3, 16), gbyte_s=25.0, line=n) for n, bus in enumerate("ab", start=3)]
    (told,) = words(*slow)
    assert told.startswith("line 3: 2 NICs (a and b) with 200 Gb/s at the port and 126 Gb/s of PCIe x16 Gen3 behind it")
    assert words(replace(slow[0], gbyte_s=15.8)) == []
    assert len(words(replace(slow[0], gbyte_s=16.0))) == 1
    assert words(replace(slow[0], link=_PcieRate(1, 16))) == []
    assert words(replace(slow[0], gbyte_s=None), replace(slow[0], link=None)) == []


def link(gpu: str, target: str, count: int = 1, *, switch: bool = False, line: int = 1) -> _ScaleUpLink:
    return _ScaleUpLink(gpu=gpu, target=target, count=count, kind="nvlink", switch=switch, line=line)


def test_links_that_two_gpus_count_differently() -> None:
    """The fewer are taken; a GPU's links to several add up."""
    found = _structure([link("a", "b", 3), link("b", "a", 2), link("b", "c"), link("c", "b"), link("a", "b")], "abc")
    assert (found.kind, found.pairs, found.counts) == ("links", (("a", "b"), ("b", "c")), (2, 1))
    assert found.links_per_gpu == 4
    assert found.faults == ("b lists 2 links to a, a lists 4 back; the smaller count is used",)


def test_a_mesh_of_unequal_links_and_a_switch_with_links_down() -> None:
    both = [(a, b) for a, b in combinations("abc", 2)]
    links = [link(*ends, 2 if set(ends) == {"a", "b"} else 1) for pair in both for ends in (pair, pair[::-1])]
    found = _structure(links, "abc")
    assert (found.kind, found.counts) == ("mesh", (2, 1, 1))
    assert found.faults == ("1 to 2 links join two GPUs of the mesh; they are taken as equal",)
    found = _structure([link("a", "s", 6, switch=True), link("b", "s", 5, switch=True)], "abc")
    assert (found.kind, found.pairs, found.name, found.links_per_gpu) == ("switch", (), "NVLink", 6)
    assert found.faults == ("most GPUs have 6 links, but b 5 and c 0: links are down, or the file leaves them out",)
    odd = _structure([link("a", "a", line=4), link("b", "x", line=5), link("a", "b", 0, line=6)], "ab")
    assert (odd.kind, odd.name) == ("none", "")
    assert [words.partition(":")[0] for words in odd.faults] == ["line 6", "line 4", "line 5"]


def test_sockets_of_numa_nodes() -> None:
    """AMD and Intel: one node a socket up to two, else two sockets; AMD's have up to four. Others are told."""

    def sockets(cpu: str, *numbers: int) -> tuple[list[tuple[int, ...]], int]:
        found, words = _group_sockets([_NumaNode(number=n, cpu=cpu, cpuid="", ports=()) for n in numbers])
        return [item.numa for item in found], len(words)

    assert sockets("AMD", 0, 1) == ([(0,), (1,)], 0)
    assert sockets("AMD", 0, 2, 3) == ([(0,), (2, 3)], 1)
    assert sockets("AMD", 0, 4) == ([(0,), (4,)], 1)
    assert sockets("AMD", 7, 1) == ([(1,), (7,)], 1)
    assert sockets("AMD", 0, 15) == ([(0,), (15,)], 1)  # a node of each L3 cache
    assert sockets("GenuineIntel", 0, 1) == ([(0,), (1,)], 0)
    assert sockets("GenuineIntel", 0, 1, 2, 3) == ([(0, 1), (2, 3)], 1)  # SNC2
    assert sockets("GenuineIntel", *range(6)) == ([(0, 1, 2), (3, 4, 5)], 1)  # SNC3
    assert sockets("x86_64", 1, 3) == ([(1,), (3,)], 1)
    assert sockets("arm64", 0, 1, 2) == ([(0,), (1,), (2,)], 1)
    assert sockets("arm64", 1, 0, 3) == ([(0,), (1,), (3,)], 1)
    apus = [_NumaNode(number=n, cpu="AMD", cpuid="AuthenticAMD:25:144", ports=()) for n in range(4)]
    assert (len(_group_sockets(apus)[0]), _group_sockets(apus)[1]) == (4, [])  # four MI300A are four packages


@pytest.mark.parametrize(("speed", "kept"), [(10000, 0), (10001, 1), (400000, 1)])
def test_ports_up_to_10_gbit_s_are_management(speed: int, kept: int) -> None:
    found = read(f"<cpu>{gpu('0:1')}{nic('0:2', net(speed))}</cpu>")
    assert (len(found.nics), len(found.management)) == (kept, 1 - kept)


def test_numa_nodes_and_placeholders_are_bounded() -> None:
    text = '<system version="1"><cpu numaid="{}">' + gpu("0:1") + "</cpu></system>"
    assert read_server(text.format(63).encode(), "x").sockets
    with pytest.raises(InputError, match="`numaid` is 64, and a server has fewer than 64"):
        read_server(text.format(64).encode(), "x")


def test_elements_nest_so_deeply() -> None:
    def nested(count: int) -> bytes:
        return ("<a>" * count + "</a>" * count).encode()

    assert _parse(nested(40), "x").tag == "a"
    with pytest.raises(InputError, match=r"^x:1:121: error: elements nest too deeply"):
        _parse(nested(41), "x")
    root = _parse(b"<a>\n <b>one <c/> two</b></a>", "x")
    assert [(item.tag, item.line, item.column) for item in root.below()] == [("a", 1, 1), ("b", 2, 2), ("c", 2, 9)]
    assert root.children[0].text == "one  two"


@pytest.mark.parametrize("name", ["a", "a -- b", "a --- b", "----", "a-", "a --", "<a & b>"])
def test_remarks_end_no_comment(name: str) -> None:
    """Two hyphens would end a comment of XML, wherever they stand."""
    text = _remark(name)
    assert "--" not in text
    assert _parse(f"<a><!-- {text} --></a>".encode(), "x").tag == "a"
    assert text.replace(" ", "").startswith(name.replace(" ", "")[:1].replace("<", "&lt;"))


def test_links_are_named_after_their_maker() -> None:
    wanted = {"AMD": "xgmi", "NVIDIA": "nvlink"}
    parts = [part for same in PARTS.accelerators.values() for part in same if part.vendor in wanted]
    assert {part.vendor for part in parts} == set(wanted)
    assert all(_element_of(part) == wanted[part.vendor] for part in parts)
