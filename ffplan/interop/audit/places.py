"""Devices that are unknown to the design, or in the place of another: a finding for each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import first_few, plural
from ffplan.interop.asbuilt.model import PORTS, _peer_of, _union_find, both_ways
from ffplan.interop.audit.absent import SHARED, _links_of
from ffplan.interop.audit.effects import _of_losses
from ffplan.interop.audit.sides import _host_of, _title_of, compare
from ffplan.results.as_built import AuditCause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Ints
    from ffplan.interop.audit.effects import Capacity
    from ffplan.interop.audit.sides import Sides, _SlowCable

_MOST_LINKS = 0.5
"""Part of its links beyond which a device stands where another should [1]."""
_BROKEN = 0.25
"""Links that an exchange of switches makes wrong, for each that it makes right, from which cables were moved instead
[1]: 128 hosts at the ports of another leaf, whose uplinks are right."""


def _places(fabrics: Sides) -> Ints:
    """Return (device, place, links that say so, links of the device) of all devices, most links first."""
    theirs = both_ways(fabrics.theirs)
    devices, peer = theirs[:, 0] // PORTS, theirs[:, 1]
    meant = _peer_of(both_ways(fabrics.ours), peer)
    told = meant >= 0
    key = devices[told] * len(fabrics.names) + meant[told] // PORTS
    keys, votes = np.unique(key, return_counts=True)
    degree = np.bincount(devices, minlength=len(fabrics.names))
    device = keys // len(fabrics.names)
    rows = np.column_stack([device, keys % len(fabrics.names), votes, degree[device]])
    ranked: Ints = rows[np.argsort(-rows[:, 2], kind="stable")]
    return ranked


def _exchanged(fabrics: Sides) -> dict[int, int]:
    """Find switches and hosts that are in the place of another, by their wiring.

    A device is in another's place if more than half of its links end at ports that the design gives to the other.
    An endpoint moves with its host: hosts are exchanged where all of their endpoints are.
    """
    moved: dict[int, int] = {}
    taken: set[int] = set()
    places = _places(fabrics)
    for device, place, votes, degree in places[places[:, 0] != places[:, 1]].tolist():
        if device in moved or place in taken:
            continue
        # a switch never takes the place of a host, nor a host that of a switch
        same_kind = device >= fabrics.devices or bool(fabrics.roles[device]) == bool(fabrics.roles[place])
        if votes > _MOST_LINKS * degree and same_kind:
            moved[device] = place
            taken.add(place)
    if not moved:
        return {}
    switches = {device: place for device, place in moved.items() if fabrics.roles[place]}
    hosts = _hosts(fabrics, {device: place for device, place in moved.items() if not fabrics.roles[place]})
    best = dict[int, int]()
    right = compare(fabrics).same
    for part in (*_cycles(switches), *_cycles(hosts, by_host=fabrics)):
        if not _closed(part, fabrics):
            continue
        then = compare(fabrics.moved({**best, **part})).same
        mended, broken = int((then & ~right).sum()), int((right & ~then).sum())
        if broken < (_BROKEN if part.keys() <= switches.keys() else 1.0) * mended:
            best.update(part)
            right = then
    return best


def _hosts(fabrics: Sides, moved: dict[int, int]) -> dict[int, int]:
    """Return the moves of endpoints on hosts with several, if most moved to one other host.

    The host's other endpoints, uncabled or miswired, move with it, each to the NIC with the same number.
    """
    ends: dict[str, list[int]] = {}
    for device in [*np.flatnonzero(fabrics.roles == 0).tolist(), *range(fabrics.devices, len(fabrics.names))]:
        ends.setdefault(_title_of(fabrics, device), []).append(device)
    kept: dict[int, int] = {}
    for host, adapters in ends.items():
        going = Counter(_host_of(fabrics.names[moved[device]]) for device in adapters if device in moved)
        place, count = going.most_common(1)[0] if going else ("", 0)
        if len(adapters) < 2 or place in ("", host) or count <= len(adapters) / 2:
            continue
        parts = {
            device: moved[device]
            for device in adapters
            if device in moved and _host_of(fabrics.names[moved[device]]) == place
        }
        free = [device for device in ends[place] if device not in parts.values()]
        rest = [device for device in adapters if device not in parts]
        if len(adapters) == len(ends[place]):
            parts |= dict(zip(rest, free, strict=True))
        kept |= parts
    return kept


def _cycles(moved: dict[int, int], by_host: Sides | None = None) -> list[dict[int, int]]:
    """Return moves in groups that belong together: devices that take each other's places, in a ring or a row."""

    def key(device: int) -> int | str:
        return _title_of(by_host, device) if by_host else device

    roots = _union_find((key(device), key(place)) for device, place in moved.items())
    parts: dict[object, dict[int, int]] = {}
    for device, place in moved.items():
        parts.setdefault(roots[key(device)], {})[device] = place
    return list(parts.values())


