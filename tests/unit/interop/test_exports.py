"""Files that other programs load: counts that the design gives, and the rules that their readers have."""

from __future__ import annotations

import csv
import io
import re
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
import yaml

from ffplan.base.hostlist import unfold
from ffplan.interop.asbuilt.names import named
from ffplan.interop.asbuilt.read import read_as_built
from ffplan.interop.audit.report import audit, placed
from ffplan.interop.audit.sides import designed
from ffplan.interop.exported import subnet
from ffplan.interop.inventory import _CABLES, _length
from tests.support import ffplan, read_yaml, wired

if TYPE_CHECKING:
    from pathlib import Path

RACKS, POD, ZONES, SPLIT = "gb200-nvl72-16", "superpod-h100-4su", "fire-flyer-2", "mi355x-pod"
"""16 NVL72 racks; a pod of eight rails; two zones; ports split in two."""


@cache
def text(design: str, target: str, *options: str) -> str:
    """Return an export."""
    run = ffplan("fabric export", design, "--to", target, *options)
    assert (run.code, run.err) == (0, "")
    return run.out


def nodes(design: str) -> list[str]:
    """Return the compute nodes of a design."""
    own = wired(design)
    return [name for name in own.names.hosts() if name.startswith("compute")]


def rows(design: str, kind: str, program: str = "netbox") -> list[dict[str, str]]:
    """Return the rows of a CSV file for NetBox, or another inventory."""
    return list(csv.DictReader(io.StringIO(text(design, program, "--table", kind))))


def test_blocks_are_scale_up_domains() -> None:
    """Slurm 23.11: sixteen racks of 18 trays; each size a power of two of the first."""
    lines = text(RACKS, "slurm-block").splitlines()[1:]
    found = {line.split()[0].partition("=")[2]: unfold(line.split()[1].partition("=")[2]) for line in lines[:-1]}
    assert len(found) == 16
    assert {len(own) for own in found.values()} == {18}
    assert sorted(node for own in found.values() for node in own) == sorted(nodes(RACKS))
    assert lines[-1] == "BlockSizes=18,36,72,144,288"


def test_blocks_are_the_nodes_below_a_leaf_otherwise() -> None:
    lines = text(POD, "slurm-block").splitlines()[1:]
    found = [unfold(line.split()[1].partition("=")[2]) for line in lines[:-1]]
    assert sorted(map(len, found)) == [31, 32, 32, 32]
    assert lines[-1] == "BlockSizes=31,62,124"


UNLIKE = """
name: unlike
nodes:
  - {role: compute, server: hgx-h100-8nic, count: 8}
  - {role: compute, server: gb200-nvl72-tray, count: 30}
fabric: {family: fat-tree, switch: qm9700, tiers: 2, link: {endpoint: 400g-aoc, inter_switch: 400g-dr4}}
site: {pue: 1.3}
"""
"""Servers whose NVLink ends at the server, then racks of trays: nodes 9 to 38 are trays."""


def test_a_block_has_nodes_of_one_domain(tmp_path: Path) -> None:
    """30 trays fill a domain of 18 and part of one; the eight servers are in no block, and no label says otherwise."""
    file = tmp_path / "unlike.yaml"
    file.write_text(UNLIKE)
    trays = [f"compute-{number:02}" for number in range(9, 39)]
    wanted = [trays[:18], trays[18:]]
    lines = text(str(file), "slurm-block").splitlines()
    assert [unfold(line.partition(" Nodes=")[2]) for line in lines if line.startswith("BlockName")] == wanted
    assert lines[-1] == "BlockSizes=12,24"
    assert lines[1].endswith(": compute-[01-08]")
    blocks = read_yaml(text(str(file), "slurm-yaml"))[1]["block"]["blocks"]
    assert [unfold(block["nodes"]) for block in blocks] == wanted
    found = list(yaml.load_all(text(str(file), "kubernetes"), Loader=yaml.CSafeLoader))
    domain = "accelerator.topograph.run/domain"
    labels = {item["metadata"]["name"]: item["metadata"]["labels"].get(domain) for item in found}
    assert len(labels) == 38
    assert {name for name, label in labels.items() if label} == set(trays)
    assert len({labels[name] for name in trays[:18]}) == len({labels[name] for name in trays[18:]}) == 1
    assert labels[trays[0]] != labels[trays[-1]]


