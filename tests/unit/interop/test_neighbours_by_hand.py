"""Links of Ethernet and InfiniBand as single lines say them: names of ports, neighbours, widths and speeds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ffplan.base.errors import InputError
from ffplan.interop.asbuilt.declared import _is_dot_line, _read_config_db, _read_dot
from ffplan.interop.asbuilt.ethernet import _first_numbers, _is_switch_port, _parts, _plain_name, _Ports
from ffplan.interop.asbuilt.infiniband import _link_rate, _signalled
from ffplan.interop.asbuilt.linkinfo import _read_linkinfo
from ffplan.interop.asbuilt.lldp import _is_lldp, _local_name, _parsed, _read_lldp
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.asbuilt.read import _LONGEST_LINE, read_as_built
from ffplan.interop.asbuilt.tables import _read_ndt, _read_topo
from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.interop.asbuilt.model import AsBuilt


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (["swp1", "swp2", "swp64"], [1, 2, 64]),
        (["Ethernet0", "Ethernet8", "Ethernet24"], [1, 2, 4]),
        (["Ethernet0", "Ethernet4"], [1, 2]),
        (["Ethernet0"], [1]),
        (["Ethernet5"], [2]),
        (["etp1a", "etp1b", "etp2a"], [1, 2, 3]),
        (["etp3", "etp4"], [3, 4]),
        (["Ethernet1/1/1", "Ethernet1/1/2", "Ethernet1/2/1"], [1, 2, 3]),
        (["Eth1/7"], [7]),
        (["et-0/3"], [3]),
        (["Port 12", "p3", "port-4"], [12, 3, 4]),
        (["lag1", "eth0", "swp"], [0, 0, 0]),
        (["swp1s0", "swp1s1", "swp2s0", "swp3"], [1, 2, 3, 5]),
        (["swp2s1"], [4]),  # port 1 counts as two halves, as port 2 does
        (["swp1s3", "swp2s0"], [4, 5]),
        (["ethernet1/1/1", "ethernet1/1/2", "ethernet1/1/33"], [1, 2, 33]),
        (["ethernet1/1/1:1", "ethernet1/1/1:2", "ethernet1/1/2", "ethernet1/1/3:2"], [1, 2, 3, 5]),
        (["ethernet1/1/1:4", "ethernet1/1/2:1"], [4, 5]),
        (["swp1", "swp3s0"], [1, 3]),  # port 2 is as whole as the one before it
    ],
)
def test_numbers_of_the_ports_of_a_switch(names: list[str], numbers: list[int]) -> None:
    ports = _Ports(names)
    assert [ports.number(name) for name in names] == numbers


def test_into_how_many_parts_ports_are_split() -> None:
    """Part 0 or 1 makes two, 2 or 3 four; a port of few parts counts as those around it."""
    assert _parts([(1, None), (2, 0), (3, 1), (4, 2), (5, 3), (6, 4)]) == {1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 8}
    assert _parts([(1, 3), (2, 0), (3, 3)]) == {1: 4, 2: 4, 3: 4}
    assert _parts([(1, 3), (2, 0), (3, 0), (4, 1)]) == {1: 4, 2: 2, 3: 2, 4: 2}
    assert _parts([(1, 3), (2, 0), (9, 1)]) == {1: 4, 2: 4, 9: 4}
    assert _parts([(1, 3), (2, None)]) == {1: 4, 2: 1}
    assert _parts([]) == {}
    assert _first_numbers({2: 4, 3: 4, 6: 2, 7: 2}) == {2: 5, 3: 9, 6: 21, 7: 23}
    assert _first_numbers({}) == {}


def test_names_of_switches_and_their_ports() -> None:
    assert [
        _is_switch_port(name) for name in ("swp1", "Ethernet1/1", "Ethernet4", "etp1", "eth0", "mlx5_0", "Port 1")
    ] == [*[True] * 4, *[False] * 3]
    assert [_plain_name(name) for name in (" leaf-1.dc1 ", "10.1.2.3", "00-00-5e-00-53-01", "0000.5e00.5301")] == [
        "leaf-1",
        "10.1.2.3",
        "00-00-5e-00-53-01",
        "0000",
    ]
    assert _plain_name("00.00.5e.00.53.01") == "00.00.5e.00.53.01"
    assert [_local_name(name) for name in ("out/leaf-1.dc1.json", "C:\\x\\leaf-2.json", "leaf-3")] == [
        "leaf-1",
        "leaf-2",
        "leaf-3",
    ]


def neighbours(interface: Any) -> list[tuple[str, str, str, bool]]:
    """Return port, neighbour, its port, and whether it forwards, of lldpcli's output."""
    links, device, forwarding = _read_lldp({"lldp": {"interface": interface}}, "x/leaf-1.json")
    assert (device.name, device.switch, device.listed) == ("leaf-1", None, True)
    assert {link.device for link in links} <= {"leaf-1"}
    return [(link.port, link.peer, link.peer_port, link.peer in forwarding) for link in links]


