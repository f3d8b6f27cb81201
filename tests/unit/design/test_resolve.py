"""A design with its parts: what follows from the catalogue's figures, and every fault at its place.

Figures are those of the data sheets: 64 ports of 400 Gb/s (QM9700), eight NICs of 400 Gb/s (DGX H100), 50 GB/s each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.design.resolved import shared_rails
from ffplan.fabric.family import plan_fabric, wire
from tests.support import assess_file, document, overlay_part

if TYPE_CHECKING:
    from pathlib import Path

    from ffplan.design.resolved import ResolvedDesign

TEXT = """\
name: test
nodes:
  - {role: compute, server: hgx-h100-8nic, count: 32}
  - {role: storage, server: fire-flyer-3fs-node, count: 4}
fabric:
  family: fat-tree
  switch: qm9700
  link: {endpoint: 400g-dac, inter_switch: 400g-dr4}
  tiers: 2
site: {pue: 1.25}
"""
CATALOG = Catalog()


def changed(*changes: tuple[str, str]) -> str:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def resolved(*changes: tuple[str, str], catalog: Catalog = CATALOG) -> ResolvedDesign:
    return resolve(document(changed(*changes)), catalog)


def test_what_follows_from_the_parts() -> None:
    plain = resolved()
    assert (plain.radix, plain.port_gbyte_s, plain.link_gbyte_s) == (64, 50.0, 50.0)
    assert (plain.accelerators, plain.compute.accelerators_per_node) == (256, 8)
    assert (plain.planes, plain.stripes, plain.trunk_links, plain.side_by_side) == (1, 1, 0, False)
    assert [item.position for item in plain.groups] == [0, 1]
    assert plain.groups[1].accelerators_per_node == 0


def test_a_split_port_carries_its_part() -> None:
    split = resolved(("  tiers: 2", "  tiers: 2\n  breakout: 2"))
    assert (split.radix, split.port_gbyte_s, split.link_gbyte_s) == (128, 25.0, 25.0)


@pytest.mark.parametrize(
    ("old", "new", "field", "remedy"),
    [
        ("endpoint: 400g-dac", "endpoint: hdr-dac", "endpoint", "`400g-dac`"),
        ("inter_switch: 400g-dr4", "inter_switch: hdr-aoc", "inter_switch", "`400g-aoc`"),
    ],
)
def test_a_split_port_refuses_a_link_named_by_the_split_rate(old: str, new: str, field: str, remedy: str) -> None:
    """The link of 200 Gb/s would be divided by two again, and bisection be half of what 200 Gb/s give."""
    with pytest.raises(InputError) as caught:
        resolved(("  tiers: 2", "  tiers: 2\n  breakout: 2"), (old, new))
    (found,) = caught.value.findings
    assert found.rule == "fabric-breakout"
    assert "carries 200 Gb/s, and `breakout: 2` splits it again" in found.message
    assert remedy in found.remedy
    text = changed(("  tiers: 2", "  tiers: 2\n  breakout: 2"), (old, new))
    assert text.splitlines()[found.line - 1][found.column - 1 :].startswith(new.partition(": ")[2]), field


def test_a_port_with_no_cable_of_its_rate_names_the_rate_wanted(tmp_path: Path) -> None:
    overlay_part(tmp_path, "q3400", ("800 Gb/s, source", "640 Gb/s, source"))
    catalog = Catalog([str(tmp_path)])
    with pytest.raises(InputError) as caught:
        resolved(("switch: qm9700", "switch: q3400"), ("  tiers: 2", "  tiers: 2\n  breakout: 2"), catalog=catalog)
    assert [found.rule for found in caught.value.findings] == ["fabric-breakout"] * 2
    assert "add a link of 640 Gb/s; or remove `breakout`" in caught.value.findings[0].remedy


def test_the_slower_of_port_and_link_counts() -> None:
    """Endpoints on cables of 200 Gb/s, switches joined at 400; then ports of 200 under cables of 400."""
    slow = resolved(("endpoint: 400g-dac", "endpoint: hdr-dac"))
    assert (slow.port_gbyte_s, slow.link_gbyte_s) == (25.0, 50.0)
    old = resolved(("switch: qm9700", "switch: qm8700"))
    assert (old.radix, old.port_gbyte_s, old.link_gbyte_s) == (40, 25.0, 25.0)


def test_one_tier_needs_no_links_between_switches() -> None:
    one = resolved((", inter_switch: 400g-dr4", ""), ("tiers: 2", "tiers: 1"))
    assert one.parts.inter_switch_link is one.parts.endpoint_link


def test_planes_and_stripes() -> None:
    alone = resolved(("family: fat-tree", "family: rail-only"))
    assert (alone.planes, alone.stripes) == (8, 1)  # a plane for each NIC of a compute node
    striped = resolved(("  tiers: 2", "  tiers: 2\n  planes: 4\n  planes_by: port"))
    assert (striped.planes, striped.stripes) == (4, 4)
    assert resolved(("  tiers: 2", "  tiers: 2\n  planes: 4")).stripes == 1


RAILS = (
    ("  - {role: storage, server: fire-flyer-3fs-node, count: 4}\n", ""),
    ("family: fat-tree", "family: rail-only"),
    ("tiers: 2", "tiers: 1"),
)


@pytest.mark.parametrize(("count", "shared"), [(8, 8), (9, 4), (16, 4), (17, 2), (32, 2), (33, 1), (64, 1)])
def test_rails_share_a_switch_where_it_has_ports(count: int, shared: int) -> None:
    """A switch of 64 ports holds 8 rails of 8 nodes, 4 of 16, 2 of 32; never 3 of 20, as 3 does not divide 8."""
    alone = resolved(*RAILS, ("count: 32", f"count: {count}"))
    assert (alone.rails_per_switch, alone.planes) == (shared, 8 // shared)
    assert plan_fabric(alone).switches == 8 // shared


def test_access_points_and_links_to_other_zones_take_ports_of_rails() -> None:
    assert resolved(*RAILS, ("tiers: 1", "tiers: 1\n  access_points: 264")).planes == 8  # 33 a rail
    trunk = "tiers: 1\n  zones: 2\n  inter_zone: {switches: 1, links_per_zone: 16}"
    assert resolved(*RAILS, ("tiers: 1", trunk)).planes == 8 // 2  # 64 - 16 ports hold 3 rails of 16 nodes, so 2


def test_rails_that_share_a_switch_are_wired_to_it() -> None:
    design = resolved(*RAILS)
    fabric = wire(design, plan_fabric(design))
    ports = fabric.network.endpoints
    for plane in range(4):
        assert set(ports.port[ports.plane == plane].tolist()) == {2 * plane, 2 * plane + 1}
    assert (len(fabric.network.switches), np.bincount(ports.leaf).tolist()) == (4, [64] * 4)


@pytest.mark.parametrize(
    ("rails", "ports", "room", "shared"), [(8, 160, 64, 2), (8, 8, 8, 8), (8, 72, 8, 1), (6, 60, 32, 3), (1, 9, 4, 1)]
)
def test_shared_rails(rails: int, ports: int, room: int, shared: int) -> None:
    assert shared_rails(rails, ports, room) == shared
    assert np.broadcast_to(shared_rails(rails, np.array([ports, 10**6]), room), 2).tolist() == [shared, 1]


def test_zones() -> None:
    trunk = ("  tiers: 2", "  tiers: 2\n  zones: 2\n  inter_zone: {switches: 2, links_per_zone: 16}")
    assert (resolved(trunk).trunk_links, resolved(trunk).side_by_side) == (16, False)
    assert resolved(trunk, ("count: 32", "count: 32, zones: every")).side_by_side


def test_a_nic_carries_the_least_of_itself_and_its_ports() -> None:
    """Two ports of 25 GB/s feed a NIC of 50; a third adds nothing; ports may be arrays of many designs."""
    group = resolved().compute
    assert group.fabric_nics == tuple(range(8))
    assert (group.nic_rates(25.0), group.nic_rates(25.0, 2), group.nic_rates(25.0, 3)) == (
        (25.0,) * 8,
        *[(50.0,) * 8] * 2,
    )
    many = group.nic_rates(np.array([12.5, 100.0]))  # type: ignore[arg-type]
    assert np.asarray(many[0]).tolist() == [12.5, 50.0]


@pytest.mark.parametrize(
    ("old", "new", "rule", "line", "there"),
    [
        ("role: compute", "role: management", "design-roles", 3, "- {role: management"),
        ("  tiers: 2\n", "", "schema-missing-field", 6, "family: fat-tree"),
        ("tiers: 2", "tiers: 1\n  oversubscription: 2:1", "design-tiers", 10, "oversubscription"),
        ("tiers: 2", "tiers: 2\n  core_policy: minimal", "design-tiers", 10, "core_policy"),
        ("tiers: 2", "tiers: 2\n  spine_oversubscription: 2:1", "design-tiers", 10, "spine_oversubscription"),
        (", inter_switch: 400g-dr4", "", "schema-missing-field", 8, "{endpoint"),
        ("family: fat-tree", "family: dragonfly", "design-family", 9, "tiers"),
        ("family: fat-tree", "family: rail-only\n  planes: 2", "design-family", 7, "planes"),
        ("tiers: 2", "tiers: 2\n  planes_by: port", "design-family", 10, "planes_by"),
        ("tiers: 2", "tiers: 2\n  scalable_unit: 4", "design-family", 10, "scalable_unit"),
        ("tiers: 2", "tiers: 2\n  breakout: 4", "fabric-divisibility", 10, "4"),
        ("tiers: 2", "tiers: 2\n  inter_zone: {switches: 1, links_per_zone: 1}", "design-zones", 10, "inter_zone"),
        (
            "tiers: 2",
            "tiers: 2\n  zones: 2\n  inter_zone: {switches: 2, links_per_zone: 5}",
            "fabric-divisibility",
            11,
            "5}",
        ),
        ("count: 32}", "count: 32, zones: every}", "design-zones", 3, "every}"),
        ("count: 32}", "count: 32, rack_units: 8}", "design-floor", 3, "8}"),
        (
            "site:",
            "communication: {libraries: [nccl, nccl], message_size: 1 GiB}\nsite:",
            "schema-choice",
            10,
            "nccl], ",
        ),
        ("1.25}", "1.25, currency: EUR, electricity_price: $0.1/kWh}", "currency-mixed", 10, "$0.1"),
        ("server: fire-flyer-3fs-node", "server: hgx-h100-8nic", "reference-kind", 4, "hgx-h100-8nic"),
        ("switch: qm9700", "switch: qm9701", "reference-unknown", 7, "qm9701"),
    ],
)
def test_one_fault_one_finding_at_its_place(old: str, new: str, rule: str, line: int, there: str) -> None:
    text = changed((old, new))
    with pytest.raises(InputError) as caught:
        resolve(document(text), CATALOG)
    (found,) = caught.value.findings
    assert (found.rule, found.line) == (rule, line)
    assert text.splitlines()[line - 1][found.column - 1 :].startswith(there)


def test_all_faults_are_found_at_once() -> None:
    with pytest.raises(InputError) as caught:
        resolved(
            ("hgx-h100-8nic", "hgx"), ("qm9700", "qm"), ("400g-dr4", "dr"), ("tiers: 2", "tiers: 2\n  breakout: 9")
        )
    assert [(item.rule, item.line) for item in caught.value.findings] == [
        ("reference-unknown", 3),
        ("reference-unknown", 7),
        ("reference-unknown", 8),
        ("number-range", 10),
    ]
    with pytest.raises(InputError) as caught:
        resolved(("hgx-h100-8nic", "hgx"), ("qm9700", "qm"), ("400g-dr4", "dr"))
    assert [item.line for item in caught.value.findings] == [3, 7, 8]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            (("dimms: {value: 8", "dimms: {value: 9"), ("channels: {value: 8", "channels: {value: 9")),
            "9 memory channels on `epyc-7502`, which has 8",
        ),
        ((("rate: {value: 3200", "rate: {value: 3600"),), "memory at 3600 MT/s on `epyc-7502`, which takes 3200"),
    ],
)
def test_a_server_is_seen_with_its_parts(overlay: Path, changes: tuple[tuple[str, str], ...], words: str) -> None:
    overlay_part(overlay, "fire-flyer-2-node", *changes)
    with pytest.raises(InputError, match=words):
        resolved(("hgx-h100-8nic", "fire-flyer-2-node"), catalog=Catalog([str(overlay)]))


def test_a_nic_without_a_root_port_is_refused(overlay: Path) -> None:
    """Leaving it out would silently lift NCCL from 4.83 to 8.1 GB/s."""
    overlay_part(overlay, "fire-flyer-2-node", ("connectx-6-200g, root_port: cpu1-rp3, ", "connectx-6-200g, "))
    with pytest.raises(InputError, match="`nic0` hangs on no root port"):
        assess_file("fire-flyer-2", str(overlay))
