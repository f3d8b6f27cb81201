"""Lists of cables and tables of neighbours, through the commands that read them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.interop.asbuilt.model import as_built_report
from ffplan.interop.asbuilt.read import read_as_built
from tests.support import SMALL, examples, ffplan
from tests.unit.interop.test_pasted import PREFIXES

if TYPE_CHECKING:
    from pathlib import Path

FABRIC, FOUR = "superpod-h100-4su", "h100-1k-four-networks"


@pytest.mark.parametrize("target", ["cables", "containerlab", "graphml", "ptm", "ibsim", "netbox", "nautobot"])
def test_the_audit_reads_what_ffplan_exports(target: str, tmp_path: Path) -> None:
    """As designed, and with two cables swapped; networks beside the compute fabric are compared too."""
    design = FOUR if target in ("cables", "netbox") else FABRIC
    tables = {"netbox": ["cables"], "nautobot": ["interfaces", "cables"]}.get(target, [""])
    files = []
    for table in tables:
        run = ffplan(f"fabric export {design} --to {target}", *(["--table", table] if table else []))
        assert run.code == 0, run.err
        files.append(tmp_path / f"{target}-{table}.txt")
        files[-1].write_text(run.out)
    run = ffplan(f"fabric audit {design} -f json", *map(str, files))
    assert run.code == 0, run.err
    report = json.loads(run.out)
    same = 2040 + 264 + 191 + 215 if design == FOUR else 2040
    assert (report["same"], report["causes"]) == (same, [])
    assert not any("left out" in remark for remark in report["remarks"])
    if target in ("cables", "netbox"):
        text = files[0].read_text()
        files[0].write_text(
            text.replace("leaf-01,1,", "X", 1).replace("leaf-01,2,", "leaf-01,1,", 1).replace("X", "leaf-01,2,", 1)
            if target == "cables"
            else text.replace("leaf-01,dcim.interface,1,", "X", 1)
            .replace("leaf-01,dcim.interface,2,", "leaf-01,dcim.interface,1,", 1)
            .replace("X", "leaf-01,dcim.interface,2,", 1)
        )
        run = ffplan(f"fabric audit {design} -f json", *map(str, files))
        assert run.code == 1
        assert json.loads(run.out)["same"] == same - 2


@pytest.mark.parametrize(
    ("listed", "gone", "kinds", "same"),
    [
        (("compute",), "", [], 2040),  # a list of one network says nothing of the others
        (("storage",), "", [], 264),
        (("compute", "storage", "out-of-band"), "", ["absent-network"], 2040 + 264 + 215),
        (("storage", "front-end"), "", ["absent-network"] * 2, 264 + 191),
        (("compute", "storage"), ",storage,compute-010,", ["absent-network"] * 2 + ["absent-node"], 2040 + 263),
        (("storage",), ",storage-leaf-1,", ["missing-cable"], 263),
    ],
)
def test_every_network_that_the_files_list_is_compared(
    listed: tuple[str, ...], gone: str, kinds: list[str], same: int, tmp_path: Path
) -> None:
    """Rows of some networks of four, one row less where said; a network without a row is a finding beside others."""
    head, *rows = ffplan(f"fabric export {FOUR} --to cables").out.splitlines()
    rows = [row for row in rows if row.split(",")[1] in listed]
    lost = next((row for row in rows if gone and gone in row and "spine" in (row if "leaf" in gone else "spine")), None)
    file = tmp_path / "cables.csv"
    file.write_text("\n".join([head, *(row for row in rows if row != lost)]) + "\n")
    run = ffplan(f"fabric audit {FOUR} -f json", str(file))
    report = json.loads(run.out)
    assert sorted(cause["kind"] for cause in report["causes"]) == sorted(kinds)
    assert (run.code, report["same"]) == (1 if kinds else 0, same)
    assert not any("does not have" in remark for remark in report["remarks"])


def test_networks_that_no_design_has_are_left_out(tmp_path: Path) -> None:
    """Three cables between devices that are in no network of the design."""
    run = ffplan(f"fabric export {FOUR} --to cables")
    file = tmp_path / "cables.csv"
    file.write_text(run.out + "".join(f"X{n},camera,camera-{n},eth0,video-1,{n},cat6\n" for n in (1, 2, 3)))
    report = json.loads(ffplan(f"fabric audit {FOUR} -f json", str(file)).out)
    assert (report["same"], report["causes"]) == (2710, [])
    assert "left out 1 network of 4 devices that the design does not have, such as `camera-1 eth0`" in report["remarks"]


@pytest.fixture(name="planes")
def two_planes(tmp_path: Path) -> str:
    """Return a command's words of eight nodes whose NICs have a port in either plane, at ports that are split."""
    file = tmp_path / "planes.yaml"
    file.write_text((SMALL / "planes.yaml").read_text().replace("count: 9", "count: 8"))
    return f"{file} --catalog {SMALL / 'parts'}"