def chassis(name: str, *capabilities: tuple[str, Any]) -> dict[str, Any]:
    return {name: {"id": {"value": "x"}, "capability": [{"type": kind, "enabled": on} for kind, on in capabilities]}}


def test_neighbours_of_lldpcli() -> None:
    """A bridge or router that is enabled forwards; a MAC is no name of a port where there is a description."""
    port = {"id": {"type": "ifname", "value": "swp3"}, "descr": "uplink"}
    mac = {"id": {"type": "mac", "value": "00:00:5e:00:53:01"}, "descr": "eth0"}
    bare = {"id": {"type": "local", "value": "7"}}
    for capabilities, forwards in (
        ([("Bridge", True)], True),
        ([("Router", "on")], True),
        ([("Bridge", False), ("Router", "true")], True),
        ([("Bridge", False)], False),
        ([("Station", True)], False),
        ([], False),
    ):
        found = neighbours({"swp1": {"chassis": chassis("spine-1.dc1", *capabilities), "port": port}})
        assert found == [("swp1", "spine-1", "swp3", forwards)]
    assert neighbours({"swp1": {"chassis": chassis("n1"), "port": mac}}) == [("swp1", "n1", "eth0", False)]
    assert neighbours({"swp1": {"chassis": chassis("n1"), "port": bare}}) == [("swp1", "n1", "7", False)]
    assert neighbours({"swp1": {"chassis": chassis("n1"), "port": "odd"}}) == [("swp1", "n1", "", False)]
    one = {
        "name": "swp9",
        "chassis": [{"name": [{"value": "s"}]}],
        "port": [{"id": [{"type": "ifname", "value": "p"}]}],
    }
    two = {"name": "swp8", "chassis": [{"id": [{"value": "00:01"}]}], "port": []}
    assert neighbours([one, two, "odd", {"swp7": {"chassis": []}}]) == [
        ("swp9", "s", "p", False),
        ("swp8", "00:01", "", False),
    ]


def test_neighbours_of_other_systems() -> None:
    """EOS in brief and in full, inside the envelopes of its API; NX-OS with capabilities."""
    brief: Any = {"lldpNeighbors": [{"port": "Ethernet1", "neighborDevice": "s", "neighborPort": "Ethernet2"}]}
    info = {"systemName": "s.dc1", "neighborInterfaceInfo": {"interfaceId_v2": "Ethernet2", "interfaceId": '"x"'}}
    full: Any = {"lldpNeighbors": {"Ethernet1": {"lldpNeighborInfo": [info]}}}
    for data in (brief, {"result": [brief]}, full, {"ins_api": {"outputs": {"output": {"body": full}}}}):
        assert _is_lldp(data)
        links, _, forwarding = _read_lldp(data, "leaf-1.json")
        assert [(link.port, link.peer, link.peer_port) for link in links] == [("Ethernet1", "s", "Ethernet2")]
        assert forwarding == set()
    deep: Any = brief
    for _ in range(6):
        deep = {"result": deep}
    assert _is_lldp(deep)
    assert not _is_lldp({"result": deep})  # of seven envelopes nobody has heard
    assert not _is_lldp({"a": 1})
    row = {"l_port_id": "Eth1/1", "chassis_id": "s", "port_id": "Eth1/2"}
    for said, forwards in (("B, R", {"s"}), ("r", {"s"}), ("S", set()), ("", set())):
        links, _, forwarding = _read_lldp({"TABLE_nbor": {"ROW_nbor": {**row, "system_capability": said}}}, "l.json")
        assert (links[0].port, links[0].peer, links[0].peer_port, forwarding) == ("Eth1/1", "s", "Eth1/2", forwards)
    with pytest.raises(InputError, match="an entry is not an LLDP neighbour"):
        _read_lldp({"TABLE_nbor": {"ROW_nbor": ["odd"]}}, "l.json")