def _closed(part: dict[int, int], fabrics: Sides) -> bool:
    """Return whether every place is free: left by another of the group, or of a device that was not found."""
    return all(place in part or not fabrics.present[place] for place in part.values())


def _ports_used(fabrics: Sides) -> Ints:
    """Return every device's highest port in the design; 0 for a device outside it."""
    used = np.zeros(len(fabrics.names), np.int64)
    ends = fabrics.ours.ravel()
    np.maximum.at(used, ends // PORTS, ends % PORTS)
    return used


def _other_models(
    fabrics: Sides, have: Capacity, small: dict[int, int], slow: list[_SlowCable]
) -> Iterator[AuditCause]:
    """Yield a finding for every switch that has fewer ports than the design uses of it."""
    used = _ports_used(fabrics)
    for device, count in small.items():
        beyond = [
            pair
            for pair in _links_of(fabrics, {device})
            if any(end > device * PORTS + count for end in pair if end // PORTS == device)
        ]
        slower = [link for link in slow if device in (link.ends[0] // PORTS, link.ends[1] // PORTS)]
        name = fabrics.names[device]
        rate = f"; {plural(len(slower), 'link')} of it run slower than designed" if slower else ""
        yield AuditCause(
            kind="other-model",
            what=f"switch {name} has {count} ports, and the design uses {used[device]}{rate}",
            where=(name,),
            do=(f"put the model of the design in the place of {name}, or split its ports as the design has them",),
            effect=_of_losses(have, [*((pair, 1.0) for pair in beyond), *((link.ends, link.lost) for link in slower)]),
            links=len(beyond) + len(slower),
            severity="error",
        )


def unknown(fabrics: Sides, placed: set[int]) -> Iterator[AuditCause]:
    """Yield a finding for every device that the design has not; adapters of one host go together.

    Args:
        placed: devices with a name that the design has not, in the place of one that it has.
    """
    ends = fabrics.theirs // PORTS
    hosts: dict[str, list[int]] = {}
    for device in sorted(set(range(fabrics.devices, len(fabrics.names))) - placed):
        hosts.setdefault(_title_of(fabrics, device), []).append(device)
    for titles, devices in _at_the_same_switches(fabrics, hosts):
        links = int(np.isin(ends, devices).any(axis=1).sum())
        name = fabrics.names[devices[0]]
        if len(titles) > 1:
            name = f"{len(titles):,} devices with {plural(len(devices), 'adapter')}, {first_few(titles)},"
        elif len(devices) > 1:
            name = f"{titles[0]} with {plural(len(devices), 'adapter')}"
        them = "it" if len(titles) == 1 else "them"
        where = " at " + first_few(_far_ends(fabrics, devices)) if links else ", wired to nothing"
        yield AuditCause(
            kind="unknown-device",
            what=f"{name} {'is' if len(titles) == 1 else 'are'} not in the design{where}",
            where=tuple(fabrics.names[device] for device in devices),
            do=(f"add {them} to the design, name {them} by a map (--map), or unplug {them}",),
            effect="it takes ports that the design leaves free" if links else "none",
            links=links,
            severity="warning",
        )


def _at_the_same_switches(fabrics: Sides, hosts: dict[str, list[int]]) -> list[tuple[list[str], list[int]]]:
    """Group unknown hosts that are wired to the same switches, with their adapters; small groups stay separate."""
    groups: dict[object, list[str]] = {}
    for host, devices in hosts.items():
        rows = fabrics.theirs[np.isin(fabrics.theirs // PORTS, devices).any(axis=1)] // PORTS
        switches = frozenset(rows.ravel().tolist()) - set(devices)
        groups.setdefault(switches or host, []).append(host)
    parted: list[list[str]] = []
    for titles in groups.values():
        parted += [titles] if len(titles) >= SHARED else [[title] for title in titles]
    return [(titles, [device for title in titles for device in hosts[title]]) for titles in parted]


def _far_ends(fabrics: Sides, devices: list[int]) -> list[str]:
    rows = fabrics.theirs[np.isin(fabrics.theirs // PORTS, devices).any(axis=1)].tolist()
    return [fabrics.port(far if near // PORTS in devices else near) for near, far in rows]


def _exchanges(fabrics: Sides, moved: dict[int, int], have: Capacity) -> Iterator[AuditCause]:
    """Yield a finding for every group of devices in each other's places, in a ring or a row."""
    titles = {_title_of(fabrics, device): _title_of(fabrics, place) for device, place in moved.items()}
    seen: set[str] = set()
    for title in sorted(titles, key=lambda name: (name in titles.values(), name)):  # rows from their start
        if title in seen:
            continue
        row = [title]
        while row[-1] in titles and titles[row[-1]] not in row:
            row.append(titles[row[-1]])
        whole = row[-1] in titles
        seen |= set(row)
        devices = [device for device in moved if _title_of(fabrics, device) in row]
        links = int(np.isin(fabrics.theirs // PORTS, devices).any(axis=1).sum())
        yield _ring(row, links) if whole else _row(fabrics, have, row, (links, devices, moved))


def _ring(row: list[str], links: int) -> AuditCause:
    what = f"{' and '.join(row)} are exchanged" if len(row) == 2 else f"{', '.join(row)} are exchanged in a ring"
    return AuditCause(
        kind="exchanged-devices",
        severity="error",
        what=what,
        where=tuple(row),
        do=(f"exchange their names, or their {links} cables",),
        effect="no bandwidth is lost; tables, labels and the order of ranks by name are wrong",
        links=links,
    )


def _row(fabrics: Sides, have: Capacity, row: list[str], moves: tuple[int, list[int], dict[int, int]]) -> AuditCause:
    """Report a row of devices, each in the place of the next; the first one's place stays empty."""
    links, devices, moved = moves
    left = [device for device in devices if device < fabrics.devices and device not in moved.values()]
    lost = [(pair, 1.0) for pair in _links_of(fabrics, set(left))] if left else []
    single = len(row) == 2
    what = f"{row[0]} is in the place of {row[1]}"
    if not single:
        more = ", and so on" if len(row) > 3 else ""
        what = f"{len(row) - 1} devices have moved: {row[0]} is in the place of {row[1]}, "
        what += f"{row[1]} in the place of {row[2]}{more}"
    empty = f"; the place of {row[0]} is empty" if left else ""
    return AuditCause(
        kind="moved-device",
        severity="error",
        what=f"{what}{empty}",
        where=tuple(row),
        do=(f"name {'it' if single else 'them'} as the design does, or by a map (--map), or move the cables",),
        effect=_of_losses(have, lost)
        or "no bandwidth is lost; tables, labels and the order of ranks by name are wrong",
        links=links,
    )


def _shared_names(shared: tuple[str, ...]) -> Iterator[AuditCause]:
    """Yield a finding for the descriptions that several devices have, all in one."""
    if not shared:
        return
    single = f"several devices call themselves {shared[0]}"
    many = f"{len(shared):,} names have several devices each: {first_few(shared)}"
    yield AuditCause(
        kind="shared-name",
        severity="warning",
        what=single if len(shared) == 1 else many,
        where=shared,
        do=("give each device a unique description: reports and tables mix them up",),
        effect="none on traffic",
        links=0,
    )
