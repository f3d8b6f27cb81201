"""Faults seeded into a fabric as built: each is one finding that names it, with what to do and what it costs."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from ffplan.interop.asbuilt.ibnetdiscover import _read_listing
from ffplan.interop.asbuilt.names import named, read_map
from ffplan.interop.audit.report import audit, placed
from ffplan.interop.audit.sides import designed
from ffplan.interop.exported import subnet
from tests.support import ffplan, wired
from tests.unit.interop.seeded import Listing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ffplan.interop.asbuilt.names import _NameRule
    from ffplan.results.as_built import DiffReport

POD, RATE = "superpod-h100-4su", "4xNDR"
"""127 nodes of eight NICs, 32 leaves of 64 ports, 16 spines."""


def pod() -> Listing:
    """The fabric as designed."""
    return Listing(POD, rate=RATE)


def audited(built: Listing, design: str = POD, rules: Sequence[_NameRule] = ()) -> DiffReport:
    """Return the audit of a listing."""
    own = wired(design)
    wanted = designed(own.fabric.network, own.names, subnet(own.fabric.network, None, None))
    found = _read_listing(built.text(), "built.txt")
    return audit(wanted, found, placed(wanted, found, named(found.devices, wanted.names, rules, "")), design)


def nothing(built: Listing) -> None:
    """Change nothing."""


def swap_uplinks(built: Listing) -> None:
    one, two = built.up("leaf-01")[:2]
    built.rewire("leaf-01", [one, two], [two, one])


def lose_uplink(built: Listing) -> None:
    built.cut("leaf-02", built.up("leaf-02")[0])


def lose_node_cable(built: Listing) -> None:
    built.cut("compute-004/nic0", 1)


def lose_node(built: Listing) -> None:
    for name in built.of("compute-001/"):
        built.remove(name)


def lose_leaf(built: Listing) -> None:
    built.remove("leaf-03")


def lose_leaf_with_nodes(built: Listing) -> None:
    below = [built.links["leaf-03"][port][0] for port in built.down("leaf-03")]
    for name in [*below, "leaf-03"]:
        built.remove(name)


def lose_spine(built: Listing) -> None:
    built.remove("spine-02")


def exchange_spines(built: Listing) -> None:
    built.names |= {"spine-01": "spine-02", "spine-02": "spine-01"}


def exchange_nodes(built: Listing) -> None:
    for nic in range(8):
        built.names[f"compute-001/nic{nic}"] = f"compute-061 mlx5_{nic}"
        built.names[f"compute-061/nic{nic}"] = f"compute-001 mlx5_{nic}"


def exchange_node_cables(built: Listing) -> None:
    one, two = built.cut("compute-001/nic0", 1), built.cut("compute-061/nic0", 1)
    built.join("compute-001/nic0", 1, *two)
    built.join("compute-061/nic0", 1, *one)


def kill_lanes(built: Listing) -> None:
    built.slow("leaf-01", built.up("leaf-01")[0], "1xNDR")


def train_low(built: Listing) -> None:
    built.slow("compute-006/nic0", 1, "4xHDR")


def slow_leaf(built: Listing) -> None:
    for port in list(built.links["leaf-02"]):
        built.slow("leaf-02", port, "4xHDR")


def slow_fabric(built: Listing) -> None:
    for name, links in built.links.items():
        for port in list(links):
            built.slow(name, port, "4xHDR")


def shift_cables(built: Listing) -> None:
    ports = built.down("leaf-01")
    built.rewire("leaf-01", ports, [*ports[1:], ports[0]])


def permute_cables(built: Listing) -> None:
    ports = built.up("leaf-01")[:5]
    built.rewire("leaf-01", ports, [ports[n] for n in (2, 4, 1, 0, 3)])


def plug_in_stranger(built: Listing) -> None:
    built.cut("compute-127/nic0", 1)
    peer = next(name for name in built.of("leaf-") if len(built.links[name]) < 64)
    free = next(port for port in range(1, 65) if port not in built.links[peer])
    built.ports["stranger/nic0"], built.links["stranger/nic0"] = 1, {}
    built.join("stranger/nic0", 1, peer, free)


def isolate_leaf(built: Listing) -> None:
    for port in list(built.links["leaf-05"]):
        built.cut("leaf-05", port)


CASES: list[tuple[Callable[[Listing], None], list[str], str, str, str]] = [
    (nothing, [], "", "", ""),
    (
        swap_uplinks,
        ["swapped-cables"],
        "the cables in leaf-01/p33 and leaf-01/p34 are exchanged",
        "exchange the cables in leaf-01/p33 and leaf-01/p34",
        "no bandwidth is lost",
    ),
    (
        lose_uplink,
        ["missing-cable"],
        "leaf-02/p33 to spine-01/p3",
        "cable from leaf-02/p33 to spine-01/p3",
        "leaf-02 keeps 97 % of the bandwidth",
    ),
    (
        lose_node_cable,
        ["missing-cable"],
        "compute-004/nic0 to leaf-01/p4",
        "cable from compute-004/nic0 to leaf-01/p4",
        "compute-004 communicates between nodes at 88 % of its rate: 1 of its 8 NICs gone",
    ),
    (lose_node, ["absent-node"], "node compute-001 was not found", "leaf-01/p1, leaf-02/p1", "off the fabric"),
    (lose_leaf, ["absent-switch"], "switch leaf-03 was not found", "power, boot", "29 more communicates between"),
    (
        lose_leaf_with_nodes,
        ["absent-switch"],
        "leaf-03 was not found, with 32 endpoints of 32 nodes below it",
        "power, boot",
        "at 88 % of its rate",
    ),
    (lose_spine, ["absent-switch"], "switch spine-02 was not found", "power, boot", "keep 94 % of the bandwidth"),
    (
        exchange_spines,
        ["exchanged-devices"],
        "spine-01 and spine-02 are exchanged",
        "exchange their names, or their 128 cables",
        "no bandwidth is lost",
    ),
    (
        exchange_nodes,
        ["exchanged-devices"],
        "compute-001 and compute-061 are exchanged",
        "exchange their names, or their 16 cables",
        "no bandwidth is lost",
    ),
    (
        exchange_node_cables,
        ["swapped-cables"],
        "the cables in compute-001/nic0 and compute-061/nic0 are exchanged",
        "or the names of the two nodes",
        "other switches sit above compute-001 and compute-061",
    ),
    (
        kill_lanes,
        ["slow-link"],
        "1 link at 1x NDR, 100 Gb/s in place of 400 Gb/s: leaf-01/p33 to spine-01/p1",
        "lanes are dead",
        "leaf-01 keeps 98 % of the bandwidth",
    ),
    (
        train_low,
        ["slow-link"],
        "1 link at 4x HDR, 200 Gb/s in place of 400 Gb/s: compute-006/nic0 to leaf-01/p6",
        "it trained at less",
        "compute-006 communicates between nodes at 50 % of its rate: its slowest NIC",
    ),
    (
        slow_leaf,
        ["slow-link"],
        "64 links at leaf-02 at 4x HDR",
        "check the speed that leaf-02 is set to",
        "leaf-02 keeps 50 % of the bandwidth",
    ),
    (slow_fabric, ["slow-link"], "2,040 links at 4x HDR", "files are of another fabric", "50 %"),
    (
        shift_cables,
        ["shifted-cables"],
        "32 cables at leaf-01 sit 1 port too high",
        "move each 1 port down",
        "no bandwidth is lost",
    ),
    (permute_cables, ["permuted-cables"], "5 cables are permuted", "move the cable of", "no bandwidth is lost"),
    (
        plug_in_stranger,
        ["missing-cable", "unknown-device"],
        "compute-127/nic0",
        "compute-127/nic0",
        "compute-127 communicates",
    ),
    (isolate_leaf, ["missing-cable"], "64 cables at leaf-05 not found", "check leaf-05 itself", "at 88 % of its rate"),
]


@pytest.mark.parametrize(
    ("seed", "kinds", "what", "do", "effect"), CASES, ids=[case[0].__name__.replace("_", "-") for case in CASES]
)
def test_a_seeded_fault_is_named(
    seed: Callable[[Listing], None], kinds: list[str], what: str, do: str, effect: str
) -> None:
    built = pod()
    seed(built)
    report = audited(built)
    assert [cause.kind for cause in report.causes] == kinds
    if kinds:
        first = report.causes[0]
        assert what in first.what
        assert any(do in step for step in first.do)
        assert effect in first.effect
    assert not report.by_wiring


PLACED = ("exchanged-devices", "absent-switch")
"""Findings about devices in another's place, and switches that are gone: without names nothing tells which."""
NAMELESS = [case for case in CASES[1:] if case[1][0] not in PLACED and case[0] not in (isolate_leaf, plug_in_stranger)]


