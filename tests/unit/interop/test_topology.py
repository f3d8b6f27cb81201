"""Topology XML of NCCL and RCCL: what each form of file tells, and what it leaves open."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.parts import Server
from ffplan.catalog.store import Catalog
from ffplan.interop.topology.devices import _CODING, RATES, _PcieRate
from ffplan.interop.topology.model import known_parts
from ffplan.interop.topology.reading import read_server
from ffplan.interop.topology.scale_up import _ScaleUpLink, _structure
from ffplan.interop.topology.server_file import _MEMORY, Basis, server_file
from ffplan.interop.topology.writing import Inside, topology_xml
from ffplan.interop.xml_tree import MOST_BYTES
from tests.support import ffplan, read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ffplan.interop.topology.model import _ServerTopology
    from ffplan.interop.topology.server_file import _ServerFile

CATALOG = Catalog()
PARTS = known_parts(CATALOG)
ROME = 'vendor="AuthenticAMD" familyid="143" modelid="49"'


def read(*cpus: str) -> _ServerTopology:
    """Return what a file of some `cpu` elements tells."""
    return read_server(f'<system version="1">{"".join(cpus)}</system>'.encode(), "x.xml")


def gpu(bus: str, *, inside: str = "", more: str = 'class="0x030200" vendor="0x10de" device="0x20b0"') -> str:
    """Return a GPU with its element."""
    return f'<pci busid="{bus}" {more}><gpu dev="{int(bus[-1], 16)}">{inside}</gpu></pci>'


def nic(bus: str, *nets: str, more: str = 'class="0x020700" vendor="0x15b3" device="0x101b"') -> str:
    """Return a NIC with its ports."""
    return f'<pci busid="{bus}" {more}><nic>{"".join(nets)}</nic></pci>'


def net(speed: int | str, name: str = "mlx5_0") -> str:
    """Return a port; without a speed where it is empty."""
    return f'<net name="{name}" dev="0"{f" speed={chr(34)}{speed}{chr(34)}" if speed else ""} guid="0x1"/>'


def file_of(found: _ServerTopology, like: str | None = None) -> _ServerFile:
    """Return the server file of what was found."""
    basis = None
    if like is not None:
        part = CATALOG.entry(like).part
        assert isinstance(part, Server)
        basis = Basis(part, CATALOG.entry(like).document.data)
    return server_file(found, PARTS, name="mine", file="x.xml", date="2026-11-23", basis=basis)


def written(found: _ServerTopology, like: str | None = None) -> dict[str, object]:
    """Return the data of a server file."""
    data: dict[str, object] = read_yaml(file_of(found, like).text)
    return data


@pytest.mark.parametrize(
    ("rate", "generation"), [(2.5, 1), (5, 2), (5.0, 2), (8, 3), (16, 4), (32, 5), (64, 6), (16.0, 4), (8.0, 3)]
)
@pytest.mark.parametrize("form", ["{} GT/s", "{} GT/s PCIe"])
def test_generations_double_their_rate(rate: float, generation: int, form: str) -> None:
    """PCIe 1 to 6: 2.5, 5, 8, 16, 32 and 64 GT/s, with or without a decimal (PCI-SIG)."""
    place = f'class="0x030200" link_speed="{form.format(rate)}" link_width="16"'
    (found,) = read(f"<cpu>{gpu('0:1', more=place)}</cpu>").gpus
    assert found.link is not None
    assert (found.link.generation, found.link.lanes) == (generation, 16)


def test_rates_of_links() -> None:
    """PCI-SIG: x16 of generation 3 carries 15.75 GB/s, of 4 31.5, of 5 63, of 6 121."""
    assert [round(_PcieRate(n, 16).gbyte_s, 2) for n in (1, 2, 3, 4, 5, 6)] == [4.0, 8.0, 15.75, 31.51, 63.02, 121.0]
    assert RATES.keys() == _CODING.keys()


@pytest.mark.parametrize(
    ("speed", "width"),
    [("", "16"), ("16 GT/s", "0"), ("Unknown speed", "16"), ("16 GT/s", ""), ("16 GT/s", "255"), ("0", "16")],
)
def test_links_that_a_virtual_machine_hides(speed: str, width: str) -> None:
    place = f'class="0x030200" link_speed="{speed}" link_width="{width}"'
    (found,) = read(f"<cpu>{gpu('0:1', more=place)}</cpu>").gpus
    assert found.link is None


def test_a_device_has_its_own_link() -> None:
    """Behind a switch that is a NIC, GPU and NIC meet at generation 6, whatever leads to the CPU."""
    inner = gpu("0:2", more='class="0x030200" link_speed="64 GT/s" link_width="16"')
    bridge = f'<pci busid="0:1" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">{inner}</pci>'
    assert str(read(f"<cpu>{bridge}</cpu>").gpus[0].link) == "x16 Gen6"


@pytest.mark.parametrize("pci_class", ["0x030200", "0x030000", "0x038000", "0x120000"])
def test_gpus_by_class_where_no_element_says_so(pci_class: str) -> None:
    """Clouds leave out `gpu`, vendor and device; MI300X is of class 0x1200."""
    found = read(f'<cpu><pci busid="0:1" class="{pci_class}"/><pci busid="0:2" class="0x020000"/></cpu>')
    assert (len(found.gpus), len(found.nics), found.gpus[0].pci_id) == (1, 1, "")


def test_files_that_are_written_oddly() -> None:
    """A GPU without a PCI element, an unknown rate of a port, blanks before the declaration."""
    nic = '<pci class="0x0200"><nic><net speed="-1"/></nic></pci>'
    text = f'\n <?xml version="1.0"?><system><cpu><gpu dev="0"/>{nic}</cpu></system>'
    found = read_server(text.encode(), "x.xml")
    assert (len(found.gpus), len(found.nics)) == (1, 1)


def test_elements_count_before_classes() -> None:
    """A display controller for the console is no GPU beside eight that NCCL lists."""
    console = '<pci busid="0:9" class="0x030000" vendor="0x1a03" device="0x2000"/>'
    assert [item.bus for item in read(f"<cpu>{gpu('0:1')}{console}</cpu>").gpus] == ["0:1"]
    bare = '<pci busid="0:3"><gpu dev="0"/></pci>'
    assert len(read(f"<cpu>{bare}</cpu>").gpus) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<system><cpu><pci busid="0:1"/></cpu></system>', "only bus ids"),
        ('<system><cpu><pci busid="0:1" class="0x020000"/></cpu></system>', "no GPU is listed"),
        ("<system></system>", "no GPU is listed"),
        ("<graphs></graphs>", "rings and trees"),
        ("<topology></topology>", "this is a topology of hwloc"),
        ('<system><cpu numaid="3000000"/></system>', "a server has fewer than 64"),
        ("<system><cpu>", "it is cut off"),
        ("", "not valid XML"),
    ],
)
def test_files_that_tell_no_server(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_server(text.encode(), "x.xml")


def test_files_are_read_up_to_a_limit_that_is_said() -> None:
    with pytest.raises(InputError, match="larger than 4 MiB"):
        read_server(b"<system>" + b" " * MOST_BYTES, "x.xml")


def test_management_and_virtual_ports_are_no_fabric() -> None:
    """A port of 1 Gb/s, a bridge of 10 Gb/s without a card; a card of two ports is one NIC at its faster port."""
    virtual = f"<nic>{net(10000, 'docker0')}{net(10000, 'lo')}</nic>"
    cards = nic("0:2", net(1000, "eno1")) + nic("0:3", net(100000, "a"), net(200000, "b"))
    found = read(f"<cpu>{gpu('0:1')}{cards}{virtual}</cpu>")
    assert [(item.name, item.gbyte_s) for item in found.nics] == [("b", 25.0)]
    assert len(found.management) == 2
    unsaid = read(f"<cpu>{gpu('0:1')}{nic('0:2', net(''))}</cpu>")
    assert [item.gbyte_s for item in unsaid.nics] == [None]


def test_nics_beside_gpus_carry_their_fabric() -> None:
    """As in a DGX A100: eight beside GPUs, two on ports of their own for storage."""
    beside = f'<pci busid="0:f" class="0x060400">{gpu("0:1")}{nic("0:2", net(200000))}</pci>'
    data = written(read(f"<cpu>{beside}{nic('0:3', net(200000))}</cpu>"))
    assert [item["network"] for item in data["nics"]] == ["compute", "storage"]  # type: ignore[attr-defined]
    alone = written(read(f"<cpu>{gpu('0:1')}{nic('0:3', net(200000))}</cpu>"))
    assert [item["network"] for item in alone["nics"]] == ["both"]  # type: ignore[attr-defined]


def joined(kind: str, pairs: Iterable[tuple[str, str]], *, both: bool = True) -> list[_ScaleUpLink]:
    """Return links of one kind, at both ends or one."""
    ends = [end for a, b in pairs for end in ([(a, b), (b, a)] if both else [(a, b)])]
    return [_ScaleUpLink(gpu=a, target=b, count=1, kind=kind, switch=b == "s", line=1) for a, b in ends]


@pytest.mark.parametrize(
    ("pairs", "kind", "most"),
    [
        ([("a", "s"), ("b", "s"), ("c", "s"), ("d", "s")], "switch", 1),
        (list(combinations("abcd", 2)), "mesh", 3),
        ([("a", "b"), ("c", "d")], "pairs", 1),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], "links", 2),
        ([("a", "a")], "none", 0),
        ([], "none", 0),
    ],
)
def test_the_structure_of_a_scale_up_network(pairs: list[tuple[str, str]], kind: str, most: int) -> None:
    links = [link for link in joined("xgmi", pairs) if link.gpu != "s"]
    found = _structure(links, "abcd")
    assert (found.kind, found.links_per_gpu) == (kind, most)
    assert bool(found.faults) == (pairs == [("a", "a")])


def test_links_at_one_end_and_to_nowhere_are_said() -> None:
    found = _structure(joined("nvlink", [("a", "b"), ("c", "x")], both=False), "abcd")
    assert found.kind == "pairs"
    assert any("`x`, not a GPU" in words for words in found.faults)
    assert any("listed at a only" in words for words in found.faults)


def test_counts_of_links_add_up() -> None:
    """A DGX A100: two links to each of six switches."""
    links = "".join(f'<nvlink target="0000:c{n}:00.0" count="2" tclass="0x068000"/>' for n in range(4, 10))
    found = read(f"<cpu>{gpu('0:1', inside=links)}{gpu('0:2', inside=links)}</cpu>")
    assert (found.scale_up.kind, found.scale_up.links_per_gpu) == ("switch", 12)
    assert written(found)["nvlink"] == {"switched": True}


@pytest.mark.parametrize(
    ("numbers", "cpu", "sockets"),
    [
        ((3, 1, 0, 7, 5, 4), ROME, 2),
        ((0, 1, 2, 3), ROME, 2),
        ((0, 1), ROME, 2),
        ((0,), ROME, 1),
        ((1,), ROME, 2),
        ((0, 1, 2, 3), 'vendor="GenuineIntel" familyid="6" modelid="143"', 2),
        ((0, 1, 2, 3), 'arch="arm64"', 4),
    ],
)
def test_numa_nodes_are_no_sockets(numbers: tuple[int, ...], cpu: str, sockets: int) -> None:
    """x86 servers with GPUs have two sockets of several NUMA nodes; a DGX A100 lists six of its eight."""
    nodes = [f'<cpu numaid="{n}" {cpu}>{gpu(f"0:{n}")}</cpu>' for n in numbers]
    found = read(*nodes)
    assert len(found.sockets) == sockets
    assert len(found.gpus) == len(numbers)


def test_a_slow_link_is_a_warning_with_its_effect() -> None:
    fast, slow = ('class="0x030200" link_speed="16 GT/s" link_width="16"',) * 2
    slow = slow.replace("16 GT/s", "8 GT/s").replace('width="16"', 'width="4"')
    found = read(f"<cpu>{gpu('0:1', more=fast)}{gpu('0:2', more=slow)}</cpu>")
    (words,) = [item for item in found.warnings if "0:2" in item]
    assert "x4 Gen3, 3.9 GB/s, where others run at x16 Gen4, 31.5 GB/s" in words
    assert "8.0 times as long" in words
    idle = fast.replace("16 GT/s", "2.5 GT/s")
    assert not read(f"<cpu>{gpu('0:1', more=fast)}{gpu('0:2', more=idle)}</cpu>").warnings


def test_a_nic_behind_less_pcie_than_its_port() -> None:
    place = 'class="0x020700" vendor="0x15b3" device="0x101b" link_speed="8 GT/s" link_width="16"'
    found = read(f"<cpu>{gpu('0:1')}{nic('0:2', net(200000), more=place)}</cpu>")
    assert any("200 Gb/s at the port and 126 Gb/s of PCIe x16 Gen3" in words for words in found.warnings)


def test_gpus_on_a_slower_link_than_their_kind() -> None:
    """A100s of AWS run at generation 3: 15.75 of 31.5 GB/s, half of the part's practical rate."""
    place = 'class="0x030200" vendor="0x10de" device="0x20b0" link_speed="8 GT/s" link_width="16"'
    made = file_of(read(f"<cpu>{gpu('0:1', more=place)}{gpu('0:2', more=place)}</cpu>"))
    data = read_yaml(made.text)
    part = PARTS.accelerators["10de:20b0"][0]
    assert part.pcie is not None
    assert data["accelerator_pcie"]["value"] == f"{part.pcie.bandwidth.value / 2:.4g} GB/s"