def exported(planes: str, target: str, folder: Path) -> Path:
    """Return the file of an export."""
    run = ffplan(f"fabric export {planes} --to {target}")
    assert run.code == 0, run.err
    file = folder / f"{target}.txt"
    file.write_text(run.out)
    return file


@pytest.mark.parametrize("target", ["cables", "containerlab", "ptm", "ibsim"])
def test_nics_with_ports_in_two_planes_are_read_back(target: str, planes: str, tmp_path: Path) -> None:
    """Every format has an order of its own for the ports of a host, and its reader has the same."""
    run = ffplan(f"fabric audit {planes} -f json", str(exported(planes, target, tmp_path)))
    assert (run.code, json.loads(run.out)["same"]) == (0, 2 * 64 + 2 * 64), run.err


def test_a_remedy_names_ports_as_they_are_printed(planes: str, tmp_path: Path) -> None:
    """A cable between switches that the file lacks is named as its row has it: leaves split four down, and two up."""
    file = exported(planes, "cables", tmp_path)
    head, *rows = file.read_text().splitlines()
    trunks = [place for place, row in enumerate(rows) if "spine" in row]
    for gone in trunks[::17]:
        row = dict(zip(head.split(","), rows[gone].split(","), strict=True))
        file.write_text("\n".join([head, *rows[:gone], *rows[gone + 1 :]]) + "\n")
        (cause,) = json.loads(ffplan(f"fabric audit {planes} -f json", str(file)).out)["causes"]
        ends = [f"{row[f'{side}_device']}/p{row[f'{side}_port']}" for side in ("from", "to")]
        assert all("/" in row[f"{side}_port"] for side in ("from", "to"))
        assert sorted(cause["where"]) == sorted(ends)
        assert all(any(word.rstrip(",") == name for word in cause["do"][0].split()) for name in ends)


def end(device: str, port: str, *, old: bool) -> object:
    inside = {"id": 3, "name": port, "device": {"id": 7, "name": device}}
    return inside if old else [{"object_type": "dcim.interface", "object_id": 3, "object": inside}]


