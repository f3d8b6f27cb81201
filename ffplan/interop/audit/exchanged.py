"""Devices that stand in another's place: two exchanged, or one where another should be."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.union_find import union_find
from ffplan.interop.asbuilt.model import PORTS, both_ways, peer_of
from ffplan.interop.audit.sides import compare

if TYPE_CHECKING:
    from ffplan.base.array_math import Ints
    from ffplan.interop.audit.sides import Sides

MOST_LINKS = 0.5
"""Part of its links beyond which a device stands where another should [1]."""
BROKEN = 0.25
"""Links that an exchange of switches makes wrong, for each that it makes right, from which cables were moved instead
[1]: 128 hosts at the ports of another leaf, whose uplinks are right."""


def _places(found: Sides) -> Ints:
    """Return (device, place, links that say so, links of the device) of all devices, most links first."""
    theirs = both_ways(found.theirs)
    own, peer = theirs[:, 0] // PORTS, theirs[:, 1]
    meant = peer_of(both_ways(found.ours), peer)
    told = meant >= 0
    key = own[told] * len(found.names) + meant[told] // PORTS
    keys, votes = np.unique(key, return_counts=True)
    degree = np.bincount(own, minlength=len(found.names))
    device = keys // len(found.names)
    rows = np.column_stack([device, keys % len(found.names), votes, degree[device]])
    ranked: Ints = rows[np.argsort(-rows[:, 2], kind="stable")]
    return ranked


def exchanged(found: Sides) -> dict[int, int]:
    """Return which switches and hosts stand in whose place, by what they are wired to.

    A device stands in another's place where more than half of its links end at ports that the design has for the other.
    An endpoint moves with its host: hosts are exchanged where all of their endpoints are.

    Args:
        found: both fabrics.
    """
    moved: dict[int, int] = {}
    taken: set[int] = set()
    places = _places(found)
    for device, place, votes, degree in places[places[:, 0] != places[:, 1]].tolist():
        if device in moved or place in taken:
            continue
        if votes > MOST_LINKS * degree and (device >= found.devices or _alike(found, device, place)):
            moved[device] = place
            taken.add(place)
    if not moved:
        return {}
    switches = {device: place for device, place in moved.items() if found.roles[place]}
    hosts = _hosts(found, {device: place for device, place in moved.items() if not found.roles[place]})
    best = dict[int, int]()
    right = compare(found).same
    for part in (*_cycles(switches), *_cycles(hosts, by_host=found)):
        if not _closed(part, found):
            continue
        then = compare(found.moved({**best, **part})).same
        mended, broken = int((then & ~right).sum()), int((right & ~then).sum())
        if broken < (BROKEN if part.keys() <= switches.keys() else 1.0) * mended:
            best.update(part)
            right = then
    return best


def host_of(name: str) -> str:
    """Return the host of an endpoint."""
    return name.partition("/")[0]


def _alike(found: Sides, device: int, place: int) -> bool:
    return bool(found.roles[device]) == bool(found.roles[place])


def title_of(found: Sides, device: int) -> str:
    """Return a switch's name, or the host of an endpoint."""
    name = found.names[device]
    if device < found.devices:
        return name if found.roles[device] else host_of(name)
    return name.partition(" ")[0]


def _hosts(found: Sides, moved: dict[int, int]) -> dict[int, int]:
    """Return the moves of endpoints whose hosts have several, most of which moved to one other host.

    The others of such a host, without a cable or at a wrong one, move with it, each to the NIC of its own number.
    """
    ends: dict[str, list[int]] = {}
    for device in [*np.flatnonzero(found.roles == 0).tolist(), *range(found.devices, len(found.names))]:
        ends.setdefault(title_of(found, device), []).append(device)
    kept: dict[int, int] = {}
    for host, own in ends.items():
        going = Counter(host_of(found.names[moved[device]]) for device in own if device in moved)
        place, count = going.most_common(1)[0] if going else ("", 0)
        if len(own) < 2 or place in ("", host) or count <= len(own) / 2:
            continue
        parts = {
            device: moved[device] for device in own if device in moved and host_of(found.names[moved[device]]) == place
        }
        free = [device for device in ends[place] if device not in parts.values()]
        rest = [device for device in own if device not in parts]
        if len(own) == len(ends[place]):
            parts |= dict(zip(rest, free, strict=True))
        kept |= parts
    return kept


def _cycles(moved: dict[int, int], by_host: Sides | None = None) -> list[dict[int, int]]:
    """Return moves in groups that belong together: devices that take each other's places, in a ring or a row."""

    def key(device: int) -> int | str:
        return title_of(by_host, device) if by_host else device

    roots = union_find((key(device), key(place)) for device, place in moved.items())
    parts: dict[object, dict[int, int]] = {}
    for device, place in moved.items():
        parts.setdefault(roots[key(device)], {})[device] = place
    return list(parts.values())


def _closed(part: dict[int, int], found: Sides) -> bool:
    """Return whether every place is free: left by another of the group, or of a device that was not found."""
    return all(place in part or not found.present[place] for place in part.values())
