"""Small rules of readers, audits and writers, each with a value worked by hand."""

from __future__ import annotations

import csv
import os
import re
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from ffplan.base.errors import InputError
from ffplan.interop import programs, workloads
from ffplan.interop.asbuilt.ethernet import _place, _Ports
from ffplan.interop.asbuilt.ibnetdiscover import _read_report
from ffplan.interop.asbuilt.model import _rows_of
from ffplan.interop.asbuilt.read import read_as_built
from ffplan.interop.asbuilt.tables import _read_topo
from ffplan.interop.audit.cable_causes import _without_cable
from ffplan.interop.audit.cables import _CableGroup
from ffplan.interop.canvas import _RACK_WIDTH, PAD, RackKind, rack_drawing
from ffplan.interop.logs.links import _read_ibdiagnet_lst
from ffplan.interop.logs.read import read_log
from ffplan.interop.topology.model import _group_sockets, _NumaNode
from ffplan.interop.topology.scale_up import _kind
from ffplan.interop.topology.writing import _Writer
from tests.support import ffplan
from tests.unit.interop.seeded import Listing
from tests.unit.interop.test_audit import audited


def test_parts_of_a_port_are_counted_from_one_after_a_second_slash() -> None:
    assert [_place(f"Ethernet1/{name}") for name in ("3/1", "3/2", "3")] == [(3, 0), (3, 1), (3, None)]
    names = [f"Ethernet1/{name}" for name in ("1/1", "1/2", "2/1", "2/2")]
    ports = _Ports(names)
    assert [ports.number(name) for name in names] == [1, 2, 3, 4]


def test_links_of_ethernet_have_no_width() -> None:
    text = 'graph G {\n"leaf-1":"swp1" -- "host1":"eth0"\n"leaf-1":"swp2" -- "spine-1":"swp1"\n}\n'
    assert read_as_built([("t.dot", text)]).lanes.tolist() == [0, 0]


def test_what_a_tool_said_when_it_gave_up() -> None:
    text = "ibwarn: [1] x\nibpanic: [4711] main: can't open the port (a:1)\n"
    with pytest.raises(InputError, match=r"^a:2:1: error: the tool gave up here: `\[4711\] main: can't open the port"):
        _read_report(text, "a")


def test_the_line_of_a_row_that_is_no_csv() -> None:
    """The table begins in line 5; its third row has a cell beyond what the reader takes."""
    text = "a,b\n1,2\n3," + "9" * (csv.field_size_limit() + 1) + "\n"
    with pytest.raises(InputError, match=r"^t.csv:7:1: error: not valid CSV"):
        list(_rows_of(text, "t.csv", 5))
    assert list(_rows_of("a,b\n1,2\n", "t.csv", 5)) == [(5, ["a", "b"]), (6, ["1", "2"])]


def test_kinds_of_a_topo_file_come_from_the_type_not_the_name() -> None:
    text = "SN5600 pair CFG: main=A\n   P1 -4x-100G-> HCA_1 SN5600-box P1\n\nMQM9700 CX7 CFG:\n"
    text += "   P3 -4x-100G-> SN5600 pair P2\n"
    built = _read_topo(text, "a.topo")
    assert {device.name: device.kind for device in built.devices} == {
        "pair": "switch",
        "SN5600-box": "host",
        "CX7": "switch",
    }
    assert not any(device.seen for device in built.devices)  # a link stands at one end alone, as a rule
    assert not built.remarks