@pytest.mark.parametrize("design", [RACKS, POD, ZONES])
def test_topologies_in_yaml(design: str) -> None:
    """Slurm 25.05: `topology` first, exactly one of nodes and children, one default; every node stands once."""
    found = read_yaml(text(design, "slurm-yaml"))
    assert [next(iter(item)) for item in found] == ["topology", "topology"]
    assert [item["cluster_default"] for item in found] == [True, False]
    switches = found[0]["tree"]["switches"]
    assert all(("nodes" in item) != ("children" in item) for item in switches)
    below = [name for item in switches if "nodes" in item for name in unfold(item["nodes"])]
    assert sorted(below) == sorted(nodes(design))
    names = {item["switch"] for item in switches}
    assert {name for item in switches if "children" in item for name in unfold(item["children"])} <= names
    blocks = found[1]["block"]
    assert sorted(name for item in blocks["blocks"] for name in unfold(item["nodes"])) == sorted(nodes(design))
    assert all(two == 2 * one for one, two in zip(blocks["block_sizes"], blocks["block_sizes"][1:], strict=False))


@pytest.mark.parametrize(
    ("target", "domain", "leaf"),
    [
        ("kubernetes", "accelerator.topograph.run/domain", "fabric.topograph.run/tier-0"),
        ("kubernetes-0.5", "network.topology.nvidia.com/accelerator", "network.topology.nvidia.com/leaf"),
    ],
)
def test_labels_of_nodes(target: str, domain: str, leaf: str) -> None:
    """Values of labels have up to 63 characters of letters, digits, dots and dashes."""
    found = list(yaml.load_all(text(RACKS, target), Loader=yaml.CSafeLoader))
    assert [item["metadata"]["name"] for item in found] == sorted(nodes(RACKS))
    labels = [item["metadata"]["labels"] for item in found]
    assert len({item[domain] for item in labels}) == 16
    assert all(item[leaf].startswith("leaf-") for item in labels)
    assert all(
        re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", v) for item in labels for v in item.values()
    )
    assert domain not in next(yaml.load_all(text(POD, target), Loader=yaml.CSafeLoader))["metadata"]["labels"]


@pytest.mark.parametrize("design", [POD, SPLIT])
def test_files_for_netbox(design: str) -> None:
    """Every cable has six columns of its ends, each an interface of a device; nothing stands twice."""
    devices, interfaces, cables = (rows(design, kind) for kind in ("devices", "interfaces", "cables"))
    own = wired(design)
    switches = len(own.fabric.network.switches)
    assert len(devices) == len({row["name"] for row in devices}) == switches + len(own.names.hosts())
    assert set(devices[0]) == {"name", "role", "manufacturer", "device_type", "status", "site"}
    ends = [(row["device"], row["name"]) for row in interfaces]
    assert len(ends) == len(set(ends)) == 2 * len(own.fabric.network.links)
    assert {row["device"] for row in interfaces} <= {row["name"] for row in devices}
    used = [(row[f"side_{s}_device"], row[f"side_{s}_name"]) for row in cables for s in "ab"]
    assert sorted(used) == sorted(ends)
    parts = {part.id: part.cable for part in (own.design.parts.endpoint_link, own.design.parts.inter_switch_link)}
    assert design == POD or {row["type"] for row in cables} == {_CABLES[parts["800g-2xdr4"] or ""]} == {"smf"}
    assert {row[f"side_{s}_type"] for row in cables for s in "ab"} == {"dcim.interface"}
    kinds = {"infiniband-ndr"} if design == POD else {"400gbase-x-osfp"}
    assert {(row["type"], row["speed"]) for row in interfaces} == {(kind, "400000000") for kind in kinds}
    floor = own.design.spec.floor is not None
    assert all(
        (float(row["length"]) > 0 and row["length_unit"] == "m") if floor else not row["length"] for row in cables
    )


NETBOX = {
    "devices": (
        "name role manufacturer device_type status site",
        "location rack position face tenant platform serial asset_tag airflow comments tags",
    ),
    "interfaces": ("device name type", "label enabled parent bridge lag speed duplex mtu mgmt_only description"),
    "cables": (
        "side_a_device side_a_type side_a_name side_b_device side_b_type side_b_name",
        "type status tenant label color length length_unit description comments tags",
    ),
}
"""Headings that an import needs, and others that it takes; NetBox 4.6.8, dcim/forms/bulk_import.py."""
NAUTOBOT = {
    "devices": "name role__name device_type__manufacturer__name device_type__model status__name location__name",
    "interfaces": "id device__name name type status__name speed",
    "cables": "termination_a_type termination_a_id termination_b_type termination_b_id type status__name label length "
    "length_unit",
}
"""Headings by the serializers of Nautobot 3.2.7, dcim/api/serializers.py."""