def test_json_behind_a_prompt() -> None:
    assert _parsed("leaf# show\n\n[1, 2]", "x") == [1, 2]
    assert _parsed('a [b {"c": 1}'.replace("[b ", ""), "x") == {"c": 1}
    assert _parsed("nothing", "x") is None
    with pytest.raises(InputError, match=r"^x:4:1: error: not valid JSON"):
        _parsed('leaf#\n\n{"a": 1,\n}', "x")


def test_neighbours_of_a_sonic_configuration() -> None:
    """A port by its key or by `local_port`; the rate in Mb/s; a row without a name is none."""
    data: dict[str, Any] = {
        "PORT": {"Ethernet0": {"speed": "400000"}, "Ethernet8": {"speed": "fast"}},
        "DEVICE_NEIGHBOR": {
            "Ethernet0": {"name": "s1.dc1", "port": "Ethernet4"},
            "s2": {"local_port": "Ethernet8", "port": "Ethernet0"},
            "Ethernet16": {"port": "Ethernet0"},
            "Ethernet24": "odd",
        },
    }
    links, device = _read_config_db(data, "x/leaf-7.json")
    assert (device.name, device.switch) == ("leaf-7", True)
    assert [(link.port, link.peer, link.peer_port, link.gbit_s) for link in links] == [
        ("Ethernet0", "s1", "Ethernet4", 400.0),
        ("Ethernet8", "s2", "Ethernet0", 0.0),
    ]
    named = {**data, "DEVICE_METADATA": {"localhost": {"hostname": "tor-1.dc1"}}}
    assert _read_config_db(named, "x/leaf-7.json")[1].name == "tor-1"


def test_links_of_a_topology_in_dot() -> None:
    text = '\n# a graph\n// of two links\nstrict graph "G" {\n'
    text += (
        '  "leaf-1.dc1":"swp1" -- "n 1":"eth0" [LLDP="match_type=portdescr"]; # first\n  leaf2 : swp2 -- s1:swp9;\n}\n'
    )
    assert [_is_dot_line(line) for line in text.splitlines()] == [False] * 3 + [True] * 2 + [False] * 2
    assert [(link.device, link.port, link.peer, link.peer_port, link.line) for link in _read_dot(text, "x")] == [
        ("leaf-1", "swp1", "n 1", "eth0", 5),
        ("leaf2", "swp2", "s1", "swp9", 6),
    ]
    assert not _is_dot_line("digraph G {")
    for wrong in ('"a":"b" -- "c":"d" -- "e":"f"', '"a":"b" -- "c"', '"a":"b" -- (c)'):
        with pytest.raises(InputError, match=r"^x:2:1: error: `.*` is not a link between two ports"):
            _read_dot("graph G {\n" + wrong + "\n}", "x")


def test_long_lines_are_refused() -> None:
    head = 'Switch 4 "S-1" # "leaf"\n[1] "H-1"[1] # "n1"\nCa 1 "H-1" # "n1"\n[1] "S-1"[1] # "leaf"\n'
    built = read_as_built([("x", head + "#" + "a" * (_LONGEST_LINE - 2) + "\n")])
    assert len(built.devices) == 2
    with pytest.raises(InputError, match=r"^x:5:1: error: a line of 8,001 characters"):
        read_as_built([("x", head + "#" + "a" * (_LONGEST_LINE - 1) + "\n")])


