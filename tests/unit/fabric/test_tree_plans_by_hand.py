"""Trees of designs on switches of 8, 12 and 16 ports, worked by hand, and what cannot be built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.fabric.sizing.tree_plan import _plan_trees, base_rule
from tests.support import SMALL, document

if TYPE_CHECKING:
    from ffplan.fabric.sizing.plan import FabricPlan

CATALOG = Catalog([str(SMALL / "parts")])
ONE_NIC = "hdr-dac, inter_switch: hdr-aoc"
TEXT = """\
name: test
nodes:
  - {{role: compute, server: {server}, count: {count}}}
fabric:
  family: fat-tree
  switch: {switch}
  link: {{endpoint: {link}}}
{lines}site: {{pue: 1.25}}
"""


def text_of(count: int, *lines: str, switch: str = "tiny-8x200g", server: str = "fire-flyer-2-node") -> str:
    link = ONE_NIC if server == "fire-flyer-2-node" else "400g-dr4, inter_switch: 400g-dr4"
    own = "".join(f"  {line}\n" for line in lines)
    return TEXT.format(count=count, switch=switch, server=server, link=link, lines=own)


def planned(count: int, *lines: str, switch: str = "tiny-8x200g", server: str = "fire-flyer-2-node") -> FabricPlan:
    """Return the trees of nodes with one NIC of 25 GB/s, or of another server."""
    return _plan_trees(resolve(document(text_of(count, *lines, switch=switch, server=server)), CATALOG))


def refused(count: int, *lines: str) -> tuple[str, str]:
    """Return the message and the remedy of what cannot be built."""
    with pytest.raises(InputError) as error:
        planned(count, *lines)
    (finding,) = error.value.findings
    return finding.message, finding.remedy


@pytest.mark.parametrize(
    ("count", "lines", "ports", "switches", "links", "spare", "bisection"),
    [
        # one switch; seven of its eight ports
        (7, ("tiers: 1",), (0, 8), (1, 0, 0), (0, 0), (1, 0, 0), 87.5),
        # leaves of four up and four down; two spines of eight
        (14, ("tiers: 2",), (4, 4), (4, 2, 0), (16, 0), (2, 0, 0), 175),
        # at 3:1 two links leave each leaf
        (12, ("tiers: 2", "leaf: {downlinks: 6}", "oversubscription: 3:1"), (2, 6), (2, 1, 0), (4, 0), (0, 4, 0), 50),
        # 5 downlinks at 2:1 want 2.5 uplinks; leaves of 5, 5 and 2 endpoints send 75, 75 and 50 GB/s
        (12, ("tiers: 2", "leaf: {downlinks: 5}", "oversubscription: 2:1"), (3, 5), (3, 3, 0), (9, 0), (3, 15, 0), 100),
        # three uplinks leave five ports
        (12, ("tiers: 2", "leaf: {uplinks: 3}"), (3, 5), (3, 3, 0), (9, 0), (3, 15, 0), 100),
        (12, ("tiers: 2", "leaf: {downlinks: 4, uplinks: 2}"), (2, 4), (3, 1, 0), (6, 0), (0, 2, 0), 75),
        (12, ("tiers: 2", "spine: {per_pod: 4}"), (4, 4), (3, 4, 0), (12, 0), (0, 20, 0), 150),
        # a pod of four leaves, and one of two
        (24, ("tiers: 3",), (4, 4), (6, 6, 4), (24, 24), (0, 0, 8), 300),
        (23, ("tiers: 3", "oversubscription: 3:1"), (2, 6), (4, 2, 2), (8, 8), (1, 0, 8), 100),
        # one pod of six leaves: four spines of six links down and two up
        (
            24,
            ("tiers: 3", "spine: {downlinks: 6}", "spine_oversubscription: 3:1"),
            (4, 4),
            (6, 4, 4),
            (24, 8),
            (0, 0, 24),
            300,
        ),
        # spines of twelve ports: two for six leaves; in three tiers six down and six up
        (24, ("tiers: 2", "spine: {switch: tiny-12x200g}"), (4, 4), (6, 2, 0), (24, 0), (0, 0, 0), 300),
        (24, ("tiers: 3", "spine: {switch: tiny-12x200g}"), (4, 4), (6, 4, 4), (24, 24), (0, 0, 24), 300),
        # 21 access points take six leaves; 13 nodes are on them
        (13, ("tiers: 2", "access_points: 21"), (4, 4), (6, 4, 0), (24, 0), (11, 8, 0), 162.5),
    ],
)
def test_trees_of_a_zone(
    count: int,
    lines: tuple[str, ...],
    ports: tuple[int, int],
    switches: tuple[int, int, int],
    links: tuple[int, int],
    spare: tuple[int, int, int],
    bisection: float,
) -> None:
    """Switches of eight ports: uplinks and downlinks, switches, links, spare ports by tier, and the bisection."""
    plan = planned(count, *lines)
    tiers = int(lines[0].removeprefix("tiers: "))
    assert (plan.uplinks, plan.downlinks, plan.tiers, plan.radix) == (*ports, tiers, 8)
    assert plan.switches_by_role == dict(zip(("leaf", "spine", "core"), switches, strict=True)) | {"interzone": 0}
    tier_links = {"endpoint": count, "leaf_spine": links[0], "spine_core": links[1], "interzone": 0}
    assert plan.links_by_tier == tier_links
    assert plan.spare_by_role == dict(zip(("leaf", "spine", "core"), spare, strict=True)) | {"interzone": 0}
    assert plan.bisection_gbyte_s == pytest.approx(bisection)
    assert plan.oversubscription == pytest.approx(ports[1] / ports[0] if tiers > 1 else 1)
    assert (plan.endpoint_cables, plan.inter_switch_cables, plan.inter_switch_parts) == (count, sum(links), sum(links))
    assert (plan.zone_oversubscription, plan.endpoints_per_zone) == (None, (count,))
    assert (plan.port_gbyte_s, plan.link_gbyte_s) == (25, 25)


@pytest.mark.parametrize(("lines", "ports", "leaf"), [((), 13, (3, 3)), (("access_points: 15",), 16, (3, 3))])
def test_zones_and_the_links_between_them(lines: tuple[str, ...], ports: int, leaf: tuple[int, int]) -> None:
    """Zones of seven and six nodes with four links to two switches each: three leaves of four downlinks a zone.

    Where 15 access points are asked for, each zone has eight, which fill three leaves with the four links.
    """
    plan = planned(13, "tiers: 2", "zones: 2", "inter_zone: {switches: 2, links_per_zone: 4}", *lines)
    assert (plan.endpoints, plan.endpoints_per_zone, plan.access_points) == (13, (7, 6), ports)
    assert tuple(tree.leaf for tree in plan.trees) == leaf
    assert plan.switches_by_role == {"leaf": 6, "spine": 4, "core": 0, "interzone": 2}
    assert plan.links_by_tier == {"endpoint": 13, "leaf_spine": 24, "spine_core": 0, "interzone": 8}
    assert plan.spare_by_role == {"leaf": 24 - 8 - 13, "spine": 32 - 24, "core": 0, "interzone": 16 - 8}
    assert (plan.inter_switch_cables, plan.inter_switch_parts) == (24 + 8, 24 + 8)
    assert plan.zone_oversubscription == 7 / 4
    assert plan.bisection_gbyte_s == 4 * 25


def test_planes_double_everything() -> None:
    """Fourteen nodes of eight NICs in two planes: 56 endpoints each on seven leaves of eight, under four spines."""
    plan = planned(14, "tiers: 2", "planes: 2", switch="tiny-16x400g", server="hgx-h100-8nic")
    assert (plan.planes, plan.zones, plan.endpoints, plan.access_points) == (2, 1, 112, 112)
    assert plan.switches_by_role == {"leaf": 14, "spine": 8, "core": 0, "interzone": 0}
    assert plan.links_by_tier == {"endpoint": 112, "leaf_spine": 112, "spine_core": 0, "interzone": 0}
    assert plan.spare_by_role == {"leaf": 0, "spine": 2 * (64 - 56), "core": 0, "interzone": 0}
    assert plan.bisection_gbyte_s == 112 * 50 / 2
    assert (plan.endpoint_cables, plan.inter_switch_cables, plan.inter_switch_parts) == (112, 112, 112)


def test_split_ports_share_cables_with_their_neighbours() -> None:
    """Ports of 400G split in two: 32 of 200G a switch. 14 nodes of eight NICs take seven leaves of 16 down and 16 up;
    each leaf has four links to each of four spines, two to a cable."""
    plan = planned(14, "tiers: 2", "breakout: 2", switch="tiny-16x400g", server="hgx-h100-8nic")
    assert (plan.radix, plan.breakout, plan.uplinks, plan.downlinks) == (32, 2, 16, 16)
    assert (plan.port_gbyte_s, plan.link_gbyte_s) == (25, 25)
    assert plan.switches_by_role == {"leaf": 7, "spine": 4, "core": 0, "interzone": 0}
    assert (plan.links_by_tier["endpoint"], plan.endpoint_cables) == (112, 56)
    assert (plan.links_by_tier["leaf_spine"], plan.inter_switch_cables) == (112, 56)


def test_ports_of_other_switches_above() -> None:
    """The rule names what differs from the tier below alone."""
    for lines, spine, core in (
        ((), None, None),
        (("spine: {switch: tiny-12x200g}",), 12, None),
        (("core: {switch: tiny-12x200g}",), None, 12),
    ):
        rule = base_rule(resolve(document(text_of(24, "tiers: 3", *lines)), CATALOG))
        assert (rule.radix, rule.spine_radix, rule.core_radix, rule.rails) == (8, spine, core, 1)


@pytest.mark.parametrize(
    ("count", "lines", "message", "remedy"),
    [
        (13, ("tiers: 2", "access_points: 12"), "12 access points are fewer than the 13", "raise `access_points`"),
        (33, ("tiers: 2",), "a two-tier tree of 8-port switches has 32", "at most 32 compute nodes fit"),
        (9, ("tiers: 1",), "a one-tier tree of 8-port switches has 8", "at most 8 compute nodes fit"),
        (
            12,
            ("tiers: 2", "leaf: {downlinks: 6}"),
            "6 downlinks at `oversubscription: 1:1` want 6 uplinks; 2 ports of `tiny-8x200g` are left for them",
            "use fewer downlinks",
        ),
        (
            12,
            ("tiers: 2", "spine: {per_pod: 3}"),
            "the 4 uplinks of a leaf cannot be dealt evenly over 3 spines",
            "use 1 or 2 or 4",
        ),
        (
            12,
            ("tiers: 2", "spine: {per_pod: 1}"),
            "the ports of 1 spine are fewer than the links of 3 leaves",
            "use more spines",
        ),
        (24, ("tiers: 3", "spine: {per_pod: 1}"), "1 spine of 8 ports cannot hold a pod of 4 leaves", "use 4"),
        (
            24,
            ("tiers: 3", "spine: {pod_leaves: 6}"),
            "6 leaves of a pod at `spine_oversubscription: 1:1` want 6 uplinks of a spine; 2 ports are left for them",
            "use smaller pods",
        ),
        (
            24,
            ("tiers: 3", "spine: {downlinks: 5}", "spine_oversubscription: 3:2"),
            "5 leaves of a pod at `spine_oversubscription: 1.5:1` want 4 uplinks of a spine; 3 ports are left",
            "use smaller pods",
        ),
        (
            13,
            ("tiers: 2", "zones: 2", "inter_zone: {switches: 1, links_per_zone: 5}"),
            "10 links between zones need more ports than 1 inter-zone switches of 8 ports have (8)",
            "use at most 4 links per zone",
        ),
    ],
)
def test_what_cannot_be_built(count: int, lines: tuple[str, ...], message: str, remedy: str) -> None:
    found = refused(count, *lines)
    assert message in found[0]
    assert found[1].startswith(remedy)


@pytest.mark.parametrize(
    ("count", "lines"),
    [
        (32, ("tiers: 2",)),
        (8, ("tiers: 1",)),
        (13, ("tiers: 2", "access_points: 13")),
        (16, ("tiers: 2", "spine: {per_pod: 2}")),
        (13, ("tiers: 2", "zones: 2", "inter_zone: {switches: 1, links_per_zone: 4}")),
        (24, ("tiers: 3", "spine: {pod_leaves: 4}")),
        (24, ("tiers: 3", "spine: {downlinks: 5}", "spine_oversubscription: 2:1")),
        (24, ("tiers: 3", "spine: {per_pod: 4}")),
    ],
)
def test_what_just_fits(count: int, lines: tuple[str, ...]) -> None:
    assert planned(count, *lines).endpoints == count


def test_pods_that_carry_unlike_shares() -> None:
    """At 3:1 above the leaves a pod of six leaves sends 4 x 2 links of 25 GB/s; the last one, of one node, sends 25."""
    plan = planned(25, "tiers: 3", "spine_oversubscription: 3:1")
    (tree,) = plan.trees
    assert tree.pod is not None
    assert tree.last_pod is not None
    assert (tree.full_pods, tree.pod.leaves, tree.pod.up) == (1, 6, 2)
    assert (tree.last_pod.leaves, tree.last_pod.up) == (1, 1)
    assert plan.bisection_gbyte_s == pytest.approx((200 + 25) / 2)


def test_the_smaller_zone_bounds_the_bisection_of_both() -> None:
    """Seven and six nodes with eight links: half of the nodes, 6 x 25 GB/s, sends to the other half."""
    plan = planned(13, "tiers: 2", "zones: 2", "inter_zone: {switches: 2, links_per_zone: 8}")
    assert plan.bisection_gbyte_s == 150


def test_ports_of_two_splits_are_shared_by_whole_ones() -> None:
    """Half of eight ports go down in four, half up in two; 3:1 leaves two of them for four uplinks."""
    for ratio, up, down in (("1:1", 8, 16), ("3:1", 4, 24)):
        plan = planned(14, "tiers: 2", "breakout: 4", "leaf: {uplink_breakout: 2}", f"oversubscription: {ratio}")
        assert (plan.uplinks, plan.downlinks) == (up, down)
        assert (plan.port_gbyte_s, plan.link_gbyte_s) == (25 / 4, 25 / 2)


@pytest.mark.parametrize(
    ("unit", "lines", "words", "remedy"),
    [
        (9, (), "9 nodes of a scalable unit do not fit on a leaf with 8 downlinks", "use at most 8"),
        (5, ("leaf: {rails: 2}",), "5 nodes of a scalable unit with 2 NICs each do not fit", "use at most 4"),
        (8, (), "", ""),
        (4, ("leaf: {rails: 2}",), "", ""),
    ],
)
def test_units_that_fit_on_their_leaves(unit: int, lines: tuple[str, ...], words: str, remedy: str) -> None:
    given = ("tiers: 2", f"scalable_unit: {unit}", *lines)
    text = text_of(14, *given, switch="tiny-16x400g", server="hgx-h100-8nic").replace("fat-tree", "rail-optimised")
    design = resolve(document(text), CATALOG)
    if not words:
        assert _plan_trees(design).endpoints == 112
        return
    with pytest.raises(InputError) as error:
        _plan_trees(design)
    assert words in error.value.findings[0].message
    assert error.value.findings[0].remedy == remedy
