"""Topology files of Slurm as sites and tools write them: what is read, and what slurmctld would refuse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.base.hostlist import unfold
from ffplan.interop.slurm_files import read_slurm
from tests.support import ffplan

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.results.as_built import SlurmTopology, SlurmTopologyReport

TREE = """\
# topology.conf
SwitchName=top Switches=leaf[1-2]   # the root
SwitchName=leaf1 Nodes=n[001-002,4] LinkSpeed=200
switchname=leaf2 \\
  nodes=m[0-1]r[07-08]
"""
BLOCKS = "BlockName=b1 Nodes=n[01-18]\nBlockName=b2 Nodes=n[19-36]\nBlockSizes=18,36\n"
YAML = """\
---
- topology: racks
  cluster_default: true
  tree:
    switches:
      - {switch: top, children: "s[1-2]"}
      - {switch: s1, nodes: "n[1-2]"}
      - {switch: s2, nodes: "n[3-4]"}
- topology: nvl
  block:
    block_sizes: [2, 4]
    blocks: [{block: b1, nodes: "n[1-2]"}, {block: b2, nodes: "n[3-4]"}]
- {topology: plain, flat: true}
"""


def read(text: str) -> SlurmTopologyReport:
    """Return what a file says."""
    return read_slurm(text.encode(), "topology.conf")


def one(text: str) -> SlurmTopology:
    """Return the topology of a file that has one, and of which nothing is remarked."""
    found = read(text)
    (topology,) = found.topologies
    assert found.remarks == ()
    return topology


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_tree_with_comments_long_lines_and_other_cases(ends: str, mark: str) -> None:
    found = one(mark + TREE.replace("\n", ends))
    assert (found.kind, found.nodes, found.roots) == ("tree", 7, ("top",))
    assert [(switch.name, switch.level) for switch in found.switches] == [("top", 1), ("leaf1", 0), ("leaf2", 0)]
    assert found.switches[1].nodes == ("n001", "n002", "n4")
    assert found.switches[2].nodes == ("m0r07", "m0r08", "m1r07", "m1r08")


@pytest.mark.parametrize("sizes", ["BlockSizes=18,36", "BlockLevels=18,36", "BLOCKSIZES = 18,36"])
def test_blocks(sizes: str) -> None:
    found = one(BLOCKS.replace("BlockSizes=18,36", sizes))
    assert (found.kind, found.nodes, found.block_sizes, found.roots) == ("block", 36, (18, 36), ())
    assert [(block.name, len(block.nodes)) for block in found.blocks] == [("b1", 18), ("b2", 18)]


def test_several_topologies_in_yaml() -> None:
    report = read(YAML)
    tree, blocks, flat = report.topologies
    assert [topology.name for topology in report.topologies] == ["racks", "nvl", "plain"]
    assert (tree.kind, tree.nodes, [switch.level for switch in tree.switches]) == ("tree", 4, [1, 0, 0])
    assert (blocks.kind, blocks.nodes, blocks.block_sizes) == ("block", 4, (2, 4))
    assert (flat.kind, flat.nodes) == ("flat", 0)
    assert report.remarks == ()


@pytest.mark.parametrize(("name", "text", "count"), [("topology.conf", TREE, 1), ("topology.yaml", YAML, 3)])
def test_a_config_map_holds_either(name: str, text: str, count: int) -> None:
    held = json.dumps({"kind": "ConfigMap", "data": {name: text.removeprefix("---\n")}}, indent=1)
    head = f"apiVersion: v1\ndata:\n  {name}: |\n"
    block = head + "".join(f"    {line}\n" for line in text.removeprefix("---\n").splitlines())
    for written in (held.replace("{", "---\n{", 1), block):
        found = read(written)
        assert len(found.topologies) == count
        assert "ConfigMap" in found.remarks[0]


@pytest.mark.parametrize("head", ["", "# made by a program\n", "---\n", "# one\n---\n# two\n"])
@pytest.mark.parametrize(
    "text",
    [
        "- topology: t\n  tree:\n    switches:\n    - switch: s\n      nodes: n[1-4]\n",
        "topology: t\ntree:\n  switches:\n  - switch: s\n    nodes: [n1, 'n[2-3]', n4]\n",
        '[{"topology": "t", "tree": {"switches": [{"switch": "s", "nodes": "n[1-4]"}]}}]\n',
        "SwitchName=s Nodes=n[1-3],n4#four\n",
    ],
)
def test_a_file_and_what_a_config_map_holds_are_told_apart_alike(head: str, text: str) -> None:
    text = text if "=" in text and "-" in head else head + text
    alone = read(text)
    for name in ("topology.yaml", "topology.conf"):
        held = read(
            "kind: ConfigMap\ndata:\n" + f"  {name}: |\n" + "".join(f"    {row}\n" for row in text.splitlines())
        )
        assert repr(held.topologies) == repr(alone.topologies)
    assert [(found.kind, found.nodes) for found in alone.topologies] == [("tree", 4)]
    assert alone.remarks == ()


def test_what_scontrol_prints_of_a_tree_and_of_blocks() -> None:
    """It repeats the nodes of a switch at every switch above it, and adds sums of blocks."""
    tree = one(
        "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-4]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[5-8]\n"
        "SwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[1-8] Switches=s[0-1]\n"
    )
    assert [(switch.name, switch.level, len(switch.nodes)) for switch in tree.switches] == [
        ("s0", 0, 4),
        ("s1", 0, 4),
        ("s2", 1, 0),
    ]
    blocks = one(
        "BlockName=b1 BlockIndex=0 Nodes=n[1-4] BlockSize=4\nBlockName=b2 BlockIndex=1 Nodes=n[5-8] BlockSize=4\n"
        "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-8] BlockSize=8\n"
    )
    assert (len(blocks.blocks), blocks.nodes, blocks.block_sizes) == (2, 8, (4, 8))


@pytest.mark.parametrize("kind", ["ring", "torus3d"])
def test_nodes_of_rings_and_tori_are_counted(kind: str) -> None:
    found = read(
        f"- topology: t\n  {kind}:\n    parts:\n    - {{name: a, nodes: 'n[1-4]'}}\n    - {{nodes: [n5, n6]}}\n"
    )
    assert [(topology.kind, topology.nodes) for topology in found.topologies] == [(kind, 6)]
    assert found.remarks == (f"`t`: of a {kind} the nodes are counted, and their places are not read",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "SwitchName=a Switches=b[1-2]\nSwitchName=b1 Nodes=n1\n",
            "`b2` are listed below a switch, but not in the file",
        ),
        ("SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Nodes=n2\n", "`a` have nodes and switches below them"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n", "2 switches are at the top: no job spans them"),
        ("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n2\nSwitchName=c Switches=a,b\n", "`n2` belong to several"),
        ("SwitchName=a Nodes=n1\nSwitchName=[b-c] Nodes=n2\n".replace("[b-c]", "a"), "`a` appear twice"),
        ("SwitchName=a\nSwitchName=b Nodes=n1\n", "`a` without nodes and switches below"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=a\n", "`a` are below several"),
        ("SwitchName=a Nodes=ALL\n", "`ALL` means every node of slurm.conf"),
        ("SwitchName=a Nodes=n1, n2\n".replace("1,", "1"), "line 1: `n2` is not `key=value`"),
        ("SwitchName=a Nodes=n1 Colour=red\n", "line 1: `colour` is unknown here"),
        ("BlockName=a Nodes=n[1-4]\n", "no block sizes are given"),
        ("BlockName=a Nodes=n[1-4]\nBlockSizes=4,12\n", "the block size 12 is not the first, 4, times a power of two"),
        ("BlockName=a Nodes=n[1-4]\nBlockSizes=4,16,8\n", "the block sizes do not increase"),
        ("BlockName=a Nodes=n[1-3]\nBlockSizes=4\n", "`a` has fewer than 4 nodes"),
        ("- {topology: a, flat: true, block: {blocks: [{block: b, nodes: n1}], block_sizes: [1]}}\n", "several kinds"),
    ],
)
def test_what_slurm_refuses_or_places_badly_is_said(text: str, words: str) -> None:
    assert any(words in remark for remark in read(text).remarks)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "names no switch and no block"),
        ("# nothing\n", 1, "names no switch and no block"),
        ("SwitchName=a\n", 1, "no switch and no block has nodes"),
        ("SwitchName=a Nodes=n[1-\n", 1, "is not a host list"),
        ("\nSwitchName=a Nodes=n[x-y]\n", 2, "`x-y` is not a range of numbers"),
        ("SwitchName=a Nodes=n[9-1]\n", 1, "`9-1` runs backwards"),
        ("SwitchName=a Nodes=n[1-4];n5\n", 1, "`n1;n5` is not a name"),
        ("SwitchName=a Nodes=n1 SwitchName=b Nodes=n2\n", 1, "`switchname` appears twice in a line"),
        ("Include\n", 1, "`Include` is not a topology line"),
        ("SwitchName=a Nodes=n[0-9999999999]\n", 1, "expands to more than 1,000,000 names"),
        ("SwitchName=a Nodes=n[0-99999]m[0-99999]\n", 1, "expands to more than 1,000,000 names"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", 1, "some switches are below themselves"),
        ("# a\u2028SwitchName=b\n\nSwitchName=a Nodes=n[x-y]\n", 3, "`x-y` is not a range of numbers"),
        ("# a\u2028# b\n---\n# c\n---\nkind: a\nkind: b\n", 6, "the field `kind` is written twice"),
        ("BlockName=a Nodes=n1\nBlockSizes=four\n", 2, "is not a list of block sizes"),
        ("NodeName=n1 CPUs=4\n", 1, "is not a topology line"),
        ("- {topology: a, tree: {}}\n", 1, "`tree` of `a` has no list of switches"),
        ("- {topology: a}\n", 1, "this YAML has no topologies"),
        ("kind: ConfigMap\ndata: {other: x}\n", 1, "the ConfigMap holds no topology.conf"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(InputError) as raised:
        read(text)
    assert str(raised.value).startswith(f"topology.conf:{line}:1: error: ")
    assert words in str(raised.value)


def test_a_long_chain_of_switches_takes_no_time() -> None:
    rows = [f"SwitchName=s{n} Switches=s{n + 1}" for n in range(20_000)]
    found = one("\n".join([*rows, "SwitchName=s20000 Nodes=n1"]))
    assert found.switches[0].level == 20_000


@pytest.mark.parametrize(
    ("text", "names"),
    [("a[1-2]b[3,5]", ["a1b3", "a1b5", "a2b3", "a2b5"]), ("x", ["x"]), ("x[08-10]y", ["x08y", "x09y", "x10y"])],
)
def test_host_lists_of_several_brackets(text: str, names: list[str]) -> None:
    assert unfold(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "SwitchName=a Nodes=n1,n2,\n",
        "SwitchName=a Nodes=n1,,n2\n",
        'SwitchName=a Nodes="n1, n2"\n',
        "SwitchName=a Nodes=n[1,2]\n",
    ],
)
def test_lists_that_slurm_takes(text: str) -> None:
    """Slurm 22.05 takes each of them (tried)."""
    assert one(text).switches[0].nodes == ("n1", "n2")


def test_a_blank_in_a_list_cuts_it_off() -> None:
    """Slurm 22.05: Parse error in file topology.conf line 3: " b"."""
    report = read("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=top Switches=a, b\n")
    assert report.remarks[0] == "line 3: `b` is not `key=value`: slurmctld stops; it is skipped here"
    assert report.topologies[0].switches[2].switches == ("a",)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    "text", ["# Geb\xe4ude 3\nSwitchName=a Nodes=n[1-2]\n", "# \xe4\n- {topology: t, flat: true}\n"]
)
def test_comments_in_other_letters(text: str, encoding: str) -> None:
    """Slurm reads bytes; a shell of Windows writes UTF-16."""
    assert len(read_slurm(text.encode(encoding), "x").topologies) == 1
    with pytest.raises(InputError, match="x:1:1: error: this is no text"):
        read_slurm(b"\0\1\2\xff", "x")


def test_a_prompt_above_a_topology_is_passed_over() -> None:
    report = read("[root@ctl ~]# scontrol show topology\nslurm 24.11\nSwitchName=a Level=0 LinkSpeed=1 Nodes=n1\n")
    assert len(report.topologies[0].switches) == 1
    assert report.remarks[-1] == "line 2: `slurm 24.11` is not a topology line; it is skipped"
    with pytest.raises(InputError, match=r"topology.conf:1:1: error: `all is well` is not a topology line"):
        read("all is well\n")


def test_a_slurm_conf_is_named() -> None:
    with pytest.raises(InputError, match=r"`ClusterName=x` is not a topology line; this is slurm.conf"):
        read("ClusterName=x\nTopologyPlugin=topology/tree\n")


MAP = "apiVersion: v1\nkind: ConfigMap\ndata:\n  topology.conf: |\n    SwitchName={name} Nodes=n[1-2]\n"


def test_a_configmap_among_other_objects() -> None:
    """As `helm template` and `kubectl get -o yaml` write them."""
    first, second = (MAP.format(name=name) for name in "ab")
    several = f"# made\n---\nkind: Namespace\n---\n{first}---\n{second}"
    listed = "kind: List\nitems:\n- kind: Secret\n" + "".join(
        "- " + text.replace("\n", "\n  ").rstrip(" ") for text in (first, second)
    )
    for text in (several, listed):
        report = read(text)
        assert [switch.name for switch in report.topologies[0].switches] == ["a"]
        assert report.remarks == ("read from a ConfigMap", "1 further ConfigMap with a topology: the first is read")
    with pytest.raises(InputError, match=r"topology.conf:13:1: error: `Nodes=n1` is not a topology line"):
        read("kind: Namespace\n---\n" * 4 + first.replace("SwitchName=a Nodes=n[1-2]", "Nodes=n1"))
    assert one("---\nkind: Namespace\n---\n- {topology: t, flat: true}\n").kind == "flat"


def included(folder: Path, **files: str) -> SlurmTopologyReport:
    """Return what a topology.conf says, given with its own text and the files beside it by their names."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_conf", ".conf")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    path = folder / "topology.conf"
    return read_slurm(path.read_bytes(), str(path))


