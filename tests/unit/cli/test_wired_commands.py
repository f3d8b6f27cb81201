"""The commands on a wired fabric, as their users call them."""

from __future__ import annotations

import csv
import json
import shutil
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import SMALL, ZONES_APART, checker, ffplan, vary_design

if TYPE_CHECKING:
    from pathlib import Path

CASES = {
    ("fabric size", "--endpoints", "1600", "--switch", "qm8700"): "size",
    ("fabric route", "fire-flyer-2"): "route",
    ("fabric route", "fire-flyer-2", "--beside", "incast"): "route",
    ("fabric place", "fire-flyer-2", "--nodes", "700"): "placement",
    ("fabric faults", "fire-flyer-2", "--samples", "2"): "faults",
    ("fabric cables", "superpod-h100-4su"): "cabling",
}


def result(*arguments: str, code: int = 0) -> Any:
    done = ffplan(*arguments, "--format", "json")
    assert (done.code, done.err) == (code, ""), done.err
    return json.loads(done.out)


@pytest.mark.parametrize("arguments", CASES, ids=" ".join)
def test_json_follows_its_schema_and_is_the_same_twice(arguments: tuple[str, ...]) -> None:
    found = result(*arguments)
    checker(CASES[arguments]).validate(found)
    assert found == result(*arguments)


@pytest.mark.parametrize("form", ["table", "markdown", "csv"])
@pytest.mark.parametrize("arguments", CASES, ids=" ".join)
def test_every_format_says_something_within_80_columns(arguments: tuple[str, ...], form: str) -> None:
    done = ffplan(*arguments, "--format", form)
    assert done.code == 0
    assert done.out.strip()
    if form == "table":
        assert max(len(line) for line in done.out.splitlines()) <= 80


FLOOR = """\
floor:
  racks_per_row: 4
  switch_racks_per_row: 2
  rack_units: 42
  switch_units: 2
  power_per_rack: 45 kW
  rack_width: 0.6 m
  row_pitch: 3 m
  riser: 1.5 m
  slack: 1 m
  links: [800g-2xdr4]
"""


def test_cabling_counts_fibres_and_cables_as_sold(tmp_path: Path) -> None:
    """24 leaves with eight uplinks on four whole ports: 192 fibres to eight spines each, 96 pairs of modules."""
    text = (SMALL / "planes.yaml").read_text().replace("count: 9}", "count: 9, rack_units: 8, per_rack: 4}")
    (tmp_path / "planes.yaml").write_text(text + FLOOR)
    catalog = ("--catalog", str(SMALL / "parts"))
    found = result("fabric cables", str(tmp_path / "planes.yaml"), *catalog)
    assert [(kind["tier"], kind["count"], kind["as_sold"]) for kind in found["kinds"]] == [
        ("endpoint", 40, 40),
        ("leaf_spine", 192, 96),
    ]
    assert result("design", str(tmp_path / "planes.yaml"), *catalog)["fabric"]["cables_as_sold"] == {
        "endpoint": 40,
        "inter_switch": 96,
        "total": 136,
    }
    printed = ffplan("fabric cables", str(tmp_path / "planes.yaml"), *catalog).out
    assert "cables  as sold  length" in printed
    assert "as sold" not in ffplan("fabric cables", "superpod-h100-4su").out  # as many as cables