@pytest.mark.parametrize("case", NAMELESS, ids=[case[0].__name__.replace("_", "-") for case in NAMELESS])
def test_faults_are_named_alike_under_other_names(
    case: tuple[Callable[[Listing], None], list[str], str, str, str],
) -> None:
    """Switches and nodes with names of their own are told by their wiring; which of two should be where, cannot be."""
    seed, kinds, _, _, _ = case
    built = pod()
    seed(built)
    hosts = sorted({name.partition("/")[0] for name in built.links})
    Random(3).shuffle(hosts)
    for number, name in enumerate(hosts):
        for own in built.of(f"{name}/") or [name]:
            built.names[own] = f"box{number}.example.com mlx5_{own[-1]}" if "/" in own else f"rack{number}"
    report = audited(built)
    assert [cause.kind for cause in report.causes] == kinds
    assert report.by_name == 0
    assert len(report.by_wiring) == len(built.links)


DGX = (0, 3, 4, 5, 6, 9, 10, 11)
"""Numbers of the compute adapters of a DGX: others are for storage."""


def numbered(built: Listing) -> None:
    """Give all adapters the numbers of a DGX."""
    for name in built.of("/"):
        host, _, nic = name.partition("/nic")
        built.names[name] = f"{host} mlx5_{DGX[int(nic)]}"