def test_included_files_stand_in_their_place(tmp_path: Path) -> None:
    """Slurm 22.05 reads all of these, and looks for a file beside the one that includes it."""
    report = included(
        tmp_path,
        topology_conf="Include leaves.conf # two\r\nSwitchName=top Switches=leaf[1-3]\ninclude \\\nracks/r.conf\n",
        leaves_conf="SwitchName=leaf1 \\\n Nodes=n[1-2]\nSwitchName=leaf2 Nodes=n[3-4] \\\n",
        racks__r_conf="INCLUDE deeper.conf\n",
        racks__deeper_conf="SwitchName=leaf3 Nodes=n[5-6]",
    )
    (tree,) = report.topologies
    assert report.remarks == ()
    assert [(switch.name, switch.level) for switch in tree.switches] == [
        *(("leaf1", 0), ("leaf2", 0), ("top", 1), ("leaf3", 0))
    ]
    assert tree.nodes == 6


def test_an_included_file_may_be_beside_the_first_and_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "far").write_text("SwitchName=c Nodes=n3\n")
    report = included(
        tmp_path,
        topology_conf="Include sub/a.conf\nSwitchName=top Switches=[a-c]\n".replace("[a-c]", "a,b,c"),
        sub__a_conf=f"Include b.conf\nSwitchName=a Nodes=n1 Colour=red\nInclude {tmp_path / 'far'}\n",
        b_conf="SwitchName=b Nodes=n2\n",
    )
    assert (report.topologies[0].nodes, report.topologies[0].roots) == (3, ("top",))
    assert report.remarks == (f"{tmp_path}/sub/a.conf, line 2: `colour` is unknown here; it is skipped",)


