"""Switches, links, ports and rates of a fabric in an assessment."""

from __future__ import annotations

from typing import NamedTuple

from ffplan.base.record import record


@record
class Switches:
    """Switches by role, over all planes and zones."""

    leaf: int
    """Leaf switches."""
    spine: int
    """Spine switches."""
    core: int
    """Core switches."""
    interzone: int
    """Switches between zones."""
    total: int
    """All switches."""


@record
class Links:
    """Links by tier, over all planes and zones."""

    endpoint: int
    """NIC to leaf."""
    leaf_spine: int
    """Leaf to spine."""
    spine_core: int
    """Spine to core."""
    interzone: int
    """Zone to inter-zone switch."""
    total: int
    """All links."""


@record
class RouterSwitches:
    """Switches of a dragonfly, over all planes."""

    router: int
    """Routers."""
    total: int
    """All switches."""


@record
class RouterLinks:
    """Links of a dragonfly, over all planes."""

    endpoint: int
    """NIC to router."""
    intra_group: int
    """Between routers of a group."""
    inter_group: int
    """Between groups."""
    total: int
    """All links."""


@record
class Cables:
    """Cables to lay; links that share whole ports at both ends share one."""

    endpoint: int
    """NIC to leaf."""
    inter_switch: int
    """Between switches."""
    total: int
    """All cables."""


@record
class SoldCables:
    """Cables as sold and billed: a pair of modules counts once, whichever way its fibres lead."""

    endpoint: int
    """NIC to leaf."""
    inter_switch: int
    """Between switches."""
    total: int
    """All of them."""


@record
class SparePorts:
    """Unused switch ports by role."""

    leaf: int
    """On leaf switches: room for more endpoints."""
    spine: int
    """On spine switches."""
    core: int
    """On core switches."""
    interzone: int
    """On inter-zone switches."""


@record
class RouterSparePorts:
    """Unused switch ports of a dragonfly."""

    router: int
    """On routers: room for more endpoints."""


class Counts(NamedTuple):
    """The contracts that count the switches, links and spare ports of a family."""

    switches: type[Switches | RouterSwitches]
    links: type[Links | RouterLinks]
    spare: type[SparePorts | RouterSparePorts]


COUNTS = {
    "leaf": Counts(Switches, Links, SparePorts),
    "router": Counts(RouterSwitches, RouterLinks, RouterSparePorts),
}
"""By the role of the switches that endpoints join."""


@record
class ScaleUpReport:
    """The tier below the fabric: bridged pairs, full meshes, or domains behind a switch."""

    kind: str
    """pairs, mesh, torus, switch, or links between single accelerators."""
    name: str
    """Name of the network, such as NVLink or xGMI."""
    accelerators_per_domain: int
    """Accelerators that reach each other without the fabric."""
    domains: int
    """Domains over all compute nodes."""
    gbyte_s: float | None
    """Rate of an accelerator there in one direction [GB/s]; null if unknown."""
    switches_per_domain: int | None
    """Switch chips of a domain [1]; null if unknown, 0 without switches."""
    links_per_domain: int | None
    """Links of a domain [1]; null if unknown."""
    bisection_gbyte_s: float | None
    """Bandwidth across the worst even split of a domain, one direction [GB/s]; null if unknown."""
    pair_time_s: float | None
    """Allreduce of the design's message between the two accelerators of a bridged pair [s]; null without pairs, or
    where the design names no library for it."""
    pair_time_without_s: float | None
    """Allreduce of a bridged pair over PCIe, without the bridge [s]."""


@record
class TierSwitches:
    """The switches of a role."""

    role: str
    """leaf, spine, core, interzone or router."""
    switch: str
    """Catalogue id."""
    count: int
    """Switches of the role."""
    ports: int
    """Ports of one box, before any split [1]."""
    downlinks: int
    """Most links downwards of one switch, to endpoints or to switches below [1]; all links of a router."""
    down_gbyte_s: float
    """Rate of one of them, one direction [GB/s]."""
    uplinks: int
    """Uplinks of one switch [1]; 0 at the top."""
    up_gbyte_s: float
    """Rate of one of them, one direction [GB/s]; 0 without any."""
    unused_ports: int
    """Ports of one box that the design sets aside, before any split [1]."""


@record
class FabricReport:
    """The fabric."""

    family: str
    """Topology family."""
    switch: str
    """Catalogue id of the switch, of the leaves where tiers differ; `by_role` has all."""
    ports_per_switch: int
    """Ports of one switch, of a leaf where tiers differ."""
    by_role: tuple[TierSwitches, ...]
    """Switches, their links and rates, role by role."""
    planes: int
    """Planes."""
    zones: int
    """Zones per plane."""
    tiers: int
    """Switch tiers."""
    endpoints: int
    """NICs joined."""
    endpoints_per_zone: tuple[int, ...]
    """NICs joined in each zone of one plane."""
    access_points: int
    """Endpoint ports the fabric is built for."""
    switches: Switches | RouterSwitches
    """Switches by role."""
    links: Links | RouterLinks
    """Links by tier."""
    breakout: int
    """Ports that each port of the switch is split into [1]; `ports_per_switch` counts them after the split."""
    cables: Cables
    """Cables to lay, by kind."""
    cables_as_sold: SoldCables
    """Cables as they are bought, by kind: the pieces that the bill of materials has."""
    spare_ports: int
    """Free leaf ports: endpoints that can still be added without another switch."""
    spare_ports_by_role: SparePorts | RouterSparePorts
    """Unused ports by role."""
    oversubscription: float
    """Bandwidth down over bandwidth up of a leaf switch full of the fastest endpoints [1]."""
    most_oversubscription: float | None
    """Most that the design states; leaves get more uplinks where that divides better or saves switches. Null if it
    states none, or the uplinks themselves [1]."""
    zone_oversubscription: float | None
    """Endpoints of a zone per link to other zones [1]; null with one zone or none joined."""
    port_gbyte_s: float
    """Rate of an endpoint port of a compute node, one direction [GB/s]."""
    scale_up: ScaleUpReport | None
    """The scale-up tier of the compute nodes; null if it has none."""
    bisection_gbyte_s: float
    """Bandwidth across the worst even split of the endpoints, one direction [GB/s]."""
    core_policy: str | None
    """Policy for the number of core switches; null if the fabric has none."""
    switches_by_core_policy: dict[str, int]
    """All switches that the fabric has with each core policy; empty if it has no cores."""


@record
class NetworkReport:
    """A side network."""

    name: str
    """storage, front-end or out-of-band."""
    ports: dict[str, int]
    """Its ports per node by role, and per switch."""
    fabric: FabricReport
    """Its topology and counts."""


SCHEMAS: dict[str, tuple[type, str]] = {}
"""Files and outputs of this module: none."""
