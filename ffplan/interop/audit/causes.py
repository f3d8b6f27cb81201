"""Differences of a fabric led back to their causes: one finding for each, with what to do and what it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import first_few, plural
from ffplan.base.record import record
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.audit.cables import (
    CableGroup,
    exchangeable,
    groups,
    kind_of,
    pairs_apart_from,
    sharing,
    shift_of,
    swapped_alike,
)
from ffplan.interop.audit.effects import capacity, of_losses, of_miswiring
from ffplan.interop.audit.exchanged import exchanged, title_of
from ffplan.interop.audit.places import absent, exchanges, other_models, ports_used, shared_names, unknown
from ffplan.interop.audit.sides import Differences, Sides, compare, slow_links
from ffplan.interop.audit.slow import LISTED, SHARED, between, slow
from ffplan.results.as_built import AuditCause

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ffplan.interop.audit.effects import Capacity

NAMED = 12
"""Most steps that a finding lists."""


def cables(found: Sides, differences: Differences, have: Capacity, explained: set[int]) -> Iterator[AuditCause]:
    """Yield a finding for every mistake in cables: missing, extra, moved, swapped, shifted or permuted."""
    alone: dict[str, list[tuple[int, int]]] = {"missing": [], "extra": []}
    swapped: list[CableGroup] = []
    for group in groups(found, differences, explained):
        kind = kind_of(group)
        if kind in alone:
            alone[kind] += group.lost or group.stray
        elif kind == "swapped":
            swapped.append(group)
        else:
            yield _rewired(found, have, group, kind)
    for switches, alike in swapped_alike(found, swapped, SHARED):
        if switches:
            yield _swapped_rows(found, have, switches, alike)
        else:
            yield from (_rewired(found, have, group, "swapped") for group in alike)
    for device, pairs in sharing(alone["missing"], SHARED):
        yield _missing(found, have, device, pairs)
    for device, pairs in sharing(alone["extra"], SHARED):
        at = f" at {found.names[device]}" if device >= 0 else ""
        shown = first_few((between(found, pair) for pair in pairs), LISTED)
        yield AuditCause(
            kind="extra-cable",
            what=f"{plural(len(pairs), 'cable')}{at} that the design has not: {shown}",
            where=tuple(found.full(end) for pair in pairs for end in pair),
            do=("unplug, or add to the design",),
            effect="they take ports that the design leaves free",
            links=len(pairs),
            severity="warning",
        )


def _steps(do: list[str]) -> tuple[str, ...]:
    """Return the first steps, and how many more there are."""
    return tuple(do[:NAMED]) + ((f"and {len(do) - NAMED} more",) if len(do) > NAMED else ())


def _missing(found: Sides, have: Capacity, device: int, pairs: list[tuple[int, int]]) -> AuditCause:
    shown = first_few((between(found, pair) for pair in pairs), LISTED)
    at = f" at {found.names[device]}" if device >= 0 else ""
    every = device >= 0 and len(pairs) == have.degree[device]
    return AuditCause(
        kind="missing-cable",
        what=f"{plural(len(pairs), 'cable')}{at} not found: {shown}",
        where=tuple(found.full(end) for pair in pairs for end in pair),
        do=(f"check {found.names[device]} itself: no link of it is up",)
        if every
        else _steps([f"lay, reseat or replace the cable from {between(found, pair)}" for pair in pairs]),
        effect=of_losses(have, [(pair, 1.0) for pair in pairs]),
        links=len(pairs),
        severity="error",
    )


def _rewired(found: Sides, have: Capacity, group: CableGroup, kind: str) -> AuditCause:
    """Return the finding of cables that lead elsewhere."""
    there, bare, do = group.there, _without_cable(found, group), list[str]()
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
        words = f"{plural(len(group.lost) - len(bare), 'cable')} at {found.names[device]}"
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
    do += [f"lay, reseat or replace the cable from {between(found, pair)}" for pair in bare]
    more = (
        f"; {plural(len(bare), 'cable')} not found: {first_few((between(found, p) for p in bare), LISTED)}"
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


def _swapped_rows(found: Sides, have: Capacity, switches: tuple[int, ...], alike: list[CableGroup]) -> AuditCause:
    """Return the finding of many pairs of cables that are exchanged at one switch, or between the same two."""
    names = [found.names[switch] for switch in switches]
    where = f"between {names[0]} and {names[1]}" if len(names) == 2 else f"at {names[0]}"
    lost = [pair for group in alike for pair in group.lost]
    stray = [pair for group in alike for pair in group.stray]
    uplinks = all(found.roles_of(end) for pair in lost for end in pair)
    ports = [_swapped(group, switches if uplinks else ()) for group in alike]
    steps = [f"exchange {found.port(one)} and {found.port(two)}" for one, two in ports]
    if len(names) == 2 and not uplinks:
        steps.insert(0, "see whether these nodes count their adapters the other way, and name them by a map; else")
    return AuditCause(
        kind="swapped-cables",
        severity="error",
        what=f"{len(alike)} pairs of cables are exchanged {where}",
        where=tuple(found.full(end) for end in sorted({end for pair in lost for end in pair})),
        do=_steps(steps),
        effect=of_miswiring(have, lost, stray),
        links=len(lost),
    )


def _without_cable(found: Sides, group: CableGroup) -> list[tuple[int, int]]:
    """Return the links of a group that are lost for good: as many of each lower device as it has cables too few.

    A cable at another port of the device where it belongs is that of its link, before one that leads elsewhere.
    """
    spare = Counter(found.lower(pair) for pair in group.stray)
    there = group.there

    def cabled(pair: tuple[int, int]) -> int:
        ends = [(there[one], two) for one, two in (pair, pair[::-1]) if one in there]
        return max((1 + (seen // PORTS == wanted // PORTS) for seen, wanted in ends), default=0)

    made = []
    for pair in sorted(group.lost, key=cabled, reverse=True):
        device = found.lower(pair)
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


def _swapped(group: CableGroup, switches: tuple[int, ...] = ()) -> tuple[int, int]:
    """Return the two ports to exchange: those of given switches or of one device where there are such, else the first.

    Args:
        group: two links that are exchanged.
        switches: switches of which both ports should be.
    """
    pairs = exchangeable(group)
    wanted = [pair for pair in pairs if {end // PORTS for end in pair} == set(switches)]
    own = [(one, two) for one, two in pairs if one // PORTS == two // PORTS]
    return (wanted or own or pairs)[0]


@record
class Audited:
    """What an audit found."""

    causes: list[AuditCause]
    """The findings, the worst first."""
    placed: Sides
    """Both fabrics, with devices in the places that they hold."""
    differences: Differences
    """What differs then."""
    effect: str
    """What all findings cost together; empty of one alone."""


def causes(found: Sides, shared: tuple[str, ...] = (), ports: Mapping[int, int] | None = None) -> Audited:
    """Return the findings of a fabric.

    Args:
        found: both fabrics.
        shared: descriptions that several devices have.
        ports: ports that devices as built have [1], of those of which the files say it.
    """
    have = capacity(found)
    moved = exchanged(found)
    placed = found.moved(moved)
    differences = compare(placed)
    held = _held(found, moved)
    left = set(moved) - set(moved.values())  # their own places are empty, as their finding says
    gone = set(np.flatnonzero(~held.present).tolist())
    strangers = set(range(found.devices, len(found.names)))
    explained = gone | left | (strangers - set(moved))
    small = _too_small(placed, {moved.get(device, device): count for device, count in (ports or {}).items()})
    others = _apart_from(placed, differences, small)
    made = [
        *exchanges(found, moved, have),
        *absent(held, have),
        *other_models(placed, have, small, slow_links(placed, differences)),
        *cables(placed, others, have, explained),
        *slow(placed, others, have),
        *unknown(placed, set(moved)),
        *shared_names(shared),
    ]
    rows = (placed.ours[differences.lost], placed.theirs[differences.stray])
    whole = CableGroup(*(pairs_apart_from(strangers, part) for part in rows))
    lost = [(pair, 1.0) for pair in _without_cable(placed, whole)]
    slower = [(link.ends, link.lost) for link in slow_links(placed, differences)]
    effect = of_losses(have, [*lost, *slower]) if len(made) > 1 else ""
    rank = {"error": 0, "warning": 1, "info": 2}
    return Audited(sorted(made, key=lambda cause: (rank[cause.severity], -cause.links)), placed, differences, effect)


def _too_small(found: Sides, ports: Mapping[int, int]) -> dict[int, int]:
    """Return the switches that have fewer ports than the design uses of them, with how many they have."""
    used = ports_used(found)
    return {
        device: count
        for device, count in sorted(ports.items())
        if device < found.devices and found.roles[device] and 0 < count < used[device]
    }


def _apart_from(found: Sides, differences: Differences, small: dict[int, int]) -> Differences:
    """Return what differs but for what follows from switches with too few ports: links beyond these, and slow ones."""
    if not small:
        return differences
    most = np.full(len(found.names), PORTS)
    most[list(small)] = list(small.values())
    beyond = (found.ours % PORTS > most[found.ours // PORTS]).any(axis=1)
    near = np.isin(found.ours // PORTS, list(small)).any(axis=1)
    lost = differences.lost
    return replace(differences, same=differences.same & ~near, lost=lost[~beyond[lost]])


def _held(found: Sides, moved: dict[int, int]) -> Sides:
    """Return the fabrics with the places that devices hold, under whatever name."""
    present = found.present.copy()
    present[[place for place in moved.values() if place < found.devices]] = True
    return replace(found, present=present)