def test_adapters_are_counted_as_on_complete_nodes() -> None:
    """A dead adapter is not in the listing; the others keep their numbers."""
    built = pod()
    numbered(built)
    assert audited(built).causes == ()
    built.remove("compute-004/nic1")
    (cause,) = audited(built).causes
    assert (cause.kind, cause.where) == ("absent-nic", ("compute-004/nic1",))
    below = [built.links["leaf-02"][port][0] for port in built.down("leaf-02")]
    for name in [*below, "leaf-02"]:
        built.remove(name)
    assert [cause.kind for cause in audited(built).causes] == ["absent-switch"]


def test_ports_of_an_adapter_are_told_by_name() -> None:
    """Two ports of a NIC, one in each plane, as a tool names them."""
    built = Listing("superpod-b300-4su", rate="4xNDR")
    report = audited(built, "superpod-b300-4su")
    assert (report.causes, report.same) == ((), 8192)


def test_a_node_in_the_place_of_another() -> None:
    """The place that it leaves empty is where nodes are missing, not the node itself."""
    built = pod()
    for nic in range(8):
        port, leaf = built.links[f"compute-061/nic{nic}"][1][1], built.links[f"compute-061/nic{nic}"][1][0]
        built.remove(f"compute-061/nic{nic}")
        built.cut(f"compute-062/nic{nic}", 1)
        built.join(f"compute-062/nic{nic}", 1, leaf, port)
    (cause,) = audited(built).causes
    assert cause.kind == "moved-device"
    assert cause.what == "compute-062 is in the place of compute-061; the place of compute-062 is empty"
    assert cause.effect == "compute-062 is off the fabric"


def test_names_that_count_from_0_are_one_finding() -> None:
    built = pod()
    for name in built.of("/"):
        host, _, nic = name.partition("/nic")
        built.names[name] = f"compute-{int(host[-3:]) - 1:03} mlx5_{nic}"
    (cause,) = audited(built).causes
    assert cause.kind == "moved-device"
    assert "127 devices have moved: compute-000 is in the place of compute-001" in cause.what
    assert cause.effect.startswith("no bandwidth is lost")