def test_words_behind_an_included_file_are_what_slurm_refuses(tmp_path: Path) -> None:
    report = included(tmp_path, topology_conf="SwitchName=b Nodes=n2\nInclude a.conf b.conf\n", a_conf="")
    assert report.remarks == ("line 2: `b.conf` follows the name of an included file: slurmctld stops",)


def test_a_file_included_twice_is_read_twice(tmp_path: Path) -> None:
    report = included(tmp_path, topology_conf="Include a.conf\nInclude a.conf\n", a_conf="SwitchName=a Nodes=n1")
    assert "`a` appear twice" in report.remarks[0]


@pytest.mark.parametrize(
    ("files", "place", "words"),
    [
        ({"topology_conf": "\nInclude a.conf\n"}, "topology.conf:2", "`a.conf` is included, but cannot be read: No s"),
        ({"topology_conf": "Include *.conf\n"}, "topology.conf:1", "`*.conf` is included, but cannot be read: No such"),
        ({"topology_conf": "Include sub\n", "sub__a": ""}, "topology.conf:1", "`sub` is included, but is not a"),
        ({"topology_conf": "Include topology.conf\n"}, "topology.conf:1", "`topology.conf` includes itself"),
        (
            {
                "topology_conf": "Include a.conf\n",
                "a_conf": "# x\nInclude sub/b.conf",
                "sub__b_conf": "Include ../a.conf",
            },
            "sub/b.conf:1",
            "`../a.conf` includes itself",
        ),
        ({"topology_conf": "Include a.conf\n", "a_conf": "\nNodeName=n1\n"}, "a.conf:2", "is not a topology line"),
        (
            {"topology_conf": "Include a.conf\n", "a_conf": "\nSwitchName=a Switches=a\n"},
            "a.conf:2",
            "some switches are below themselves",
        ),
        ({"topology_conf": "Include a.conf\n", "a_conf": ""}, "topology.conf:1", "names no switch and no block"),
        ({"topology_conf": f"Include {'a' * 5000}\n"}, "topology.conf:1", "cannot be read: File name too long"),
        ({"topology_conf": "Include a\0b\n"}, "topology.conf:1", "cannot be read: embedded null"),
    ],
)
def test_an_included_file_that_cannot_be_read_is_located(
    tmp_path: Path, files: dict[str, str], place: str, words: str
) -> None:
    with pytest.raises(InputError) as raised:
        included(tmp_path, **files)
    assert str(raised.value).startswith(f"{tmp_path}/{place}:1: error: ")
    assert words in str(raised.value)


