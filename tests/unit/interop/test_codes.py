"""Codes and numbers that other programs use, each from its own specification."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.interop import drawing, exported, graph, workloads, xml_tree
from ffplan.interop.asbuilt.infiniband import LANE_GBIT_S, SPEED_CODES, WIDTH_CODES, _link_rate
from ffplan.interop.audit.sides import designed
from ffplan.interop.canvas import RackKind, rack_drawing
from ffplan.interop.inventory import _ETHERNET
from ffplan.interop.logs.dcgm import _read_stream
from ffplan.interop.logs.nccl_operations import CLOSE
from ffplan.interop.logs.nccl_rows import WIDTHS, _halves, _numbers
from ffplan.interop.logs.read import read_log
from ffplan.interop.topology.devices import _CODING
from ffplan.interop.workloads import read_jobs
from tests.support import wired


def test_widths_and_speeds_of_the_specification() -> None:
    """InfiniBand Architecture Specification, PortInfo: LinkWidthActive, LinkSpeedActive and its extended codes."""
    assert WIDTH_CODES == {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
    first = {1: 2.5, 2: 5.0, 4: 10.0, 8: 10.0, 16: 14.0, 32: 25.0}
    extended = {256: 14.0, 512: 25.0, 1024: 50.0, 2048: 100.0, 4096: 200.0}
    assert {code: LANE_GBIT_S[name] for code, name in SPEED_CODES.items()} == {**first, **extended}


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("4xSDR", 10.0),
        ("4xDDR", 20.0),
        ("4xQDR", 40.0),
        ("4xFDR10", 40.0),
        ("4xFDR", 56.0),
        ("4xEDR", 100.0),
        ("4xHDR", 200.0),
        ("4xNDR", 400.0),
        ("4xXDR", 800.0),
        ("2xHDR", 100.0),
        ("8xNDR", 800.0),
        ("1xSDR", 2.5),
    ],
)
def test_rates_by_name(text: str, rate: float) -> None:
    assert _link_rate(text) == (int(text[0]), rate)


@pytest.mark.parametrize("rate", [10, 20, 40, 56, 100, 200])
def test_options_of_a_netlist_say_the_rate(rate: int) -> None:
    """ibsim's ports have four lanes unless they say another width."""
    lanes, found = _link_rate(exported._RATES[rate])
    assert (lanes, round(found)) == (4, rate)
    assert set(exported._RATES) == {10, 20, 40, 56, 100, 200, 400}


def test_the_wanted_rate_of_a_link_is_in_bits() -> None:
    own = wired("superpod-h100-4su")
    network = own.fabric.network
    found = designed(network, own.names, np.ones(len(network.switches) + len(network.endpoints), bool))
    assert set(found.gbit_s.tolist()) == {400.0}


def test_two_halves_with_statistics() -> None:
    """Sixteen columns are two halves of eight, of which the first four count; eight are two of four."""
    numbers = [str(number) for number in range(16)]
    assert [half[0] for half in _halves(numbers)] == ["0", "8"]
    assert [half[0] for half in _halves(numbers[:8])] == ["0", "4"]
    assert [len(half) for half in _halves(numbers)] == [4, 4]
    assert [len(half) for half in _halves(numbers[:4])] == [4]


def test_the_line_of_broken_json() -> None:
    with pytest.raises(InputError) as caught:
        read_log('\n\n{\n"a": 1,\n}\n', "log.json")
    assert str(caught.value).startswith("log.json:5:1: error: not valid JSON")


def test_a_file_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_tree, "MOST_BYTES", 1 << 20)
    with pytest.raises(InputError, match=r"^in.xml:1:1: error: larger than 1 MiB"):
        xml_tree._parse(b" " * ((1 << 20) + 1), "in.xml", rule="file-nccl", what="a topology")


@pytest.mark.parametrize(
    ("count", "kept"), [(1, [0]), (6, [0, 1, 2, 3, 4, 5]), (7, [0, 1, 2, 3, 6]), (40, [0, 1, 2, 3, 39])]
)
def test_pods_that_are_drawn(count: int, kept: list[int]) -> None:
    """One box more than five costs no more room than the words for what is left out."""
    shown = drawing._shown([SimpleNamespace(number=at) for at in range(count)])  # type: ignore[misc]
    assert [pod.number for pod, _ in shown] == kept  # type: ignore[attr-defined]
    assert [name for _, name in shown] == [f"pod {at + 1}" if count > 1 else "" for at in kept]