def test_two_switches_of_one_name() -> None:
    """Whichever stands first in the file, neither is down."""
    for one, two in (("spine-01", "spine-02"), ("spine-02", "spine-01")):
        built = pod()
        built.names[one] = two
        kinds = [cause.kind for cause in audited(built).causes]
        assert "shared-name" in kinds
        assert "absent-switch" not in kinds


def test_a_shift_with_a_cable_left_over() -> None:
    """31 cables one port up, the 32nd in no port: what is lost is one NIC of one node."""
    built = pod()
    ports = built.down("leaf-01")
    last = built.links["leaf-01"][ports[-1]][0]
    built.cut("leaf-01", ports[-1])
    built.rewire("leaf-01", ports[:-1], ports[1:])
    (cause,) = audited(built).causes
    assert cause.what.startswith("31 cables at leaf-01 sit 1 port too high; 1 cable not found")
    assert cause.effect.startswith(f"a job with {last.partition('/')[0]} communicates between nodes at 88 %")
    assert any(step.startswith("lay, reseat or replace the cable") for step in cause.do)


def test_a_cable_in_the_port_of_a_missing_one() -> None:
    built = pod()
    first, _, third = built.up("leaf-01")[:3]
    built.cut("leaf-01", first)
    peer, there = built.cut("leaf-01", third)
    built.join("leaf-01", first, peer, there)
    (cause,) = audited(built).causes
    assert cause.kind == "moved-cable"
    assert f"ends in leaf-01/p{first}, and belongs in leaf-01/p{third}" in cause.what
    assert "leaf-01 keeps 97 %" in cause.effect


def test_an_exchange_with_a_dead_cable_is_still_one() -> None:
    built = pod()
    exchange_nodes(built)
    built.cut("compute-001/nic4", 1)
    kinds = sorted(cause.kind for cause in audited(built).causes)
    assert kinds == ["exchanged-devices", "missing-cable"]


def test_nics_of_one_node_in_each_others_ports() -> None:
    built = pod()
    one, two = built.cut("compute-005/nic0", 1), built.cut("compute-005/nic1", 1)
    built.join("compute-005/nic0", 1, *two)
    built.join("compute-005/nic1", 1, *one)
    (cause,) = audited(built).causes
    assert cause.kind == "swapped-cables"
    assert "names of the two nodes" not in cause.do[0]


def test_what_faults_cost_together() -> None:
    """Eight leaves of a scalable unit: its 32 nodes are off the fabric, which none of them says by itself."""
    built = pod()
    for leaf in sorted(built.of("leaf"))[:8]:
        built.remove(leaf)
    report = audited(built)
    assert [cause.kind for cause in report.causes] == ["absent-switch"] * 8
    assert "29 more are off the fabric" in report.effect
    built = pod()
    for spine in sorted(built.of("spine"))[:8]:
        built.remove(spine)
    assert "keep 50 % of the bandwidth to the tier above" in audited(built).effect


def test_links_between_zones_are_no_uplinks() -> None:
    built = Listing("fire-flyer-2")
    assert audited(built, "fire-flyer-2").causes == ()
    built.remove("interzone-1")
    (cause,) = audited(built, "fire-flyer-2").causes
    assert cause.effect == "50 % of the bandwidth between zones is left"


def test_files_of_another_part_are_refused(tmp_path: Path) -> None:
    (tmp_path / "built.txt").write_text(Listing("fire-flyer-2", "--zone", "1").text().replace(" mlx5_", "/nic"))
    run = ffplan("fabric audit", "fire-flyer-2", str(tmp_path / "built.txt"), "--zone", "2")
    assert run.code == 2
    assert "is of another plane or zone" in run.err


def test_a_rail_at_the_wrong_leaf_is_one_finding() -> None:
    """The first two NICs of all nodes below leaf-01 and leaf-02; and the downlinks of a leaf in reverse."""
    built = pod()
    for port in built.down("leaf-01"):
        one, two = built.cut("leaf-01", port), built.cut("leaf-02", port)
        built.join("leaf-01", port, *two)
        built.join("leaf-02", port, *one)
    (cause,) = audited(built).causes
    assert cause.what == "32 pairs of cables are exchanged between leaf-01 and leaf-02"
    assert cause.effect.startswith("other switches sit above")
    built = pod()
    ports = built.down("leaf-03")
    built.rewire("leaf-03", ports, ports[::-1])
    (cause,) = audited(built).causes
    assert cause.what == "16 pairs of cables are exchanged at leaf-03"


