"""Surroundings of the fabric: storage, side networks, spares and racks, counted from the design."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ffplan.base.array_math import ceil_div, round_up
from ffplan.base.record import record
from ffplan.catalog.parts import Server
from ffplan.cost.bom import Item
from ffplan.design.ownership_sizing import stated_spares
from ffplan.fabric.family import plan_networks, switches_of
from ffplan.fabric.wiring.racks import nodes_per_rack

if TYPE_CHECKING:
    from ffplan.base.outcomes import NodePower
    from ffplan.catalog.ownership import SideNetwork
    from ffplan.design.ownership import ResolvedOwnership, SideFabric
    from ffplan.design.resolved import ResolvedDesign, ResolvedGroup
    from ffplan.fabric.sizing.plan import FabricPlan

PDUS_PER_RACK = 2
"""Power distribution units of a rack, one per feed."""


@record
class _SidePlan:
    name: str
    switch: str
    link: str
    ports: int
    """Ports of hosts, switches and racks."""
    switches: int
    links: int
    watts: float
    """Switches and both ends of their links, typical [W]."""
    maximum_w: float
    """Switches at their maximum [W]."""


@record
class SitePlan:
    """Counts of storage, side networks, spares and racks."""

    networks: tuple[_SidePlan, ...]
    racks: int
    racks_of: dict[str, int]
    """Racks by content."""
    rack_w: float
    """Rated power of the fullest rack of nodes [W]."""
    rack_nodes: int
    """Compute nodes of the fullest rack [1]."""
    cables: int
    """Cables of all networks."""
    items: tuple[Item, ...]
    """Parts of storage and networks not planned by the design."""
    spares: tuple[Item, ...]


def _side_network(sizing: SideNetwork, ports: int) -> tuple[int, int]:
    """Return the switches and links of a side network: one leaf layer, and more above if one switch is too small.

    Args:
        sizing: ports of a switch for hosts, and its uplinks.
        ports: required ports [1].

    Returns:
        Switches and links [1].

    Equation:
        leaves = ceil(ports / host ports); with r = host ports + uplinks and up = leaves * uplinks: two layers up to r
        leaves, ceil(up / r) switches above them; beyond, ceil(up / (r / 2)) in the middle and ceil(up / r) on top;
        links = ports + up, or ports + 2 up

    Source:
        Definition of a tree of two or three tiers whose leaves have that oversubscription.
    """
    leaves = ceil_div(ports, sizing.ports)
    if leaves <= 1 or not sizing.uplinks:
        return leaves, ports
    ups, radix = leaves * sizing.uplinks, sizing.ports + sizing.uplinks
    # a switch above has a port for every leaf up to there
    if leaves <= radix:
        return leaves + ceil_div(ups, radix), ports + ups
    return leaves + ceil_div(ups, radix // 2) + ceil_div(ups, radix), ports + 2 * ups


def _plan(network: SideFabric, ports: int) -> _SidePlan:
    switches, links = _side_network(network.sizing, ports)
    switch, link = network.switch, network.link
    # both ends of a link draw power
    ends = 2 * links * (link.power_per_end.value if link.power_per_end else 0.0)
    typical = switches * (switch.power.value if switch.power else 0.0) + ends
    # the maximum of a switch contains the transceivers at its ports
    most = switches * switch.power_max.value if switch.power_max else typical
    return _SidePlan(
        name=network.name,
        switch=switch.id,
        link=link.id,
        ports=ports,
        switches=switches,
        links=links,
        watts=typical,
        maximum_w=max(typical, most),
    )


def _per_rack(group: ResolvedGroup, node: NodePower, limit: float) -> int:
    """Return a group's nodes per rack: as stated, a scale-up domain, or as power allows."""
    if group.group.per_rack:
        return group.group.per_rack
    server = group.server
    if isinstance(server, Server) and server.rack_nodes > 1:
        return server.rack_nodes
    # a node above the limit still gets a rack
    return max(1, math.floor(limit / node.maximum_w)) if node.maximum_w > 0 else 1


PLANNED = {"storage-network": "storage", "in-band": "front-end", "out-of-band": "out-of-band"}
"""Network of a design that replaces one sized by the ownership profile."""


def rack_limit(design: ResolvedDesign, owned: ResolvedOwnership) -> float:
    """Return the rated power allowed per rack [W]: the design's limit, its floor's, else the profile's."""
    floor = design.spec.floor
    most = design.spec.limits.power_per_rack or (floor.power_per_rack if floor else None)
    return most or owned.inputs["rack_power"].likely


