"""Differences of a fabric led back to their causes: one finding for each, with what to do and what it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import first_few, plural
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.asbuilt.speeds import rate_words
from ffplan.interop.audit.cables import groups, kind_of, parts_not_found, sharing, shift_of
from ffplan.interop.audit.effects import capacity, of_losses, of_miswiring
from ffplan.interop.audit.exchanged import exchanged, host_of, title_of
from ffplan.interop.audit.sides import compare
from ffplan.results.as_built import AuditCause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.audit.cables import CableGroup
    from ffplan.interop.audit.effects import Capacity
    from ffplan.interop.audit.sides import Differences, Sides

SHARED = 3
"""Fewest links of one device that make one finding."""
SLOWER = 0.95
"""Part of the designed rate below which a link is slow [1]; FDR10 and QDR, and rates with their coding, count alike."""
WHOLE = 0.5
"""Part of all links from which slow ones that run alike are one finding [1]."""
LANES = 4
"""Lanes of a link of InfiniBand in a fabric."""
LISTED = 4
"""Most ports that a finding names in its sentence."""
NAMED = 12
"""Most steps that a finding lists."""


def _links(found: Sides, devices: set[int]) -> list[tuple[int, int]]:
    """Return the links of the design at some devices."""
    own = found.ours // PORTS
    hit = np.isin(own, sorted(devices)).any(axis=1)
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
        near = _links(found, {switch})
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
            effect=of_losses(have, [(pair, 1.0) for pair in near if have.upward(pair) != switch]),
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
    near = _links(found, part)
    return AuditCause(
        kind="absent-part",
        severity="error",
        what=f"{plural(len(names), 'switch').replace('switchs', 'switches')} that are joined were not found "
        f"({first_few(names)}), with {plural(len(part) - len(names), 'endpoint')}: a plane, a zone, or a pod",
        where=tuple(names),
        do=("give the files of every plane and zone, or compare one (--plane, --zone)",),
        effect=of_losses(have, [(pair, 1.0) for pair in near if have.upward(pair) not in part]),
        links=len(near),
    )


def _absent_host(found: Sides, have: Capacity, host: str, own: list[int]) -> AuditCause:
    """Return the finding of a node without some or all of its NICs."""
    near = _links(found, set(own))
    down = len(own) == have.nics[host]
    names = tuple(found.names[device] for device in own)
    ports = first_few(found.port(max(pair, key=lambda end: found.roles[end // PORTS])) for pair in near)
    return AuditCause(
        kind="absent-node" if down else "absent-nic",
        what=f"node {host} was not found" if down else f"{first_few(names)} of node {host} was not found",
        where=(host,) if down else names,
        do=(f"check power and drivers of {host}, and its cables at {ports}",),
        effect=of_losses(have, [(pair, 1.0) for pair in near]),
        links=len(near),
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
    lost = [(pair, 1.0) for pair in _links(found, set(left))] if left else []
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


def cables(found: Sides, differences: Differences, have: Capacity, explained: set[int]) -> Iterator[AuditCause]:
    """Yield a finding for every mistake in cables: missing, extra, moved, swapped, shifted or permuted."""
    alone: dict[str, list[tuple[int, int]]] = {"missing": [], "extra": []}
    for group in groups(found, differences, explained):
        kind = kind_of(group)
        if kind in alone:
            alone[kind] += group.lost or group.stray
        else:
            yield _rewired(found, have, group, kind)
    for device, pairs in sharing(alone["missing"], SHARED):
        yield _missing(found, have, device, pairs)
    for device, pairs in sharing(alone["extra"], SHARED):
        at = f" at {found.names[device]}" if device >= 0 else ""
        shown = first_few((_between(found, pair) for pair in pairs), LISTED)
        yield AuditCause(
            kind="extra-cable",
            what=f"{plural(len(pairs), 'cable')}{at} that the design has not: {shown}",
            where=tuple(found.full(end) for pair in pairs for end in pair),
            do=("unplug, or add to the design",),
            effect="they take ports that the design leaves free",
            links=len(pairs),
            severity="warning",
        )


def _between(found: Sides, pair: tuple[int, int]) -> str:
    return f"{found.port(pair[0])} to {found.port(pair[1])}"


def _steps(do: list[str]) -> tuple[str, ...]:
    """Return the first steps, and how many more there are."""
    return tuple(do[:NAMED]) + ((f"and {len(do) - NAMED} more",) if len(do) > NAMED else ())


def _missing(found: Sides, have: Capacity, device: int, pairs: list[tuple[int, int]]) -> AuditCause:
    shown = first_few((_between(found, pair) for pair in pairs), LISTED)
    at = f" at {found.names[device]}" if device >= 0 else ""
    every = device >= 0 and len(pairs) == len(_links(found, {device}))
    return AuditCause(
        kind="missing-cable",
        what=f"{plural(len(pairs), 'cable')}{at} not found: {shown}",
        where=tuple(found.full(end) for pair in pairs for end in pair),
        do=(f"check {found.names[device]} itself: no link of it is up",)
        if every
        else _steps([f"lay, reseat or replace the cable from {_between(found, pair)}" for pair in pairs]),
        effect=of_losses(have, [(pair, 1.0) for pair in pairs]),
        links=len(pairs),
        severity="error",
    )


def _rewired(found: Sides, have: Capacity, group: CableGroup, kind: str) -> AuditCause:
    """Return the finding of cables that lead elsewhere."""
    there = {}
    for one, two in group.stray:
        there[one], there[two] = two, one
    do = []
    ends = sorted({end for pair in group.lost for end in pair if end in there})
    if kind == "swapped":
        one, two = _swapped(group)
        what = f"the cables in {found.port(one)} and {found.port(two)} are exchanged"
        nodes = {title_of(found, end // PORTS) for end in (one, two) if not found.roles_of(end)}
        more = ", or the names of the two nodes" if len(nodes) == 2 else ""
        do = [f"exchange the cables in {found.port(one)} and {found.port(two)}{more}"]
    elif kind == "moved":
        kept, wrong, right = _moved(group)
        what = f"the cable from {found.port(kept)} ends in {found.port(wrong)}, and belongs in {found.port(right)}"
        do = [f"move its end from {found.port(wrong)} to {found.port(right)}"]
    elif kind == "shifted" and (shift := shift_of(group)) is not None:
        device, step = shift
        count = len(group.lost) - len(_without_cable(found, group))
        words = f"{plural(count, 'cable')} at {found.names[device]}"
        what = f"{words} sit {plural(abs(step), 'port')} too {'high' if step > 0 else 'low'}"
        do = [f"move each {plural(abs(step), 'port')} {'down' if step > 0 else 'up'} at {found.names[device]}"]
    else:
        what = (
            f"{plural(len(group.lost), 'cable')} are permuted among {first_few((found.port(e) for e in ends), LISTED)}"
        )
    if not do:
        for one, two in group.lost:
            kept, right = (one, two) if found.roles_of(one) <= found.roles_of(two) else (two, one)
            if kept in there:
                do.append(f"move the cable of {found.port(kept)} from {found.port(there[kept])} to {found.port(right)}")
    bare = _without_cable(found, group)
    do += [f"lay, reseat or replace the cable from {_between(found, pair)}" for pair in bare]
    more = (
        f"; {plural(len(bare), 'cable')} not found: {first_few((_between(found, p) for p in bare), LISTED)}"
        if bare
        else ""
    )
    return AuditCause(
        kind=f"{kind}-cables" if kind != "moved" else "moved-cable",
        what=f"{what}{more}",
        where=tuple(found.full(end) for end in sorted(group.ports)),
        do=_steps(do),
        effect=of_losses(have, [(pair, 1.0) for pair in bare]) or of_miswiring(have, group.lost, group.stray),
        links=len(group.lost),
        severity="error",
    )


def _without_cable(found: Sides, group: CableGroup) -> list[tuple[int, int]]:
    """Return the links of a group that are lost for good: as many of each lower device as it has cables too few."""

    def lower(pair: tuple[int, int]) -> int:
        return min(pair, key=lambda end: (found.roles_of(end), end)) // PORTS

    spare = Counter(lower(pair) for pair in group.stray)
    cabled = {end for pair in group.stray for end in pair}
    made = []
    for pair in sorted(group.lost, key=lambda pair: not cabled.isdisjoint(pair), reverse=True):
        device = lower(pair)
        if spare[device]:
            spare[device] -= 1
        else:
            made.append(pair)
    return made


def _moved(group: CableGroup) -> tuple[int, int, int]:
    """Return the end of a moved cable that is right, where its other end is, and where that belongs.

    Of two readings, that in which the cable moved between ports of one device.
    """
    (stray,) = group.stray
    readings = []
    for pair in group.lost:
        for kept, right in (pair, pair[::-1]):
            if kept in stray:
                wrong = stray[1] if kept == stray[0] else stray[0]
                readings.append((wrong // PORTS != right // PORTS, kept, wrong, right))
    _, kept, wrong, right = min(readings)
    return kept, wrong, right


def _swapped(group: CableGroup) -> tuple[int, int]:
    """Return the two ports to exchange: those of one device where there are such, else the first of each link."""
    first, second = group.lost
    for one in first:
        for two in second:
            if one // PORTS == two // PORTS:
                return one, two
    crossed = {frozenset(pair) for pair in group.stray}
    return next((one, two) for one in first for two in second if frozenset((one, two)) not in crossed)


def slow(found: Sides, differences: Differences, have: Capacity) -> Iterator[AuditCause]:
    """Yield a finding for links below their designed width or speed.

    Those that run alike at one device go together, and all that run alike where they are most of the fabric.
    """
    rows = np.flatnonzero(differences.same)
    at = differences.at[rows]
    rate, lanes, wanted = found.theirs_gbit_s[at], found.theirs_lanes[at], found.ours_gbit_s[rows]
    below = ((rate > 0) & (rate < SLOWER * wanted)) | ((rate == 0) & (lanes == 1))
    alike: dict[tuple[int, float, float], list[tuple[int, int]]] = {}
    for n in np.flatnonzero(below).tolist():
        one, two = found.ours[rows[n]].tolist()
        alike.setdefault((int(lanes[n]), float(rate[n]), float(wanted[n])), []).append((one, two))
    for (width, seen, meant), pairs in alike.items():
        whole = len(pairs) > WHOLE * len(rows) and len(pairs) >= SHARED
        parts = [(-1, pairs)] if whole else sharing(pairs, SHARED)
        for device, held in parts:
            yield _slow(found, have, device, held, (width, seen, meant))


def _slow(
    found: Sides, have: Capacity, device: int, pairs: list[tuple[int, int]], rates: tuple[int, float, float]
) -> AuditCause:
    """Return the finding of links that run alike, below their design."""
    lanes, seen, meant = rates
    kept = seen / meant if seen else 1 / LANES
    where = f"at {found.names[device]} " if device >= 0 else ""
    shown = first_few((_between(found, pair) for pair in pairs), LISTED)
    cables = "the cable" if len(pairs) == 1 else "the cables"
    why = (
        "lanes are dead, or it is a split port"
        if 0 < lanes < LANES
        else "it trained at less"
        if len(pairs) == 1
        else "they trained at less"
    )
    do = [f"reseat or replace {cables}: {why}"]
    if device >= 0:
        do.insert(0, f"check the speed that {found.names[device]} is set to, and its firmware")
    elif len(pairs) >= SHARED:
        do = ["check the speed that the fabric is set to, or whether the files are of another fabric"]
    return AuditCause(
        kind="slow-link",
        severity="error",
        what=f"{plural(len(pairs), 'link')} {where}at {rate_words(lanes, seen)} in place of {meant:g} Gb/s: {shown}",
        where=tuple(found.full(end) for pair in pairs for end in pair),
        do=tuple(do),
        effect=of_losses(have, [(pair, 1 - kept) for pair in pairs]),
        links=len(pairs),
    )


def causes(found: Sides, shared: tuple[str, ...] = ()) -> tuple[list[AuditCause], Sides, Differences]:
    """Return the findings of a fabric, the fabrics with devices in their places, and what differs then.

    Args:
        found: both fabrics.
        shared: descriptions that several devices have.
    """
    have = capacity(found)
    moved = exchanged(found)
    placed = found.moved(moved)
    differences = compare(placed)
    held = _held(found, moved)
    left = set(moved) - set(moved.values())  # their own places are empty, as their finding says
    gone = set(np.flatnonzero(~held.present).tolist())
    explained = gone | left | (set(range(found.devices, len(found.names))) - set(moved))
    made = [
        *exchanges(found, moved, have),
        *absent(held, have),
        *cables(placed, differences, have, explained),
        *slow(placed, differences, have),
        *unknown(placed, set(moved)),
        *shared_names(shared),
    ]
    rank = {"error": 0, "warning": 1, "info": 2}
    return sorted(made, key=lambda cause: (rank[cause.severity], -cause.links)), placed, differences


def shared_names(shared: tuple[str, ...]) -> Iterator[AuditCause]:
    """Yield a finding for every description that several devices have."""
    for name in shared:
        yield AuditCause(
            kind="shared-name",
            severity="warning",
            what=f"several devices call themselves {name}",
            where=(name,),
            do=("give each a description of its own: reports and tables mix them up",),
            effect="none on traffic",
            links=0,
        )


def _held(found: Sides, moved: dict[int, int]) -> Sides:
    """Return the fabrics with the places that devices hold, under whatever name."""
    present = found.present.copy()
    present[[place for place in moved.values() if place < found.devices]] = True
    return replace(found, present=present)
