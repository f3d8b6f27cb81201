"""Ports of nodes on every network of a design, as ibstat and ibdiagnet show them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ffplan.results.acceptance import Measured
from ffplan.studies.operate.acceptance_ports import _port_plans
from ffplan.studies.operate.acceptance_verdicts import _of_ports
from tests.support import design_of, ffplan

if TYPE_CHECKING:
    from pathlib import Path

FOUR = "h100-1k-four-networks"
"""Nodes of 8 ports of 400 Gb/s and, on other networks, one of 200 (InfiniBand) and one of 100 (Ethernet)."""


def _ports(*rates: float, host: str = "node1", layer: str = "", check: str = "nic-link") -> list[Measured]:
    return [
        Measured(check=check, value=rate, host=host, part=f"port {at}", file="log", line=at, layer=layer)
        for at, rate in enumerate(rates, 1)
    ]


def _verdicts(values: list[Measured], design: str = FOUR) -> list[tuple[float, str, float | None]]:
    rows = _of_ports(values, _port_plans(design_of(design)))
    return [(row.measured.value, row.verdict, row.expected) for row in rows]


def test_a_healthy_node_passes_on_every_network() -> None:
    infiniband = _ports(*[50.0] * 8, 25.0, layer="infiniband")
    ethernet = _ports(12.5, layer="ethernet")
    assert {verdict for _, verdict, _ in _verdicts(infiniband + ethernet)} == {"pass"}


def test_ports_that_are_down_or_slow_fail_up_to_the_planned_number() -> None:
    node = _ports(*[50.0] * 6, 25.0, 25.0, 0.0, 0.0, layer="infiniband")
    verdicts = _verdicts(node)
    assert verdicts[:6] == [(50.0, "pass", 50.0)] * 6
    assert verdicts[6:] == [(25.0, "pass", 25.0), (25.0, "fail", 50.0), (0.0, "fail", 50.0), (0.0, "not judged", None)]


def test_a_port_that_is_down_and_spare_is_named(tmp_path: Path) -> None:
    """All planned ports are up: the second port of a card may stay free, but nobody overlooks it."""
    log = tmp_path / "n7.txt"
    states = ["Active"] * 8 + ["Down"]
    log.write_text(
        "".join(IBSTAT.format(at=at, state=state, rate=400, layer="InfiniBand") for at, state in enumerate(states))
    )
    run = ffplan("fabric accept", "superpod-h100-4su", "--measured", str(log), "-f", "json")
    assert run.code == 0
    words = "Not judged: n7 mlx5_8 port 1, down, and beyond the 8 ports that the design plans here."
    assert words in json.loads(run.out)["headline"]


def test_a_fabric_seen_by_its_subnet_manager_is_one_network_of_the_design() -> None:
    """The name of an adapter follows its node's; 12 nodes of 8 ports are computing nodes with one slow port."""
    compute = [
        row
        for node in range(12)
        for port in range(8)
        for row in _ports(25.0 if node == port == 3 else 50.0, host=f"node{node} mlx5_{port}")
    ]
    verdicts = _verdicts(compute)
    assert sum(verdict == "pass" for _, verdict, _ in verdicts) == 95
    assert (25.0, "fail", 50.0) in verdicts
    storage = [row for node in range(12) for row in _ports(25.0, host=f"node{node} mlx5_8")]
    servers = [row for node in range(3) for row in _ports(25.0, 12.5 if node else 25.0, host=f"nvme{node}")]
    verdicts = _verdicts(storage + servers)
    assert sum(verdict == "pass" for _, verdict, _ in verdicts) == 16
    assert [row for row in verdicts if row[1] != "pass"] == [(12.5, "fail", 25.0)] * 2