@pytest.mark.parametrize("kind", list(NETBOX))
def test_headings_are_those_that_an_import_takes(kind: str) -> None:
    """An unknown heading is an error to NetBox; Nautobot would pass over it."""
    needed, others = (set(words.split()) for words in NETBOX[kind])
    head = set(rows(POD, kind)[0])
    assert needed <= head <= needed | others
    assert list(rows(POD, kind, "nautobot")[0]) == NAUTOBOT[kind].split()


MOST_LABEL = 100
"""Longest label of a cable that NetBox takes [character]; recalled of dcim/models/cables.py."""


@pytest.mark.parametrize("program", ["netbox", "nautobot"])
@pytest.mark.parametrize(
    "design",
    [
        POD,
        "superpod-b300-4su",
        *(pytest.param(name, marks=pytest.mark.deep) for name in ("megascale-12288", "hpn-dual-plane")),
    ],
)
def test_both_ends_of_a_cable_show_the_label_of_the_list(design: str, program: str) -> None:
    """An installer reads a label off a port, and finds device and port of both ends by it; a split port has a leg each.

    An import has `label` for the cable, and the inventory shows it at both of its ends.
    """
    listed: dict[str, list[tuple[str, ...]]] = {}
    for row in csv.DictReader(io.StringIO(text(design, "cables"))):
        ends = tuple(row[name] for name in ("from_device", "from_port", "to_device", "to_port"))
        listed.setdefault(row["label"], []).append(ends)
    by_id = {row["id"]: (row["device__name"], row["name"]) for row in rows(design, "interfaces", "nautobot")}
    shown: dict[tuple[str, str], str] = {}
    imported: dict[str, list[tuple[str, ...]]] = {}
    for row in rows(design, "cables", program):
        label = row["label"]
        if program == "netbox":
            both = [(row[f"side_{side}_device"], row[f"side_{side}_name"]) for side in "ab"]
        else:
            both = [by_id[row[f"termination_{side}_id"]] for side in "ab"]
        assert not any(end in shown for end in both)
        shown |= dict.fromkeys(both, label)
        imported.setdefault(label, []).append((*both[0], *both[1]))
    assert len(shown) == 2 * len(wired(design).fabric.network.links)
    assert imported == listed
    assert all(0 < len(label) <= MOST_LABEL for label in listed)


@pytest.mark.parametrize("design", [POD, SPLIT])
def test_files_for_nautobot_are_those_for_netbox(design: str) -> None:
    """Cables name interfaces by their ids, which are the same in every export; lengths are whole numbers."""
    theirs, ours = rows(design, "devices"), rows(design, "devices", "nautobot")
    assert [(row["name"], row["role"], row["device_type"]) for row in theirs] == [
        (row["name"], row["role__name"], row["device_type__model"]) for row in ours
    ]
    assert {row["status__name"] for row in ours} == {"Planned"}
    theirs, ours = rows(design, "interfaces"), rows(design, "interfaces", "nautobot")
    assert [(row["device"], row["name"], row["type"], row["speed"]) for row in theirs] == [
        (row["device__name"], row["name"], row["type"], row["speed"]) for row in ours
    ]
    place = {row["id"]: (row["device__name"], row["name"]) for row in ours}
    assert len(place) == len(ours)
    assert all(str(UUID(own)) == own for own in place)
    theirs, ours = rows(design, "cables"), rows(design, "cables", "nautobot")
    assert len(theirs) == len(ours)
    for his, own in zip(theirs, ours, strict=True):
        for side in "ab":
            assert place[own[f"termination_{side}_id"]] == (his[f"side_{side}_device"], his[f"side_{side}_name"])
            assert own[f"termination_{side}_type"] == "dcim.interface"
        assert (own["type"], own["label"]) == (his["type"], his["label"])
        if his["length"]:
            assert own["length_unit"] == "cm"
            assert int(own["length"]) == pytest.approx(100 * float(his["length"]), abs=1)
        else:
            assert own["length"] == own["length_unit"] == ""