def test_what_another_server_cannot_stand_in_for() -> None:
    """An id that nobody knows, another architecture, and the power of other GPUs are told."""
    other = 'class="0x030000" vendor="0x10de" device="0x2684"'
    made = file_of(read(f"<cpu {ROME}>{gpu('0:1', more=other)}{gpu('0:2', more=other)}</cpu>"), "dgx-a100-320gb")
    assert any(item.startswith("accelerator: ") for item in made.todo)
    assert "nvlink" not in read_yaml(made.text)
    grace = 'class="0x030200" vendor="0x10de" device="0x31c2"'
    links = '<nvlink target="0:f" count="18" tclass="0x068000"/>'
    tray = read(f'<cpu arch="arm64">{"".join(gpu(f"0:{n}", inside=links, more=grace) for n in range(1, 5))}</cpu>')
    made = file_of(tray, "hgx-h100-8nic")
    assert made.todo[0].startswith("cpu: ")
    assert any("`h100-sxm-80gb`: correct them" in words for words in made.warnings)
    assert any("joins several nodes" in words for words in made.warnings)
    assert written(tray, "gb300-nvl72-tray")["nvlink"] == {"switched": True, "nodes": 18}


def test_links_that_are_down_or_lead_to_a_cpu() -> None:
    """Nine of eighteen links on one GPU; links of an AC922 to its POWER9 join no GPUs."""
    full, half = (f'<nvlink target="0:f" count="{n}" tclass="0x068000"/>' for n in (18, 9))
    found = read(f"<cpu>{gpu('0:1', inside=full)}{gpu('0:2', inside=full)}{gpu('0:3', inside=half)}</cpu>")
    assert any("most GPUs have 18 links, but 0:3 9" in words for words in found.warnings)
    one, two = (f'<nvlink target="0:{n}" count="3" tclass="0x030200"/>' for n in (2, 1))
    power9 = '<nvlink target="0:c" count="3" tclass="0x068001"/>'
    found = read(f"<cpu>{gpu('0:1', inside=one + power9)}{gpu('0:2', inside=two + power9)}</cpu>")
    assert (found.scale_up.kind, found.scale_up.faults) == ("pairs", ())


