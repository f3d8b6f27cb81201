"""A floor plan that a design leaves out in part: its usual values, and which of them a design takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.design.schema import Design, Floor

UNITS = {"compute": 8, "storage": 2, "management": 1}
"""Height of a node by role where a floor plan does not say: an air-cooled server of eight accelerators, a drive
server, a plain server [rack units]."""
WRITTEN = {
    "racks_per_row": "{} racks a row",
    "rack_width": "racks {:g} m apart",
    "row_pitch": "rows {:g} m apart",
    "riser": "{:g} m up to the tray",
    "slack": "{:g} m to spare",
}
"""Values of a floor plan that are assumed where it does not say, in words."""


def _with_heights(spec: Design) -> Design:
    """Return a design with a floor in which every node has a height; any other as it is.

    Nodes that a rack holds a number of are at most as high as they then can be.
    """
    if spec.floor is None or all(group.rack_units is not None for group in spec.nodes):
        return spec
    nodes = []
    for group in spec.nodes:
        most = spec.floor.rack_units // group.per_rack if group.per_rack else spec.floor.rack_units
        units = max(1, min(UNITS[group.role], most)) if group.rack_units is None else group.rack_units
        nodes.append(group.model_copy(update={"rack_units": units}))
    return spec.model_copy(update={"nodes": tuple(nodes)})


def _floor_links(spec: Design) -> tuple[tuple[str, tuple[str | int, ...]], ...]:
    """Return the cables that a floor plan chooses from, each with its path: those of the fabric if it names none."""
    if spec.floor is None:
        return ()
    if spec.floor.links:
        return tuple((name, ("floor", "links", place)) for place, name in enumerate(spec.floor.links))
    link = spec.fabric.link
    names = dict.fromkeys(name for name in (link.endpoint, link.inter_switch) if name is not None)
    return tuple((name, ("fabric", "link")) for name in names)


def assumed_floor(floor: Floor) -> list[str]:
    """Return what a floor plan leaves to its usual values, in words."""
    left = [name for name in WRITTEN if name not in floor.model_fields_set]
    words = [WRITTEN[name].format(getattr(floor, name)) for name in left]
    return words if floor.links else [*words, "the cables of `fabric.link`"]
