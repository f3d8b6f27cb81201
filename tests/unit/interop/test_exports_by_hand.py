"""Rules of exports on a few devices: sizes of blocks, ways between hosts, words of drawings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ffplan.base.plain import csv_parts
from ffplan.fabric.wiring.network import TIERS
from ffplan.interop import graph, simulators
from ffplan.interop.drawing import _MOST_PODS, _node_words, _Pod, _pod_width, _rails, _shown, _switches
from ffplan.interop.exported import Exported, netlist, subnet
from ffplan.interop.schedulers import _Block, _sizes, _TreeSwitch, node_labels
from ffplan.interop.simulators import containerlab
from ffplan.interop.workloads import _ways
from tests.support import read_yaml
from tests.unit.interop.test_programs_by_hand import small


def exported(name: str) -> Exported:
    own = small(name)
    return Exported(design=own.design, fabric=own.fabric, names=own.names)


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        ([4], [4]),
        ([2, 2], [2, 4]),
        ([3, 4], [3, 6]),
        ([4, 3], [3, 6]),
        ([2] * 4, [2, 4, 8]),
        ([1] * 99, [1, 2, 4, 8, 16, 32]),
    ],
)
def test_sizes_of_blocks_double_up_to_all_nodes(nodes: list[int], wanted: list[int]) -> None:
    assert _sizes([_Block(f"b{n}", tuple(map(str, range(count)))) for n, count in enumerate(nodes)]) == wanted


def test_a_line_of_slurm_has_nodes_or_switches() -> None:
    assert str(_TreeSwitch("a", ("n1", "n2"), ())) == "SwitchName=a Nodes=n[1-2]"
    assert str(_TreeSwitch("a", (), ("s1", "s3"))) == "SwitchName=a Switches=s[1,3]"


def test_ways_between_two_hosts() -> None:
    """Plane, zone and number of each port. Ports of one plane only; one zone where any are; equal numbers where any."""
    two = ((0, 0, 0), (0, 0, 1))
    four = tuple((0, 0, number) for number in range(4))
    assert _ways(two, two) == ([0, 1], [0, 1])
    assert _ways(two, four) == ([0, 0, 1, 1], [0, 2, 1, 3])
    assert _ways(four, two) == ([0, 1, 2, 3], [0, 1, 0, 1])
    planes = ((0, 0, 0), (1, 0, 1))
    assert _ways(planes, planes) == ([0, 1], [0, 1])
    assert _ways(((0, 0, 0),), ((1, 0, 0),)) == ([], [])
    assert _ways(((0, 0, 0), (0, 1, 1)), ((0, 1, 0),)) == ([1], [0])  # the zone counts before the number
    assert _ways(((0, 0, 0),), ((0, 1, 0),)) == ([0], [0])  # over the switches between zones
    assert _ways(((0, 0, 0),), ((0, 0, 1),)) == ([0], [0])  # hosts of one port each


def rails(family: str, unit: int | None, shared: int | None = None, *, rails: int = 8, planes: int = 8) -> str:
    leaf = SimpleNamespace(rails=shared)
    spec = SimpleNamespace(fabric=SimpleNamespace(scalable_unit=unit, leaf=leaf))
    design: Any = SimpleNamespace(spec=spec, rails=rails)
    fabric: Any = SimpleNamespace(family=family, planes=planes)
    return _rails(design, fabric)


def test_words_of_rails() -> None:
    one = "; rail-optimised: leaf r of a scalable unit joins NIC r"
    assert rails("rail-optimised", None) == rails("rail-optimised", None, 1) == f"{one} of all its nodes"
    assert rails("rail-optimised", 32) == f"{one} of its 32 nodes"
    assert rails("rail-optimised", 32, 2).endswith("joins NICs 2r to 2r + 1 of its 32 nodes")
    assert rails("top-of-rack", 4) == "; top-of-rack: a leaf joins all NICs of 4 nodes"
    assert rails("top-of-rack", None) == "; top-of-rack"
    assert rails("rail-only", 4) == "; each plane is one rail"
    assert rails("rail-only", 4, planes=4) == "; each plane carries 2 rails"
    assert rails("fat-tree", 4) == ""


def design_of(role: str, gpus: int, nics: int, *, stripes: int = 1, planes: int = 1) -> Any:
    group = SimpleNamespace(group=SimpleNamespace(role=role), accelerators_per_node=gpus, fabric_nics=[0] * nics)
    return SimpleNamespace(groups=[group], stripes=stripes, planes=planes)


def test_words_of_nodes() -> None:
    assert _node_words(design_of("compute", 8, 1), 0, 4, 4) == "4 nodes of 8 GPUs"
    assert _node_words(design_of("compute", 1, 8), 0, 1, 8) == "1 node of 1 GPU"
    assert _node_words(design_of("compute", 8, 8), 0, 4, 4) == "4 nodes of 8 GPUs, 1 of their 8 NICs"
    assert _node_words(design_of("storage", 0, 2), 0, 3, 3) == "3 storage nodes, 1 of their 2 NICs"
    assert _node_words(design_of("compute", 8, 2, stripes=2, planes=4), 0, 4, 4) == "4 nodes of 8 GPUs"
    assert _node_words(design_of("compute", 8, 8), 0, 3, 4).endswith("1.3 of their 8 NICs")
    assert [_switches(count, "leaf") for count in (1, 2, 1000)] == [
        "1 leaf switch",
        "2 leaf switches",
        "1,000 leaf switches",
    ]


def pod(leaves: int, spines: int, nodes: tuple[tuple[int, int, int], ...] = ()) -> _Pod:
    return _Pod(leaves=leaves, spines=spines, endpoints=1, down=1, up=1, nodes=nodes)


def test_a_pod_is_as_wide_as_its_switches_or_words() -> None:
    """Squares of 9 with gaps of 3, up to 20 in a row; 6.2 a letter; at least 150; 14 on both sides."""
    design = design_of("compute", 8, 8)
    assert _pod_width(design, pod(4, 4)) == 150 + 28
    assert _pod_width(design, pod(4, 16)) == 16 * 12 - 3 + 28
    assert _pod_width(design, pod(30, 4)) == 20 * 12 - 3 + 28
    words = "4 nodes of 8 GPUs, 1 of their 8 NICs"
    assert _pod_width(design, pod(1, 1, ((0, 4, 4),))) == pytest.approx(len(words) * 6.2 + 28)
    assert _MOST_PODS == 5
    shown = _shown([pod(n, 1) for n in range(1, 9)])
    assert [(item.leaves, name) for item, name in shown] == [(n, f"pod {n}") for n in (1, 2, 3, 4, 8)]


def test_a_lab_has_so_many_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    """`single` has a leaf and 7 nodes; names of labs hold letters and digits alone."""
    own = exported("single")
    count = len(own.names.switches()) + len(own.names.hosts())
    monkeypatch.setattr(simulators, "_MOST_NODES", count)
    loaded = read_yaml(containerlab(own))
    assert len(loaded["topology"]["nodes"]) == count
    assert loaded["name"].replace("_", "").isalnum()
    monkeypatch.setattr(simulators, "_MOST_NODES", count - 1)
    with pytest.raises(ValueError, match=f"{count} containers; a lab holds {count - 1}: make a design of a small pod"):
        containerlab(own)


def test_labels_of_older_names_end_at_the_third_tier() -> None:
    """`pods` has leaves, pods and the fabric above a node."""
    own = exported("pods")
    new, old = (
        [read_yaml(text)["metadata"]["labels"] for text in node_labels(own, old=flag)] for flag in (False, True)
    )
    assert [*new[0]] == [f"fabric.topograph.run/tier-{tier}" for tier in range(3)]
    assert [*old[0]] == [f"network.topology.nvidia.com/{name}" for name in ("leaf", "spine", "core")]
    assert [[*item.values()] for item in new] == [[*item.values()] for item in old]
    assert {item["fabric.topograph.run/tier-2"] for item in new} == {"fabric"}


def test_rows_of_csv_have_no_formulas() -> None:
    assert list(csv_parts(("a", "b"), [(1, "x,y"), (2.5, "")])) == ['a,b\n1,"x,y"\n2.5,\n']
    (row,) = csv_parts(("a",), [("=1+1",)])
    assert row == "a\n'=1+1\n"


def test_the_netlist_of_a_switch() -> None:
    """Ports count from 1; a host has one, a switch as many as its model; links beyond ibsim's speeds have none."""
    own = small("single")
    network = own.fabric.network
    text = "".join(netlist(network, own.names, subnet(network, None, None)))
    blocks = [block.splitlines() for block in text.strip().split("\n\n")]
    assert [block[0].split()[0] for block in blocks] == ["Hca"] * 14 + ["Switch"]
    assert [len(block) for block in blocks] == [2] * 14 + [15]
    assert blocks[0][0] == 'Hca\t1 "compute-1/nic0"\t# "compute-1/nic0"'
    assert blocks[0][1].startswith('[1]\t"leaf-1"[1]')
    assert blocks[-1][1].startswith('[1]\t"compute-1/nic0"[1]')
    assert [line.partition("]")[0] for line in blocks[-1][1:]] == [f"[{port}" for port in range(1, 15)]
    assert {round(8 * rate) for rate in network.links.gbyte_s.tolist()} == {400}
    assert all(line.endswith("\tw=4 e=4") for block in blocks for line in block[1:])


def test_the_tiers_of_a_graph_are_named() -> None:
    assert TIERS[:2] == ("endpoint", "leaf_spine")
    own = small("joined")
    network = own.fabric.network
    text = "".join(graph.graphml(network, own.names, subnet(network, None, 1)))
    assert text.count("<edge ") == 23 + 16  # 18 + 5 NICs, and 4 leaves of 4 links up
    assert text.count('<data key="tier">leaf_spine</data>') == 16
    assert text.count('<data key="zone">1</data>') == text.count("<node ") == 23 + 6


def test_a_design_without_accelerators_has_no_simulation() -> None:
    own: Any = SimpleNamespace(design=SimpleNamespace(compute=SimpleNamespace(accelerator=None, server=None)))
    for export in (simulators.astra_sim, lambda item: list(simulators.simai(item))):
        with pytest.raises(ValueError, match="the compute nodes have no accelerators"):
            export(own)