def test_what_is_to_fill_in_is_marked_and_numbered() -> None:
    card = nic("0:2", net(400000), more='class="0x020000"')
    made = file_of(read(f"<cpu {ROME}>{gpu('0:1')}{card}</cpu>"))
    fields = [item.partition(":")[0] for item in made.todo]
    assert fields == ["cpu", *(f"memory.{name}" for name, _ in _MEMORY), "nics[].part"]
    assert "epyc-7502 or epyc-7742" in made.todo[0]
    assert made.text.startswith("# 6 values to fill in; they are marked TODO:\n#   1. cpu: ")
    body = [line for line in made.text.splitlines() if not line.startswith("#")]
    assert sum("TODO" in line for line in body) == 6


FILLED = {"channels": "8", "rate": "3200 MT/s", "dimms": "16", "capacity": "1024 GB"}


def test_a_file_loads_once_the_marked_values_are_filled_in(tmp_path: Path) -> None:
    links = "".join(f'<nvlink target="0:{n}" count="4" tclass="0x030200"/>' for n in (1, 2, 3, 4))
    bare = 'class="0x038000"'
    source = tmp_path / "in.xml"
    gpus = "".join(gpu(f"0:{n}", inside=links.replace(f'target="0:{n}"', 'target="0:1"'), more=bare) for n in (1, 2))
    card = nic("0:5", net(200000), more='class="0x020000"')
    source.write_text(f'<system version="1"><cpu numaid="0" {ROME}>{gpus}{card}</cpu></system>')
    run = ffplan("fabric import nccl", str(source), "--id", "mine", "--date", "2026-11-23")
    assert run.code == 0
    text = run.out.replace("cpu: TODO", "cpu: epyc-7742").replace("accelerator: TODO", "accelerator: mi300x")
    text = text.replace("part: TODO", "part: connectx-6-200g")
    for name, value in FILLED.items():
        text = text.replace(f"{name}: {{value: TODO", f"{name}: {{value: {value}")
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "mine.yaml").write_text(text)
    shown = ffplan("catalog show mine --catalog", str(parts))
    assert (shown.code, shown.err) == (0, "")
    (parts / "mine.yaml").write_text(run.out)
    shown = ffplan("catalog show mine --catalog", str(parts))
    assert shown.code == 2  # every mark is located
    assert shown.err.count("TODO") >= 4


