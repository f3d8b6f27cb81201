"""The site of a design: cooling that suits its servers, and what its floor plan leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, number
from ffplan.catalog.parts import Server

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ffplan.base.errors import Finding
    from ffplan.catalog.parts import Cooling
    from ffplan.design.ownership_schema import Ownership
    from ffplan.design.resolved import ResolvedGroup
    from ffplan.design.schema import Design, Floor
    from ffplan.inputs.document import Document


LIQUID = {
    "cold-plate": "`ownership.liquid`, part of their heat, where you buy these servers with cold plates",
    "immersion": "`ownership: {liquid: 100 %}` where you buy these servers for immersion",
}
"""Remedy by cooling of the site, for designs whose bought servers differ from the catalogue."""


def liquid_share(server: Server, stated: float | None) -> float:
    """Return the share of a server's heat removed by liquid [1].

    Args:
        server: the server; without a share in its file it is air-cooled.
        stated: share stated by the design for its servers [1], if any.
    """
    if stated is not None:
        return stated
    return float(server.power.liquid.value) if server.power.liquid else 0.0


def _coolings_of(share: float) -> tuple[Cooling, ...]:
    """Return the site coolings that suit servers."""
    if share == 0:
        return ("air", "rear-door")
    # immersion needs all heat in the liquid; cold plates leave the rest to air
    return ("cold-plate",) if share < 1 else ("cold-plate", "immersion")


def _cooling_faults(
    spec: Design, owned: Ownership | None, groups: Sequence[ResolvedGroup], document: Document
) -> Iterator[Finding]:
    """Yield a cooling that does not suit the design's compute servers, since its PUE belongs to other hardware."""
    cooling = spec.site.cooling
    stated = float(owned.liquid.value) if owned and owned.liquid else None
    if cooling is None:
        return
    servers = {
        group.server.id: liquid_share(group.server, stated)
        for group in groups
        if group.group.role == "compute" and isinstance(group.server, Server)
    }
    wrong = {name: share for name, share in servers.items() if cooling not in _coolings_of(share)}
    if not wrong:
        return
    by_share = {share: [f"`{name}`" for name, of in wrong.items() if of == share] for share in wrong.values()}
    built = "; ".join(
        f"liquid takes {number(100 * share)} % of the heat of {listed(names)}"
        if share
        else f"air cools {listed(names)}"
        for share, names in by_share.items()
    )
    suited = [_coolings_of(share) for share in servers.values()]
    common = [
        name for name in ("air", "rear-door", "cold-plate", "immersion") if all(name in names for names in suited)
    ]
    remedy = f"write {' or '.join(f'`{name}`' for name in common)}" if common else "give `site.pue` of the mixed site"
    if stated is None and cooling in LIQUID:
        remedy += f", or state {LIQUID[cooling]}"
    yield document.finding(
        "design-cooling", ("site", "cooling"), f"`{cooling}` does not suit the servers: {built}", remedy
    )


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
"""Default values of a floor plan, as phrases."""


def _with_heights(spec: Design) -> Design:
    """Return a design with a height for every node if it has a floor; any other unchanged.

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
    """Return the cables that a floor plan chooses from, each with its path; the fabric's if it names none."""
    if spec.floor is None:
        return ()
    if spec.floor.links:
        return tuple((name, ("floor", "links", place)) for place, name in enumerate(spec.floor.links))
    link = spec.fabric.link
    names = dict.fromkeys(name for name in (link.endpoint, link.inter_switch) if name is not None)
    return tuple((name, ("fabric", "link")) for name in names)


def assumed_floor(floor: Floor) -> list[str]:
    """Return the default values that a floor plan relies on, as phrases."""
    left = [name for name in WRITTEN if name not in floor.model_fields_set]
    phrases = [WRITTEN[name].format(getattr(floor, name)) for name in left]
    return phrases if floor.links else [*phrases, "the cables of `fabric.link`"]
