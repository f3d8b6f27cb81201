"""The counts of a fabric of any family, the cuts of links that a collective crosses, and planes of dragonflies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, Truth, ceil_div, maximum, some
from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.fabric.sizing.endpoints import _demand, ports_per_plane, rails_of
from ffplan.fabric.sizing.fat_tree import Tree
from ffplan.fabric.sizing.leaf_fill import _parts_between
from ffplan.fabric.sizing.low_diameter import (
    _dragonfly_capacity,
    _dragonfly_global_links,
    _dragonfly_shape,
    _dragonfly_taper,
    _DragonflyShape,
    dragonfly_bisection,
    dragonfly_groups,
)

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign, ResolvedGroup
    from ffplan.fabric.sizing.endpoints import _Demand


@record
class FabricPlan:
    """Counts of a fabric; every total is over all planes and zones."""

    family: str
    planes: int
    zones: int
    tiers: int
    radix: int
    uplinks: int
    """Uplinks of a leaf; a dragonfly has none."""
    downlinks: int
    """Downlinks of a leaf, or endpoints of a router."""
    pod_leaves: int
    """Leaves of a full pod, or routers of a group."""
    port_gbyte_s: float
    link_gbyte_s: float
    """Rate of a link between switches [GB/s]."""
    endpoints: int
    endpoints_per_zone: tuple[int, ...]
    access_points: int
    switches_by_role: dict[str, int]
    """Switches of each role of the family."""
    links_by_tier: dict[str, int]
    """Links of each tier of the family, `endpoint` first."""
    spare_by_role: dict[str, int]
    """Free ports on the switches of each role; endpoints join switches of the first role."""
    breakout: int
    """Ports that share a switch port."""
    endpoint_cables: int
    """Cables between NICs and switches: one for each whole port in use."""
    inter_switch_cables: int
    """Cables between switches, as laid: links that share whole ports at both ends share one."""
    inter_switch_parts: int
    """Cables between switches, as they are sold: halves of a port that lead apart are two fibres on one pair of
    modules."""
    oversubscription: float
    zone_oversubscription: float | None
    bisection_gbyte_s: float
    trees: tuple[Tree, ...] = ()
    """The tree of each zone of one plane; planes are equal."""
    dragonfly: _DragonflyShape | None = None
    """The dragonfly of one plane; planes are equal."""

    @property
    def switches(self) -> int:
        """Switches of every role."""
        return sum(self.switches_by_role.values())

    @property
    def links(self) -> int:
        """Links of every tier."""
        return sum(self.links_by_tier.values())

    @property
    def spare_ports(self) -> int:
        """Free ports for endpoints."""
        return next(iter(self.spare_by_role.values()))


def _port_rate(design: ResolvedDesign, group: ResolvedGroup) -> float:
    """Return the rate of an endpoint port of the group, one direction, mean over its NICs [GB/s]."""
    rates = group.nic_rates(design.port_gbyte_s, design.stripes)
    return sum(rates) / len(rates) / design.stripes if rates else 0.0


@record
class LinkCut:
    """The links out of one leaf, or out of one zone, over all planes."""

    name: str
    label: str
    sets: Number
    """Leaves of a rail, or zones, that the collective spans."""
    links: int
    gbyte_s: Number
    """Total bandwidth, one direction [GB/s]."""
    below: float = 1.0
    """Nodes below one such leaf, or zone [1]."""


def reachable_nodes(design: ResolvedDesign) -> int:
    """Return the nodes that one collective can span: all, or the nodes of one of several separate zones."""
    fabric, count = design.spec.fabric, design.compute.group.count
    # nodes that are in every zone reach each other on any of them
    apart = fabric.zones > 1 and fabric.inter_zone is None and design.compute.group.zones == "split"
    return ceil_div(count, fabric.zones) if apart else count


def zones_of(design: ResolvedDesign, nodes: Number) -> Number:
    """Return the zones that a job of `nodes` nodes spans when it fills one after the other, in their shape."""
    if design.compute.group.zones == "every" or design.spec.fabric.inter_zone is None:
        return 0 * nodes + 1
    return ceil_div(nodes, ceil_div(design.compute.group.count, design.spec.fabric.zones))


def _middle(plan: FabricPlan, count: int, nodes: Number, apart: Truth) -> LinkCut:
    """Return the links across the middle of three tiers; a job has a share by its fraction of the nodes."""
    links = plan.links_by_tier["spine_core"]
    # other jobs use the rest of the middle
    fraction = maximum(nodes, 2) / maximum(count, 2)
    return LinkCut(
        name="bisection",
        label="links across the middle of the fabric",
        sets=1 + apart * 1,
        links=links,
        # half of the links belong to either side of an even split
        gbyte_s=links * plan.link_gbyte_s / 2 * fraction,
        below=count / 2,
    )


def _tree_cuts(
    design: ResolvedDesign, plan: FabricPlan, nodes: Number, zones: Number | None = None
) -> tuple[LinkCut, ...]:
    """Return the links that a collective over `nodes` nodes crosses.

    Rail r of every node is wired to separate leaves, rank after rank. A rail that fits one leaf crosses none, unless
    the tree has too few leaves for every rail.

    `zones`: zones it spans, in the shape of the nodes; as few as hold it if omitted.
    """
    fabric, group, cuts = design.spec.fabric, design.compute, []
    rails = rails_of(design, group)
    spanned = zones_of(design, nodes) if zones is None else zones
    in_a_tree = ceil_div(nodes, spanned)
    leaves = plan.switches_by_role["leaf"] // (plan.planes * plan.zones)
    if some(plan.uplinks) and some(leaves > 1):
        # rails of a leaf share its uplinks
        shared = min(design.rails_per_leaf, len(group.fabric_nics))  # other groups may have more rails
        under_a_leaf = fabric.scalable_unit or maximum(plan.downlinks // shared, 1)
        reached = ceil_div(in_a_tree, under_a_leaf)
        crossing = ((reached > 1) | (leaves < rails // shared)) & (leaves > 1)
        links = len(group.fabric_nics) * design.stripes * plan.uplinks // shared
        label = "uplinks of a leaf" if rails == shared else f"uplinks of a leaf on each of {rails} rails"
        # one set if nothing crosses: then the part between sets, (s - 1) / s, is 0
        sets = crossing * maximum(2, reached) * (nodes > 1) + (1 - crossing * (nodes > 1))
        cuts.append(
            LinkCut(
                name="leaf_uplinks",
                label=label,
                sets=sets,
                links=links,
                gbyte_s=links * plan.link_gbyte_s,
                below=under_a_leaf,
            )
        )
        if plan.tiers == 3 and some(plan.links_by_tier["spine_core"]):
            apart = (in_a_tree > under_a_leaf * plan.pod_leaves) & (nodes > 1)
            cuts.append(_middle(plan, group.group.count, nodes, apart))
    if fabric.inter_zone is not None and group.group.zones == "split":
        links = plan.planes * fabric.inter_zone.links_per_zone
        below = ceil_div(group.group.count, fabric.zones)
        cuts.append(
            LinkCut(
                name="zone_links",
                label="links between zones",
                sets=spanned,
                links=links,
                gbyte_s=links * design.trunk_gbyte_s,
                below=below,
            )
        )
    return tuple(cuts)


def _dragonfly_cuts(
    design: ResolvedDesign,
    plan: FabricPlan,
    nodes: Number,
    zones: Number | None = None,  # noqa: ARG001
) -> tuple[LinkCut, ...]:
    """Return the links out of one group that a collective over `nodes` nodes crosses.

    Nodes fill group after group. Half of the links carry traffic of the group: rings and trees join few pairs of
    groups, so that adaptive routing sends them round through a third, over two global links each.

    Source:
        Kim et al., ISCA 2008, section 4: Valiant routing carries half of the global bandwidth under any traffic.
    """
    shape = plan.dragonfly
    assert shape is not None
    below = max(1.0, shape.group_ports / ports_per_plane(design, design.compute))
    links = plan.planes * shape.pair_links * (shape.groups - 1)
    return (
        LinkCut(
            name="group_links",
            label="links out of a group, half of them for detours",
            sets=ceil_div(nodes, below),
            links=links,
            gbyte_s=links * plan.link_gbyte_s / 2,
            below=below,
        ),
    )


def _too_small(design: ResolvedDesign, ports: int, capacity: int) -> Finding:
    radix = design.radix
    while radix < 1024 and _dragonfly_capacity(radix) < ports:
        radix += 1
    where = f" on each of {design.planes} planes" if design.planes > 1 else ""
    return design.document.finding(
        "fabric-capacity",
        ("fabric", "family"),
        f"the fabric needs{where} {ports:,} endpoint ports; a balanced dragonfly of {design.radix}-port routers has "
        f"{capacity:,}",
        f"use fewer endpoints, or a switch of {radix} ports or more",
    )


def _ports(design: ResolvedDesign, needs: _Demand) -> int:
    """Return the endpoint ports to build in a plane."""
    points, needed = design.spec.fabric.access_points, needs.totals[0]
    if points is not None and points < design.planes * needed:
        raise InputError(
            design.document.finding(
                "fabric-capacity",
                ("fabric", "access_points"),
                f"{points:,} access points are fewer than the {design.planes * needed:,} that the nodes need",
                "raise `access_points`, or remove it",
            )
        )
    ports = max(needed, ceil_div(points or 0, design.planes))
    capacity = int(_dragonfly_capacity(design.radix))
    if ports > capacity:
        raise InputError(_too_small(design, ports, capacity))
    return int(ports)


def _shape(design: ResolvedDesign, ports: int) -> _DragonflyShape:
    p, a, h = _dragonfly_shape(design.radix)
    groups = int(dragonfly_groups(ports, design.radix))
    return _DragonflyShape(groups=groups, endpoints=p, routers=a, global_links=h, pair_links=a * h // (groups - 1))


def _plan_dragonfly(design: ResolvedDesign) -> FabricPlan:
    """Return the balanced dragonfly that the design needs: as few groups as hold its endpoints."""
    needs = _demand(design)
    ports, planes, breakout = _ports(design, needs), design.planes, design.spec.fabric.breakout
    shape = _shape(design, ports)
    groups, a, p = shape.groups, shape.routers, shape.endpoints
    between = int(_dragonfly_global_links(groups, design.radix))
    endpoints, local = needs.totals[0], groups * a * (a - 1) // 2
    # endpoints fill router after router; a split port serves endpoints of one router
    full, rest = divmod(endpoints, p)
    rates = [_port_rate(design, group) for group in design.groups]
    bandwidth = sum(n * rate for n, rate in zip(needs.by_zone[0], rates, strict=True))
    rate, laid = design.link_gbyte_s, planes * (local + between)
    return FabricPlan(
        family="dragonfly",
        planes=planes,
        zones=1,
        tiers=1,
        radix=design.radix,
        uplinks=0,
        downlinks=p,
        pod_leaves=a,
        port_gbyte_s=_port_rate(design, design.compute),
        link_gbyte_s=rate,
        endpoints=planes * endpoints,
        endpoints_per_zone=needs.totals,
        access_points=planes * ports,
        switches_by_role={"router": planes * groups * a},
        links_by_tier={"endpoint": planes * endpoints, "intra_group": planes * local, "inter_group": planes * between},
        spare_by_role={"router": planes * (groups * a * p - endpoints)},
        breakout=breakout,
        endpoint_cables=planes * (full * ceil_div(p, breakout) + ceil_div(rest, breakout)),
        inter_switch_cables=laid,
        inter_switch_parts=_parts_between(design, laid, planes * local, planes * between),
        oversubscription=float(_dragonfly_taper(shape.group_ports, max(rates), shape.pair_links * (groups - 1), rate)),
        zone_oversubscription=None,
        bisection_gbyte_s=planes * float(dragonfly_bisection(groups, shape.pair_links, a, rate, bandwidth)),
        dragonfly=shape,
    )