def test_what_stays_lost_has_no_end_where_a_cable_is() -> None:
    """Two links of one device are lost, one cable of it is elsewhere: the link at whose end it is was moved."""
    found: Any = SimpleNamespace(lower=lambda pair: pair[0] // 10)
    assert _without_cable(found, _CableGroup([(1, 50), (2, 60)], [(2, 70)])) == [(1, 50)]


def test_links_between_routers_are_called_so() -> None:
    """A dragonfly without one of the cables between two routers of a group."""
    built = Listing("dragonfly-a100")
    router = built.of("router")[0]
    lost = next(port for port, (peer, _, _) in sorted(built.links[router].items()) if "router" in peer)
    built.cut(router, lost)
    (cause,) = audited(built, "dragonfly-a100").causes
    assert "of the links to other routers" in cause.effect


def test_a_lane_rate_that_no_link_has_is_named() -> None:
    line = "{ CA Ports:01 NodeGUID:a PN:01 } { SW Ports:24 NodeGUID:b PN:14 } PHY=4x LOG=ACT SPD=77\n"
    with pytest.raises(InputError, match=r"^a.lst:2:1: error: no lane runs at `SPD=77`"):
        _read_ibdiagnet_lst("\n" + line, "a.lst")


def test_results_of_nccl_tests_without_times_are_refused_at_the_first_line() -> None:
    text = '{\n"devices": [{"hostname": "a"}, {"hostname": "a"}],\n"results": [{"size": 8, "in_place": {"time": 1}}]}'
    with pytest.raises(InputError, match=r"^all_reduce.json:1:1: error: a result lacks size"):
        read_log(text, "all_reduce.json")


def test_a_large_matrix_is_refused_at_its_own_size() -> None:
    assert workloads.MOST_BYTES == 67_108_864


def test_a_signal_waits_for_the_program_that_is_being_started() -> None:
    """Else nobody would know the program, and it would go on; afterwards the block ends as asked."""
    with pytest.raises(SystemExit) as ended, programs.ended_in_order():  # noqa: PT012
        with programs._start():
            os.kill(os.getpid(), signal.SIGTERM)
        programs._leave_if_asked()
    assert ended.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN


def test_words_stand_below_the_tallest_rack() -> None:
    kinds = tuple(
        RackKind(server=name, racks=1, nodes=1, units=4, height=height, watts=1e3, limit=None)
        for name, height in (("a", 10), ("b", 42))
    )
    text = rack_drawing("r", kinds) or ""
    foot = 44 + 42 * 7 + 18
    assert text.count(f'y="{foot}"') + text.count(f'y="{foot:.1f}"') == 2


def test_a_mesh_joins_every_two_and_no_others() -> None:
    gpus = ["a", "b", "c"]
    assert _kind((("a", "b"), ("a", "c"), ("b", "c")), gpus) == "mesh"
    assert _kind((("a", "b"), ("a", "c")), gpus) == "links"
    assert _kind((("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")), gpus) == "links"  # one is no GPU of these


def test_nodes_without_devices_count_as_sockets_only_next_to_the_first() -> None:
    """Intel: of nodes 0 and 1 each is a socket, though 0 has no device; of node 2 alone nobody knows the others."""

    def sockets(*numbers: int) -> list[tuple[int, ...]]:
        nodes = [_NumaNode(number=at, cpu="Intel", cpuid="i", ports=()) for at in numbers]
        return [item.numa for item in _group_sockets(nodes)[0]]

    assert sockets(1) == [(), (1,)]
    assert sockets(2) == [(2,)]
    assert sockets(0, 2) == [(0,), (2,)]


def test_an_nvl72_is_one_domain_of_eighteen_trays() -> None:
    """16 racks of 18 trays of 4 GPUs: 1,152 GPUs, 16 NVSwitches, of which the first has GPUs 0 to 71."""
    lines = ffplan("fabric export", "gb200-nvl72-16", "--to", "simai").out.splitlines()
    nodes, each, chips, switches, links, part = lines[0].split()
    assert (each, chips, part) == ("4", "16", "gb200-gpu")
    assert int(nodes) == 1152 + 16 + int(switches)
    assert len(lines) == 2 + int(links)
    joined = [line.split()[:2] for line in lines[2 : 2 + 1152]]
    assert joined == [[str(gpu), str(1152 + gpu // 72)] for gpu in range(1152)]


@pytest.mark.parametrize(("server", "step"), [("a", 0), ("a-server-with-a-very-long-name-indeed", 7 * 37)])
def test_racks_stand_beside_each_other_by_the_longer_of_box_and_name(server: str, step: int) -> None:
    kinds = tuple(
        RackKind(server=name, racks=1, nodes=1, units=4, height=10, watts=1e3, limit=None) for name in (server, "b")
    )
    text = rack_drawing("r", kinds) or ""
    edges = [float(x) for x in re.findall(r'rect class="z" x="([\d.]+)"', text)]
    assert edges[1] - edges[0] == max(_RACK_WIDTH, step) + 3 * PAD


def test_a_row_of_eight_columns_is_short_of_one() -> None:
    """Size, count, type, operation and root, and one half of four."""
    text = "# all_reduce_perf\n# out-of-place busbw #wrong\n 1024 256 float sum -1 10.0 0.10 0.15\n"
    text += " 2048 512 float sum -1 10.0 0.20 0.30 0\n"
    with pytest.raises(InputError, match="a row of 8 columns; 9 or more are expected"):
        read_log(text, "all_reduce_perf.txt")


def test_a_server_without_pcie_links_of_its_accelerators_has_no_link_speed() -> None:
    inside: Any = SimpleNamespace(accelerator=None, server=SimpleNamespace(accelerators=[]))
    assert _Writer(inside).width == ""


def test_a_long_name_moves_the_next_rack_aside() -> None:
    """Seven units a letter."""
    one, two = (
        RackKind(server=name, racks=1, nodes=1, units=1, height=42, watts=1.0, limit=None) for name in ("s" * 60, "t")
    )
    drawn = rack_drawing("a", (one, two))
    assert drawn is not None
    assert f'x="{PAD + 7 * 60 + 3 * PAD:g}"' in re.sub(r'x="(\d+)\.0"', r'x="\1"', drawn)
    assert _RACK_WIDTH < 7 * 60