def rack_area(design: ResolvedDesign, owned: ResolvedOwnership) -> float | None:
    """Return the floor of a rack with its share of aisles [m2]: as stated, by the floor plan, else the profile's."""
    known, floor = owned.inputs.get("rack_area"), design.spec.floor
    if floor is not None and (known is None or known.status != "given"):
        return floor.rack_width * floor.row_pitch
    return known.likely if known is not None else None


def plan_site(
    design: ResolvedDesign,
    fabric: FabricPlan,
    nodes: tuple[NodePower, ...],
    links: int,
    owned: ResolvedOwnership,
    bought: tuple[Item, ...],
) -> SitePlan:
    """Count storage, side networks, spares and racks of a design.

    Args:
        nodes: power of its groups, followed by unplanned storage, if any.
        links: cables of its fabric [1].

    Raises:
        InputError: if the design states two numbers of spare nodes.
    """
    extra = owned.storage
    storage = extra.group.count if extra else 0
    own_storage = sum(g.group.count for g in design.groups if g.group.role == "storage")
    hosts = sum(g.group.count for g in design.groups if g.group.role != "storage")
    limit, floor = rack_limit(design, owned), design.spec.floor
    racks_of: dict[str, int] = {}
    rack_w, rack_nodes = 0.0, 0
    groups = (*design.groups, *([extra] if extra else []))
    for group, node in zip(groups, nodes, strict=True):
        placed = floor if group is not extra else None  # the floor plan has no storage that a profile adds
        per_rack = _per_rack(group, node, limit) if placed is None else nodes_per_rack(design, group, placed)
        racks_of[node.role] = racks_of.get(node.role, 0) + ceil_div(node.count, per_rack)
        fullest = min(per_rack, node.count)
        rack_w = max(rack_w, fullest * node.maximum_w)
        rack_nodes = max(rack_nodes, fullest if node.role == "compute" else 0)
    networks: list[_SidePlan] = []
    side_plans = plan_networks(design, fabric)
    planned = {network.name for network in side_plans}
    for network in owned.networks:
        sizing = network.sizing
        if (network.name == "storage-network" and not storage) or PLANNED[network.name] in planned:
            continue
        # switches so far: a network sized later may manage them
        others = fabric.switches + switches_of(side_plans) + sum(plan.switches for plan in networks)
        ports = hosts * sizing.per_node + (storage + own_storage) * sizing.per_storage + others * sizing.per_switch
        networks.append(_plan(network, ports + sum(racks_of.values()) * sizing.per_rack))
    switches = fabric.switches + switches_of(side_plans) + sum(plan.switches for plan in networks)
    racks_of["network"] = round_up(switches / owned.inputs["switches_per_rack"].likely)
    items = [Item("storage", extra.server.id, storage)] if extra else []
    for plan in networks:
        items += [Item(plan.name, plan.switch, plan.switches), Item(plan.name, plan.link, plan.links)]
    every = tuple(items)
    return SitePlan(
        networks=tuple(networks),
        racks=sum(racks_of.values()),
        racks_of=racks_of,
        rack_w=rack_w,
        rack_nodes=rack_nodes,
        cables=links + sum(plan.links for plan in networks),
        items=every,
        spares=spares((*bought, *every), owned, design.compute.server.id, stated_spares(design)),
    )


SPARE_OF = {
    "servers": "spare_nodes",
    "storage": "spare_nodes",
    "switches": "spare_switches",
    "endpoint-links": "spare_links",
    "inter-switch-links": "spare_links",
}
"""Input with the spare share of each category; side networks share the switches'."""


def spares(
    items: tuple[Item, ...], owned: ResolvedOwnership, server: str, stated: int | None = None
) -> tuple[Item, ...]:
    """Return the spare parts, numbers rounded to the nearest; spare servers have all NICs.

    Args:
        stated: spare nodes stated by the design [1], all of the compute server.
    """
    bought: dict[tuple[str, str], float] = {}
    for line in items:  # rounded once for each part, however the groups of a design divide it
        if line.quantity > 0:
            kind = (line.category, line.part)
            bought[kind] = bought.get(kind, 0) + line.quantity
    counts: dict[str, int] = {}
    for (category, part), quantity in bought.items():
        share = owned.inputs.get(SPARE_OF.get(category, "spare_switches"))
        if stated is not None and (category, part) == ("servers", server):
            counts[part] = stated
        # half a spare is rounded up, never to even: `round` would make 2.5 a 2
        elif share is not None and share.likely:
            counts[part] = counts.get(part, 0) + int(share.likely * quantity + 0.5)
    return tuple(Item("spares", part, count) for part, count in counts.items() if count)
