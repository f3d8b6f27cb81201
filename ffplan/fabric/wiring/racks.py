"""Nodes of a rack by a floor plan, for its places and for the bill alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.catalog.parts import Server

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign, ResolvedGroup
    from ffplan.design.schema import Floor


def nodes_per_rack(design: ResolvedDesign, group: ResolvedGroup, floor: Floor) -> int:
    """Return the number of nodes of a group in a rack: as stated, a scale-up domain, else as many as units
    and power allow.

    Raises:
        InputError: if no node fits, or fewer than the design names.
    """
    units = group.height
    power = group.server.power
    watts = max((figure.value for figure in (power.maximum, power.training, power.other) if figure), default=0.0)
    by_units = floor.rack_units // units
    by_power = int(floor.power_per_rack // watts) if floor.power_per_rack and watts else by_units
    most = min(by_units, by_power)
    wished = None if floor.power_per_rack else design.spec.limits.power_per_rack
    usual = max(1, min(most, int(wished // watts))) if wished and watts else most  # a rule tells of one node above it
    joined = group.server.rack_nodes if isinstance(group.server, Server) else 1
    count = group.group.per_rack or (joined if joined > 1 else usual)
    if most < 1 or count > most:
        bound = f"{floor.rack_units} rack units" if by_units <= by_power else f"{floor.power_per_rack:,.0f} W a rack"
        need = f"{max(1, count) * units} rack units" if by_units <= by_power else f"{max(1, count) * watts:,.0f} W"
        message = f"{max(1, count)} of `{group.server.id}` need {need}; there are {bound}"
        raise InputError(_no_room(design, group, message))
    return count


def _no_room(design: ResolvedDesign, group: ResolvedGroup, message: str) -> Finding:
    return design.document.finding(
        "fabric-floor", ("nodes", group.position), message, "use fewer nodes per rack, or larger racks"
    )