def test_files_of_several_devices_are_one_fabric() -> None:
    """Each file lists its own switch; a neighbour that forwards is a switch, whatever its ports are called."""

    def file(own: str, peer: str, kind: str) -> tuple[str, str]:
        port = {"id": {"type": "ifname", "value": "Port 4"}}
        return f"{own}.json", json.dumps(
            {"lldp": {"interface": {"swp1": {"chassis": chassis(peer, (kind, True)), "port": port}}}}
        )

    built = read_as_built([file("leaf-1", "spine-1", "Bridge"), file("leaf-2", "n1", "Station")])
    assert [(item.name, item.kind, item.seen) for item in built.devices] == [
        ("leaf-1", "switch", True),
        ("spine-1", "switch", False),
        ("leaf-2", "switch", True),
        ("n1 Port 4", "host", False),
    ]
    assert built.ends.tolist() == [[1, PORTS + 4], [2 * PORTS + 1, 3 * PORTS + 1]]


def line(port: int, state: str, peer: str, lid: int = 9, other: int = 1) -> str:
    return f'           1  {port:3}[  ] ==( {state} )==>  {lid:4} {other:4}[  ] "{peer}" ( )\n'


def info(text: str) -> AsBuilt:
    return _read_linkinfo("Switch: 0xa1 leaf-1:\n" + text, "x")


@pytest.mark.parametrize(
    ("state", "lanes", "rate"),
    [
        ("4X 53.125 Gbps Active/ LinkUp", 4, 200.0),
        ("2X 106.25 Gbps Active/ LinkUp", 2, 200.0),
        ("12X 2.5 Gbps Active/ LinkUp", 12, 30.0),
        ("4X 10.0 Gbps (FDR10) Active/ LinkUp", 4, 40.0),
        ("Active/ LinkUp", 0, 0.0),
    ],
)
def test_rates_of_iblinkinfo(state: str, lanes: int, rate: float) -> None:
    built = info(line(3, state, "spine-1"))
    assert (built.lanes.tolist(), built.gbit_s.tolist()) == ([lanes], [rate])
    assert built.ends.tolist() == [[3, PORTS + 1]]
    assert [(device.name, device.kind, device.seen) for device in built.devices] == [
        ("leaf-1", "switch", True),
        ("spine-1", "host", False),
    ]


def test_ports_of_iblinkinfo_that_are_down_or_odd() -> None:
    up = "4X 53.125 Gbps Active/ LinkUp"
    built = info(
        "# a comment\n\nother words\n"
        + line(1, "Down/ Polling", "", 0, 0).replace("   0    0", "")
        + line(2, up, "n1 HCA-1")
    )
    assert built.ends.tolist() == [[2, PORTS + 1]]
    assert built.remarks[0].startswith("skipped 1 line of other programs, first line 4: `other words`")
    with pytest.raises(InputError, match=r"^x:2:1: error: a link without the port at its other end"):
        info(line(1, up, "n1", 9, 0))
    rows = [f'0x11 "leaf-1" 1 {n}[  ] ==( {up} )==> 0x2{n} {n} 1[  ] "n{n} HCA-1" ( )\n' for n in (1, 2, 3, 4)]
    assert _read_linkinfo("".join(rows), "x").devices[0].kind == "switch"
    assert _read_linkinfo(rows[2], "x").devices[0].kind == "switch"
    assert _read_linkinfo("".join(rows[:2]), "x").devices[0].kind == "host"  # two ports may be an adapter's


