"""Endpoint ports that each zone of each plane must have, by role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.formatting import plural
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign, ResolvedGroup


@record
class _Demand:
    """Endpoint ports that nodes need in one plane, by zone."""

    by_zone: tuple[tuple[int, ...], ...]
    """Ports of each node group (in file order) in each zone: `by_zone[zone][group]`."""

    @property
    def totals(self) -> tuple[int, ...]:
        """Endpoint ports in each zone."""
        return tuple(sum(groups) for groups in self.by_zone)


def _deal(count: int, parts: int, index: int, start: int) -> int:
    """Return the number of `count` things that part `index` gets when they are dealt in turn, from part `start` on."""
    # the remainder goes to the parts from `start` on, one each
    return count // parts + ((index - start) % parts < count % parts)


def ports_per_plane(design: ResolvedDesign, group: ResolvedGroup) -> int:
    """Return the ports that a node of the group has in one plane."""
    return len(group.fabric_nics) * design.stripes // design.planes


def rails_of(design: ResolvedDesign, group: ResolvedGroup) -> int:
    """Return how many NICs of one node of the group join the same tree."""
    zones = design.spec.fabric.zones if group.group.zones == "every" else 1
    return max(1, ports_per_plane(design, group) // zones)


def _zone_demand(design: ResolvedDesign, zone: int, last: int | None = None) -> tuple[int, ...]:
    """Return the ports that each group needs in one zone of one plane; groups are dealt in turn."""
    zones = design.spec.fabric.zones
    ports, start = [], 0
    for group in design.groups:
        per_plane = ports_per_plane(design, group)
        count = last if last is not None and group is design.groups[-1] else group.group.count
        if group.group.zones == "every":
            ports.append(count * (per_plane // zones))
        else:
            ports.append(_deal(count, zones, zone, start) * per_plane)
            # the next group goes on where this one ended, so that zones differ by one node at most
            start += count
    return tuple(ports)


def _nic_faults(design: ResolvedDesign) -> list[Finding]:
    """Return a fault for every node group whose NICs planes or zones cannot share evenly."""
    fabric = design.spec.fabric
    faults = []
    for group in design.groups:
        nics = len(group.fabric_nics) * design.stripes
        path: tuple[str | int, ...] = ("nodes", group.position, "server")
        if nics % design.planes and design.document.inside:  # a network beside the fabric: its own ports are at fault
            what = "a switch" if group.position >= len(design.spec.nodes) else f"a {group.group.role} node"
            faults.append(
                design.document.finding(
                    "fabric-divisibility",
                    ("fabric", "planes"),
                    f"{plural(nics, 'port')} of {what} cannot be dealt evenly over {design.planes} planes",
                    f"use a number of planes that divides {nics}, or other `ports`",
                )
            )
        elif nics % design.planes:
            faults.append(
                design.document.finding(
                    "fabric-divisibility",
                    path,
                    f"`{group.server.id}` has {nics} NIC(s) on this fabric, which cannot be dealt evenly over "
                    f"{design.planes} planes",
                    f"use a number of planes that divides {nics}, or a server with another number of NICs",
                )
            )
        elif group.group.zones == "every" and (nics // design.planes) % fabric.zones:
            faults.append(
                design.document.finding(
                    "fabric-divisibility",
                    ("nodes", group.position, "zones"),
                    f"`{group.server.id}` has {nics // design.planes} NIC(s) per plane, which cannot reach "
                    f"every one of {fabric.zones} zones evenly",
                    f"give it a multiple of {fabric.zones} NICs per plane, or write `zones: split`",
                )
            )
    return faults


def _zone_demands(design: ResolvedDesign) -> _Demand:
    return _Demand(tuple(_zone_demand(design, zone) for zone in range(design.spec.fabric.zones)))


def _demand(design: ResolvedDesign) -> _Demand:
    """Return the endpoint ports that nodes need in each zone of one plane."""
    faults = _nic_faults(design)
    fabric = design.spec.fabric
    if not faults and min(sum(_zone_demand(design, zone)) for zone in range(fabric.zones)) == 0:
        faults.append(
            design.document.finding(
                "fabric-divisibility",
                ("fabric", "zones"),
                f"{fabric.zones} zones are more than there are nodes to fill them",
                "use fewer zones",
            )
        )
    if faults:
        raise InputError(*faults)
    return _zone_demands(design)
