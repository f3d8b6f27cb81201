"""Faults of a site's cooling that does not suit its servers."""

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
    from ffplan.design.schema import Design
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
    """Return the site coolings that suit servers.

    Args:
        share: share of their heat removed by liquid [1].
    """
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
