"""Whole fabrics and bounds of unusual but legal designs, worked by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from tests.support import assess_file, collective, ffplan, overlay_part, term, vary_design

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.results.design import Assessment

TREES = 2 * 31 / 32
"""Bytes that the mean of 32 nodes sends per byte of message."""
DESIGN = """name: test
nodes:
{nodes}
fabric:
  family: fat-tree
  switch: {switch}
  link: {{endpoint: 400g-dac, inter_switch: 400g-dr4}}
{fabric}
communication: {{libraries: [{libraries}], message_size: 1 GiB}}
site: {{pue: 1.25, electricity_price: $0.10/kWh}}
"""
NVLINK = "nvlink: {switched: true, ports: {value: 18, source: recalled}, switches: {value: 4, source: nvlink}}"
"""Its line in the file of hgx-h100-8nic."""


def plan(
    tmp_path: Path, fabric: str, *nodes: str, switch: str = "qm9700", libraries: str = "nccl", parts: str | None = None
) -> Assessment:
    """Assess a design of HGX nodes unless told otherwise."""
    groups = nodes or ("role: compute, server: hgx-h100-8nic, count: 32",)
    path = tmp_path / "design.yaml"
    path.write_text(
        DESIGN.format(
            nodes="\n".join(f"  - {{{group}}}" for group in groups),
            switch=switch,
            libraries=libraries,
            fabric="\n".join(f"  {line}" for line in fabric.split("; ")),
        )
    )
    return assess_file(path, *([parts] if parts else []))


def test_two_zones_on_two_planes(tmp_path: Path) -> None:
    """32 nodes x 8 NICs: 4 NICs in each plane, 16 nodes in each zone: 64 endpoints + 16 links of 32 down a leaf."""
    a = plan(tmp_path, "tiers: 2; zones: 2; planes: 2; inter_zone: {switches: 2, links_per_zone: 16}")
    f = a.fabric
    assert f.endpoints_per_zone == (64, 64)
    # 80 ports a zone: 3 leaves; 96 uplinks need 2 spines of 64, and 2 divides 32; four such trees
    assert (f.switches.leaf, f.switches.spine, f.switches.interzone, f.switches.total) == (12, 8, 4, 24)
    assert (f.links.endpoint, f.links.leaf_spine, f.links.interzone) == (256, 384, 64)
    assert f.spare_ports == 4 * (3 * 32 - 16) - 256
    assert f.spare_ports_by_role.spine == 4 * (2 * 64 - 96)
    assert f.spare_ports_by_role.interzone == 2 * (2 * 64 - 32)
    assert f.zone_oversubscription == 4.0
    assert f.bisection_gbyte_s == 2 * 16 * 50  # planes x links between two zones x 50 GB/s
    # the ring allows most; its 256 ranks cross with 2 x 255 / 256 of the message each way
    zone = term(collective(a, "nccl"), "zone_links")
    assert zone.gbyte_s == pytest.approx(2 * 16 * 50 / (2 * 255 / 256))
    # a rail has 16 NICs in a zone, and a leaf room for 26 beside six of those links: the second has six of rail 1, all
    # of rail 2 and the first four of rail 3; all three rings go on, to another leaf or to the other zone
    assert term(collective(a, "nccl"), "leaf_uplinks").gbyte_s == pytest.approx(2 * 32 * 50 / (3 / 4 * 2 * 255 / 256))


def test_nodes_in_every_zone_have_fewer_rails(tmp_path: Path) -> None:
    """900 DGX in both of two zones: 4 rails of 900 per tree, 45 leaves or 3 pods each: 4 x 3 x 400 / 40 = 120."""
    path = vary_design(
        tmp_path, "dgx-a100-10k", ("count: 1250", "count: 900, zones: every"), ("tiers: 3", "tiers: 3\n  zones: 2")
    )
    f = assess_file(path).fabric
    assert f.endpoints_per_zone == (3600, 3600)
    assert (f.switches.leaf, f.switches.spine, f.switches.core) == (360, 360, 240)
    assert f.bisection_gbyte_s == 2 * 3600 * 25 / 2  # the zones carry the nodes' traffic side by side, as planes do


def test_rails_are_counted_per_plane(tmp_path: Path) -> None:
    """1,024 HGX on two planes: 4 rails of 1,024 endpoints (32 leaves, a full pod) in each: 4 x 1,024 / 64 = 64."""
    f = plan(tmp_path, "tiers: 3; planes: 2", "role: compute, server: hgx-h100-8nic, count: 1024").fabric
    assert (f.switches.leaf, f.switches.spine, f.switches.core) == (256, 256, 128)


def test_access_points_are_shared_by_planes_and_zones(tmp_path: Path) -> None:
    f = plan(tmp_path, "tiers: 2; planes: 2; access_points: 512").fabric
    assert (f.access_points, f.switches.leaf, f.spare_ports) == (512, 16, 256)


def test_remainders_of_groups_are_dealt_in_turn(tmp_path: Path) -> None:
    """799 + 801 one-NIC nodes fill two zones of 800 ports exactly."""
    text = vary_design(tmp_path, "fire-flyer-2", ("count: 135, zones: every", "count: 801")).read_text()
    text = text.replace("role: storage, server: fire-flyer-3fs-node", "role: management, server: fire-flyer-2-node")
    start, end = text.index("  inter_zone:"), text.index("  oversubscription")
    path = tmp_path / "two.yaml"
    path.write_text(
        (text[:start] + text[end:]).replace("count: 1250", "count: 799").replace("exclude: [storage, ", "exclude: [")
    )
    a = assess_file(path)
    assert a.fabric.endpoints_per_zone == (800, 800)
    assert "zones-uneven" not in {found.rule for found in a.findings}
    assert a.accelerators == 799 * 8  # those of management nodes do not train


def test_bisection_never_exceeds_half_of_the_endpoints(tmp_path: Path) -> None:
    a = plan(
        tmp_path,
        "tiers: 2; zones: 2; inter_zone: {switches: 10, links_per_zone: 300}",
        "role: compute, server: hgx-h100-8nic, count: 4",
    )
    assert a.fabric.bisection_gbyte_s == 32 * 50 / 2


def test_the_switch_port_limits_a_faster_nic(tmp_path: Path) -> None:
    """8 x 400 Gb/s NICs on 200 Gb/s ports carry 200 GB/s, not 400."""
    a = plan(tmp_path, "tiers: 2", switch="qm8700")
    assert term(collective(a, "nccl"), "nic").gbyte_s == pytest.approx(8 * 25 / (2 * 255 / 256))
    assert a.fabric.port_gbyte_s == 25
    assert "rate-mismatch" in {found.rule for found in a.findings}


def test_a_rail_crosses_the_uplinks_of_its_leaves(tmp_path: Path) -> None:
    """63:1: 64 nodes a rail on leaves of 63, one uplink each. The second leaf has the last node of one rail and 62 of
    the next: rings of two of eight NICs share the uplink, and trees, which cross it once, allow twice as much. Where
    each rail has leaves of its own, its ring passes the uplink as often as its NIC."""
    nodes = "role: compute, server: hgx-h100-8nic, count: {}"
    fabric = "tiers: 2; oversubscription: 1000:1"
    report = collective(plan(tmp_path, fabric, nodes.format(64)), "nccl")
    assert report.bound.algorithm == "nvls-tree"
    assert term(report, "leaf_uplinks").gbyte_s == pytest.approx(50 / (2 / 8))
    assert term(report, "leaf_uplinks").gbyte_s == pytest.approx(term(report, "nic").gbyte_s)
    path = tmp_path / "design.yaml"
    path.write_text(path.read_text().replace("family: fat-tree", "family: rail-optimised"))
    rails = collective(assess_file(path), "nccl")
    assert rails.bound.algorithm == "ring"
    assert term(rails, "leaf_uplinks").gbyte_s == pytest.approx(8 * 50 / (2 * 511 / 512))
    report = collective(plan(tmp_path, fabric, nodes.format(63)), "nccl")
    assert "leaf_uplinks" not in {item.name for item in report.bound.terms}


def test_slow_uplinks_bind(tmp_path: Path) -> None:
    """Fire-Flyer 2 at 39:1, one uplink a leaf, on links of 200 Gb/s: 25 / 2 = 12.5 for the ring, 25 for the trees."""
    path = vary_design(
        tmp_path,
        "fire-flyer-2",
        ("  oversubscription: 1:1\n\n", "  oversubscription: 39:1\n\n"),
        ("  oversubscription: 1:1\n  allreduce", "  allreduce"),
    )
    a = assess_file(path)
    assert term(collective(a, "nccl"), "leaf_uplinks").gbyte_s == pytest.approx(25 / 1.9998)
    # 625 nodes of a zone on leaves of 39: 17 leaves
    assert term(collective(a, "hfreduce"), "leaf_uplinks").gbyte_s == pytest.approx(25 / (2 * 16 / 17))


def test_the_order_of_groups_changes_nothing(tmp_path: Path) -> None:
    groups = ("role: compute, server: hgx-h100-8nic, count: 50", "role: compute, server: fire-flyer-2-node, count: 400")
    one = plan(tmp_path, "tiers: 3; oversubscription: 2:1", *groups).fabric
    two = plan(tmp_path, "tiers: 3; oversubscription: 2:1", *reversed(groups)).fabric
    assert one.oversubscription == two.oversubscription == pytest.approx(42 / 22)
    assert (one.switches.core, one.bisection_gbyte_s) == (two.switches.core, two.bisection_gbyte_s)


def test_ranges_of_memory_and_nics_reach_the_terms(overlay: Path) -> None:
    overlay_part(overlay, "epyc-7502", ("  value: 78.125 %\n", "  value: 78.125 %\n  low: 60 %\n  high: 90 %\n"))
    overlay_part(overlay, "connectx-6-200g", ("value: 96 %,", "value: 96 %, low: 92 %,"))
    report = collective(assess_file("fire-flyer-2", str(overlay)), "hfreduce")
    memory, nic = term(report, "host_memory"), term(report, "nic")
    assert [memory.low_gbyte_s, memory.high_gbyte_s] == pytest.approx([409.6 * 0.6 / 24, 409.6 * 0.9 / 24], rel=1e-3)
    assert [nic.low_gbyte_s, nic.high_gbyte_s] == pytest.approx([11.5, 12.5], rel=1e-3)


def test_the_remedy_names_the_most_that_fits(tmp_path: Path) -> None:
    """191 DGX: 96 in zone 1 take 768 ports and leave 32, 95 in zone 2 leave 40: 33 storage nodes of two NICs fit."""
    text = vary_design(tmp_path, "fire-flyer-2").read_text()
    start, end = text.index("  inter_zone:"), text.index("  oversubscription")
    text = (text[:start] + text[end:]).replace("fire-flyer-2-node, count: 1250", "dgx-a100-320gb, count: 191")
    text = text.replace("[hfreduce, nccl]", "[nccl]")
    path = tmp_path / "design.yaml"
    path.write_text(text.replace("count: 135, zones: every", "count: 37"))
    with pytest.raises(InputError, match="at most 33 storage nodes fit"):
        assess_file(path)
    path.write_text(text.replace("count: 135, zones: every", "count: 33"))
    assert assess_file(path).fabric.endpoints == 191 * 8 + 66


def test_one_link_between_zones_binds_the_trees(tmp_path: Path) -> None:
    fabric = "tiers: 2; zones: 2; inter_zone: {switches: 1, links_per_zone: 1}"
    report = collective(plan(tmp_path, fabric), "nccl")
    assert report.bound.limited_by == "zone_links"
    assert report.bound.algbw_gbyte_s == pytest.approx(50)


def test_zones_that_nothing_joins_bound_an_allreduce_inside_one(tmp_path: Path) -> None:
    a = plan(tmp_path, "tiers: 2; zones: 2")
    report = collective(a, "nccl")
    assert (report.nodes, report.ranks) == (16, 128)
    assert any("stays within one" in text for text in a.assumptions)


def test_more_zones_than_nodes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="33 zones are more than there are nodes"):
        plan(tmp_path, "tiers: 1; zones: 33")


def test_hfreduce_with_nvswitch_moves_one_copy(tmp_path: Path) -> None:
    """c = 1: 1 + 1 + 1 + 2 + 2 + 1 + 1 = 9 operations; the one result is read once, not once per socket."""
    report = collective(plan(tmp_path, "tiers: 2", libraries="hfreduce-nvlink"), "hfreduce-nvlink")
    assert report.ledger_operations == 9
    memory = 16 * 4800 * 8 / 1000 * 0.7975
    assert term(report, "host_memory").gbyte_s == pytest.approx(memory / (1 + 1 + 1 + 2 * TREES + 1 + 1))
    assert term(report, "pcie_link").gbyte_s == pytest.approx(55.4 * 8)  # each GPU moves an eighth
    assert term(report, "nvlink").gbyte_s == pytest.approx(370 / (2 * 7 / 8))  # what a ring reaches of 450
    assert term(report, "nic").gbyte_s == pytest.approx(8 * 50 / TREES)


def test_nccl_on_nvswitch_feeds_its_nics_over_pcie(tmp_path: Path) -> None:
    report = collective(plan(tmp_path, "tiers: 2"), "nccl")
    factor = 2 * 255 / 256
    assert term(report, "pcie_link").gbyte_s == pytest.approx(8 * 55.4 / factor)
    assert term(report, "nvlink").gbyte_s == pytest.approx(370 / (factor * 7 / 8))  # one hop of eight is the NIC's
    assert report.bound.algbw_gbyte_s == pytest.approx(8 * 50 / factor)
    assert report.bound.busbw_gbyte_s == pytest.approx(8 * 50)


def test_nics_load_their_root_port_in_hfreduce(overlay: Path) -> None:
    """The NIC moved to GPU4's port: 1 + 2 in and out of it, 32.4 / 6 = 5.4 GB/s."""
    overlay_part(
        overlay,
        "fire-flyer-2-node",
        ("part: connectx-6-200g, root_port: cpu1-rp3", "part: connectx-6-200g, root_port: cpu1-rp0"),
    )
    report = collective(assess_file("fire-flyer-2", str(overlay)), "hfreduce")
    assert report.bound.limited_by_label == "root port shared by GPU4+NIC0"
    assert report.bound.algbw_gbyte_s == pytest.approx(5.4, rel=1e-3)
    ring = collective(assess_file("fire-flyer-2", str(overlay)), "nccl")
    shared = next(item for item in ring.bound.terms if item.label == "root port shared by GPU4+NIC0")
    assert shared.gbyte_s == pytest.approx(32.4 / (4 * 1.9998))  # one ring in and out, for GPU and for NIC


