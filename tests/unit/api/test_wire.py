"""The fabric as a networkx graph, against counts by hand, the list of cables and the printed bisection."""

from __future__ import annotations

import csv
import doctest
import io
import subprocess
import sys
from collections import Counter

import networkx as nx
import pytest

import ffplan
from tests.support import ROOT
from tests.support import ffplan as run

SMALL = ROOT / "tests" / "golden" / "small"
TREE = """
name: tree
description: 16 nodes with one NIC each, on switches of 8 ports
nodes:
  - {role: compute, server: fire-flyer-2-node, count: 16}
fabric:
  family: fat-tree
  switch: tiny-8x200g
  link: {endpoint: hdr-dac, inter_switch: hdr-aoc}
  tiers: 2
communication: {libraries: [nccl], message_size: 32 MiB}
site: {pue: 1.25}
"""


def max_flow(graph: nx.Graph[str], one: list[str], two: list[str]) -> float:
    """Return the most that flows between two sets of NIC ports [GB/s]."""
    graph.add_edges_from([("source", port) for port in one] + [("sink", port) for port in two])
    return float(nx.maximum_flow_value(graph, "source", "sink", capacity="gbyte_s"))


def test_a_tree_counted_by_hand() -> None:
    """Four leaves of four nodes and four uplinks; two spines, to each of which a leaf has two links."""
    design = ffplan.load(TREE, catalogs=SMALL / "parts")
    graph = ffplan.wire(design)
    assert Counter(role for _, role in graph.nodes(data="role")) == {"endpoint": 16, "leaf": 4, "spine": 2}
    assert Counter(data["tier"] for *_, data in graph.edges(data=True)) == {"endpoint": 16, "leaf_spine": 16}
    degrees = {(graph.nodes[name]["role"], degree) for name, degree in graph.degree()}
    assert degrees == {("endpoint", 1), ("leaf", 8), ("spine", 8)}
    assert graph.number_of_edges("leaf-1", "spine-2") == 2
    down = [data for *_, data in graph.edges("leaf-1", data=True) if data["upper"] == "leaf-1"]
    assert [(data["lower"], data["lower_port"], data["upper_port"], data["gbyte_s"]) for data in down] == [
        (f"compute-{number:02}/nic0", "nic0", str(number), 25.0) for number in range(1, 5)
    ]
    merged = ffplan.wire(design, merged=True)
    assert merged.edges["leaf-1", "spine-2"] == {
        "network": "compute",
        "tier": "leaf_spine",
        "links": 2,
        "gbyte_s": 50.0,
    }
    nodes = [f"compute-{number:02}/nic0" for number in range(1, 17)]
    assert [nx.shortest_path_length(graph, nodes[0], node) for node in (nodes[1], nodes[-1])] == [2, 4]
    assert max_flow(merged, nodes[:8], nodes[8:]) == 200 == ffplan.assess(design).fabric.bisection_gbyte_s


@pytest.mark.parametrize("name", ["h100-1k-four-networks", "superpod-h100-4su", "hpn-dual-plane"])
def test_an_edge_for_each_row_of_the_cable_list(name: str) -> None:
    rows = list(csv.DictReader(io.StringIO(run("fabric", "export", name, "--to", "cables").out)))
    edges = list(ffplan.wire(name, network=None).edges(data=True))
    assert len(edges) == len(rows)
    labels = Counter((data["network"], data["cable"], data["cable_part"]) for *_, data in edges)
    assert labels == Counter((row["network"], row["label"], row["type"]) for row in rows)


def test_as_many_edges_as_ports_in_use_and_racks_of_the_floor_plan() -> None:
    graph = ffplan.wire("superpod-h100-4su")
    ends = Counter(
        (data[end], data[f"{end}_port"]) for *_, data in graph.edges(data=True) for end in ("lower", "upper")
    )
    assert set(ends.values()) == {1}
    used = Counter(device for device, _ in ends)
    assert used == dict(graph.degree())
    assert max(degree for name, degree in graph.degree() if graph.nodes[name]["level"]) == 64
    assert {"row", "rack", "unit"} <= set(graph.nodes["leaf-01"])
    assert all(data["length_m"] > 0 for *_, data in graph.edges(data=True))
    assert set(nx.get_edge_attributes(graph, "gbyte_s").values()) == {50.0}


def test_the_cut_of_a_full_tree_is_its_bisection() -> None:
    """Three tiers: the first half of the pods against the second."""
    graph = ffplan.wire("pcie-a100-three-tier", merged=True)
    ends = [
        (graph.nodes[next(iter(graph[name]))]["pod"], name) for name, level in graph.nodes(data="level") if not level
    ]
    pods = max(pod for pod, _ in ends)
    halves = [[name for pod, name in ends if (pod <= pods // 2) is first] for first in (True, False)]
    assert len(halves[0]) == len(halves[1])
    assert max_flow(graph, *halves) == ffplan.assess("pcie-a100-three-tier").fabric.bisection_gbyte_s


def test_one_network_and_names_that_are_none() -> None:
    graph = ffplan.wire("h100-1k-four-networks", network="out-of-band")
    assert set(nx.get_node_attributes(graph, "network").values()) == {"out-of-band"}
    with pytest.raises(ffplan.UsageError, match="no network `storag`; did you mean `storage`"):
        ffplan.wire("h100-1k-four-networks", network="storag")


def test_the_examples_of_the_page_hold() -> None:
    parser = doctest.DocTestParser()
    text = (ROOT / "docs" / "python.md").read_text()
    examples = parser.get_doctest(text, {}, "python.md", "docs/python.md", 0)
    assert len(examples.examples) > 10
    result = doctest.DocTestRunner(verbose=False).run(examples)
    assert result.failed == 0


def test_networkx_waits_for_the_call() -> None:
    code = "import sys, ffplan; ffplan.wire; print('networkx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
