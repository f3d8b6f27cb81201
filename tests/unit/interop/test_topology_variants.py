"""Forms of topology files that NCCL reads or people keep: text around them, other spellings, missing attributes."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.interop.topology.reading import read_server
from ffplan.interop.topology.system import _cut_out
from tests.support import ffplan, read_yaml
from tests.unit.interop.test_topology import file_of, gpu, net, nic, read

if TYPE_CHECKING:
    from pathlib import Path

SWITCHED = '<nvlink target="0000:c4:00.0" count="18" tclass="0x068000"/>'
TWO = "".join(gpu(f"0000:0{n}:00.0", inside=SWITCHED) for n in (1, 2))
SERVER = f'<system version="1">\n<cpu numaid="0">\n{TWO}\n{nic("0000:0a:00.0", net(400000))}\n</cpu>\n</system>'


def bus(n: int) -> str:
    return f"0000:0{n}:00.0"


def mesh(target: str, *, tclass: str = ' tclass="0x030200"', own: str = "0000:0{}:00.0") -> str:
    """Return three GPUs, each with a link to the others, whose bus ids are written in a form of their own."""
    return "".join(
        f'<pci busid="{own.format(n)}" class="0x030200"><gpu dev="{n}">'
        + "".join(f'<nvlink target="{target.format(m)}" count="4"{tclass}/>' for m in (1, 2, 3) if m != n)
        + "</gpu></pci>"
        for n in (1, 2, 3)
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xef\xbb\xbf" + SERVER.encode(), None),
        (SERVER.replace("\n", "\r\n").encode(), None),
        (SERVER.encode("utf-16"), None),
        (SERVER.replace("1", "2", 1).encode(), None),
        (f"<!-- ours -- not theirs -->\n{SERVER}".encode(), None),
        (f'<!-- ours -->\n<?xml version="1.0"?>\n{SERVER}'.encode(), None),
        (SERVER.encode() + b"\0\n", None),
        (SERVER.replace("mlx5_0", "a&b").encode(), None),
        (SERVER.replace("mlx5_0", "a\x01b").encode(), None),
        (f"node1:7:9 [0] NCCL INFO here\n{SERVER}".encode(), "1 line around the `system` element"),
        (f"```\n{SERVER}\n```\n".encode(), "2 lines around the `system` element"),
        (f"{SERVER}\n{SERVER}".encode(), "several `system` elements; the first is read"),
        (SERVER.replace("mlx5_0", "\xe9").encode("latin-1"), "read as Latin-1"),
        (f"<dump>{SERVER}</dump>".encode(), None),
    ],
)
def test_text_around_a_topology_is_passed_over(data: bytes, words: str | None) -> None:
    found = read_server(data, "x.xml")
    assert (len(found.gpus), len(found.nics)) == (2, 1)
    assert (found.scale_up.kind, found.scale_up.links_per_gpu) == ("switch", 18)
    if words is None:
        assert not found.warnings
    else:
        assert words in found.warnings[0]


def test_lines_keep_their_numbers_behind_a_log() -> None:
    text = f"one\ntwo <!-- a\nb -->\n{SERVER}".replace('numaid="0"', 'numaid="64"')
    with pytest.raises(InputError, match=r"^x.xml:5:1: error: `numaid` is 64"):
        read_server(text.encode(), "x.xml")


@pytest.mark.parametrize(
    "data",
    [
        b'<!DOCTYPE a [<!ENTITY b "c">]><system/>',
        b'x <!doctype a><system version="1"></system>',
        b'x <!ENTITY b "c"><system version="1"></system>',
        b"<!-- <system></system> -->",
        b'<system version="1"><cpu>',
        b"<!--" * 100_000,
    ],
)
def test_what_has_no_excerpt(data: bytes) -> None:
    """Document types are never cut away, and a file that is cut off is none."""
    assert _cut_out(data) is None
    with pytest.raises(InputError):
        read_server(data, "x.xml")


@pytest.mark.parametrize(
    "target", ["0000:0{}:00.0", "00000000:0{}:00.0", "0{}:00.0", "0000:0{}:00", "0000:0{}:0.0", "0:{}:00.0"]
)
@pytest.mark.parametrize("own", ["0000:0{}:00.0", "00000000:0{}:00.0"])
@pytest.mark.parametrize("tclass", [' tclass="0x030200"', ' tclass="0x0302"', ""])
def test_bus_ids_of_targets_are_written_in_several_ways(target: str, own: str, tclass: str) -> None:
    found = read(f"<cpu>{mesh(target, own=own, tclass=tclass)}</cpu>")
    assert (found.scale_up.kind, found.scale_up.links_per_gpu, found.scale_up.faults) == ("mesh", 8, ())


@pytest.mark.parametrize("tclass", ["0x068000", "0X068000", "068000", "0x0680", "0x68000", ""])
def test_switches_are_told_by_their_class_or_by_whom_they_join(tclass: str) -> None:
    said = f' tclass="{tclass}"' if tclass else ""
    links = f'<nvlink target="0000:c4:00.0" count="9"{said}/><nvlink target="0000:c5:00.0" count="9"{said}/>'
    found = read(f"<cpu>{gpu(bus(1), inside=links)}{gpu(bus(2), inside=links)}</cpu>")
    assert (found.scale_up.kind, found.scale_up.links_per_gpu) == ("switch", 18)


def test_links_to_nowhere_are_one_warning() -> None:
    links = "".join(f'<nvlink target="0000:c{n}:00.0" count="9" tclass="0x030200"/>' for n in range(4))
    found = read(f"<cpu>{gpu(bus(1), inside=links)}{gpu(bus(2), inside=links)}</cpu>")
    assert found.scale_up.kind == "none"
    assert found.scale_up.faults == (
        f"line 1: links of {bus(1)} and {bus(2)} lead to `0000:c0:00.0`, `0000:c1:00.0`, `0000:c2:00.0` and 1 more, "
        "not a GPU of this file; they are left out",
    )
    alone = read(f"<cpu>{gpu(bus(1), inside=links.replace(' tclass=', ' other='))}{gpu(bus(2))}</cpu>")
    assert alone.scale_up.kind == "none"  # one GPU alone does not make a switch


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("link_speed", "20 GT/s"),
        ("link_width", "-1"),
        ("vendor", "N/A"),
        ("device", "0x20b000"),
        ("link_width", "²"),
        ("link_width", "9" * 500),
    ],
)
def test_a_value_that_cannot_be_read_is_unknown_with_a_warning(attribute: str, value: str) -> None:
    """NCCL takes such files."""
    kept = {"class": "0x030200", "vendor": "0x10de", "device": "0x20b0", "link_speed": "16 GT/s", "link_width": "16"}
    more = " ".join(f'{name}="{text}"' for name, text in {**kept, attribute: value}.items())
    found = read(f"<cpu>{gpu(bus(1), more=more)}{gpu(bus(2), more=more)}</cpu>")
    assert len(found.gpus) == 2
    wanted = f"line 1: `{attribute}` of 2 elements is `{value[:20]}`; it is taken as unknown"
    assert found.warnings == (wanted,)
    assert (found.gpus[0].link is None) == attribute.startswith("link")
    assert (found.gpus[0].pci_id == "") == (attribute in ("vendor", "device"))


@pytest.mark.parametrize("speed", ["32 GT/s", "32.0 GT/s PCIe", "32GT/s", "32.0", "Gen5", "PCIe Gen5"])
@pytest.mark.parametrize("width", ["16", "x16"])
def test_spellings_of_a_link(speed: str, width: str) -> None:
    found = read(f'<cpu>{gpu(bus(1), more=f"""class="0x030200" link_speed="{speed}" link_width="{width}" """)}</cpu>')
    assert str(found.gpus[0].link) == "x16 Gen5"
    assert not found.warnings


@pytest.mark.parametrize(("speed", "rate"), [("0", None), ("-1", None), ("-1000", None), ("fast", None), ("", None)])
def test_ports_without_a_rate_are_kept(speed: str, rate: float | None) -> None:
    found = read(f"<cpu>{gpu(bus(1))}{nic(bus(2), net(speed))}</cpu>")
    assert [item.gbyte_s for item in found.nics] == [rate]
    assert bool(found.warnings) == (speed == "fast")


@pytest.mark.parametrize(
    ("console", "gpus"),
    [
        ('class="0x030000" vendor="0x1a03" device="0x2000"', 2),  # the console of a management controller
        ('class="0x030000" vendor="0x10de" device="0x1fb0"', 2),  # a graphics card beside accelerators
        ('class="0x068000" vendor="0x10de" device="0x22a3"', 2),
        ('class="0x0302" vendor="0x10de" device="0x2330"', 3),
        ('class="030200"', 3),
    ],
)
def test_what_is_a_gpu_by_its_class(console: str, gpus: int) -> None:
    two = "".join(f'<pci busid="{bus(n)}" class="0x030200"/>' for n in (1, 2))
    assert len(read(f'<cpu>{two}<pci busid="{bus(3)}" {console}/></cpu>').gpus) == gpus


@pytest.mark.parametrize(("vendor", "count"), [("0x10de", 2), ("", 2), ("0x1a03", 0)])
def test_graphics_cards_alone_are_gpus(vendor: str, count: int) -> None:
    """RTX cards are of class VGA; so is the console of every server."""
    cards = "".join(f'<pci busid="{bus(n)}" class="0x030000" vendor="{vendor}" device="0x2684"/>' for n in (1, 2))
    if count:
        assert len(read(f"<cpu>{cards}</cpu>").gpus) == count
    else:
        with pytest.raises(InputError, match="no GPU is listed"):
            read(f"<cpu>{cards}</cpu>")


def test_devices_without_a_class_are_told_by_their_vendor() -> None:
    """Clouds leave `class` out; a bridge and an NVSwitch of NVIDIA are no GPUs."""
    inner = f'<pci busid="{bus(2)}" vendor="0x10DE" device="0x2330"/><pci busid="{bus(3)}" vendor="0x15b3"/>'
    chips = f'<pci busid="{bus(4)}" vendor="0x10de" device="0x22a3"/><pci busid="{bus(5)}" vendor="0x1000"/>'
    found = read(f'<cpu><pci busid="{bus(1)}" vendor="0x10de" device="0x1a0e">{inner}</pci>{chips}</cpu>')
    assert [item.pci_id for item in found.gpus] == ["10de:2330"]
    assert [item.bus for item in found.nics] == [bus(3)]


def test_devices_outside_of_a_cpu_and_several_gpus_of_one_device() -> None:
    """Partitions of a GPU are GPUs to NCCL."""
    parts = f'<pci busid="{bus(1)}" class="0x120000"><gpu dev="0"/><gpu dev="1"/></pci>'
    found = read(parts)
    assert (len(found.sockets), len(found.gpus)) == (1, 2)
    assert any(f"several GPUs have the bus id {bus(1)}" in words for words in found.warnings)
    split = "".join(f'<pci busid="0000:0{n}:00.{f}"><gpu dev="{2 * n + f}"/></pci>' for n in (1, 2) for f in (0, 1))
    found = read(f"<cpu>{split}</cpu>")
    assert len(found.gpus) == 4
    assert found.warnings == (
        "4 GPUs are functions of 2 devices, as partitions of a GPU are: a part of the catalogue is a whole GPU",
    )


def test_ports_without_a_card_are_as_many_nics_as_guids() -> None:
    """As in virtual machines that hide the PCI tree; management among them is left out."""
    ports = (
        "".join(f'<net name="mlx5_{n}" dev="{n}" speed="400000" guid="0x{n}"/>' for n in (1, 2))
        + '<net name="coll" speed="400000" guid="0x2" coll="1"/><net name="eth0" speed="10000" guid="0x9"/>'
    )
    found = read(f"<cpu>{gpu(bus(1))}<nic>{ports}</nic></cpu>")
    assert [item.name for item in found.nics] == ["mlx5_1", "mlx5_2"]
    assert [item.name for item in found.management] == ["eth0"]
    card = read(f"<cpu>{gpu(bus(1))}{nic(bus(2), ports)}</cpu>")
    assert len(card.nics) == 1  # a card of several ports is one


def test_a_domain_over_several_hosts_is_read_by_its_first() -> None:
    """As NCCL fuses the trays of an NVL72: each has its own bus ids, and may repeat those of others."""
    hosts = [f'<cpu numaid="0" host_hash="0x{n}" arch="arm64">{TWO}</cpu>' for n in (7, 8, 9)]
    found = read(*hosts)
    assert (len(found.gpus), found.hosts, len(found.sockets)) == (2, 3, 1)
    assert found.warnings[0].startswith("the file joins 3 hosts")
    assert read_yaml(file_of(found).text)["nvlink"] == {"switched": True, "nodes": 3}
    assert read(hosts[0], hosts[0]).hosts == 1


BARE = "".join(f'<pci busid="0000:00:{n:02x}.0"/>' for n in range(0x16, 0x1A))
"""Bus ids alone, as a file of a cloud has them: NCCL looks the rest up on the machine."""


def test_gpus_and_nics_of_bare_bus_ids_are_named_by_the_caller(tmp_path: Path) -> None:
    """Bus ids count alike with and without a domain, in either case."""
    text = f'<system version="1"><cpu numaid="0">{BARE}</cpu></system>'
    with pytest.raises(InputError, match=r"say which are: --gpu-bus 0000:00:16.0,0000:00:17.0,...; lspci lists them"):
        read_server(text.encode(), "x.xml")
    found = read_server(text.encode(), "x.xml", ["00:16.0", "0000:00:17.0"], ["00000000:00:18.0"])
    assert [device.bus for device in found.gpus] == ["0000:00:16.0", "0000:00:17.0"]
    assert [device.bus for device in found.nics] == ["0000:00:18.0"]
    with pytest.raises(InputError, match=r"no device has the bus id `00:99.0`"):
        read_server(text.encode(), "x.xml", ["00:99.0"])
    (tmp_path / "x.xml").write_text(text)
    named = ("--gpu-bus", "00:16.0,00:17.0", "--nic-bus", "00:19.0")
    run = ffplan("fabric import", "nccl", str(tmp_path / "x.xml"), *named)
    assert run.code == 0
    data = read_yaml(run.out)
    assert (len(data["accelerators"]), len(data["nics"])) == (2, 1)


def test_ports_of_one_card_add_up_where_there_is_such_a_part() -> None:
    """Two ports of 200 Gb/s are a card of 400 Gb/s; a port that stands twice, for SHARP, is one."""

    def card(*ports: str) -> str:
        ids = 'class="0x020000" vendor="0x15b3" device="0x1021"'
        return f"<cpu>{gpu(bus(1))}{nic(bus(2), *ports, more=ids)}</cpu>"

    def port(number: int, speed: int = 200_000, more: str = "") -> str:
        return f'<net name="mlx5_{number}" dev="0" speed="{speed}" port="{number}" guid="0x1" {more}/>'

    both = read(card(port(1), port(2)))
    assert [(item.ports, item.gbyte_s, item.rate_words) for item in both.nics] == [(2, 25.0, "2 ports of 200 Gb/s")]
    made = file_of(both)
    assert read_yaml(made.text)["nics"][0]["part"] == "connectx-7-400g"
    assert not any("name a part of the rate" in words for words in made.warnings)
    for text in (card(port(1)), card(port(1), port(1, more='coll="1"')), card(port(1), port(2, 100_000))):
        (one,) = read(text).nics
        assert (one.ports, one.gbyte_s, one.rate_words) == (1, 25.0, "200 Gb/s")
        assert any("runs at 200 Gb/s" in words for words in file_of(read(text)).warnings)


def test_ports_without_a_nic_element_and_nics_that_are_fused() -> None:
    """NCCL hangs a NIC that it fuses of two at the switch above both."""
    plain = read(f'<cpu>{gpu(bus(1))}<pci busid="{bus(2)}" class="0x020700">{net(400000)}</pci></cpu>')
    assert [(item.bus, item.name, item.gbyte_s) for item in plain.nics] == [(bus(2), "mlx5_0", 50.0)]
    fused = '<nic><net name="mlx5_0+mlx5_1" dev="8" speed="800000" port="1" guid="0x77"/></nic>'
    switch = f'<pci busid="{bus(9)}" class="0x060400" vendor="0x1000" device="0xc030">{gpu(bus(1))}{fused}</pci>'
    found = read(f"<cpu>{switch}</cpu>")
    assert [(item.name, item.gbyte_s, item.pci_id) for item in found.nics] == [
        ("mlx5_0", 50.0, ""),
        ("mlx5_1", 50.0, ""),
    ]
    assert found.sockets[0].ports[0].switched


def test_a_fused_nic_beside_its_parts_is_no_further_nic() -> None:
    """NCCL marks the parts as not kept; a file written before it trims them has both."""
    parts = "".join(nic(bus(n), net(200000, f"mlx5_{n}")) for n in (2, 3))
    both = '<nic><net name="mlx5_2+mlx5_3" dev="8" speed="400000" guid="0x77" keep="1"/></nic>'
    found = read(f'<cpu><pci busid="{bus(9)}" class="0x060400">{gpu(bus(1))}{parts}{both}</pci></cpu>')
    assert [(item.bus, item.name, item.gbyte_s) for item in found.nics] == [
        (bus(2), "mlx5_2", 25.0),
        (bus(3), "mlx5_3", 25.0),
    ]
    other = both.replace("mlx5_3", "mlx5_4")
    found = read(f'<cpu><pci busid="{bus(9)}" class="0x060400">{gpu(bus(1))}{parts}{other}</pci></cpu>')
    assert sorted(item.name for item in found.nics) == ["mlx5_2", "mlx5_2", "mlx5_3", "mlx5_4"]


@pytest.mark.parametrize(
    ("inside", "warned"),
    [("", True), ('<c2c bw="363.8"/>', False), ('<nvlink target="0004:00:00.0" count="3" tclass="0x068001"/>', False)],
)
def test_copies_over_a_link_to_the_cpu_do_not_take_pcie(inside: str, warned: bool) -> None:
    """Superchips and POWER9 show few lanes of PCIe, for control alone."""
    narrow = 'class="0x030200" vendor="0x10de" device="0x2941" link_speed="32.0 GT/s PCIe" link_width="1"'
    made = file_of(read(f'<cpu arch="arm64">{gpu(bus(1), inside=inside, more=narrow)}</cpu>'))
    assert any("copies to hosts and NICs reach" in words for words in made.warnings) == warned
    assert ("accelerator_pcie" in made.text) == warned


@pytest.mark.parametrize(
    ("cpu", "like", "taken"),
    [
        ('arch="arm64"', "gb200-nvl72-tray", "grace"),
        ('arch="arm64"', "hgx-h100-8nic", "TODO"),
        ('arch="x86_64" vendor="GenuineIntel" familyid="9" modelid="9"', "gb200-nvl72-tray", "TODO"),
        ('arch="x86_64" vendor="GenuineIntel" familyid="9" modelid="9"', "hgx-h100-8nic", "xeon-8480c"),
        ("", "gb200-nvl72-tray", "grace"),
    ],
)
def test_a_server_that_stands_in_has_cpus_of_the_same_kind(cpu: str, like: str, taken: str) -> None:
    made = file_of(read(f"<cpu {cpu}>{gpu(bus(1))}</cpu>"), like)
    assert read_yaml(made.text)["sockets"][0]["cpu"] == taken
    if taken == "TODO":
        assert any(words.startswith("the CPUs are ") for words in made.warnings)


def test_catalogued_cpus_of_the_kind_of_an_unnamed_one_are_listed() -> None:
    made = file_of(read(f'<cpu arch="arm64">{gpu(bus(1))}</cpu>'))
    assert "of this kind the catalogue has `grace`" in made.todo[0]
    for arch in ("ppc64", "x86_64"):
        made = file_of(read(f'<cpu arch="{arch}">{gpu(bus(1))}</cpu>'))
        assert ("no catalogued CPU is known to be one" in made.todo[0]) == (arch == "ppc64")


def test_a_die_of_mi250x_is_no_whole_card() -> None:
    dies = "".join(gpu(bus(n), more='class="0x038000" vendor="0x1002" device="0x7408"') for n in (1, 2))
    made = file_of(read(f"<cpu>{dies}</cpu>"))
    assert any("`mi250x` of the catalogue is a whole card" in words for words in made.todo)


def test_ports_below_their_part_are_one_warning() -> None:
    cards = "".join(nic(bus(n), net(100000, f"mlx5_{n}")) for n in range(2, 8))
    made = file_of(read(f"<cpu>{gpu(bus(1))}{cards}</cpu>"))
    said = [words for words in made.warnings if "name a part of the rate" in words]
    assert said == [
        "the ports of mlx5_2, mlx5_3, mlx5_4 and 3 more run at 100 Gb/s, `connectx-6-200g` has 200 Gb/s: name a part "
        "of the rate that is used"
    ]


def test_two_cpus_of_one_numa_node_are_one_socket() -> None:
    found = read(*(f'<cpu numaid="0" arch="x86_64">{gpu(bus(n))}</cpu>' for n in (1, 2)))
    assert [(socket.numa, len(socket.ports)) for socket in found.sockets] == [((0,), 2)]


def test_devices_that_nccl_did_not_use_are_named() -> None:
    """A dump of two of four GPUs, and of one NIC whose link is up: what is left out is said."""
    bare = "".join(f'<pci busid="{bus(n)}" class="0x030200"/>' for n in (3, 4))
    card = '<pci busid="0000:0b:00.0" class="0x020700"/><pci busid="0000:0c:00.0" class="0x010802"/>'
    switch = '<pci busid="0000:0d:00.0" class="0x068000" vendor="0x10de" device="0x22a3"/>'
    found = read(f"<cpu>{TWO}{bare}{nic('0000:0a:00.0', net(400000))}{card}{switch}</cpu>")
    assert (len(found.gpus), len(found.nics)) == (2, 1)
    assert [words.partition(": ")[2] for words in found.warnings] == [
        f"2 devices of the class of a GPU ({bus(3)} and {bus(4)}) without a `gpu` element, which others have: NCCL did "
        "not use them, and they are left out",
        "1 device of the class of a NIC (0000:0b:00.0) without a `net` element, which others have: NCCL did not use "
        "them, and they are left out",
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (SERVER[:150].encode(), r"^x:3:[0-9]+: error: the file ends inside of `[cg]pu`: it is cut off"),
        (SERVER.rpartition("</cpu>")[0].encode(), "the file ends inside of `[cg]pu`: it is cut off"),
        (gzip.compress(SERVER.encode()), "not valid XML: it is packed"),
        (b"", "not valid XML: no element found"),
        (
            b'<?xml version="1.0"?>\n<!DOCTYPE nvidia_smi_log SYSTEM "x.dtd">\n<nvidia_smi_log/>',
            "^x:2:1: .* log of `nvid",
        ),
        (b'<!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology/>', "a topology of hwloc"),
        (b"<!DOCTYPE system><system/>", "a document type is declared"),
    ],
)
def test_what_is_cut_off_packed_or_of_another_program(data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_server(data, "x")


@pytest.mark.parametrize("family", ["175", "25"])
def test_each_mi300a_is_a_socket(family: str) -> None:
    """NCCL writes the extended family times 16, as in real files of EPYC: 143 of Rome, 175 of Milan."""
    found = read(
        *(
            f'<cpu numaid="{n}" vendor="AuthenticAMD" familyid="{family}" modelid="144">{gpu(bus(n))}</cpu>'
            for n in range(4)
        )
    )
    assert [socket.numa for socket in found.sockets] == [(0,), (1,), (2,), (3,)]
    assert found.warnings == ()