def test_terms_left_out_for_want_of_figures_are_said(overlay: Path) -> None:
    overlay_part(overlay, "epyc-7502", ("gpu_nic_peer:\n  value: 9 GiB/s\n", "note: >-\n  ignored\n"))
    text = (overlay / "epyc-7502.yaml").read_text()
    start, end = text.index("note: >-\n  ignored"), text.index("power:")
    (overlay / "epyc-7502.yaml").write_text(text[:start].replace("note: The paper", "note: the paper") + text[end:])
    a = assess_file("fire-flyer-2", str(overlay))
    assert any("No GPU to NIC bandwidth through `epyc-7502`" in text for text in a.assumptions)


def test_a_collective_without_terms_is_refused(overlay: Path, tmp_path: Path) -> None:
    part = overlay / "h100-sxm-80gb.yaml"
    overlay_part(overlay, "h100-sxm-80gb")
    lines = part.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("pcie:"))
    part.write_text("\n".join(lines[:start] + lines[start + 4 :]) + "\n")
    overlay_part(overlay, "hgx-h100-8nic", (NVLINK + "\n", ""))
    with pytest.raises(InputError, match="nothing in the catalogue bounds `nccl`"):
        plan(tmp_path, "tiers: 1", "role: compute, server: hgx-h100-8nic, count: 1", parts=str(overlay))


