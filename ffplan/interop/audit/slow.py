"""Links below their designed width or speed: one finding for those that one reason may have slowed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ffplan.base.formatting import first_few, listed, plural
from ffplan.base.record import record
from ffplan.fabric.wiring.network import ROLES
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.asbuilt.speeds import rate_words
from ffplan.interop.audit.cables import sharing
from ffplan.interop.audit.effects import of_losses
from ffplan.interop.audit.sides import LANES, SlowCable, slow_links
from ffplan.results.as_built import AuditCause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.audit.effects import Capacity
    from ffplan.interop.audit.sides import Differences, Sides

SHARED = 3
"""Fewest links of one device that make one finding."""
WHOLE = 0.5
"""Part of all links, or of those between two tiers, from which slow ones that run alike are one finding [1]."""
LISTED = 4
"""Most ports that a finding names in its sentence."""


@record
class _Alike:
    """Slow links that run alike and are one finding."""

    links: list[SlowCable]
    device: int = -1
    """The device that they share; -1 where they share none."""
    tiers: tuple[int, int] | None = None
    """The tiers that they join, where they are most of the links between them."""


def between(found: Sides, pair: tuple[int, int]) -> str:
    """Return both ports of a link."""
    return f"{found.port(pair[0])} to {found.port(pair[1])}"


def slow(found: Sides, differences: Differences, have: Capacity) -> Iterator[AuditCause]:
    """Yield a finding for links below their designed width or speed.

    Those that run alike at one device go together, whatever the design has there; so do all that run alike where they
    are most of the fabric, or most of the links between two tiers.
    """
    alike: dict[tuple[int, float], list[SlowCable]] = {}
    for link in slow_links(found, differences):
        alike.setdefault((link.lanes, link.gbit_s), []).append(link)
    right = Counter(_tiers(found, pair) for pair in found.ours[differences.same].tolist()) if alike else Counter()
    for links in alike.values():
        for part in _parts(found, right, links):
            yield _slow(found, have, part)


def _tiers(found: Sides, pair: tuple[int, int]) -> tuple[int, int]:
    """Return the tiers that a link joins, the lower first."""
    one, two = sorted(found.roles_of(end) for end in pair)
    return one, two


def _parts(found: Sides, right: Counter[tuple[int, int]], links: list[SlowCable]) -> Iterator[_Alike]:
    """Yield slow links that run alike, in the groups that are one finding each.

    Args:
        found: both fabrics.
        right: links that are where they should be, between every two tiers.
        links: slow links of one width and speed.
    """
    joined: dict[tuple[int, int], list[SlowCable]] = {}
    for link in links:
        joined.setdefault(_tiers(found, link.ends), []).append(link)
    most = {tiers for tiers, held in joined.items() if len(held) > WHOLE * right[tiers] and _spread(held)}
    if len(links) >= SHARED and len(links) > WHOLE * right.total() and not (len(joined) == len(most) == 1 < len(right)):
        yield _Alike(links)
        return
    left = []
    for tiers, held in joined.items():
        if tiers in most:
            yield _Alike(held, tiers=tiers)
        else:
            left += held
    by_ends = {link.ends: link for link in left}
    for device, pairs in sharing(by_ends, SHARED):
        yield _Alike([by_ends[pair] for pair in pairs], device=device)


def _spread(links: list[SlowCable]) -> bool:
    """Return whether links have several devices at either end: no one device slows them all."""
    return min(len({link.ends[side] // PORTS for link in links}) for side in (0, 1)) >= SHARED


def _steps(found: Sides, part: _Alike) -> tuple[str, ...]:
    """Return what to do about slow links."""
    lanes, one = part.links[0].lanes, len(part.links) == 1
    why = "lanes are dead, or it is a split port" if 0 < lanes < LANES else f"{'it' if one else 'they'} trained at less"
    reseat = f"reseat or replace the cable{'' if one else 's'}: {why}"
    if part.device >= 0:
        return f"check the speed that {found.names[part.device]} is set to, and its firmware", reseat
    if part.tiers is not None:
        return f"check the speed that these tiers are set to, and the kind of cable that was laid: {why}", reseat
    if len(part.links) >= SHARED:
        return ("check the speed that the fabric is set to, or whether the files are of another fabric",)
    return (reseat,)


def _slow(found: Sides, have: Capacity, part: _Alike) -> AuditCause:
    """Return the finding of links that run alike, below their design."""
    links = part.links
    where = f"at {found.names[part.device]} " if part.device >= 0 else ""
    if part.tiers is not None:
        where = f"between {' and '.join('node' if tier == 0 else ROLES[tier - 1] for tier in part.tiers)} "
    shown = first_few((between(found, link.ends) for link in links), LISTED)
    meant = listed([f"{rate:g}" for rate in sorted({link.wanted_gbit_s for link in links})])
    runs = rate_words(links[0].lanes, links[0].gbit_s)
    return AuditCause(
        kind="slow-link",
        severity="error",
        what=f"{plural(len(links), 'link')} {where}at {runs} in place of {meant} Gb/s: {shown}",
        where=tuple(found.full(end) for link in links for end in link.ends),
        do=_steps(found, part),
        effect=of_losses(have, [(link.ends, link.lost) for link in links]),
        links=len(links),
    )