@pytest.mark.parametrize(
    ("metres", "length"),
    [(None, ("", "")), (6.5, (650, "cm")), (0.001, (1, "cm")), (327.67, (32767, "cm")), (327.671, (328, "m"))],
)
def test_lengths_of_nautobot_are_small_whole_numbers(metres: float | None, length: tuple[object, str]) -> None:
    assert _length(metres) == length


def test_a_lab_of_containers() -> None:
    """One endpoint serves one link; interfaces have up to 15 characters and are never eth0."""
    found = read_yaml(text("l40s-8-roce", "containerlab"))
    topology = found["topology"]
    assert "-" not in found["name"]
    ends = [end for link in topology["links"] for end in link["endpoints"]]
    assert len(ends) == len(set(ends)) == 2 * len(wired("l40s-8-roce").fabric.network.links)
    assert {end.partition(":")[0] for end in ends} <= topology["nodes"].keys()
    assert all(re.fullmatch(r"eth[1-9][0-9]*", end.partition(":")[2]) for end in ends)
    run = ffplan("fabric export dgx-a100-10k --to containerlab")
    assert run.code == 2
    assert "a lab holds 2,000" in run.err


@pytest.mark.parametrize("design", [POD, SPLIT, ZONES, "spectrum-x-4096"])
def test_a_link_check_is_what_the_audit_reads(design: str) -> None:
    own = wired(design)
    built = read_as_built([("topology.dot", text(design, "ptm"))])
    wanted = designed(own.fabric.network, own.names, subnet(own.fabric.network, None, None))
    report = audit(wanted, built, placed(wanted, built, named(built.devices, wanted.names, (), "")), design)
    assert report.causes == ()
    assert report.same == len(own.fabric.network.links)


def test_dimensions_of_astra_sim() -> None:
    """NVL72: 72 GPUs at 900 GB/s inside, 16 racks at 400 Gb/s a GPU; without NVLink one dimension is left."""
    found = read_yaml(text(RACKS, "astra-sim"))
    assert found["topology"] == ["Switch", "Switch"]
    assert (found["npus_count"], found["bandwidth"]) == ([72, 16], [900, 50])
    alone = read_yaml(text("l40s-8-roce", "astra-sim"))
    assert len(alone["topology"]) == len(alone["npus_count"]) == 1
    run = ffplan("fabric export site-h100-100k --to astra-sim")
    assert run.code == 0


def design_file(folder: Path, *nodes: str) -> str:
    """Return a design of groups of nodes on one fabric."""
    file = folder / "nodes.yaml"
    groups = "".join(f"  - {{{group}}}\n" for group in nodes)
    file.write_text(UNLIKE[: UNLIKE.index("nodes:\n")] + f"nodes:\n{groups}" + UNLIKE[UNLIKE.index("fabric:") :])
    return str(file)


A100 = "role: compute, server: dgx-a100-320gb, count: 20"
GH200 = "role: compute, server: gh200-node, count: 6"
TRAYS = "role: compute, server: gb200-nvl72-tray, count: {}"


@pytest.mark.parametrize(
    ("nodes", "counts", "bandwidth"),
    [
        # eight NICs of 200 Gb/s for eight accelerators, whatever storage has
        ((A100, "role: storage, server: nvme-16x15tb-2x200g, count: 2"), [8, 20], [300, 25]),
        ((A100, "role: management, server: ufm-appliance, count: 2"), [8, 20], [300, 25]),
        ((TRAYS.format(36),), [72, 2], [900, 50]),
        ((TRAYS.format(10),), [40, 1], [900, 50]),  # a rack that is not full
    ],
)
def test_a_dimension_has_its_accelerators_and_their_slowest_link(
    nodes: tuple[str, ...], counts: list[int], bandwidth: list[int], tmp_path: Path
) -> None:
    found = read_yaml(text(design_file(tmp_path, *nodes), "astra-sim"))
    assert (found["npus_count"], found["bandwidth"]) == (counts, bandwidth)