def test_groups_of_a_large_graph_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switches of a pod are one box, with the number of the pod where there are several."""
    monkeypatch.setattr(graph, "_MOST_DRAWN", 3)
    own = wired("pcie-a100-three-tier")
    network = own.fabric.network
    _, boxes = graph._grouped(network, own.names, np.arange(len(network.switches)))
    s = network.switches
    pods = int(s.pod.max()) + 1
    wanted: list[tuple[str, Any]] = []
    for role, name in ((0, "leaf"), (1, "spine")):
        counts = [int(((s.role == role) & (s.pod == pod)).sum()) for pod in range(pods)]
        wanted += [(f"pod-{pod + 1}-{name} x {count}", name) for pod, count in enumerate(counts)]
    wanted.append((f"core x {int((s.role == 2).sum())}", "core"))
    assert sorted(boxes) == sorted(wanted)


def test_bytes_of_the_types_of_nccl_tests() -> None:
    """Names as the program prints them, with the bytes of the C types and of 8-bit floats."""
    one = dict.fromkeys(("int8", "uint8", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2"), 1)
    two, four = dict.fromkeys(("half", "bfloat16"), 2), dict.fromkeys(("int32", "uint32", "float"), 4)
    one["char"], four["int"] = 1, 4  # names of version 1
    assert {**one, **two, **four, **dict.fromkeys(("int64", "uint64", "double"), 8)} == WIDTHS


def test_coding_of_pcie_by_generation() -> None:
    """8b/10b in generations 1 and 2, 128b/130b up to 5, flits of 242 of 256 bytes in 6."""
    assert _CODING == {1: 0.8, 2: 0.8, 3: 128 / 130, 4: 128 / 130, 5: 128 / 130, 6: 242 / 256}


def test_interfaces_of_netbox_have_their_rates_in_their_names() -> None:
    assert all(name.startswith(f"{rate}gbase-x-") for rate, name in _ETHERNET.items() if rate > 1)
    assert _ETHERNET[1] == "1000base-t"
    assert set(_ETHERNET) == {1, 10, 25, 100, 200, 400, 800}


def test_the_line_of_a_gpu_s_stream() -> None:
    with pytest.raises(InputError, match=r"^a.txt:3:1: error: BabelStream with CUDA"):
        _read_stream("BabelStream\nVersion: 5.0\nImplementation: CUDA\nTriad 1 2\n", "a.txt")


@pytest.mark.parametrize(("over", "refused"), [(0.030, False), (0.037, True)])
def test_a_printed_bus_bandwidth_may_be_off_by_its_last_digit(over: float, refused: bool) -> None:
    """Eight ranks: 0.50 GB/s of algbw are 0.875 of busbw; both are printed with two places, 0.011 (1 + 1.75) in all."""
    ranks = "".join(f"#  Rank {n:2} Group 0 Pid {n} on a device {n} [0x0{n}] H100\n" for n in range(8))
    busbw = 0.875 * (1 + CLOSE) + over
    row = f"1024 256 float sum -1 2.05 0.50 {busbw:.6f} 0 2.05 0.50 {busbw:.6f} 0\n"
    head = "# nccl-tests all_reduce_perf\n# size count type redop root time algbw busbw #wrong\n"
    if refused:
        with pytest.raises(InputError, match=r"is not algbw|leaves ranks out; its rates fit"):
            read_log(ranks + head + row, "all_reduce_perf.txt")
    else:
        (found,) = read_log(ranks + head + row, "all_reduce_perf.txt")
        assert found.value == pytest.approx(busbw)


def test_too_many_flows_are_a_fault_of_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MOST_FLOWS", 1)
    own = wired("fire-flyer-2")
    text = "src,dst,bytes\ncompute-0001,compute-0002,1\ncompute-0002,compute-0003,1\n"
    with pytest.raises(InputError, match=r"m.csv:1:1: error: more than 1 flows"):
        workloads.read_matrix(text, "m.csv", own.names)


def test_racks_stand_on_one_floor() -> None:
    """Rack units of 7: nodes of 8 units lie from the foot up, in racks of 42 and 20 units with one foot."""
    tall = RackKind(server="tall", racks=2, nodes=2, units=8, height=42, watts=30e3, limit=40e3)
    low = RackKind(server="low", racks=1, nodes=1, units=1, height=20, watts=1500.0, limit=None)
    text = rack_drawing("a", (tall, low))
    assert text is not None
    boxes = [
        (kind, float(y), float(height))
        for kind, y, height in re.findall(r'rect class="(\w)" x="[\d.]+" y="([\d.]+)" width="\d+" height="(\d+)"', text)
    ]
    foot = 44 + 42 * 7
    assert boxes == [
        ("z", 44, 294),
        ("b", foot - 56 + 1, 54),
        ("b", foot - 112 + 1, 54),
        ("z", foot - 140, 140),
        ("b", foot - 7 + 1, 5),
    ]
    words = re.findall(r'y="([\d.]+)"[^>]*>([^<]+)</text>', text)
    assert [item for item in words if item[1] == "8 U"] == [(f"{foot - 28 + 4}", "8 U")]
    assert not [item for item in words if item[1] == "1 U"]  # no room for it
    assert {"2 racks of 2 nodes", "1 rack of 1 node", "30.0 of 40 kW at maximum", "1.5 kW at maximum"} <= {
        item[1] for item in words
    }
    assert rack_drawing("a", ()) is None


def test_rows_of_a_sheet_are_counted_from_its_heading() -> None:
    text = "check,host,measured,gpus,size_bytes\nstream,n1,,,\nstream,n2,200,8,64\n"
    (found,) = read_log(text, "sheet.csv")
    assert (found.line, found.host, found.value, found.gpus, found.size_bytes) == (3, "n2", 200.0, 8, 64.0)


@pytest.mark.parametrize("row", ["0,0,60", "0,1.5,60", "0,1,0", "-1,1,60", "0,1,1e12"])
def test_rows_that_are_no_job(row: str) -> None:
    with pytest.raises(InputError, match=r"^jobs.csv:3:1: error: not a job"):
        read_jobs(f"arrival_s,gpus,run_s\n5,1,60\n{row}\n", "jobs.csv", 8)
    arrivals, runs, sizes = read_jobs("arrival_s,gpus,run_s\n5,1,60\n7,8,30\n", "jobs.csv", 8)
    assert (arrivals.tolist(), runs.tolist(), sizes.tolist()) == ([0.0, 2.0], [60.0, 30.0], [1, 8])


def test_time_stamps_of_two_words_are_no_figures() -> None:
    """Eight or sixteen figures, each perhaps with a date and a time behind."""
    for count, halves in ((8, 2), (16, 2)):
        for more in ("", " 2026-11-22 10:00:00"):
            found = _halves(_numbers(" ".join(str(n) for n in range(count)) + more))
            assert [half[0] for half in found] == ["0", str(count // 2)]
            assert len(found) == halves