def racks_of(folder: Path, power: str, *changes: tuple[str, str]) -> Any:
    """Export the racks of 22 nodes and their switches, which draw `power`; changes are of the design."""
    parts = shutil.copytree(SMALL / "parts", folder / "parts")
    switch = parts / "tiny-16x400g.yaml"
    kept = [line for line in switch.read_text().splitlines() if not line.startswith("power")]
    switch.write_text("\n".join([*kept, power, ""]))
    text = (SMALL / "floor.yaml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "floor.yaml").write_text(text)
    return ffplan("export", str(folder / "floor.yaml"), "--to", "racks", "--catalog", str(parts))


@pytest.mark.parametrize(("nodes", "limit", "most"), [(4, 45, 4), (3, 33, 3), (2, 22, 2), (1, 500, 21)])
def test_no_rack_draws_more_than_its_floor_allows(nodes: int, limit: int, most: int, tmp_path: Path) -> None:
    """Switches of 11 kW: as many to a rack as its power and its 42 units hold, the first racks full."""
    changes = ((", per_rack: 4", f", per_rack: {nodes}"), ("45 kW", f"{limit} kW"))
    done = racks_of(tmp_path, "power_max: {value: 11 kW, source: ours}", *changes)
    assert done.code == 0, done.err
    watts: dict[tuple[str, str], float] = defaultdict(float)
    switches: dict[tuple[str, str], int] = defaultdict(int)
    for row in csv.DictReader(done.out.splitlines()):
        watts[row["row"], row["rack"]] += float(row["rated_w"])
        switches[row["row"], row["rack"]] += row["role"] in ("leaf", "spine")
    assert max(watts.values()) <= limit * 1e3
    assert max(switches.values()) <= most
    assert max(switches.values()) == most or most == 21


def test_a_switch_above_the_power_of_a_rack_is_refused_and_an_unknown_one_is_not(tmp_path: Path) -> None:
    for name in ("above", "room", "unknown"):
        (tmp_path / name).mkdir()
    above = racks_of(tmp_path / "above", "power: {value: 46 kW, source: ours}")
    assert above.code == 2
    assert "needs 46,000 W; there are 45,000 W a rack" in " ".join(above.err.split())
    room = racks_of(tmp_path / "room", "power: {value: 40 kW, source: ours}")
    assert room.code == 2
    assert "which hold 2 at 45,000 W a rack" in " ".join(room.err.split())
    assert racks_of(tmp_path / "unknown", "").code == 0


def test_place_names_the_one_pair_between_zones() -> None:
    found = result("fabric place", "fire-flyer-2")
    assert len(found["pairs"]) == 1
    assert found["ranks_per_zone"] == [625, 625]
    assert len(set(found["hosts"])) == 1250
    share = {(item["order"], item["tree"]): item["share"] for item in found["orders"]}
    assert share[("aligned", "tree")] == 1.0
    assert share[("alternating", "library-tree")] < 0.1


def test_faults_of_chosen_switches_and_of_all_between_zones() -> None:
    found = result("fabric faults", "fire-flyer-2", "--lose", "interzone:2", "--lose", "z1-leaf-01,z1-leaf-02")
    both, leaves = found["losses"]
    assert (both["samples"], both["nodes_lost"], both["bisection_share"]) == (1, 625, 0)
    assert both["allreduce_share"] == both["zone_share"] == 1.0  # within the zone that is left
    assert (both["nodes_lost_worst"], both["nodes_share"], both["nodes_share_worst"]) == (625, 0.5, 0.5)
    assert leaves["endpoints_lost"] == 38
    assert leaves["nodes_share"] == 1 - leaves["nodes_lost"] / found["nodes"]


def test_the_table_of_faults_says_that_half_of_the_job_is_gone() -> None:
    """Full rate over the nodes left is no full job: 625 of 1,250 nodes drop out with the switches between zones."""
    done = ffplan("fabric faults", "fire-flyer-2", "--lose", "interzone:2")
    (row,) = [line for line in done.out.splitlines() if "2 interzone switches" in line]
    assert row.split()[-3:] == ["625", "50", "100"]
    assert "job: fraction left of its 1,250 nodes" in done.out


def test_a_spine_of_twenty_costs_nothing_where_leaves_have_nineteen_endpoints() -> None:
    """And 1 in 20 where they have twenty, as in the three-tier variant; the links between zones hide neither."""
    one = result("fabric faults", "fire-flyer-2", "--lose", "spine", "--samples", "2")["losses"][0]
    assert (one["zone_share"], one["bisection_share"]) == (1.0, 1.0)
    two = result("fabric faults", "fire-flyer-2", "--lose", "spine:2", "--samples", "4")["losses"][0]
    assert two["zone_share_worst"] == pytest.approx(18 / 19)


def test_a_matrix_of_traffic_from_a_file(tmp_path: Path) -> None:
    matrix = tmp_path / "moves.csv"
    matrix.write_text("src,dst,bytes\ncompute-0001,compute-0002,25e9\nstorage-001,compute-0001,50e9\n\n")
    found = result("fabric route", "fire-flyer-2", "--traffic", str(matrix))
    assert found["time_s"] == 2.0
    assert found["hottest"]["link"].startswith("storage-001/nic0 - z1-leaf-33/p18")


def test_adaptive_routing_is_no_slower_than_static_and_ecmp_hashes() -> None:
    share = {
        kind: result("fabric route", "dgx-a100-10k", "--traffic", "permutation", "--routing", kind)["share"]
        for kind in ("static", "ecmp", "adaptive")
    }
    assert share["adaptive"] >= share["static"]
    assert share["adaptive"] > share["ecmp"]


def test_planes_that_no_node_joins_are_refused() -> None:
    """A node with one NIC is in one plane: four planes would be four clusters. Eight NICs join eight, not three."""
    alone = result("fabric size -n 4096 --switch qm9700 --rails 1")
    assert not [item["family"] for item in alone["options"] if item["family"].endswith("planes by NIC")]
    reason = "a node with 1 NIC joins 1 of them, and nothing joins the planes"
    refused = [text for text in alone["too_small"] if "by NIC" in text]
    assert refused == [f"{planes} planes by NIC: {reason}" for planes in (2, 4, 8)]
    three = result("fabric size -n 4096 --switch qm9700 --planes 3 --planes 8")
    assert "3 planes by NIC: 8 NICs of a node cannot be dealt evenly over them" in three["too_small"]
    assert any(item["family"] == "8 planes by NIC" for item in three["options"])


def test_the_price_of_a_size_and_what_is_too_small() -> None:
    found = result("fabric size -n 100000 --switch qm8700 --tiers 2 --planes 2 --rails 1", code=1)
    assert found["options"] == []
    assert "fat-tree, two tiers: 800" in found["too_small"]
    priced = result("fabric size -n 800 --switch qm8700 --prices usd-2024 --tiers 2")
    tree = next(item for item in priced["options"] if item["family"] == "fat-tree, two tiers")
    assert (tree["cost"], tree["spare_ports"], tree["next_endpoints"]) == (60 * 22_000, 0, None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fabric route", "fire-flyer-2", "--routing", "statik"), "did you mean `static`"),
        (("fabric route", "fire-flyer-2", "--traffic", "rings"), "did you mean `ring`"),
        (("fabric route", "fire-flyer-2", "--traffic", "none.csv"), "cannot be read"),
        (("fabric route", "fire-flyer-2", "--size", "200 Gb/s"), "an amount of data is wanted"),
        (("fabric route", "fire-flyer-2", "--nodes", "9999"), "more than the 1,250"),
        (("fabric route", "dgx-a100-10k", "--traffic", "incast"), "no storage nodes"),
        (("fabric route", "dgx-a100-10k", "--traffic", "all-to-all", "--routing", "ecmp"), "listed one by one"),
        (("fabric place", "fire-flyer-2", "--order", "alined"), "did you mean `aligned`"),
        (("fabric faults", "fire-flyer-2", "--lose", "leaf:999"), "between 1 and 80"),
        (("fabric faults", "fire-flyer-2", "--lose", "plane"), "one plane only"),
        (("fabric faults", "fire-flyer-2", "--lose", "z1-leaf-99"), "neither a switch of this fabric"),
        (("fabric size", "-n", "800", "--switch", "qm8701"), "did you mean `qm8700`"),
        (("fabric size", "-n", "800", "--switch", "hdr-aoc"), "is a link, not a switch"),
        (("fabric size", "-n", "800", "--switch", "qm8700", "--link", "hdr-aoc"), "with --prices only"),
        (("fabric size", "-n", "800", "--switch", "qm8700", "--oversubscription", "3"), "--oversubscription"),
        (("fabric export", "fire-flyer-2", "--to", "ibsim", "--zone", "3"), "the fabric has 2"),
        (("fabric export", "fire-flyer-2", "--to", "slurm", "--zone", "1"), "leave out --plane and --zone"),
        (("fabric import", "nccl", "none.xml"), "cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_is_said_with_exit_code_2(arguments: tuple[str, ...], words: str) -> None:
    done = ffplan(*arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert "Traceback" not in done.err


def test_rails_and_planes_are_wired_apart(tmp_path: Path) -> None:
    """rail-only: NIC r of every node is in plane r, and nothing joins the planes."""
    rails = vary_design(tmp_path, "superpod-h100-4su", ("rail-optimised", "rail-only"), ("  scalable_unit: 32\n", ""))
    report = result("design", str(rails))["fabric"]
    assert (report["planes"], report["switches"]["leaf"], report["switches"]["spine"]) == (8, 8 * 4, 8 * 2)
    assert result("fabric faults", str(rails), "--lose", "plane")["losses"][0]["allreduce_share"] == pytest.approx(
        7 / 8, abs=0.01
    )


def test_striped_planes_halve_the_port_and_keep_the_rate(tmp_path: Path) -> None:
    """Each NIC has a port of half its rate in either plane; the switch is split in two."""
    base = result("design", "superpod-h100-4su")
    path = vary_design(
        tmp_path, "superpod-h100-4su", ("  tiers: 2", "  tiers: 2\n  planes: 2\n  planes_by: port\n  breakout: 2")
    )
    striped = result("design", str(path))
    assert striped["fabric"]["port_gbyte_s"] == base["fabric"]["port_gbyte_s"] / 2
    assert striped["fabric"]["endpoints"] == 2 * base["fabric"]["endpoints"]
    assert striped["fabric"]["bisection_gbyte_s"] == base["fabric"]["bisection_gbyte_s"]
    assert striped["communication"][0]["algbw_gbyte_s"] == base["communication"][0]["algbw_gbyte_s"]
    assert "in every one of 2 planes" in " ".join(striped["assumptions"])


def test_oversubscribed_units_get_uplinks_that_spines_divide(tmp_path: Path) -> None:
    """161 nodes with 8 rails, 2:1 on 128 ports: 43 uplinks, a prime, would need 43 spines; 45 need 9."""
    path = vary_design(
        tmp_path,
        "fire-flyer-next",
        ("family: fat-tree", "family: rail-optimised"),
        ("count: 4096", "count: 161"),
        ("  planes: 4\n", ""),
        ("oversubscription: 1:1", "oversubscription: 2:1"),
    )
    fabric = result("design", str(path))["fabric"]
    assert (fabric["switches"]["leaf"], fabric["switches"]["spine"], fabric["links"]["leaf_spine"]) == (16, 9, 16 * 45)
    assert fabric["oversubscription"] == pytest.approx(83 / 45)


def test_the_next_step_of_a_size_is_what_size_says_of_it() -> None:
    common = ("fabric size", "--switch", "roce-128x400g", "--tiers", "2", "--oversubscription", "2:1")
    now = {item["family"]: item for item in result(*common, "-n", "1288")["options"]}
    later = {item["family"]: item for item in result(*common, "-n", "1361")["options"]}
    for family in ("rail-only, two tiers", "8 planes by NIC"):
        assert now[family]["next_endpoints"] == later[family]["endpoints"]
        assert now[family]["next_switches"] == later[family]["switches"]
        assert now[family]["capacity"] == later[family]["capacity"]


def test_zones_that_nothing_joins_count_what_arrives_alone(tmp_path: Path) -> None:
    apart = vary_design(tmp_path, "fire-flyer-2", *ZONES_APART)
    kinds = ("static", "adaptive")
    found = [result("fabric route", str(apart), "-t", "all-to-all", "-r", kind, code=1) for kind in kinds]
    assert found[0]["unreached"] == found[1]["unreached"] == 2 * 625 * 625
    assert found[0]["ideal_s"] == found[1]["ideal_s"]
    loss = result("fabric faults", str(apart), "--lose", "spine", "--samples", "2")["losses"][0]
    assert (loss["nodes_lost"], loss["bisection_share"]) == (0, None)


@pytest.mark.parametrize("traffic", ["ring", "tree", "library-tree", "all-to-all", "rail-all-to-all", "permutation"])
@pytest.mark.parametrize(("nodes", "order"), [("2", "alternating"), ("50", "aligned")])
def test_flows_that_cannot_arrive_have_no_rate_and_no_allreduce(traffic: str, nodes: str, order: str) -> None:
    """Two nodes of unlinked zones, where nothing arrives, and all 50, where much does: the exchange never ends."""
    apart = ("fabric route", str(SMALL / "apart.yaml"), "--catalog", str(SMALL / "parts"))
    asked = (*apart, "-t", traffic, "-n", nodes, "--order", order)
    found, printed = result(*asked, code=1), ffplan(*asked)
    assert found["unreached"] > 0
    assert (found["collective_s"], found["congested_s"]) == (None, None)
    if nodes == "2":
        assert (found["time_s"], found["share"], found["adaptive_share"]) == (0, 0, 0)
    head, *rows = printed.out.splitlines()
    assert f"no rate: {found['unreached']:,} flow" in head
    assert not [row for row in rows if row.split()[0] in ("rate", "allreduce")]
    assert ("nothing arrives" in printed.out) == (nodes == "2")


def test_an_allreduce_inside_one_of_two_unlinked_zones_has_its_rate() -> None:
    apart = ("fabric route", str(SMALL / "apart.yaml"), "--catalog", str(SMALL / "parts"))
    found = result(*apart, "-n", "25")
    assert found["unreached"] == 0
    assert 0 < found["collective_s"] <= found["congested_s"]


def test_traffic_that_cannot_arrive_has_no_rate_beside_other_traffic_that_does(tmp_path: Path) -> None:
    matrix = tmp_path / "moves.csv"
    matrix.write_text("src,dst,bytes\ncompute-01,compute-26,1e9\n")
    apart = ("fabric route", str(SMALL / "apart.yaml"), "--catalog", str(SMALL / "parts"), "-t", str(matrix))
    assert result(*apart, code=1)["share"] == 0
    done = ffplan(*apart, "-n", "25", "--beside", "ring")
    assert (done.code, "itself cannot arrive" in " ".join(done.err.split())) == (2, True)


def test_losses_count_the_jobs_of_all_zones_that_nothing_joins() -> None:
    """25 nodes in either zone on seven leaves, four to a leaf and one on the last: a zone lost is half of all nodes,
    whichever it is, and a leaf is its own nodes; the job of the zone that is left keeps its rate."""
    apart = ("fabric faults", str(SMALL / "apart.yaml"), "--catalog", str(SMALL / "parts"))
    zones = [",".join(f"z{zone}-leaf-{leaf}" for leaf in range(1, 8)) for zone in (1, 2)]
    lost = (f"--lose={what}" for what in (*zones, "z2-leaf-1", "spine"))
    found = result(*apart, *lost)
    assert (found["nodes"], found["nodes_by_job"]) == (50, [25, 25])
    for loss in found["losses"]:
        assert loss["nodes_share"] == pytest.approx(1 - loss["nodes_lost"] / found["nodes"])
    first, second, leaf, spine = found["losses"]
    assert (first["nodes_lost"], second["nodes_lost"], leaf["nodes_lost"], spine["nodes_lost"]) == (25, 25, 4, 0)
    assert first["allreduce_share"] == second["allreduce_share"] == 1
    printed = ffplan(*apart, "--lose", zones[0])
    assert "2 jobs of 25 nodes, one in each" in printed.out
    assert "fraction left of all 50 nodes" in printed.out


@pytest.mark.parametrize(("count", "zones", "nodes"), [(1, 1, None), (3, 3, [1, 1, 1])])
def test_no_share_of_a_rate_where_the_healthy_fabric_has_none(
    count: int, zones: int, nodes: list[int] | None, tmp_path: Path
) -> None:
    """One node, or one in each zone that nothing joins: no two nodes communicate, before a loss or after it."""
    text = (SMALL / "apart.yaml").read_text().replace("count: 50", f"count: {count}")
    text = text.replace("zones: 2", f"zones: {zones}").replace("  access_points: 60\n", "")
    (tmp_path / "few.yaml").write_text(text)
    found = result("fabric faults", str(tmp_path / "few.yaml"), "--catalog", str(SMALL / "parts"))
    assert found["nodes_by_job"] == nodes
    assert found["losses"]
    assert {(loss["allreduce_share"], loss["allreduce_share_worst"]) for loss in found["losses"]} == {(None, None)}
    printed = ffplan("fabric faults", str(tmp_path / "few.yaml"), "--catalog", str(SMALL / "parts"))
    rows = [line for line in printed.out.splitlines() if line.startswith("  one ")]
    assert {row.split()[-1] for row in rows} == {"-"}


def test_a_switch_too_large_for_infiniband_is_not_judged_by_opensm(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "fire-flyer-next", ("  planes: 4", "  planes: 4\n  breakout: 2"))
    done = ffplan("fabric verify", str(path), "--with", "opensm")
    assert done.code == 2
    assert "at most 254" in done.err


def test_an_uncongested_route_takes_the_time_of_the_collective(tmp_path: Path) -> None:
    """At 100 % of the ideal nothing is added, whatever a scale-up domain spares the fabric."""
    rack = tmp_path / "rack.yaml"
    rack.write_text(
        "name: rack\nnodes: [{role: compute, server: gb200-nvl72-tray, count: 36}]\n"
        "fabric: {family: rail-optimised, switch: qm9700, tiers: 2, oversubscription: 1:1,"
        " link: {endpoint: 400g-dac, inter_switch: 400g-dr4}}\n"
        "communication: {libraries: [nccl], message_size: 1 GiB}\nsite: {pue: 1.2}\n"
    )
    assert result("fabric route", str(rack))["congested_s"] == result("design", str(rack))["communication"][0]["time_s"]


@pytest.mark.parametrize("order", ["aligned", "random"])
@pytest.mark.parametrize("design", ["fire-flyer-2", "gb200-nvl72-16", "superpod-h100-4su"])
def test_a_busy_link_slows_the_nics_alone(design: str, order: str) -> None:
    """What binds inside a node hides as much of the fabric: a root port of 8.1 GB/s a NIC at two thirds of its rate."""
    routed = result("fabric route", design, "--order", order)
    report = result("design", design)["communication"][0]
    row, terms = report["scales"][-1], report["bound"]["terms"]
    assert routed["collective_s"] == row["time_s"]
    rate = next(term["gbyte_s"] for term in terms if term["name"] == "nic")
    through = routed["time_s"] / routed["ideal_s"] * row["size_bytes"] / (rate * 1e9)
    expected = row["time_s"] + max(0.0, through - row["stream_s"])
    assert routed["congested_s"] == pytest.approx(expected, rel=0.06)  # NICs sustain less than their bound
    assert (routed["congested_s"] > row["time_s"]) == (expected > 1.001 * row["time_s"])


def test_a_reduction_inside_scale_up_networks_spares_the_fabric(tmp_path: Path) -> None:
    """Two racks of 18 trays with 4 NICs of 50 GB/s: a ring of both takes 2 (2 - 1) / 2 of the message, a place in the
    rack a part of 18, a NIC a quarter of that: 2^30 / 18 / 4 bytes in 0.298 ms. Trays apart took 35 / 18 of the message
    each, 10.4 ms."""
    rack = tmp_path / "racks.yaml"
    text = (
        "name: racks\nnodes: [{role: compute, server: gb200-nvl72-tray, count: 36}]\n"
        "fabric: {family: rail-optimised, switch: qm9700, tiers: 2,"
        " link: {endpoint: 400g-dac, inter_switch: 400g-dr4}}\nsite: {pue: 1.2}\n"
    )
    rack.write_text(text)
    ring = ("fabric route", str(rack), "-t", "ring", "--size", "1GiB")
    for order in ("aligned", "alternating", "random"):
        found = result(*ring, "--order", order)
        assert found["ideal_s"] == pytest.approx(2**30 / 18 / 4 / 50e9)
    rack.write_text(text.replace("count: 36", "count: 27"))  # nine trays in the second rack: nine parts
    assert result(*ring)["ideal_s"] == pytest.approx(2**30 / 9 / 4 / 50e9)
    rack.write_text(text.replace("count: 36", "count: 18"))
    done = ffplan("fabric", "route", str(rack), "-t", "ring")
    assert (done.code, "a scale-up network joins all nodes of the job" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("server", "floor", "limits", "racks"),
    [
        ("hgx-b200-8nic, count: 81", "{}", "", 17),  # five of eight units each in 42
        ("hgx-b200-8nic, count: 81", "{power_per_rack: 45 kW}", "", 27),  # three of 14.3 kW
        ("hgx-b200-8nic, count: 81", "{}", "limits: {power_per_rack: 30 kW}\n", 41),
        ("hgx-b200-8nic, per_rack: 4, count: 81", "{}", "", 21),
        ("gb200-nvl72-tray, count: 36", "{}", "", 2),  # those that one NVLink switch joins, of 42 units
        ("cloudmatrix-384-node, count: 96", "{}", "", 24),  # four to a rack, though 48 are joined
    ],
)
def test_the_floor_and_the_bill_have_the_same_racks(
    server: str, floor: str, limits: str, racks: int, tmp_path: Path
) -> None:
    """The plan of the floor decides where there is one: cables are measured in the racks that are bought."""
    file = tmp_path / "racks.yaml"
    file.write_text(
        f"name: racks\nnodes: [{{role: compute, server: {server}}}]\nfabric: {{family: rail-optimised, switch: qm9700, "
        f"tiers: 2, link: {{endpoint: 400g-dr4, inter_switch: 400g-dr4}}}}\nfloor: {floor}\nsite: {{pue: 1.2}}\n"
        f"cost: {{price_book: usd-2026}}\n{limits}"
    )
    assert result("cost", str(file), "--draws", "0")["power"]["racks_of"]["compute"] == racks
    out = ffplan("fabric", "export", str(file), "--to", "racks").out
    assert len({line.split(",")[0] + line.split(",")[1] for line in out.splitlines() if ",compute-" in line}) == racks