def test_electricity_needs_no_price_book(tmp_path: Path) -> None:
    """32 x 7,650 W + 12 x 747 W + 256 x 2 x (9 + 0.1) W at PUE 1.25 for 8,760 h at 0.10 USD."""
    a = plan(tmp_path, "tiers: 2")
    it = 32 * 7650 + 12 * 747 + 256 * 2 * (9 + 0.1)
    assert a.power.it_kw == pytest.approx(it / 1e3)
    assert a.power.it_maximum_kw == pytest.approx((32 * 10_200 + 12 * 1720 + 256 * 0.1) / 1e3)
    assert a.power.electricity_per_year == pytest.approx(it / 1e3 * 1.25 * 8760 * 0.10)
    assert (a.cost, a.power.electricity_currency) == (None, "USD")
    assert a.power.nodes[0].training_grade == "0.75 x rated"


def test_links_draw_at_both_ends(tmp_path: Path) -> None:
    path = vary_design(tmp_path, "fire-flyer-2", ("endpoint: hdr-dac", "endpoint: hdr-aoc"))
    assert assess_file(path).power.it_kw - assess_file("fire-flyer-2").power.it_kw == pytest.approx(1520 * 2 * 6 / 1e3)


def test_ranges_of_node_prices_combine_both_ways(overlay: Path) -> None:
    from ffplan.studies.compare.compare import compare

    overlay_part(
        overlay,
        "fire-flyer-2-relative",
        ("dgx-a100-320gb: {value: 15.2,", "dgx-a100-320gb: {value: 15.2, low: 15.0, high: 16.0,"),
    )
    designs = tuple(assess_file(name, str(overlay)) for name in ("fire-flyer-2", "dgx-a100-10k"))
    ratios = compare(designs, ("a", "b"), 1).ratios["a"]
    assert (ratios.node_price_low, ratios.node_price_high) == (9.0 / 16.0, 9.12 / 15.0)


