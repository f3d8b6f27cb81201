"""Tiers of a fabric that differ: ports of two rates, a switch of its own for each tier, leaves of racks.

Counts of public fabrics: HPN 7.0 (SIGCOMM 2024 and the generator of SimAI), MegaScale (NSDI 2024), Spectrum-X as SimAI
generates it, Meta's cluster of 24,576 GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.cost.bom import cables_sold, fabric_cables
from ffplan.design.resolve import resolve
from ffplan.fabric.family import plan_fabric, wire
from ffplan.studies.design.sections import _tier_switches
from tests.support import ROOT, document, wired

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign

CATALOG = Catalog()
TEXT = """\
name: test
nodes:
  - {role: compute, server: hgx-h100-8nic, count: 64}
fabric:
  family: rail-optimised
  switch: sn5600
  link: {endpoint: 800g-2xdr4, inter_switch: 800g-2xdr4}
  tiers: 2
  breakout: 2
site: {pue: 1.25}
"""


def resolved(*lines: str, **fields: str) -> ResolvedDesign:
    text = TEXT.replace("site:", "".join(f"  {line}\n" for line in lines) + "site:")
    for name, value in fields.items():
        start = text.index(f"  {name}: ")
        text = text[:start] + f"  {name}: {value}" + text[text.index("\n", start) :]
    return resolve(document(text), CATALOG)


@pytest.mark.parametrize(
    ("name", "switches", "links"),
    [
        ("hpn-dual-plane", {"leaf": 240, "spine": 120, "core": 0}, {"endpoint": 30720, "leaf_spine": 14400}),
        (
            "megascale-12288",
            {"leaf": 192, "spine": 192, "core": 96},
            {"endpoint": 12288, "leaf_spine": 6144, "spine_core": 6144},
        ),
        ("spectrum-x-4096", {"leaf": 64, "spine": 64, "core": 0}, {"endpoint": 4096, "leaf_spine": 4096}),
        ("meta-24k-roce", {"leaf": 1536}, {"endpoint": 24576, "leaf_spine": 1536 * 18}),
        ("superpod-b300-4su", {"leaf": 64, "spine": 32, "core": 0}, {"endpoint": 4096, "leaf_spine": 4096}),
    ],
)
def test_public_fabrics_have_their_published_counts(name: str, switches: dict[str, int], links: dict[str, int]) -> None:
    plan = plan_fabric(wired(name).design)
    assert {role: plan.switches_by_role[role] for role in switches} == switches
    assert {tier: plan.links_by_tier[tier] for tier in links} == links


@pytest.mark.parametrize(
    ("name", "endpoint", "between"),
    [
        ("hpn-dual-plane", 30720 // 4, 14400 // 2),  # four ports of 200G, two of 400G on an 800G port
        ("megascale-12288", 12288 // 2, 6144 + 6144),  # one AOC splits a port of 400G for two NICs
        ("spectrum-x-4096", 4096 // 2, 4096 // 2),
        ("meta-24k-roce", 24576, 1536 * 18 + 4032),
    ],
)
def test_public_fabrics_as_sold(name: str, endpoint: int, between: int) -> None:
    """Links over the links that a whole port holds at both ends, as derived from what is published on the ports."""
    design = wired(name).design
    assert cables_sold(fabric_cables(design, plan_fabric(design))) == (endpoint, between)


def test_an_oversubscription_of_16_to_15() -> None:
    plan = plan_fabric(wired("hpn-dual-plane").design)
    assert plan.oversubscription == pytest.approx(16 / 15)
    assert (plan.port_gbyte_s, plan.link_gbyte_s) == (25.0, 50.0)  # 200 and 400 Gb/s


def test_pods_of_meta_hold_192_racks_and_thin_out_seven_to_one() -> None:
    """28 = ceil(192 / 7) links to the cores of each group of 192, and 18 groups: 7 to 1, but for the rounding."""
    plan = plan_fabric(wired("meta-24k-roce").design)
    tree = plan.trees[0]
    assert tree.pod is not None
    assert (tree.full_pods, tree.pod.leaves, tree.pod.up, tree.last_pod) == (8, 192, 28, None)
    assert plan.oversubscription == pytest.approx(16 / 18)


def test_ports_of_two_rates_share_the_whole_ports_of_a_box() -> None:
    """64 ports of 800G: half down as four of 200G, half up as two of 400G; with 60 uplinks, 34 ports are left below."""
    even = plan_fabric(resolved("leaf: {uplink_breakout: 2}", breakout="4"))
    assert (even.downlinks, even.uplinks, even.oversubscription) == (128, 64, 1.0)
    given = plan_fabric(resolved("leaf: {uplinks: 60, uplink_breakout: 2}", breakout="4"))
    assert (given.downlinks, given.uplinks) == (136, 60)
    down = plan_fabric(resolved("leaf: {downlinks: 96, uplink_breakout: 2}", "oversubscription: 2:1", breakout="4"))
    assert (down.downlinks, down.uplinks) == (96, 24)
    more = plan_fabric(resolved("oversubscription: 1:2"))
    assert (more.downlinks, more.uplinks) == (42, 86)
    assert more.oversubscription == pytest.approx(42 / 86)


def test_rails_that_share_a_leaf() -> None:
    """Two rails of 32 nodes fill a leaf of 64 downlinks: four leaves a unit; all eight of eight nodes with one leaf."""
    pairs = resolved("leaf: {rails: 2}")
    plan = plan_fabric(pairs)
    assert plan.switches_by_role["leaf"] == 8
    ends = wire(pairs, plan).network.endpoints
    for leaf in range(8):
        own = ends.leaf == leaf
        assert set(ends.port[own].tolist()) == {2 * (leaf % 4), 2 * (leaf % 4) + 1}
        assert set(ends.node[own].tolist()) == set(range(leaf // 4 * 32, leaf // 4 * 32 + 32))
    racks = resolved(family="top-of-rack")
    found = wire(racks, plan_fabric(racks)).network.endpoints
    assert [set(found.node[found.leaf == leaf].tolist()) for leaf in (0, 7)] == [set(range(8)), set(range(56, 64))]


def test_a_switch_of_its_own_for_the_spines() -> None:
    """Leaves of 64 x 400G under spines of 64 x 800G split in two: half as many spines as with those of the leaves."""
    link = "{endpoint: 400g-dr4, inter_switch: 400g-dr4}"
    one = plan_fabric(resolved(switch="th4-64x400g", breakout="1", link=link))
    own = resolved("spine: {switch: th5-64x800g, breakout: 2}", switch="th4-64x400g", breakout="1", link=link)
    two = plan_fabric(own)
    assert (one.switches_by_role["spine"], two.switches_by_role["spine"]) == (8, 4)
    assert [(row.role, row.switch) for row in _tier_switches(own, two)] == [
        ("leaf", "th4-64x400g"),
        ("spine", "th5-64x800g"),
    ]
    assert two.inter_switch_cables == two.links_by_tier["leaf_spine"]  # whole ports below, split ones above


@pytest.mark.parametrize(
    ("lines", "fields", "rule", "words"),
    [
        (("leaf: {downlinks: 128, uplinks: 60}",), {}, "fabric-divisibility", "take 94 ports of `sn5600`"),
        (("leaf: {uplinks: 8}", "oversubscription: 2:1"), {}, "design-tiers", "has no effect beside the 8 uplinks"),
        (("core: {breakout: 2}",), {}, "design-tiers", "there are no core switches"),
        (("leaf: {downlinks: 8}",), {"tiers": "1"}, "design-tiers", "one tier has no uplinks and no spines"),
        (("spine: {uplinks: 8}",), {}, "design-tiers", "the spines of two tiers have no uplinks"),
        (("spine: {pod_leaves: 8}",), {}, "design-tiers", "two tiers are one pod"),
        (("leaf: {rails: 3}",), {}, "fabric-divisibility", "8 NICs of a node cannot be dealt evenly"),
        (("leaf: {rails: 2}",), {"family": "fat-tree"}, "design-family", "`fat-tree` has no leaves for rails"),
        (("leaf: {rails: 2}",), {"family": "top-of-rack"}, "design-family", "takes every rail"),
        (("spine: {breakout: 1}",), {}, "fabric-breakout", "runs at 800 Gb/s, the uplinks of a leaf at 400 Gb/s"),
        (("spine: {switch: q3400}",), {}, "fabric-breakout", "`q3400` is infiniband, `sn5600` below it ethernet"),
        (("leaf: {uplink_breakout: 8}",), {}, "fabric-divisibility", "is split into 4 at most"),
        (
            ("leaf: {uplink_breakout: 3}",),
            {},
            "fabric-divisibility",
            "do not divide into 3 equal parts, but into 1, 2, 4",
        ),
        (("spine: {downlinks: 200}",), {}, "fabric-divisibility", "of a spine are more than its 128 ports"),
        (
            ("spine: {pod_leaves: 100, uplinks: 40}",),
            {"tiers": "3"},
            "fabric-divisibility",
            "100 downlinks and 40 uplinks of a spine are more than its 128 ports",
        ),
        (("leaf: {uplinks: 60}", "spine: {per_pod: 7}"), {}, "fabric-divisibility", "cannot be dealt evenly over 7"),
        (("leaf: {downlinks: 4, uplinks: 4}",), {"family": "top-of-rack"}, "fabric-divisibility", "with 8 NICs each"),
        (
            ("leaf: {downlinks: 8, uplinks: 64}", "spine: {per_pod: 2}"),
            {},
            "fabric-capacity",
            "the ports of 2 spines are fewer",
        ),
        (("spine: {per_pod: 96}",), {"tiers": "3"}, "fabric-divisibility", "cannot be dealt evenly over 96 spines"),
        (
            ("spine: {pod_leaves: 2, uplinks: 48, per_pod: 96}",),
            {"tiers": "3"},
            "fabric-divisibility",
            "cannot be dealt evenly over 96 spines",
        ),
        (("leaf: {uplinks: 128}",), {}, "fabric-divisibility", "128 uplinks leave no port for endpoints on `sn5600`"),
        (("leaf: {downlinks: 96}",), {}, "fabric-divisibility", "96 downlinks at `oversubscription: 1:1` want 96 up"),
        (("spine: {pod_leaves: 96}",), {"tiers": "3"}, "fabric-divisibility", "want 96 uplinks of a spine; 32 ports"),
    ],
)
def test_what_tiers_refuse(lines: tuple[str, ...], fields: dict[str, str], rule: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        plan_fabric(resolved(*lines, **fields))
    found = caught.value.findings[0]
    assert (found.rule, words in found.message) == (rule, True), found.message
    assert found.remedy
    assert found.line > 4


def test_halves_that_lead_apart_share_their_modules() -> None:
    """An HPN leaf has 60 uplinks on 30 ports: 14,400 fibres, and 7,200 pairs of modules that serve two each."""
    plan = plan_fabric(wired("hpn-dual-plane").design)
    assert (plan.inter_switch_cables, plan.inter_switch_parts) == (14_400, 7_200)
    copper = plan_fabric(resolved("leaf: {uplinks: 64}", link="{endpoint: 800g-dac, inter_switch: 800g-dac}"))
    assert copper.inter_switch_parts == copper.inter_switch_cables


def test_uplinks_of_a_spine_are_those_of_all_its_groups() -> None:
    """Two groups of 192 leaves on a spine of 576 ports, with 56 uplinks in all: 28 a group, nine spines and cores."""
    text = (ROOT / "designs" / "meta-24k-roce.yaml").read_text(encoding="utf-8")
    given = text.replace("pod_leaves: 192}", "pod_leaves: 192, uplinks: 56}").replace(
        "  spine_oversubscription: 7:1\n", ""
    )
    plan, ratio = plan_fabric(resolve(document(given), CATALOG)), plan_fabric(resolve(document(text), CATALOG))
    assert (plan.switches_by_role["spine"], plan.switches_by_role["core"]) == (72, 9)
    assert plan.links_by_tier["spine_core"] == 72 * 56
    assert plan.switches_by_role == ratio.switches_by_role