def test_a_protocol_that_the_design_lacks_is_not_judged() -> None:
    assert _verdicts(_ports(12.5, layer="ethernet"), "superpod-h100-4su") == [(12.5, "not judged", None)]
    assert _verdicts(_ports(50.0, layer="infiniband"), "spectrum-x-4096") == [(50.0, "not judged", None)]
    assert _verdicts(_ports(50.0, layer="ethernet"), "spectrum-x-4096") == [(50.0, "pass", 50.0)]


def test_links_between_switches_are_of_the_network_that_they_fit() -> None:
    assert _verdicts(_ports(50.0, 50.0, 25.0, check="switch-link"))[-1] == (25.0, "fail", 50.0)
    assert _verdicts(_ports(25.0, 25.0, 25.0, check="switch-link")) == [(25.0, "pass", 25.0)] * 3
    assert _verdicts(_ports(25.0, check="switch-link"), "aws-p5-64")[0][1] != "pass"


IBSTAT = """CA 'mlx5_{at}'
	Number of ports: 1
	Port 1:
		State: {state}
		Physical state: LinkUp
		Rate: {rate}
		Link layer: {layer}
"""


@pytest.mark.parametrize(("state", "failing"), [("Active", 0), ("Down", 1), ("Initializing", 1)])
def test_ibstat_of_a_node_through_the_command(state: str, failing: int, tmp_path: Path) -> None:
    log = tmp_path / "node7.txt"
    ports = [IBSTAT.format(at=at, state="Active", rate=400, layer="InfiniBand") for at in range(7)]
    ports += [IBSTAT.format(at=7, state=state, rate=400, layer="InfiniBand")]
    ports += [IBSTAT.format(at=8, state="Active", rate=200, layer="InfiniBand")]
    ports += [IBSTAT.format(at=9, state="Active", rate=100, layer="Ethernet")]
    log.write_text("".join(ports))
    run = ffplan("fabric accept", FOUR, "--measured", str(log), "-f", "json")
    judged = json.loads(run.out)["judged"]
    assert run.code == failing
    assert sum(row["verdict"] == "fail" for row in judged) == failing
    if failing:
        down = judged[0]
        assert (down["measured"]["value"], down["expected"], down["why"]) == (0.0, 50.0, "the port is down")


@pytest.mark.parametrize("bad", [0.0, 25.0])
def test_a_bad_port_among_more_good_ones_than_planned_is_not_spare(bad: float) -> None:
    """Two nodes that nothing tells apart: the good ports of one do not cover the other's."""
    verdicts = _verdicts(_ports(*[50.0] * 15, bad, layer="infiniband"), "superpod-h100-4su")
    assert verdicts.count((50.0, "pass", 50.0)) == 15
    assert verdicts[-1] == (bad, "fail", 50.0)


def test_ports_of_a_node_s_own_log_are_apart_by_its_whole_name() -> None:
    nodes = [row for at in range(2) for row in _ports(*[50.0] * 7, 50.0 * at, host=f"a {at}", layer="infiniband")]
    assert [verdict for _, verdict, _ in _verdicts(nodes, "superpod-h100-4su")].count("fail") == 1


def test_ibstat_of_several_nodes_in_a_file_through_the_command(tmp_path: Path) -> None:
    log = tmp_path / "all.txt"
    nodes = [[IBSTAT.format(at=at, state="Active", rate=400, layer="InfiniBand") for at in range(8)] for _ in range(3)]
    nodes[1][5] = IBSTAT.format(at=5, state="Active", rate=200, layer="InfiniBand")
    for heads in (("== n1 ==\n", "== n2 ==\n", "== n3 ==\n"), ("", "", "")):
        log.write_text("".join(head + "".join(node) for head, node in zip(heads, nodes, strict=True)))
        run = ffplan("fabric accept", "superpod-h100-4su", "--measured", str(log), "-f", "json")
        judged = [row for row in json.loads(run.out)["judged"] if row["verdict"] != "pass"]
        assert run.code == 1
        assert [(row["verdict"], row["measured"]["host"]) for row in judged] == [
            ("fail", "n2" if heads[0] else "all 2")
        ]
