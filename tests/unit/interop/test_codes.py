"""Codes and numbers that other programs use, each from its own specification."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.interop import drawing, graph, ibsim, xml_tree
from ffplan.interop.asbuilt.speeds import link_rate
from ffplan.interop.audit.sides import designed
from ffplan.interop.logs.links import LANE_GBIT_S, LANES
from ffplan.interop.logs.nccl_tests import _halves
from ffplan.interop.logs.read import read_log
from tests.support import wired


def test_widths_and_speeds_of_the_specification() -> None:
    """InfiniBand Architecture Specification, PortInfo: LinkWidthActive, LinkSpeedActive and its extended codes."""
    assert {code: LANES[code] for code in (1, 2, 4, 8, 16)} == {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
    speeds = {1: 2.5, 2: 5.0, 4: 10.0, 8: 10.0, 16: 14.0, 32: 25.0}
    assert {code: LANE_GBIT_S[code] for code in speeds} == speeds
    extended = {256: 14.0, 512: 25.0, 1024: 50.0, 2048: 100.0, 4096: 200.0}
    assert {code: LANE_GBIT_S[code] for code in extended} == extended


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
    assert link_rate(text) == (int(text[0]), rate)


@pytest.mark.parametrize("rate", [10, 20, 40, 56, 100, 200])
def test_options_of_a_netlist_say_the_rate(rate: int) -> None:
    """ibsim's ports have four lanes unless they say another width."""
    lanes, found = link_rate(ibsim.RATES[rate])
    assert (lanes, round(found)) == (4, rate)
    assert set(ibsim.RATES) == {10, 20, 40, 56, 100, 200, 400}


def test_the_wanted_rate_of_a_link_is_in_bits() -> None:
    own = wired("superpod-h100-4su")
    network = own.fabric.network
    found = designed(network, own.names, np.ones(len(network.switches) + len(network.endpoints), bool))
    assert set(found.gbit_s.tolist()) == {400.0}


def test_two_halves_with_statistics() -> None:
    """Sixteen columns are two halves of eight; eight are two of four."""
    assert [len(half) for half in _halves([""] * 5 + ["1"] * 16)] == [8, 8]
    assert [len(half) for half in _halves([""] * 5 + ["1"] * 8)] == [4, 4]
    assert [len(half) for half in _halves([""] * 5 + ["1"] * 4)] == [4]


def test_the_line_of_broken_json() -> None:
    with pytest.raises(InputError) as caught:
        read_log('\n\n{\n"a": 1,\n}\n', "log.json")
    assert str(caught.value).startswith("log.json:5:1: error: this is no JSON")


def test_a_file_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_tree, "MOST_BYTES", 1 << 20)
    with pytest.raises(InputError, match=r"^in.xml:1:1: error: larger than 1 MiB"):
        xml_tree.parse(b" " * ((1 << 20) + 1), "in.xml", rule="file-nccl", what="a topology")


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
    monkeypatch.setattr(graph, "MOST_DRAWN", 3)
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