def test_included_files_have_limits(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"topology.conf:10001:1: error: more than 10,000 files are included"):
        included(tmp_path, topology_conf="Include a.conf\n" * 10_001, a_conf="")
    with pytest.raises(InputError, match=r"topology.conf:17:1: error: the included files have more than 16 MiB"):
        included(tmp_path, topology_conf="Include a.conf\n" * 17, a_conf="#" * 2**20)


def test_a_device_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`/dev/zero` is included, but is not a regular file"):
        included(tmp_path, topology_conf="Include /dev/zero\n")


def test_a_configmap_includes_what_it_holds() -> None:
    text = "kind: ConfigMap\ndata:\n  topology.conf: |\n    Include {name}\n    SwitchName=top Switches=a\n"
    held = "  leaves.conf: |\n    SwitchName=a Nodes=n[1-2]\n"
    (tree,) = read(text.format(name="leaves.conf") + held).topologies
    assert (tree.nodes, tree.roots) == (2, ("top",))
    with pytest.raises(InputError, match=r"`other.conf` is included, but the ConfigMap lacks it"):
        read(text.format(name="other.conf") + held)
    with pytest.raises(InputError, match=r"`topology.conf` includes itself"):
        read(text.format(name="topology.conf"))


def test_what_ffplan_exports_is_read_back(tmp_path: Path) -> None:
    for target, kinds in (("slurm", ["tree"]), ("slurm-block", ["block"]), ("slurm-yaml", ["tree", "block"])):
        (tmp_path / "t").write_text(ffplan("fabric export", "gb200-nvl72-16", "--to", target).out)
        run = ffplan("fabric import", "slurm", str(tmp_path / "t"))
        found = json.loads(run.out)
        assert (run.code, run.err) == (0, "")
        assert [topology["kind"] for topology in found["topologies"]] == kinds
        assert {topology["nodes"] for topology in found["topologies"]} == {288}


def test_a_fabric_as_built_is_no_topology_of_slurm(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(TREE)
    run = ffplan("fabric import", "ibnetdiscover", str(tmp_path / "t"))
    assert run.code == 2
    assert "`ffplan fabric import slurm` reads topology files of Slurm" in run.err