@pytest.mark.parametrize(
    ("nodes", "target", "place", "words"),
    [
        ((A100, GH200), "astra-sim", "5:5", "20 of `dgx-a100-320gb` and 6 of `gh200-node`"),
        ((A100, GH200), "simai", "5:5", "20 of `dgx-a100-320gb` and 6 of `gh200-node`"),
        ((TRAYS.format(41),), "astra-sim", "4:", "41 nodes are 2 racks of 18 and 5 more"),
    ],
)
def test_a_simulator_is_not_told_of_a_part(
    nodes: tuple[str, ...], target: str, place: str, words: str, tmp_path: Path
) -> None:
    """Where the format has no place for some accelerators, the export is refused, and says what would do."""
    design = design_file(tmp_path, *nodes)
    run = ffplan(f"fabric export {design} --to {target}")
    assert (run.code, run.out) == (2, "")
    assert f"nodes.yaml:{place}" in run.err
    assert words in " ".join(run.err.split())
    assert "[design-export]" in run.err
    assert "--to infragraph" in run.err
    assert text(design, "infragraph")


def test_a_simulator_of_every_link_has_racks_that_are_not_full(tmp_path: Path) -> None:
    """41 trays of four accelerators and four NICs: 164, at three switches of racks."""
    head, _, links = graph(design_file(tmp_path, TRAYS.format(41)))
    assert (int(head[2]), len({line[0] for line in links[:164]})) == (3, 164)
    at = [line[1] for line in links[:164]]
    assert [at.count(switch) for switch in sorted(set(at))] == [72, 72, 20]


def graph(design: str) -> tuple[list[str], list[int], list[list[str]]]:
    """Return the head of a SimAI file, the ids of its switches, and its links."""
    head, ids, *links = text(design, "simai").splitlines()
    return head.split(), [int(number) for number in ids.split()], [line.split() for line in links]


def test_a_topology_of_simai() -> None:
    """127 nodes of eight GPUs with an NVSwitch each: a GPU has one link to it and one to its leaf."""
    head, ids, links = graph(POD)
    own = wired(POD)
    switches = len(own.fabric.network.switches)
    gpus = 127 * 8
    assert head == [str(gpus + 127 + switches), "8", "127", str(switches), str(len(links)), "h100-sxm-80gb"]
    assert ids == list(range(gpus, gpus + 127 + switches))
    assert len(links) == gpus + len(own.fabric.network.links)
    count: dict[int, int] = {}
    for one, two, *_ in links:
        for end in (int(one), int(two)):
            count[end] = count.get(end, 0) + 1
    assert {count[gpu] for gpu in range(gpus)} == {2}
    assert {line[2] for line in links} == {"3600Gbps", "400Gbps"}
    assert "have no accelerators" not in ffplan("fabric export", POD, "--to", "simai").err


@pytest.mark.parametrize("design", [RACKS, POD, pytest.param("fire-flyer-next", marks=pytest.mark.deep)])
def test_an_infrastructure_of_infragraph(design: str) -> None:
    """Every edge joins a component of an instance to one of another, by a link that is there, each once."""
    found: dict[str, Any] = read_yaml(text(design, "infragraph"))
    own = wired(design)
    devices = {item["name"]: {part["name"]: part["count"] for part in item["components"]} for item in found["devices"]}
    instances = {item["name"]: (item["device"], item["count"]) for item in found["instances"]}
    links = {item["name"] for item in found["links"]}
    seen = set()
    for edge in found["edges"]:
        assert edge["link"] in links
        for end in (edge["ep1"], edge["ep2"]):
            instance, component = (re.fullmatch(r"(.+)\[(\d+)\]", end[name]) for name in ("instance", "component"))
            assert instance is not None
            assert component is not None
            device, count = instances[instance[1]]
            assert int(instance[2]) < count
            assert int(component[2]) < devices[device][component[1]]
            seen.add((end["instance"], end["component"]))
    assert len(found["edges"]) == len(own.fabric.network.links)
    assert len(seen) == 2 * len(found["edges"])


def test_parts_of_the_fabric_are_refused_where_the_whole_is_meant() -> None:
    run = ffplan("fabric export fire-flyer-2 --to simai --zone 1")
    assert run.code == 2
    assert "leave out --plane and --zone" in run.err


def test_a_cable_has_one_label_in_every_list() -> None:
    """An installer reads it off the cable, and looks it up in NetBox; parts of a split cable share it."""
    for design in ("superpod-h100-4su", "megascale-12288"):
        listed = {row["label"] for row in csv.DictReader(io.StringIO(text(design, "cables")))}
        for inventory in ("netbox", "nautobot"):
            assert {row["label"] for row in rows(design, "cables", inventory)} == listed