def test_a_catalogued_server_stands_in_for_what_is_missing(tmp_path: Path) -> None:
    xml = ffplan("fabric export dgx-a100-10k --to nccl").out
    source = tmp_path / "dgx.xml"
    source.write_text(xml)
    options = ("--id", "mine", "--like", "dgx-a100-320gb", "--date", "2026-11-23")
    run = ffplan("fabric import nccl", str(source), *options)
    assert run.code == 0
    assert "still to fill in" not in run.err
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "mine.yaml").write_text(run.out)
    shown = ffplan("catalog show mine --catalog", str(parts))
    assert (shown.code, shown.err) == (0, "")
    assert ffplan("fabric import nccl", str(source), "--like", "dgx-a100").code == 2
    assert "is no day" in ffplan("fabric import nccl", str(source), "--date", "soon").err


def _inside(name: str) -> Inside:
    server = CATALOG.entry(name).part
    assert isinstance(server, Server)
    accelerator = CATALOG.entry(server.accelerator).part if server.accelerator else None
    nics = {slot.part: CATALOG.entry(slot.part).part for slot in server.nics}
    cpus = {socket.cpu: CATALOG.entry(socket.cpu).part for socket in server.sockets}
    return Inside(server, accelerator, nics, cpus)  # type: ignore[arg-type]