def test_rates_that_a_text_says() -> None:
    """A name, a rate of a lane, or a code of ibsim; blanks and case do not matter."""
    for text, wanted in (
        ("4x ndr", (4, 400.0)),
        ("-4x-100G->", (4, 400.0)),
        ("4x 25.78125G", (4, 100.0)),
        ("8x-53.125G", (8, 400.0)),
        ("w=2 s=1", (4, 10.0)),
        ("w=4", (4, 0.0)),
        ("w=2", (2, 0.0)),
        ("s=2", (4, 20.0)),
        ("e=1", (4, 56.0)),
        ("x4xNDRx", (0, 0.0)),
        ("", (0, 0.0)),
    ):
        assert _link_rate(text) == wanted, text
    assert [_signalled(value) for value in (24.76, 24.7, 25.25, 25.3, 10.3125, 212.5)] == [
        25.0,
        0.0,
        25.0,
        0.0,
        10.0,
        200.0,
    ]


def test_files_of_managers() -> None:
    """Ports by the number at the end of their names; a switch of UFM's table is what a row starts from."""
    built = _read_ndt(
        "Speed,StartDevice,StartPort,EndDevice,EndPort\n4xNDR,l1,L2/P3,s1,Port 4\n\n,s1,P4,l1,P3\n,s1,1,n1,P1\n", "x"
    )
    assert [(device.name, device.kind) for device in built.devices] == [
        ("l1", "switch"),
        ("s1", "switch"),
        ("n1", "host"),
    ]
    assert built.ends.tolist() == [[3, PORTS + 4], [PORTS + 1, 2 * PORTS + 1]]
    assert built.gbit_s.tolist() == [400.0, 0.0]
    with pytest.raises(InputError, match=r"^x:2:1: error: a row with too few columns"):
        _read_ndt("StartDevice,StartPort,EndDevice,EndPort\na,P1,b\n", "x")
    with pytest.raises(InputError, match=r"^x:2:1: error: port 4 of `s1` names another port at its end"):
        _read_ndt("StartDevice,StartPort,EndDevice,EndPort\nl1,P3,s1,P4\ns1,P4,l1,P9\n", "x")
    with pytest.raises(InputError, match=r"^x:3:1: error: port 3 of `l1` names another port at its end"):
        _read_ndt("StartDevice,StartPort,EndDevice,EndPort\nl1,P3,s1,P4\ns1,P9,l1,P3\n", "x")
    for text, words in (
        ("   P1 -4x-NDR-> HCA n1 P1\n", "x:1:1: error: a link before any system"),
        ("MQM9700 l1\n? what is this\n", "x:2:1: error: `? what is this` is neither a system nor a link"),
    ):
        with pytest.raises(InputError) as caught:
            _read_topo(text, "x")
        assert words in str(caught.value)
    kinds = {"SN5600": "switch", "MTS3610": "switch", "IB-Switch": "switch", "HCA_2": "host", "MT4129": "host"}
    kinds |= {"CX7": "host", "BF3": "host", "box": "host", "QUANTUM": "switch"}
    for kind, wanted in kinds.items():
        assert _read_topo(f"{kind} a\n", "x").devices[0].kind == wanted, kind


TABLE = """\
admin@leaf01:~$ show lldp table
Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr
-----------  --------------  -----------------  ------------  -----------------
Ethernet0    node01          b8:ce:f6:00:00:01  O             eth0
Ethernet8    node02.dc1      eth0               O
Ethernet16   spine01         Ethernet0          BR            etp1
--------------------------------------------------
Total entries displayed:  3
admin@leaf01:~$
"""


def test_the_table_that_sonic_prints() -> None:
    built = read_as_built([("x/leaf01.txt", TABLE)])
    assert sorted((device.name, device.kind) for device in built.devices) == [
        ("leaf01", "switch"),
        ("node01 eth0", "host"),
        ("node02 eth0", "host"),
        ("spine01", "switch"),
    ]
    assert len(built.ends) == 3
    cut = TABLE.replace("Ethernet8    node02.dc1      eth0               O\n", "")
    with pytest.raises(InputError, match="the table has 2 rows, and says 3"):
        read_as_built([("leaf01.txt", cut)])
    with pytest.raises(InputError, match=r"leaf01.txt:6:1: .*a row without a port and a neighbour"):
        read_as_built([("leaf01.txt", TABLE.replace("node02.dc1", "          "))])


