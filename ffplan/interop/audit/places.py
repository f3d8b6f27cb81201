"""Devices that are not there, not in the design, or not in their places: a finding for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import first_few, plural
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.audit.cables import parts_not_found
from ffplan.interop.audit.effects import of_losses
from ffplan.interop.audit.exchanged import host_of, title_of
from ffplan.results.as_built import AuditCause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Ints
    from ffplan.interop.audit.effects import Capacity
    from ffplan.interop.audit.sides import Sides, SlowCable


def links_of(found: Sides, devices: set[int]) -> list[tuple[int, int]]:
    """Return the links of the design at some devices."""
    asked = np.zeros(len(found.names), bool)
    asked[list(devices)] = True
    hit = asked[found.ours[:, 0] // PORTS] | asked[found.ours[:, 1] // PORTS]
    return [(one, two) for one, two in found.ours[hit].tolist()]


def absent(found: Sides, have: Capacity) -> Iterator[AuditCause]:
    """Yield a finding for switches and nodes that are not there; nodes below an absent leaf go with it."""
    gone = set(np.flatnonzero(~found.present).tolist()) & set(np.unique(found.ours // PORTS).tolist())
    if not gone:
        return
    explained: set[int] = set()
    for part in parts_not_found(found, gone):
        explained |= part
        yield _absent_part(found, have, part)
    switches = sorted(device for device in gone - explained if found.roles[device])
    for switch in switches:
        near = links_of(found, {switch})
        below = {end // PORTS for pair in near for end in pair} & gone - {switch}
        own = {device for device in below if not found.roles[device]}
        explained |= own
        name = found.names[switch]
        nodes = {host_of(found.names[device]) for device in own}
        with_it = f", with {plural(len(own), 'endpoint')} of {plural(len(nodes), 'node')} below it" if own else ""
        yield AuditCause(
            kind="absent-switch",
            what=f"switch {name} was not found{with_it}",
            where=(name,),
            do=(f"check power, boot and the cables of {name}; then its place in the files",),
            effect=of_losses(have, [(pair, 1.0) for pair in near if found.lower(pair) != switch]),
            links=len(near),
            severity="error",
        )
    hosts: dict[str, list[int]] = {}
    for device in sorted(gone - explained - set(switches)):
        hosts.setdefault(host_of(found.names[device]), []).append(device)
    for host, ends in hosts.items():
        yield _absent_host(found, have, host, ends)


def _absent_part(found: Sides, have: Capacity, part: set[int]) -> AuditCause:
    """Return the finding of a part of the fabric that is not in the files at all."""
    names = [found.names[device] for device in sorted(part) if found.roles[device]]
    near = links_of(found, part)
    return AuditCause(
        kind="absent-part",
        severity="error",
        what=f"{plural(len(names), 'switch', 'switches')} that are joined were not found "
        f"({first_few(names)}), with {plural(len(part) - len(names), 'endpoint')}: a plane, a zone, or a pod",
        where=tuple(names),
        do=("give the files of every plane and zone, or compare one (--plane, --zone)",),
        effect=of_losses(have, [(p, 1.0) for p in near if (d := found.lower(p)) not in part or not found.roles[d]]),
        links=len(near),
    )


def _absent_host(found: Sides, have: Capacity, host: str, own: list[int]) -> AuditCause:
    """Return the finding of a node without some or all of its NICs."""
    near = links_of(found, set(own))
    every = have.ends[host]
    down = not found.present[every].any() and bool(np.isin(every, found.ours // PORTS).all())
    names = tuple(found.names[device] for device in own)
    ports = first_few(found.port(max(pair, key=lambda end: found.roles[end // PORTS])) for pair in near)
    return AuditCause(
        kind="absent-node" if down else "absent-nic",
        what=f"node {host} was not found" if down else f"{first_few(names)} of node {host} was not found",
        where=(host,) if down else names,
        do=(f"check power and drivers of {host}, and its cables at {ports}",),
        effect=f"{host} is off the fabric" if down else of_losses(have, [(pair, 1.0) for pair in near]),
        links=len(near),
        severity="error",
    )


def ports_used(found: Sides) -> Ints:
    """Return the highest port that the design uses of every device; 0 of those that it has not."""
    used = np.zeros(len(found.names), np.int64)
    ends = found.ours.ravel()
    np.maximum.at(used, ends // PORTS, ends % PORTS)
    return used


def other_models(found: Sides, have: Capacity, small: dict[int, int], slow: list[SlowCable]) -> Iterator[AuditCause]:
    """Yield a finding for every switch that has fewer ports than the design uses of it.

    Args:
        found: both fabrics.
        have: the links of the design.
        small: ports of such switches [1].
        slow: links that run below their design.
    """
    used = ports_used(found)
    for device, count in small.items():
        beyond = [
            pair
            for pair in links_of(found, {device})
            if any(end > device * PORTS + count for end in pair if end // PORTS == device)
        ]
        slower = [link for link in slow if device in (link.ends[0] // PORTS, link.ends[1] // PORTS)]
        name = found.names[device]
        rate = f"; {plural(len(slower), 'link')} of it run slower than designed" if slower else ""
        yield AuditCause(
            kind="other-model",
            what=f"switch {name} has {count} ports, and the design uses {used[device]}{rate}",
            where=(name,),
            do=(f"put the model of the design in the place of {name}, or split its ports as the design has them",),
            effect=of_losses(have, [*((pair, 1.0) for pair in beyond), *((link.ends, link.lost) for link in slower)]),
            links=len(beyond) + len(slower),
            severity="error",
        )


def unknown(found: Sides, placed: set[int]) -> Iterator[AuditCause]:
    """Yield a finding for every device that the design has not; adapters of one host go together.

    Args:
        found: both fabrics.
        placed: devices with a name that the design has not, in the place of one that it has.
    """
    ends = found.theirs // PORTS
    hosts: dict[str, list[int]] = {}
    for device in sorted(set(range(found.devices, len(found.names))) - placed):
        hosts.setdefault(title_of(found, device), []).append(device)
    for host, own in hosts.items():
        links = int(np.isin(ends, own).any(axis=1).sum())
        name = found.names[own[0]] if len(own) == 1 else f"{host} with {plural(len(own), 'adapter')}"
        where = " at " + first_few(_far_ends(found, own)) if links else ", wired to nothing"
        yield AuditCause(
            kind="unknown-device",
            what=f"{name} is not in the design{where}",
            where=tuple(found.names[device] for device in own),
            do=("add it to the design, name it by a map (--map), or unplug it",),
            effect="it takes ports that the design leaves free" if links else "none",
            links=links,
            severity="warning",
        )


def _far_ends(found: Sides, own: list[int]) -> list[str]:
    rows = found.theirs[np.isin(found.theirs // PORTS, own).any(axis=1)].tolist()
    return [found.port(two if one // PORTS in own else one) for one, two in rows]


def exchanges(found: Sides, moved: dict[int, int], have: Capacity) -> Iterator[AuditCause]:
    """Yield a finding for every group of devices that stand in each other's places, in a ring or a row."""
    titles = {title_of(found, device): title_of(found, place) for device, place in moved.items()}
    seen: set[str] = set()
    for title in sorted(titles, key=lambda name: (name in titles.values(), name)):  # rows from their start
        if title in seen:
            continue
        row = [title]
        while row[-1] in titles and titles[row[-1]] not in row:
            row.append(titles[row[-1]])
        whole = row[-1] in titles
        seen |= set(row)
        own = [device for device in moved if title_of(found, device) in row]
        links = int(np.isin(found.theirs // PORTS, own).any(axis=1).sum())
        yield _ring(row, links) if whole else _row(found, have, row, (links, own, moved))


def _ring(row: list[str], links: int) -> AuditCause:
    """Return the finding of devices that stand in each other's places."""
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


def _row(found: Sides, have: Capacity, row: list[str], moves: tuple[int, list[int], dict[int, int]]) -> AuditCause:
    """Return the finding of devices each of which stands in the place of the next; the first leaves its own empty."""
    links, own, moved = moves
    left = [device for device in own if device < found.devices and device not in moved.values()]
    lost = [(pair, 1.0) for pair in links_of(found, set(left))] if left else []
    one = len(row) == 2
    what = f"{row[0]} stands in the place of {row[1]}"
    if not one:
        more = ", and so on" if len(row) > 3 else ""
        what = f"{len(row) - 1} devices stand in the places of others: {row[0]} in that of {row[1]}, "
        what += f"{row[1]} in that of {row[2]}{more}"
    empty = f"; the place of {row[0]} is empty" if left else ""
    return AuditCause(
        kind="moved-device",
        severity="error",
        what=f"{what}{empty}",
        where=tuple(row),
        do=(f"name {'it' if one else 'them'} as the design does, or by a map (--map), or move the cables",),
        effect=of_losses(have, lost) or "no bandwidth is lost; tables, labels and the order of ranks by name are wrong",
        links=links,
    )


def shared_names(shared: tuple[str, ...]) -> Iterator[AuditCause]:
    """Yield a finding for the descriptions that several devices have, all in one."""
    if not shared:
        return
    one = f"several devices call themselves {shared[0]}"
    many = f"{len(shared):,} names have several devices each: {first_few(shared)}"
    yield AuditCause(
        kind="shared-name",
        severity="warning",
        what=one if len(shared) == 1 else many,
        where=shared,
        do=("give each device a description of its own: reports and tables mix them up",),
        effect="none on traffic",
        links=0,
    )
