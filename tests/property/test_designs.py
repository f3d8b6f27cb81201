"""Any design that is accepted can be wired: every family, with zones, planes, splits and several groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from ffplan.base.errors import InputError
from ffplan.catalog.store import Catalog
from ffplan.design.resolve import resolve
from ffplan.fabric.family import plan_fabric, wire
from ffplan.fabric.routing.degraded import _links_alive
from ffplan.fabric.routing.tree_routing import TreeRouting
from ffplan.fabric.wiring.cabling import _first_of_cables
from ffplan.fabric.wiring.names import Names
from ffplan.fabric.wiring.network import CORE, INTERZONE, LEAF, SPINE
from ffplan.studies.fabric.switch_loss import worst_switch_loss
from tests.fabrics import bisection, ports_used
from tests.property.test_routing import assert_walks
from tests.property.test_wiring import ports
from tests.support import document, examples

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign

CATALOG = Catalog()
SELDOM = st.integers(0, 3).map(lambda value: value == 0)


@st.composite
def tiers_of(draw: st.DrawFn, tiers: int) -> list[str]:
    """Return fields of the tiers: switches of one kind and ratios, or ports that the design gives, of two rates."""
    split, leaf, spine = draw(st.sampled_from([1, 1, 2])), {}, {}
    found = [f"breakout: {split}"]
    if draw(SELDOM):
        leaf["uplink_breakout"] = draw(st.sampled_from([1, 2]))
    if draw(SELDOM):
        leaf["downlinks"] = draw(st.integers(8, 24))
    if draw(SELDOM):
        leaf["uplinks"] = draw(st.integers(1, 20))
    else:
        found.append(f"oversubscription: {draw(st.sampled_from(['1:1', '2:1', '3:1', '1:2', '16:15']))}")
    if draw(SELDOM):
        spine[draw(st.sampled_from(["downlinks", "pod_leaves"][: tiers - 1]))] = draw(st.integers(12, 38))
    if tiers == 3:
        found.append(f"core_policy: {draw(st.sampled_from(['minimal', 'per-rail-whole-pods', 'equal-stripe']))}")
        if draw(SELDOM):
            spine["uplinks"] = draw(st.integers(1, 20))
        else:
            found.append(f"spine_oversubscription: {draw(st.sampled_from(['1:1', '2:1', '7:1']))}")
    if "uplinks" in leaf and draw(st.booleans()):
        spine["per_pod"] = leaf["uplinks"]
    for name, fields in (("leaf", leaf), ("spine", spine)):
        if fields:
            found.append(f"{name}: {{{', '.join(f'{key}: {value}' for key, value in fields.items())}}}")
    return found


@st.composite
def designs(draw: st.DrawFn) -> str:
    family = draw(st.sampled_from(["fat-tree", "rail-optimised", "top-of-rack", "rail-only"]))
    tiers = draw(st.integers(1, 3))
    zones = draw(st.integers(1, 3))
    fabric = [f"family: {family}", "switch: qm8700", f"tiers: {tiers}", f"zones: {zones}"]
    fabric.append("link: {endpoint: hdr-dac, inter_switch: hdr-aoc}")
    planed = family != "rail-only" and draw(SELDOM)
    if planed:
        fabric.append(f"planes: {draw(st.sampled_from([2, 4, 8]))}")
        if draw(st.booleans()):
            fabric.append("planes_by: port")
    if zones > 1 and draw(st.booleans()):
        each = draw(st.integers(1, 4))
        fabric.append(f"inter_zone: {{switches: {each}, links_per_zone: {each * draw(st.integers(1, 5))}}}")
    if tiers > 1:
        fabric += draw(tiers_of(tiers))
        if family in ("rail-optimised", "top-of-rack") and draw(st.booleans()):
            fabric.append(f"scalable_unit: {draw(st.integers(1, 20 if family == 'rail-optimised' else 2))}")
    nodes = [("compute", draw(st.sampled_from(["dgx-a100-320gb", "fire-flyer-2-node"])), draw(st.integers(1, 160)))]
    if draw(st.booleans()):
        nodes.append(("storage", "fire-flyer-3fs-node", draw(st.integers(1, 40))))
    if draw(st.booleans()):
        nodes.append(("compute", "fire-flyer-2-node", draw(st.integers(1, 60))))
    places = ["every" if zones > 1 and not planed and draw(SELDOM) else "split" for _ in nodes]
    groups = "\n".join(
        f"  - {{role: {role}, server: {server}, count: {count}, zones: {place}}}"
        for (role, server, count), place in zip(nodes, places, strict=True)
    )
    return (
        f"name: any\nnodes:\n{groups}\nfabric:\n" + "\n".join(f"  {line}" for line in fabric) + "\nsite: {pue: 1.2}\n"
    )


def accepted(text: str) -> ResolvedDesign:
    """Return the design, where it is one that ffplan accepts."""
    try:
        design = resolve(document(text), CATALOG)
        plan_fabric(design)
    except InputError:
        assume(False)
        raise
    return design


@given(designs())
@examples(250)
def test_the_wired_fabric_is_the_planned_one(text: str) -> None:
    design = accepted(text)
    plan = plan_fabric(design)
    fabric = wire(design, plan)
    network = fabric.network
    used = ports(network)
    assert len(np.unique(used)) == len(used)
    assert ports_used(network).max() <= network.radix
    assert (network.links.b_port < network.radix).all()
    roles = [network.count(role) for role in (LEAF, SPINE, CORE, INTERZONE)]
    assert roles == list(plan.switches_by_role.values())
    assert network.links_by_tier() == {tier: count for tier, count in plan.links_by_tier.items() if count}
    assert len({*Names(design, fabric).devices()}) == len(network.switches) + len(network.endpoints)


@given(designs())
@examples(120)
def test_cables_are_counted_as_they_are_laid(text: str) -> None:
    design = accepted(text)
    plan = plan_fabric(design)
    fabric = wire(design, plan)
    first, _ = _first_of_cables(design, fabric)
    tier = fabric.network.links.tier[first]
    assert (tier > 0).sum() == plan.inter_switch_cables
    assert (tier == 0).sum() == plan.endpoint_cables


@given(designs())
@examples(120)
def test_the_planned_bisection_is_what_the_wires_carry(text: str) -> None:
    """For one group of nodes on zones that are joined, or on one; several groups differ by how they share leaves."""
    design = accepted(text)
    plan = plan_fabric(design)
    fabric = wire(design, plan)
    spec = design.spec.fabric
    assume(len(design.groups) == 1 and spec.zones == 1)
    nothing = np.zeros(0, np.int64)
    wired = bisection(fabric, _links_alive(fabric.network, nothing, nothing)).sum()
    assert np.isclose(plan.bisection_gbyte_s, wired, rtol=1e-5)


@given(designs(), st.integers(0, 2**31))
@examples(120)
def test_flows_arrive_wherever_something_joins_their_ends(text: str, seed: int) -> None:
    design = accepted(text)
    fabric = wire(design, plan_fabric(design))
    src, dst = np.random.default_rng(seed).integers(0, len(fabric.network.endpoints), (2, 300))
    router = TreeRouting(fabric)
    routes = router.paths(src, dst)
    assert_walks(fabric, src, dst, routes.links, routes.reached)
    assert (routes.reached == router.connected(src, dst)).all()


def cut_off_by_brute_force(design: ResolvedDesign) -> int:
    """Remove each switch in turn; count the accelerators outside the largest part of what was joined before."""
    network = wire(design, plan_fabric(design)).network
    graph: nx.Graph[tuple[str, int]] = nx.Graph()
    graph.add_nodes_from(("switch", number) for number in range(len(network.switches)))
    for at, (group, node, leaf) in enumerate(
        zip(
            network.endpoints.group.tolist(),
            network.endpoints.node.tolist(),
            network.endpoints.leaf.tolist(),
            strict=True,
        )
    ):
        if design.groups[group].accelerators_per_node:
            graph.add_edge((f"nodes {group}", node), ("switch", leaf), at=at)
    links = network.links
    for a, b, tier in zip(links.a.tolist(), links.b.tolist(), links.tier.tolist(), strict=True):
        if tier:
            graph.add_edge(("switch", a), ("switch", b))

    def accelerators(part: set[tuple[str, int]]) -> int:
        kinds = [kind for kind, _ in part if kind != "switch"]
        return sum(design.groups[int(kind.split()[1])].accelerators_per_node for kind in kinds)

    worst = 0
    for part in list(nx.connected_components(graph)):
        for device in part:
            if device[0] == "switch":
                rest = graph.subgraph(part - {device})
                parts = (left for left in nx.connected_components(rest) if any(kind == "switch" for kind, _ in left))
                left = max(map(accelerators, parts), default=0)  # a node without a switch is no part
                worst = max(worst, accelerators(part) - left)
    return worst


@given(designs())
@examples(40)
def test_the_worst_loss_of_a_switch_is_the_one_that_brute_force_finds(text: str) -> None:
    design = accepted(text)
    plan = plan_fabric(design)
    assume(plan.switches < 80)
    assert worst_switch_loss(design, plan) == cut_off_by_brute_force(design)


def test_a_lone_spine_parts_the_cluster() -> None:
    """Three leaves of 32 ports for 9 nodes of 8 NICs: without the spine, 4 nodes still reach each other."""
    text = (
        "name: pod\nnodes: [{role: compute, server: hgx-h100-8nic, count: 9}]\n"
        "fabric:\n  family: top-of-rack\n  switch: qm9700\n  link: {endpoint: 400g-dac, inter_switch: 400g-dr4}\n"
        "  tiers: 2\n  leaf: {downlinks: 32, uplinks: 4}\nsite: {pue: 1.2}\n"
    )
    design = resolve(document(text), CATALOG)
    assert worst_switch_loss(design, plan_fabric(design)) == (9 - 4) * 8


def test_no_more_crosses_an_even_split_than_half_of_the_endpoints_send() -> None:
    """Seven nodes of four NICs and two of eight, 50 GB/s each: 44 ports, though leaves count full ones."""
    text = (
        "name: mixed\nnodes:\n  - {role: compute, server: gb200-nvl72-tray, count: 7}\n"
        "  - {role: compute, server: hgx-h100-8nic, count: 2}\n"
        "fabric: {family: top-of-rack, switch: qm9700, link: {endpoint: 400g-dr4, inter_switch: 400g-dr4}, tiers: 2}\n"
        "site: {pue: 1.2}\n"
    )
    assert plan_fabric(resolve(document(text), CATALOG)).bisection_gbyte_s == 44 * 50 / 2