def test_a_port_that_sees_several_neighbours_is_said() -> None:
    """lldpcli repeats the port, as a key of one object or as items of a list; JSON would keep the last in silence."""

    def port(name: str) -> str:
        return f'"swp1": {{"chassis": {{"{name}": {{}}}}, "port": {{"id": {{"type": "ifname", "value": "e0"}}}}}}'

    for inside in (f"{{{port('nic')}, {port('host')}}}", f"[{{{port('nic')}}}, {{{port('host')}}}]"):
        built = read_as_built([("leaf01.json", f'{{"lldp": {{"interface": {inside}}}}}')])
        assert [device.name for device in built.devices] == ["leaf01", "host e0"]
        assert built.remarks == (
            "1 port sees several neighbours and the last one counts, first `leaf01` swp1: nic, host",
        )


def test_prompts_before_and_behind_json() -> None:
    """What follows may be a prompt, and no other value."""
    text = '{"lldpNeighbors": [{"port": "Ethernet1", "neighborDevice": "n", "neighborPort": "eth0"}]}'
    assert _parsed(f"leaf01#show lldp neighbors | json\n{text}\nleaf01#\n", "x") == _parsed(text, "x")
    row = '{"TABLE_nbor": {"ROW_nbor": {"chassis_id": "n", "l_port_id": "Eth1/1", "port_id": "eth0"}}}'
    built = read_as_built([("leaf01.txt", f"leaf01# show lldp neighbors | json\n{row}\nleaf01#\n")])
    assert [device.name for device in built.devices] == ["leaf01", "n eth0"]
    with pytest.raises(InputError, match=r"^x:2:1: error: not valid JSON: another value follows"):
        _parsed(f"{text}\n{text}", "x")


def test_the_heading_that_ufm_writes() -> None:
    head = "rack #,U height,#Fields:StartDevice,StartPort,StartDeviceLocation,EndDevice,EndPort,State,Domain\n"
    built = _read_ndt(f"{head}#,,leaf01,Port 26,,r-ufm64 mlx5_0,Port 1,Active,In-Scope\n", "x")
    assert [(device.name, device.kind) for device in built.devices] == [
        ("leaf01", "switch"),
        ("r-ufm64 mlx5_0", "host"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<?xml version="1.0"?>\n<Report date="x"><LinkSummary/></Report>', "the first element is `Report`"),
        (
            '<system version="1"><cpu numaid="0"/></system>',
            "the first element is `system`(.|\n)*`ffplan fabric import nccl` reads",
        ),
        ('<a:DeviceMiniGraph xmlns:a="u"/>', "the first element is `a:DeviceMiniGraph`|`DeviceMiniGraph`"),
    ],
)
def test_xml_of_others_is_named(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_as_built([("x.xml", text)])


INTERFACES = """cumulus@leaf-01:mgmt:~$ nv show interface
Interface  Admin Status  Oper Status  Speed  MTU    Type      Remote Host  Remote Port  Summary
---------  ------------  -----------  -----  -----  --------  -----------  -----------  -------------------------
lo         up            unknown             65536  loopback                            IP Address: 10.10.10.1/32
swp1       up            up           400G   9216   swp       node01       enp24s0np0
swp2       up            down                9216   swp
swp49      up            up           400G   9216   swp       spine-01     swp1
"""


def test_a_list_of_all_ports_has_some_without_a_neighbour(tmp_path: Path) -> None:
    """A list of neighbours has none."""
    file = tmp_path / "leaf-01.txt"
    file.write_text(INTERFACES)
    run = ffplan("fabric import ibnetdiscover", str(file))
    assert [(link["a"], link["b"]) for link in json.loads(run.out)["links"]] == [
        ("leaf-01/p1", "node01 enp24s0np0/p1"),
        ("leaf-01/p49", "spine-01/p1"),
    ]
    file.write_text(INTERFACES.replace("Admin Status  Oper Status", "                         "))
    assert "a row without a port and a neighbour" in ffplan("fabric import ibnetdiscover", str(file)).err
