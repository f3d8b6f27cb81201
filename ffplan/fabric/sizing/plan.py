"""The counts of a fabric of any family, the cuts of links that a collective crosses, and planes of dragonflies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, ceil_div, maximum, minimum
from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.fabric.sizing.endpoints import _demand, ports_per_plane
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
    from collections.abc import Callable

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


_SOME = 1e-9
"""Least part of a job outside a group by which to divide [1]."""


@record
class LinkCut:
    """The links out of one leaf, one pod or one zone, over all planes, and what of a job is below the busiest."""

    name: str
    label: str
    sets: Number
    """Leaves of a rail, pods or zones that the collective spans."""
    links: int
    gbyte_s: Number
    """Total bandwidth, one direction [GB/s]."""
    below: Number = 1.0
    """Nodes below one such leaf, pod or zone [1]."""
    held: Number | None = None
    """Part of the job's ranks below the fullest [1]; the same below each if omitted."""
    aligned: Number | None = None
    """Part of an exchange between the same NICs of all nodes that leaves the busiest [1]; by `held` if omitted."""
    mixed: Number | None = None
    """Part of an exchange between different NICs of all nodes that leaves the busiest [1]; as `aligned` if omitted."""
    crossing: Number = 1.0
    """Part of a node's NICs whose rings and trees cross the links of the busiest [1]."""
    lane: Number = 1.0
    """Part of a node's NICs that one rail of such a leaf is [1]; all if `links` are those of a leaf on each rail."""
    leaves: float = 1.0
    """Leaves whose links these are together, so that a flow of one NIC has a part of them [1]."""
    even: Number = 1.0
    """Use of the links by an exchange of every rank with every other, over that of other traffic [1]: less where it
    needs no detours."""

    @property
    def fullest(self) -> Number:
        """Part of the job's ranks below the fullest [1]."""
        return 1.0 / self.sets if self.held is None else self.held

    @property
    def least(self) -> Number:
        """Part of the job's ranks below the one that holds the fewest [1]: full ones, and the rest below the last."""
        return maximum(1.0 - (self.sets - 1) * minimum(1.0, self.fullest / self.lane), 0.0)

    def leaving(self, same: Number, away: Number) -> Number:
        """Return the part of all bytes of an exchange of every rank with every other that leaves the busiest [1].

        Args:
            same: part of the pieces for another node that keep their rail [1].
            away: part of the pieces that leave their node [1].

        Equation:
            same x h (1 - h) + (1 - same) x the part between different NICs, each at most h x away, h of the ranks below

        Source:
            Definition: of n ranks, m send m (n - m) of n^2 pieces to the others.
        """
        held = self.fullest
        aligned = held * (1.0 - held) if self.aligned is None else self.aligned
        mixed = aligned if self.mixed is None else self.mixed
        # of what leaves a node of several hosts, a leaf below some of them counts what stays in the node as well
        most = held * away
        return minimum(aligned, most) * same + minimum(mixed, most) * (1.0 - same)

    def spread_over(self, nodes: Number, share: Number) -> LinkCut:
        """Return the cut of one of many groups that cross it at once, each on nodes that lie apart.

        Args:
            nodes: nodes of the group, which may each have a leaf of their own [1].
            share: fraction of the links that the group has [1].
        """
        apart = (self.sets > 1) * self.lane * (nodes - 1) / nodes**2
        held = maximum(self.fullest, self.lane / nodes)
        aligned = held * (1.0 - held) if self.aligned is None else self.aligned
        mixed = None if self.mixed is None else maximum(self.mixed, apart)
        return replace(
            self,
            sets=minimum(self.sets, nodes),
            gbyte_s=self.gbyte_s * share,
            held=held,
            aligned=maximum(aligned, apart),
            mixed=mixed,
            even=1.0,
        )

    def each(self, pick: Callable[[Number], Number]) -> LinkCut:
        """Return the cut with every number of a job passed through a function: one of an array, or a float."""
        return replace(
            self,
            sets=pick(self.sets),
            gbyte_s=pick(self.gbyte_s),
            even=pick(self.even),
            held=None if self.held is None else pick(self.held),
            aligned=None if self.aligned is None else pick(self.aligned),
            mixed=None if self.mixed is None else pick(self.mixed),
            crossing=pick(self.crossing),
        )


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


def _dragonfly_cuts(
    design: ResolvedDesign,
    plan: FabricPlan,
    nodes: Number,
    zones: Number | None = None,  # noqa: ARG001
) -> tuple[LinkCut, ...]:
    """Return the links out of one group that a collective over `nodes` nodes crosses.

    Nodes fill group after group. Half of the links carry traffic of the group: rings and trees join few pairs of
    groups, so that adaptive routing sends them round through a third, over two global links each. An exchange of every
    rank with every other goes straight where that loads no link more.

    Source:
        Kim et al., ISCA 2008, section 4: Valiant routing carries half of the global bandwidth under any traffic.
    """
    shape = plan.dragonfly
    assert shape is not None
    below = max(1.0, shape.group_ports / ports_per_plane(design, design.compute))
    links = plan.planes * shape.pair_links * (shape.groups - 1)
    held = minimum(below, nodes) / nodes
    return (
        LinkCut(
            name="group_links",
            label="links out of a group, half of them for detours",
            sets=ceil_div(nodes, below),
            links=links,
            gbyte_s=links * plan.link_gbyte_s / 2,
            below=below,
            held=held,
            # h x h of the pieces over the links between two groups, where detours carry h (1 - h) over all, twice
            even=minimum(1.0, held * (shape.groups - 1) / (2 * maximum(1.0 - held, _SOME))),
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