def _has_gpus(name: str) -> bool:
    part = CATALOG.entry(name).part
    return isinstance(part, Server) and bool(part.accelerators) and not (part.nvlink and part.nvlink.torus)


@pytest.mark.parametrize("name", [name for name in CATALOG.ids_of("server") if _has_gpus(name)])
def test_every_server_comes_back_as_it_went(name: str) -> None:
    """Export and import: sockets, ports, places of GPUs and NICs, parts by PCI id, and the scale-up network."""
    inside = _inside(name)
    server = inside.server
    data = written(read_server(topology_xml(inside).encode(), "x.xml"), name)
    used = {slot.root_port for slot in server.accelerators} | {slot.root_port for slot in server.nics}
    sockets = data["sockets"]
    assert isinstance(sockets, list)
    assert sum(len(s.get("root_ports", ())) for s in sockets) == len(used - {None})
    assert len(sockets) == len(server.sockets)

    def places(items: object) -> list[int]:
        """Devices at each root port, in order of ports."""
        ports = [item["root_port"] for item in items]  # type: ignore[attr-defined]
        return sorted(ports.count(port) for port in set(ports))

    here = [slot.root_port for slot in server.accelerators]
    assert places(data["accelerators"]) == sorted(here.count(port) for port in set(here))
    assert data["accelerator"] == server.accelerator
    found = data.get("nvlink") or {}
    assert isinstance(found, dict)
    own = server.nvlink
    if own is None:
        assert not found.get("switched")
    else:
        assert found.get("switched", False) == own.switched
        assert found.get("mesh", False) == own.mesh
        assert {tuple(pair) for pair in found.get("pairs", ())} == set(own.pairs)


