"""Cooling of a site that its servers are not built for."""

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
"""What a design states that buys other servers than its catalogue has, by cooling of the site."""


def liquid_share(server: Server, stated: float | None) -> float:
    """Return the part of a server's heat that liquid takes away [1].

    Args:
        server: the server; without a share in its file, air cools it.
        stated: the share that the design states for its servers [1]; None where it states none.
    """
    if stated is not None:
        return stated
    return float(server.power.liquid.value) if server.power.liquid else 0.0


def coolings_of(share: float) -> tuple[Cooling, ...]:
    """Return the ways of cooling a site that servers can live with.

    Args:
        share: part of their heat that liquid takes away [1].
    """
    if share == 0:
        return ("air", "rear-door")
    return ("cold-plate",) if share < 1 else ("cold-plate", "immersion")


def cooling_faults(
    spec: Design, owned: Ownership | None, groups: Sequence[ResolvedGroup], document: Document
) -> Iterator[Finding]:
    """Yield a cooling that compute servers of the design are not built for: its PUE would be that of other hardware."""
    cooling = spec.site.cooling
    stated = float(owned.liquid.value) if owned and owned.liquid else None
    if cooling is None:
        return
    servers = {
        group.server.id: liquid_share(group.server, stated)
        for group in groups
        if group.group.role == "compute" and isinstance(group.server, Server)
    }
    wrong = {name: share for name, share in servers.items() if cooling not in coolings_of(share)}
    if not wrong:
        return
    by_share = {share: [f"`{name}`" for name, of in wrong.items() if of == share] for share in wrong.values()}
    built = "; ".join(
        f"liquid takes {number(100 * share)} % of the heat of {listed(names)}"
        if share
        else f"air cools {listed(names)}"
        for share, names in by_share.items()
    )
    common = [name for name in ("air", "rear-door", "cold-plate", "immersion") if _suits_all(name, servers)]
    remedy = f"write {' or '.join(f'`{name}`' for name in common)}" if common else "give `site.pue` of the mixed site"
    if stated is None and cooling in LIQUID:
        remedy += f", or state {LIQUID[cooling]}"
    yield document.finding(
        "design-cooling", ("site", "cooling"), f"`{cooling}` does not suit the servers: {built}", remedy
    )


def _suits_all(cooling: str, servers: dict[str, float]) -> bool:
    return all(cooling in coolings_of(share) for share in servers.values())
