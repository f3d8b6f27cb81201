"""How many NICs each zone of each plane must take, by role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.errors import InputError
from ffplan.record import record

if TYPE_CHECKING:
    from ffplan.design.resolve import ResolvedDesign, ResolvedGroup
    from ffplan.errors import Finding


@record
class Demand:
    """Endpoint ports wanted in one plane, by zone."""

    by_zone: tuple[tuple[int, ...], ...]
    """Ports of each node group (in file order) in each zone: `by_zone[zone][group]`."""

    @property
    def totals(self) -> tuple[int, ...]:
        """Endpoint ports wanted in each zone."""
        return tuple(sum(groups) for groups in self.by_zone)


def _share(count: int, parts: int, index: int) -> int:
    """Return part `index` of `count` things dealt as evenly as possible."""
    return count // parts + (1 if index < count % parts else 0)


def _group_demand(group: ResolvedGroup, zones: int, planes: int, zone: int) -> int:
    per_plane = len(group.fabric_nics) // planes
    if group.group.zones == "every":
        return group.group.count * (per_plane // zones)
    return _share(group.group.count, zones, zone) * per_plane


def _faults(design: ResolvedDesign) -> list[Finding]:
    fabric = design.spec.fabric
    faults = []
    for group in design.groups:
        nics = len(group.fabric_nics)
        path = ("nodes", group.position, "server")
        if nics % fabric.planes:
            faults.append(
                design.document.finding(
                    "fabric-divisibility",
                    path,
                    f"`{group.server.id}` has {nics} NIC(s) on this fabric, which cannot be dealt evenly over "
                    f"{fabric.planes} planes",
                    f"use a number of planes that divides {nics}, or a server with another number of NICs",
                )
            )
        elif group.group.zones == "every" and (nics // fabric.planes) % fabric.zones:
            faults.append(
                design.document.finding(
                    "fabric-divisibility",
                    ("nodes", group.position, "zones"),
                    f"`{group.server.id}` has {nics // fabric.planes} NIC(s) per plane, which cannot reach "
                    f"every one of {fabric.zones} zones evenly",
                    f"give it a multiple of {fabric.zones} NICs per plane, or write `zones: split`",
                )
            )
    return faults


def demand(design: ResolvedDesign) -> Demand:
    """Return the endpoint ports that the nodes want in each zone of one plane.

    Raises:
        InputError: where NICs cannot be dealt evenly over planes or zones.
    """
    faults = _faults(design)
    if faults:
        raise InputError(*faults)
    fabric = design.spec.fabric
    return Demand(
        tuple(
            tuple(_group_demand(group, fabric.zones, fabric.planes, zone) for group in design.groups)
            for zone in range(fabric.zones)
        )
    )