def test_overlaid_parts_are_named_in_text(overlay: Path) -> None:
    overlay_part(overlay, "qm8700")
    for form in ("table", "markdown"):
        assert "qm8700 from" in " ".join(
            ffplan("design fire-flyer-2 --full --catalog", str(overlay), "-f", form).out.split()
        )
    assert "your parts" not in ffplan("design", "fire-flyer-2", "--full").out


def test_a_bound_is_message_over_bandwidth_and_a_time_takes_longer() -> None:
    """Fig. 7 of the paper: HFReduce falls from 8.1 GB/s on 16 GPUs to 6.3 on 1,024, NCCL from 4.8 to 1.6."""
    a = assess_file("fire-flyer-2")
    report = collective(a, "hfreduce")
    assert report.bound.time_s == pytest.approx(186 * 2**20 / 8.1e9)
    assert report.time_s == pytest.approx(35.06e-3, abs=5e-6)
    assert report.algbw_gbyte_s == pytest.approx(5.56, abs=0.005)
    rates = {row.gpus: row.algbw_gbyte_s for row in report.scales}
    assert list(rates) == [16, 64, 256, 1024, 4096, 10_000]
    assert rates[16] == pytest.approx(8.1, rel=0.03)
    assert rates[1024] == pytest.approx(6.31, rel=0.03)
    ring = collective(a, "nccl")
    assert (ring.bound.algorithm, ring.algorithm) == ("ring", "tree")
    assert ring.algbw_gbyte_s == pytest.approx(1.65, abs=0.005)