@pytest.mark.parametrize("old", [False, True])
def test_pages_of_rest(old: bool, tmp_path: Path) -> None:
    """NetBox from 3.3 lists terminations; before it, and in Nautobot, a cable has one at each end."""
    a, b = ("termination_a", "termination_b") if old else ("a_terminations", "b_terminations")
    rows = [{"id": n, a: end(f"node0{n}", "nic0", old=old), b: end("leaf-01", str(n), old=old)} for n in (1, 2)]
    rows.append({"id": 9, a: None, b: end("leaf-01", "9", old=old)})  # a cable that ends at a panel of another kind
    page = {"count": 3, "next": None, "results": rows}
    file = tmp_path / "cables.json"
    file.write_text(json.dumps(page, indent=2))
    run = ffplan("fabric import ibnetdiscover", str(file))
    assert run.code == 0, run.err
    assert [(link["a"], link["b"]) for link in json.loads(run.out)["links"]] == [
        ("leaf-01/p1", "node01 nic0/p1"),
        ("leaf-01/p2", "node02 nic0/p1"),
    ]
    file.write_text(json.dumps({**page, "next": "http://netbox/api/dcim/cables/?offset=50"}))
    assert "one page of several" in ffplan("fabric import ibnetdiscover", str(file)).err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from_device,from_port,to_device,to_port\n", "no cable between two ports"),
        ("from_device,from_port,to_device,to_port\nnode01,nic0,,1\n", "2:1: error: a cable without"),
        ("termination_a_id,termination_b_id,type\nx,y,aoc\n", "the interface `x` is unknown"),
        ("id,device__name,name\na1,leaf-1,swp1\n", "this is Nautobot's table of interfaces"),
        ('{"count": 0, "next": null, "results": []}', "."),
    ],
)
def test_lists_that_say_nothing_are_errors(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_as_built([("cables.csv", text)])


EOS = """leaf-01#show lldp neighbors
Last table change time   : 0:12:33 ago
Number of table inserts  : 66

Port          Neighbor Device ID       Neighbor Port ID    TTL
---------- ------------------------ ---------------------- ---
Et1/1         node01                   eth0                120
Et2/1         node02                   eth0                120
Et33/1        spine-01.dc1             Ethernet7/1         120
Ma1           oob-01                   Ethernet9           120
"""
NXOS = """leaf-01# show lldp neighbors
Capability codes:
  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device
  (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other
Device ID            Local Intf      Hold-time  Capability  Port ID
node01               Eth1/1          120                    eth0
node02               Eth1/2          120                    eth0
spine-01-of-a-very-long-name.example.com
                     Eth1/33         120        BR          Ethernet1/7
Total entries displayed: 3
"""
CUMULUS = """cumulus@leaf-01:mgmt:~$ net show lldp

LocalPort  Speed  Mode          RemoteHost   RemotePort
---------  -----  ------------  -----------  ----------
eth0       1G     Mgmt          oob-01       swp9
swp1       400G   Default       node01       eth0
swp2       400G   Default       node02       eth0
swp33      400G   Default       spine-01     swp7
"""
NVUE = (
    CUMULUS.replace("net show lldp", "nv show interface lldp")
    .replace("LocalPort  Speed  Mode        ", "Interface  Speed  Type        ")
    .replace("RemoteHost   RemotePort", "Remote Host  Remote Port")
)
SONIC = """admin@leaf-01:~$ show lldp table
Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr
-----------  --------------  -----------------  ------------  ---------------
Ethernet0    node01          0c:42:a1:03:00:b9  O             eth0
Ethernet8    node02          0c:42:a1:03:00:ba  O             eth0
Ethernet256  spine-01        Ethernet48         BR            Ethernet48
Ethernet264  spine-01        Ethernet56         BR            Ethernet56
--------------------------------------------------
Total entries displayed:  4
"""
JUNOS = """user@leaf-01> show lldp neighbors
Local Interface    Parent Interface    Chassis Id          Port info          System Name
et-0/0/0           -                   2c:6b:f5:00:00:01   eth0               node01
et-0/0/1           -                   2c:6b:f5:00:00:02   eth0               node02
et-0/0/32          -                   2c:6b:f5:00:00:03   et-0/0/6           spine-01
"""
LLDPCTL = """root@leaf-01:~# lldpctl
-------------------------------------------------------------------------------
LLDP neighbors:
-------------------------------------------------------------------------------
""" + "".join(
    f"""Interface:    {port}, via: LLDP, RID: {n}, Time: 0 day, 00:12:33
  Chassis:
    ChassisID:    mac 44:38:39:00:00:0{n}
    SysName:      {peer}
    SysDescr:     Linux
    Capability:   Bridge, {"on" if "spine" in peer else "off"}
    Capability:   Router, {"on" if "spine" in peer else "off"}
  Port:
    PortID:       {kind}
    PortDescr:    {there}
    TTL:          120
-------------------------------------------------------------------------------
"""
    for n, (port, peer, kind, there) in enumerate(
        (
            ("swp1", "node01", "mac 0c:42:a1:03:00:b9", "eth0"),
            ("swp2", "node02", "ifname eth0", "port of a NIC"),
            ("swp33", "spine-01", "ifname swp7", "to leaves"),
        )
    )
)
TABLES = {
    "EOS": EOS,
    "NX-OS": NXOS,
    "Cumulus": CUMULUS,
    "NVUE": NVUE,
    "SONiC": SONIC,
    "Junos": JUNOS,
    "lldpctl": LLDPCTL,
}
WIRED = [("leaf-01/p1", "node01 eth0/p1"), ("leaf-01/p2", "node02 eth0/p1"), ("leaf-01/p33", "spine-01/p7")]


def wired(text: str, file: str = "x.txt") -> list[tuple[str, str]]:
    """Return the links of a table between nodes, the leaf and the spine."""
    links = as_built_report(read_as_built([(file, text)]), file).links
    return [
        (link.a, link.b.replace("spine-01-of-a-very-long-name", "spine-01"))
        for link in links
        if "oob" not in link.a + link.b
    ]


@pytest.mark.parametrize("system", TABLES)
@pytest.mark.parametrize(
    "form", ["as written", "Markdown", "Slack", "kubectl --timestamps", "CRLF", "colours", "cat -n"]
)
def test_tables_of_neighbours(system: str, form: str) -> None:
    """Two nodes at ports 1 and 2, a spine's port 7 at port 33, of the switch that the prompt names."""
    expected = [*WIRED, ("leaf-01/p34", "spine-01/p8")] if system == "SONiC" else WIRED
    assert wired(PREFIXES[form](TABLES[system])) == expected


def test_prompts_name_the_switches_of_a_file() -> None:
    """Several switches in one paste; without a prompt the name of the file is the switch's."""
    both = CUMULUS + CUMULUS.replace("leaf-01", "leaf-02").replace("swp7", "swp8").replace("node0", "node1")
    assert {link[0] for link in wired(both)} == {f"leaf-0{n}/p{port}" for n in (1, 2) for port in (1, 2, 33)}
    bare = CUMULUS.partition("\n")[2]
    assert wired(bare, "leaf-01.txt") == WIRED
    tabs = "\n".join("\t".join(line.split()) for line in bare.splitlines())
    assert wired(tabs, "leaf-01.txt") == WIRED  # a spreadsheet's blanks


def test_tables_whose_blanks_are_lost() -> None:
    """A chat leaves one blank of many: the words count where every column has one, and no figure is guessed."""
    for system in ("EOS", "Cumulus", "Junos"):
        assert wired(re.sub(" +", " ", TABLES[system])) == WIRED
    with pytest.raises(InputError, match="4 words below 5 titles"):
        wired(re.sub(" +", " ", TABLES["NX-OS"]))


def test_tables_cut_inside_a_line_are_refused() -> None:
    """In the heading, which then stands above other columns; in the last row, which lacks its far port."""
    head = TABLES["Junos"].index("Interface    Chassis Id".replace("Interface", "Parent Interface"))
    with pytest.raises(InputError, match="5 words below 4 titles"):
        wired(TABLES["Junos"][head + len("Parent ") :], "leaf-01.txt")
    with pytest.raises(InputError, match="a row without a port and a neighbour"):
        wired(EOS[: EOS.index("eth0                120\nEt33")])
    with pytest.raises(InputError, match="a neighbour without a name"):
        wired(json.dumps({"lldpNeighbors": [{"port": "Ethernet1/1", "neighborPort": "Ethernet1/1"}]}))


def test_neighbours_of_junos_and_ios() -> None:
    """The JSON of Junos, what a chassis prints below its table, and ports of a stack: member, module and port."""

    def neighbour(port: str, peer: str, far: str) -> dict[str, object]:
        names = ("lldp-local-port-id", "lldp-remote-system-name", "lldp-remote-port-id")
        return {name: [{"data": text}] for name, text in zip(names, (port, peer, far), strict=True)}

    rows = [neighbour("et-0/0/0", "node01", "eth0"), neighbour("et-0/0/32", "spine-01.dc1", "et-0/0/6")]
    data = {"lldp-neighbors-information": [{"lldp-neighbor-information": rows}]}
    assert wired(json.dumps(data), "leaf-01.json") == [WIRED[0], WIRED[2]]
    assert wired("[sudo] password for root:\n" + json.dumps(data), "leaf-01.json") == [WIRED[0], WIRED[2]]
    assert wired(JUNOS + "\n{master:0}\nuser@leaf-01>\n") == WIRED
    stack = NXOS.replace("Eth1/", "Te1/0/").replace("Ethernet1/7", "Te1/0/7")
    assert wired(stack) == WIRED


@pytest.mark.parametrize(
    "text",
    [
        "lldp.swp1.via=LLDP\nlldp.swp1.rid=1\nlldp.swp1.chassis.name=spine-01\n",
        'Interface Ethernet1/1 detected 1 LLDP neighbors:\n\n  Neighbor 44:38:39:00:00:01/"Ethernet1/1"\n',
        "Chassis id: 4438.3900.0001\nPort id: Ethernet1/1\nLocal Port id: Eth1/49\nSystem Name: spine-01\n",
        "Device-ID   Local Intrfce  Hldtme Capability  Platform   Port ID\nspine-01    Eth1/49  120  R S  N9K  Eth1/1",
        '<?xml version="1.0"?>\n<lldp label="LLDP neighbors"><interface name="swp1"/></lldp>\n',
    ],
    ids=["keyvalue", "EOS in detail", "NX-OS in detail", "CDP", "XML of lldpctl"],
)
def test_neighbours_in_another_form_name_the_right_one(text: str) -> None:
    with pytest.raises(InputError, match=r"lldpcli show neighbors` ?-f json|lldpcli show neighbors -f json"):
        wired(text)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_lists_of_spreadsheets(separator: str) -> None:
    """Semicolons and tabs between columns, and the prompt of a shell below the last row."""
    text = "side_a_device,side_a_name,side_b_device,side_b_name\nleaf-01,swp1,node01,eth0\n".replace(",", separator)
    assert wired(text + "root@host:~# \n") == WIRED[:1]


@examples(60)
@given(st.data())
def test_cut_and_joined_tables_give_their_links_or_an_error(data: st.DataObject) -> None:
    """Wherever they are cut: never a link that is not there, never an empty fabric."""
    one, two = (TABLES[data.draw(st.sampled_from(sorted(set(TABLES) - {"SONiC", "NX-OS"})))] for _ in "ab")
    text = PREFIXES[data.draw(st.sampled_from(["as written", "Slack", "mixed line ends", "ts"]))](one + two)
    lines = text.splitlines(keepends=True)
    start = data.draw(st.integers(0, len(lines)))
    try:
        links = wired("".join(lines[start : data.draw(st.integers(start, len(lines)))]), "leaf-01.txt")
    except InputError:
        return
    # a cut can leave of a device its MAC address alone, or its name without the port
    names = {tuple(re.split(r"[ /]", end)[0] for end in link) for link in links if ":" not in "".join(link)}
    assert names <= {tuple(re.split(r"[ /]", end)[0] for end in link) for link in WIRED}


@pytest.mark.parametrize(
    "sides", ["A B", "Source Destination", "Src Dst", "Local Remote", "Near Far", "From To", "Side-A Side-B"]
)
@pytest.mark.parametrize("words", ["{0} Device,{0} Port", "Device {0},Interface {0}"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_sheet_of_cables_with_columns_of_its_own(sides: str, words: str, separator: str, tmp_path: Path) -> None:
    head = ",".join(["Cable", *(words.format(side) for side in sides.split())])
    rows = ["1,leaf-01,Ethernet1/1,node01,eth0", "2,leaf-01,Ethernet1/33,spine-01,Ethernet1/1"]
    file = tmp_path / "cables.csv"
    file.write_text("\n".join([head, *rows]).replace(",", separator) + "\n")
    run = ffplan("fabric import ibnetdiscover", str(file))
    assert run.code == 0, run.err
    links = [(link["a"], link["b"]) for link in json.loads(run.out)["links"]]
    assert links == [("leaf-01/p1", "node01 eth0/p1"), ("leaf-01/p33", "spine-01/p1")]


@pytest.mark.parametrize("head", ["Switch,Switch Port,Host,NIC", "A,A Port,B,B Port", "Device;Port;Peer;Peer Port"])
def test_a_sheet_without_both_ends_names_the_columns(head: str, tmp_path: Path) -> None:
    file = tmp_path / "cables.csv"
    separator = ";" if ";" in head else ","
    file.write_text(f"{head}\n{separator.join(('leaf-01', 'Ethernet1/1', 'node01', 'eth0'))}\n")
    run = ffplan("fabric import ibnetdiscover", str(file))
    assert run.code == 2
    assert f"no columns with device and port of both ends: `{head}`" in run.err
    assert "A Device,A Port,B Device,B Port" in run.err


@pytest.mark.parametrize("target", ["cables", "containerlab", "graphml", "ptm", "netbox"])
@pytest.mark.parametrize("count", [3, 9, 13])
def test_ports_behind_unused_split_ports_are_where_the_design_has_them(target: str, count: int, tmp_path: Path) -> None:
    """The last leaf of each plane has unused ports in four parts before its uplinks, in two parts each."""
    small = SMALL / "planes.yaml"
    design = tmp_path / "planes.yaml"
    design.write_text(re.sub(r"count: \d+", f"count: {count}", small.read_text()))
    catalog = f"--catalog {SMALL}"
    table = "--table cables" if target == "netbox" else ""
    file = tmp_path / f"list-{target}.txt"
    file.write_text(ffplan(f"fabric export {design} --to {target} {table} {catalog}").out)
    run = ffplan(f"fabric audit {design} {file} -f json {catalog}")
    assert (run.code, json.loads(run.out)["causes"]) == (0, [])