def test_two_faults_are_two_findings() -> None:
    built = pod()
    swap_uplinks(built)
    lose_node(built)
    kill_lanes_of = built.up("leaf-07")[3]
    built.slow("leaf-07", kill_lanes_of, "1xNDR")
    assert sorted(cause.kind for cause in audited(built).causes) == ["absent-node", "slow-link", "swapped-cables"]


def test_a_plane_that_is_in_no_file_is_one_finding() -> None:
    built = Listing("fire-flyer-2", "--zone", "1")
    (cause,) = audited(built, "fire-flyer-2").causes
    assert cause.kind == "absent-part"
    assert "--zone" in cause.do[0]


@pytest.mark.parametrize(
    ("switch", "host"),
    [
        ("MF0;{name}:MQM9700/U1", "{host} mlx5_{nic}"),
        ("{name}", "{host} HCA-{counted}"),
        ("{upper}", "{host}.dc1.example.com mlx5_{nic}"),
        ("{name}.fabric.example.com", "{host}/nic{nic}"),
    ],
)
def test_names_that_tools_write(switch: str, host: str) -> None:
    """Managed switches, counted adapters, full domain names, upper case: all told by name."""
    built = pod()
    for name in built.links:
        node, slash, port = name.partition("/nic")
        if slash:
            built.names[name] = host.format(host=node, nic=port, counted=int(port) + 1)
        else:
            built.names[name] = switch.format(name=name, upper=name.upper())
    report = audited(built)
    assert (report.causes, report.by_name, report.by_wiring) == ((), len(built.links), ())


def test_a_map_leads_names_back(tmp_path: Path) -> None:
    built = pod()
    built.names["leaf-01"] = "ib-r01-a"
    for name in built.of("compute-0"):
        node, _, port = name.partition("/nic")
        built.names[name] = f"gpu{int(node[-3:])} mlx5_{port}"
    text = "found,designed\nib-r01-a,leaf-01\n~gpu([0-9]{2}),compute-0\\1\n~gpu([0-9]),compute-00\\1\n"
    report = audited(built, rules=read_map(text, "map.csv"))
    assert (report.causes, report.by_name) == ((), len(built.links))
    (tmp_path / "built.txt").write_text(built.text())
    (tmp_path / "map.csv").write_text(text)
    run = ffplan("fabric audit", POD, str(tmp_path / "built.txt"), "--map", str(tmp_path / "map.csv"))
    assert (run.code, run.out.count("0 by wiring")) == (0, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("leaf-x,leaf-01\nleaf-02,leaf-01\n", ""),
        ("leaf-02,leaf-01\nleaf-03,leaf-01\n", "both map to `leaf-01`"),
        ("leaf-02,leaf-99\n", "which is not in the design"),
        ("leaf-02\n", "is not a pair of names"),
        ("a,leaf-01\na,leaf-02\n", "appears twice, first in line 1"),
        ("~(,leaf-01\n", "is not a regular expression"),
        ("~leaf-(.*),leaf-\\2\n", "refers to a group that"),
    ],
)
def test_maps_that_do_not_do(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "built.txt").write_text(pod().text())
    (tmp_path / "map.csv").write_text(text)
    run = ffplan("fabric audit", POD, str(tmp_path / "built.txt"), "--map", str(tmp_path / "map.csv"))
    assert run.code == (2 if words else 1)
    assert words in run.err


def test_a_fabric_that_shares_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "built.txt").write_text('Switch 4 "S-1" # "x"\n[1] "H-1"[1]\nCa 1 "H-1" # "y"\n[1] "S-1"[1]\n')
    run = ffplan("fabric audit", POD, str(tmp_path / "built.txt"))
    assert run.code == 2
    assert "no device of this file is in the design" in run.err