def test_nics_of_hfreduce_share_the_tree(overlay: Path, tmp_path: Path) -> None:
    """Eight NICs carry 2/8 of the message each, beside one GPU with one message: 1.25 in and out of each port."""
    share = "  both_way_share: {value: 100 %, source: recalled}\n"
    limits = "root_port:\n  one_way: {value: 50 GB/s, source: recalled}\n" + share
    overlay_part(overlay, "xeon-8480c", ("power:", f"{limits}power:"))
    a = plan(tmp_path, "tiers: 2", libraries="hfreduce, nccl", parts=str(overlay))
    assert term(collective(a, "hfreduce"), "root_port").gbyte_s == pytest.approx(50 / (2 + 2 * TREES / 8))
    assert "root_port" not in {item.name for item in collective(a, "nccl").bound.terms}  # the ring runs over NVLink


def test_gpus_without_a_bridge_move_whole_messages(overlay: Path) -> None:
    """Three pairs and two single GPUs: five copies; GPU5 (half) and GPU6 (whole) share a port."""
    overlay_part(overlay, "fire-flyer-2-node-nvlink", (", [gpu6, gpu7]]", "]"))
    report = collective(assess_file("fire-flyer-2-nvlink", str(overlay)), "hfreduce-nvlink")
    assert report.ledger_operations == 2 * 5 + 1 + 2 + 2 + 1 + 2
    shared = next(item for item in report.bound.terms if item.label == "root port shared by GPU5+GPU6")
    assert shared.gbyte_s == pytest.approx(32.4 / 3)
    assert term(report, "pcie_link").gbyte_s == 27


