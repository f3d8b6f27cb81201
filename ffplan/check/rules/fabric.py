"""Rules on the fabric: its tiers, zones and ports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import number, plural
from ffplan.check.rule import Breach, rule
from ffplan.fabric.sizing.striping import EVEN, difference, even_remedy, uneven
from ffplan.fabric.sizing.tree_plan import base_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.check.rule import Examined
    from ffplan.design.schema import Fabric


@rule(
    "empty-group",
    title="A dragonfly has a group that no endpoint needs",
    why="A dragonfly has two groups at least. If one holds every endpoint, the other is useless.",
    example="nodes: [{role: compute, server: dgx-a100-320gb, count: 20}]\nfabric: {family: dragonfly, switch: qm8700}",
    good="nodes: [{role: compute, server: dgx-a100-320gb, count: 1250}]\nfabric: {family: dragonfly, switch: qm8700}",
    fix="Use a fat tree, or build the ports of the growth that is planned.",
    severity=Severity.WARNING,
)
def _empty_group(examined: Examined) -> Iterator[Breach]:
    design, plan = examined.design, examined.fabric
    shape = plan.dragonfly
    ports = plan.access_points // plan.planes
    if shape is None or ports > shape.group_ports:
        return
    tiers = 1 if ports <= design.radix else 2
    where = " of a plane" if plan.planes > 1 else ""
    yield Breach(
        path=("fabric", "family"),
        message=f"the {ports:,} ports{where} fit into one group of {shape.routers:,} routers, which has "
        f"{shape.group_ports:,}; a dragonfly has two groups at least, so {shape.routers:,} of {2 * shape.routers:,} "
        "routers are empty",
        remedy=f"write `family: fat-tree` and `tiers: {tiers}`, or state the growth in `access_points`",
    )


@rule(
    "fabric-full",
    title="No leaf port is free",
    why="A failed port cannot be replaced by another, and no node or management host can be added.",
    example="nodes: [{role: compute, server: fire-flyer-2-node, count: 800}]\nfabric: {tiers: 2, switch: qm8700}",
    good="nodes: [{role: compute, server: fire-flyer-2-node, count: 750}]\nfabric: {tiers: 2, switch: qm8700}",
    fix="Keep some ports free.",
    severity=Severity.INFO,
)
def _fabric_full(examined: Examined) -> Iterator[Breach]:
    fabric = examined.assessment.fabric
    # Only leaves come first in `by_role`: free ports of a spine take no node.
    set_aside = any(row.unused_ports for row in fabric.by_role[:1])
    if fabric.spare_ports == 0 and not set_aside:
        yield Breach(
            path=("fabric",),
            message="every leaf port is taken: no port is free for growth, management or repair",
            remedy="keep some ports free, or accept it knowingly",
            key=True,
        )


@rule(
    "fewer-cores",
    title="Another core policy would need fewer switches",
    why="OpenSM's ftree engine needs as many links from a spine to each of its cores, unless its roots are named. "
    "Fabrics with another routing engine can do with fewer cores.",
    example="fabric: {tiers: 3, switch: qm8700, core_policy: equal-stripe, ...}  # 10,000 endpoints, 400 cores",
    good="fabric: {tiers: 3, switch: qm8700, core_policy: minimal, ...}",
    fix="Keep even striping for even loads, or name another policy.",
    severity=Severity.INFO,
)
def _fewer_cores(examined: Examined) -> Iterator[Breach]:
    fabric = examined.assessment.fabric
    if fabric.core_policy != EVEN:
        return
    totals = fabric.switches_by_core_policy
    even = totals[EVEN]
    fewer = [f"`{policy}` needs {difference(even, count)}" for policy, count in totals.items() if count < even]
    if fewer:
        best = min(totals, key=lambda policy: (totals[policy], policy))
        yield Breach(
            path=("fabric", "tiers"),
            message=f"even striping of spines over cores takes {even:,} switches: {', '.join(fewer)}",
            remedy=f"keep it for even loads; write `core_policy: {best}` where another engine than OpenSM's ftree "
            "routes the fabric, or its roots are named",
        )


def _without_tier_fields(fabric: Fabric, tiers: int) -> str:
    """Name the fields that would have to go with the tiers above `tiers`."""
    fields = ["oversubscription"] if tiers == 1 and fabric.oversubscription != 1 else []
    fields += ["core_policy"] if "core_policy" in fabric.model_fields_set else []
    fields += ["spine_oversubscription"] if fabric.spine_oversubscription != 1 else []
    fields += ["core"] if "core" in fabric.model_fields_set else []
    fields += [f"spine.{name}" for name in ("uplinks", "pod_leaves") if getattr(fabric.spine, name) is not None]
    fields += [name for name in ("leaf", "spine") if tiers == 1 and name in fabric.model_fields_set]
    return f" without {' and '.join(f'`{field}`' for field in fields)}" if fields else ""


@rule(
    "fewer-tiers",
    title="A smaller number of tiers would hold the endpoints",
    why="Each tier adds two switch ports and a cable per endpoint, and latency.",
    example="nodes: [{role: compute, server: fire-flyer-2-node, count: 700}]\nfabric: {tiers: 3, switch: qm8700}",
    good="nodes: [{role: compute, server: fire-flyer-2-node, count: 700}]\nfabric: {tiers: 2, switch: qm8700}",
    fix="Drop a tier, or keep it knowingly for growth.",
    severity=Severity.WARNING,
)
def _fewer_tiers(examined: Examined) -> Iterator[Breach]:
    design, fabric = examined.design, examined.assessment.fabric
    spec = design.spec.fabric
    if spec.tiers == 1:
        return
    # Pod size and uplinks of a spine belong to the tier that would go.
    sizing = replace(base_rule(design), pod_size=None, spine_up=None)
    even = -(-fabric.access_points // (fabric.zones * fabric.planes))
    ports = max(even, *fabric.endpoints_per_zone) + design.trunk_links
    for tiers in range(1, spec.tiers):
        capacity = replace(sizing, tiers=tiers).capacity
        if ports <= capacity:
            yield Breach(
                path=("fabric", "tiers"),
                message=f"{ports:,} ports per zone would fit with `tiers: {tiers}`, which holds {capacity:,}",
                remedy=f"write `tiers: {tiers}`{_without_tier_fields(spec, tiers)}, or keep the tier for growth",
            )
            return


@rule(
    "no-path-redundancy",
    title="Compute nodes have one path into the fabric",
    why="If a node has one port, its NIC, its cable and its leaf switch are each a single point of failure.",
    example="nodes: [{server: fire-flyer-2-node, ...}]  # one NIC",
    good="nodes: [{server: hgx-h100-8nic, ...}]  # eight NICs, on a leaf each",
    fix="Accept it knowingly, with spares and checkpoints, or use two NICs on separate planes.",
    severity=Severity.INFO,
)
def _no_path_redundancy(examined: Examined) -> Iterator[Breach]:
    design, plan = examined.design, examined.fabric
    for group in design.groups:
        ports = len(group.fabric_nics) * design.stripes
        single = ports == 1 or (plan.tiers == 1 and plan.planes == 1 and plan.dragonfly is None)
        if group.group.role != "compute" or not single or not group.accelerators_per_node:
            continue
        yield Breach(
            path=("nodes", group.position, "server"),
            message=f"each node of `{group.server.id}` hangs on one switch by {plural(ports, 'port')}, and is cut off "
            "with it; `limits.blast_radius` counts how many accelerators that is",
            remedy="accept it and plan spare nodes, or choose a server with two NICs on separate planes",
        )


@rule(
    "uneven-striping",
    title="Spines and cores of a three-tier tree are not joined evenly",
    why="Fat-tree routing needs the same number of links from a spine to each of its cores. Without that, some "
    "links carry more, and OpenSM falls back to another engine unless its `root_guid_file` names the top switches.",
    example="fabric: {tiers: 3, switch: qm8700, core_policy: minimal, ...}  # 10,000 endpoints, 12.5 cores a group",
    good="fabric: {tiers: 3, switch: qm8700, core_policy: equal-stripe, ...}",
    fix="Stripe evenly and fill whole pods, or accept it knowingly.",
    severity=Severity.INFO,
)
def _uneven_striping(examined: Examined) -> Iterator[Breach]:
    design, plan = examined.design, examined.fabric
    reason = uneven(plan)
    if not reason:
        return
    yield Breach(
        path=("fabric", "tiers"),
        message=f"{reason}: static routing loads some links more than others, and OpenSM's ftree engine refuses the "
        "tree unless `root_guid_file` names its roots",
        remedy=f"{even_remedy(design, plan)}, or accept it; `ffplan fabric route` and `verify` show it",
    )


@rule(
    "zone-bottleneck",
    title="Traffic between zones meets a bottleneck",
    why="The links between zones set the bisection of the cluster, not the trees inside them.",
    example="fabric: {zones: 2, inter_zone: {switches: 2, links_per_zone: 40}, ...}",
    good="fabric: {zones: 1, ...}",
    fix="Let the scheduler keep jobs inside a zone, or let only one pair of nodes of a job cross.",
    severity=Severity.INFO,
)
def _zone_bottleneck(examined: Examined) -> Iterator[Breach]:
    fabric = examined.assessment.fabric
    ratio = fabric.zone_oversubscription
    if fabric.zones == 1 or (ratio is not None and ratio <= 1):
        return
    if ratio is not None:
        yield Breach(
            path=("fabric", "inter_zone"),
            message=f"the zones share one link between zones among {number(ratio)} endpoints",
            remedy="place jobs so that few flows cross zones: with a double binary tree, one pair of nodes is enough",
            key=True,
        )
    elif any(group.group.zones == "split" for group in examined.design.groups):
        yield Breach(
            path=("fabric", "zones"),
            message="nothing joins the zones: no job can span them",
            remedy="keep jobs within a zone, or join the zones with `inter_zone`",
            severity=Severity.WARNING,
            key=True,
        )


@rule(
    "zones-uneven",
    title="A group of nodes does not divide evenly over the zones",
    why="Unequal zones are sized for the fuller one and make placement harder.",
    example="nodes: [{role: compute, server: fire-flyer-2-node, count: 1251}]\nfabric: {zones: 2}",
    good="nodes: [{role: compute, server: fire-flyer-2-node, count: 1250}]\nfabric: {zones: 2}",
    fix="Use a multiple of the number of zones.",
    severity=Severity.WARNING,
)
def _zones_uneven(examined: Examined) -> Iterator[Breach]:
    fabric = examined.assessment.fabric
    zones = fabric.zones
    if len(set(fabric.endpoints_per_zone)) == 1:
        return
    for group in examined.design.groups:
        count = group.group.count
        if group.group.zones == "split" and count % zones:
            fewer = count - count % zones
            nearest = " or ".join(f"{nodes:,}" for nodes in (fewer, fewer + zones) if nodes)
            yield Breach(
                path=("nodes", group.position, "count"),
                message=f"{count:,} nodes do not divide by {zones} zones: some zones get one more",
                remedy=f"use {nearest} nodes",
            )
