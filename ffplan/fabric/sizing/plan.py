"""The counts of a fabric of any family: switches by role, links by tier, and rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.fabric.sizing.dragonfly import _DragonflyShape
from ffplan.fabric.sizing.fat_tree import Tree

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign, ResolvedGroup


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