def test_as_many_pcie_links_feed_the_nics_as_there_are_nics(overlay: Path) -> None:
    changes = [
        (
            f"nic{i}, part: connectx-6-200g, root_port: cpu1-rp{(i - 4) // 2}, network: compute",
            f"nic{i}, part: connectx-6-200g, root_port: cpu1-rp{(i - 4) // 2}, network: storage",
        )
        for i in range(4, 8)
    ]
    overlay_part(overlay, "dgx-a100-320gb", *changes)
    a = assess_file("dgx-a100-10k", str(overlay))
    assert a.fabric.endpoints == 5000
    assert term(collective(a, "nccl"), "pcie_link").gbyte_s == pytest.approx(4 * 27 / 1.9998)


def test_two_nics_share_the_rings_of_a_pcie_node(overlay: Path) -> None:
    """Each NIC carries one of two rings: 2 x 9 GiB/s of peer-to-peer; half the flow through each NIC's port."""
    nic = "  - {id: nic0, part: connectx-6-200g, root_port: cpu1-rp3, network: both}\n"
    overlay_part(
        overlay,
        "fire-flyer-2-node",
        (nic, nic + nic.replace("nic0", "nic1").replace("cpu1-rp3", "cpu0-rp4")),
        ("      - {id: cpu0-rp3}\n", "      - {id: cpu0-rp3}\n      - {id: cpu0-rp4}\n"),
    )
    overlay_part(overlay, "qm8700", ("ports: {value: 40", "ports: {value: 80"))
    report = collective(assess_file("fire-flyer-2", str(overlay)), "nccl")
    assert term(report, "gpu_nic_peer").gbyte_s == pytest.approx(2 * 9 * 1.073741824 / 1.9998)
    second = next(item for item in report.bound.terms if item.label == "root port of NIC1")
    assert second.gbyte_s == pytest.approx(32.4 / 1.9998)  # one way 37.5 / 0.9999, both ways 32.4 / 1.9998


def test_eight_zones_load_their_links_more_than_two(tmp_path: Path) -> None:
    """Without in-network reduction, 2 x 7/8 bytes leave each of eight zones."""
    fabric = "tiers: 2; zones: 8; inter_zone: {switches: 1, links_per_zone: 1}"
    a = plan(tmp_path, fabric, "role: compute, server: hgx-h100-8nic, count: 64", libraries="hfreduce-nvlink, nccl")
    assert term(collective(a, "hfreduce-nvlink"), "zone_links").gbyte_s == pytest.approx(50 / 1.75)
    assert collective(a, "nccl").bound.limited_by == "zone_links"


def test_rails_that_share_leaves_cross_their_uplinks(tmp_path: Path) -> None:
    """30 DGX at 39:1: 240 NICs on seven leaves of 39: the second has the last 21 of one rail and the first 18 of
    another, and trees of two of eight NICs cross its one uplink."""
    path = vary_design(
        tmp_path,
        "dgx-a100-10k",
        ("count: 1250", "count: 30"),
        ("tiers: 3", "tiers: 2"),
        ("  core_policy: per-rail-whole-pods  # 320 as in the paper; minimal gives 250, equal-stripe 400\n", ""),
        ("oversubscription: 1:1", "oversubscription: 39:1"),
    )
    a = assess_file(path)
    assert a.fabric.switches.leaf == 7
    assert term(collective(a, "nccl"), "leaf_uplinks").gbyte_s == pytest.approx(25 / (2 / 8))