def test_exports_name_the_cpu_and_the_fabric() -> None:
    """Grace is arm64; EFA is Ethernet to PCI, an InfiniBand card is not."""
    xml = {name: topology_xml(_inside(name)) for name in ("gb200-nvl72-tray", "p4d-24xlarge", "dgx-a100-320gb")}
    assert 'arch="arm64"' in xml["gb200-nvl72-tray"]
    assert 'class="0x020000" vendor="0x1d0f" device="0xefa0"' in xml["p4d-24xlarge"]
    assert 'class="0x020700" vendor="0x15b3" device="0x101b"' in xml["dgx-a100-320gb"]
    assert '<nvlink target="ffff:fe:00.0" count="12" tclass="0x068000"/>' in xml["dgx-a100-320gb"]
    assert 'vendor="AuthenticAMD" familyid="143" modelid="49"' in xml["dgx-a100-320gb"]


def test_a_port_of_less_rate_than_the_part_is_said() -> None:
    made = file_of(read(f"<cpu>{gpu('0:1')}{nic('0:2', net(100000))}</cpu>"))
    assert any("runs at 100 Gb/s, `connectx-6-200g` has 200 Gb/s" in words for words in made.warnings)


def test_links_with_a_count_of_nothing() -> None:
    """They are no links; links that are all double are written with their counts."""

    def gpu(own: int, links: str) -> str:
        return f'<pci busid="{own}" class="0x030200"><gpu dev="{own}">{links}</gpu></pci>'

    def link(target: int, count: int) -> str:
        return f'<nvlink target="{target}" count="{count}" tclass="0x030200"/>'

    ring = [gpu(n, link((n + 1) % 4, 2) + link((n - 1) % 4, 2)) for n in range(4)]
    found = read_server(f'<system version="1"><cpu numaid="0">{"".join(ring)}</cpu></system>'.encode(), "x")
    assert (found.scale_up.kind, found.scale_up.counts) == ("links", (2, 2, 2, 2))
    none = [gpu(n, link((n + 1) % 2, 0)) for n in range(2)]
    bare = read_server(f'<system version="1"><cpu numaid="0">{"".join(none)}</cpu></system>'.encode(), "x")
    assert bare.scale_up.kind == "none"
    assert any("has the count 0; it is left out" in words for words in bare.warnings)
