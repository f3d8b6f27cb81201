"""What is written for programs of others, judged by them: Graphviz and InfraGraph."""

from __future__ import annotations

import shlex
import subprocess
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from tests.integration.test_programs import need
from tests.support import SMALL, ffplan, read_yaml

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration
OWN_PARTS = ("--catalog", str(SMALL / "parts"))
THREE_TIERS = ("dgx-a100-10k", "gb200-nvl72-64", "megascale-12288", "meta-24k-roce", "pcie-a100-three-tier")
_HEIGHT = {"leaf": 0, "spine": 1, "core": 2}


def drawn(dot: str) -> tuple[dict[str, list[float]], list[tuple[float, float]]]:
    """Return centre, width and height of every box, and the places of the labels of edges, as Graphviz draws them."""
    need("dot")
    run = subprocess.run(["dot", "-Tplain"], input=dot, capture_output=True, text=True, check=True)
    assert run.stderr == ""
    lines = [shlex.split(line) for line in run.stdout.splitlines()]
    boxes = {words[1]: [float(word) for word in words[2:6]] for words in lines if words[0] == "node"}
    edges = [words for words in lines if words[0] == "edge"]
    labels = [(float(words[-4]), float(words[-3])) for words in edges if len(words) > 6 + 2 * int(words[3])]
    return boxes, labels


@pytest.mark.parametrize("design", [*THREE_TIERS, "fire-flyer-2"])
def test_graphviz_draws_tiers_above_each_other(design: str) -> None:
    boxes, _ = drawn(ffplan("fabric export", design, "--to", "dot").out)
    tiers = {role: {box[1] for name, box in boxes.items() if f"{role} x" in name} for role in _HEIGHT}
    heights = [min(tiers[role]) for role in _HEIGHT if tiers[role]]
    assert all(len(heights) <= 1 for heights in tiers.values())
    assert heights == sorted(set(heights))
    between = [box[1] for name, box in boxes.items() if "interzone" in name]
    assert all(height > heights[0] for height in between)
    assert len(between) == (1 if design == "fire-flyer-2" else 0)


@pytest.mark.parametrize(("design", "count"), [("dragonfly-a100", 50), (str(SMALL / "circle.yaml"), 36)])
def test_graphviz_covers_no_box_of_a_dragonfly(design: str, count: int) -> None:
    boxes, labels = drawn(ffplan("fabric export", design, "--to", "dot", *OWN_PARTS).out)
    assert len(boxes) == count
    for (x, y, wide, high), (u, v, _, _) in combinations(boxes.values(), 2):
        assert abs(x - u) >= wide or abs(y - v) >= high
    assert labels == []


@pytest.mark.parametrize("design", ["pods", "circle", "joined"])
def test_infragraph_builds_the_graph(design: str, tmp_path: Path) -> None:
    """Every component of every instance is a node, and every link of the fabric an edge with its rate."""
    service = pytest.importorskip("infragraph.infragraph_service").InfraGraphService()
    text = ffplan("fabric export", str(SMALL / f"{design}.yaml"), "--to", "infragraph", *OWN_PARTS).out
    service.set_graph(text)
    graph = service.get_networkx_graph()
    wanted = read_yaml(text)
    devices = {row["name"]: sum(part["count"] for part in row["components"]) for row in wanted["devices"]}
    assert len(graph) == sum(devices[row["device"]] * row["count"] for row in wanted["instances"])
    rated = [edge for *_, edge in graph.edges(data=True) if str(edge["link"]).startswith("rate-")]
    assert len(rated) == len(wanted["edges"])