def test_only_the_group_that_communicates_needs_its_inside(overlay: Path, tmp_path: Path) -> None:
    overlay_part(overlay, "fire-flyer-2-node", ("connectx-6-200g, root_port: cpu1-rp3, ", "connectx-6-200g, "))
    groups = ("role: compute, server: hgx-h100-8nic, count: 4", "role: compute, server: fire-flyer-2-node, count: 2")
    assert plan(tmp_path, "tiers: 2", *groups, parts=str(overlay)).accelerators == 48


def test_scale_up_domains_are_a_tier_of_their_own(tmp_path: Path, overlay: Path) -> None:
    """A switch in each DGX; four bridged pairs in each Fire-Flyer node; 18 trays of 4 in an NVL72 rack."""
    dgx = assess_file("dgx-a100-10k").fabric.scale_up
    assert dgx is not None
    assert (dgx.kind, dgx.accelerators_per_domain, dgx.domains, dgx.gbyte_s) == ("switch", 8, 1250, 300.0)
    bridged = assess_file("fire-flyer-2-nvlink").fabric.scale_up
    assert bridged is not None
    assert (bridged.kind, bridged.accelerators_per_domain, bridged.domains) == ("pairs", 2, 5000)
    assert assess_file("fire-flyer-2").fabric.scale_up is None
    overlay_part(overlay, "hgx-h100-8nic", (NVLINK, "nvlink: {switched: true, nodes: 9}"))
    rack = assess_file(
        vary_design(tmp_path, "fire-flyer-next", ("count: 4096", "count: 20")), str(overlay)
    ).fabric.scale_up
    assert rack is not None
    assert (rack.accelerators_per_domain, rack.domains) == (72, 3)


def test_a_rack_of_one_scale_up_switch_is_named_as_such(tmp_path: Path) -> None:
    """A GB200 tray has 4 GPUs, and NVLink joins the 18 trays of a rack: 72, not 4."""
    a = plan(tmp_path, "tiers: 2", "role: compute, server: gb200-nvl72-tray, count: 36")
    assert a.hardware.scale_up.startswith("NVLink switch joins 72 over 18 nodes at ")
    assert a.fabric.scale_up is not None
    assert (a.fabric.scale_up.accelerators_per_domain, a.fabric.scale_up.domains) == (72, 2)


SOLD = ("h100-1k-four-networks", "hpn-dual-plane", "site-h100-100k", "spectrum-x-4096", "superpod-h100-4su")


@pytest.mark.parametrize("name", SOLD)
def test_cables_as_sold_are_those_of_the_bill(name: str) -> None:
    """Over the fabric and the networks beside it, on a floor too: what the bill has, priced or not."""
    found = assess_file(name)
    assert found.cost is not None
    reports = [found.fabric, *(network.fabric for network in found.networks)]
    items = [(line.category, line.quantity) for line in found.cost.lines]
    items += [(item.category, item.quantity) for item in found.cost.missing]
    for category, kind in (("endpoint-links", "endpoint"), ("inter-switch-links", "inter_switch")):
        assert category not in found.cost.excluded
        assert sum(getattr(report.cables_as_sold, kind) for report in reports) == sum(
            quantity for own, quantity in items if own == category
        )


def test_the_report_shows_cables_as_sold_where_they_are_not_the_links() -> None:
    apart, alike = (
        ffplan("design", f"designs/{name}.yaml", "--full").out for name in ("hpn-dual-plane", "superpod-h100-4su")
    )
    assert "  cables as sold   7,680 endpoint, 7,200 between switches\n" in apart
    told = " ".join(apart.split())
    assert "14,400 links between switches take 7,200 cables as sold, pairs of modules: a module serves" in told
    assert "as sold" not in alike
