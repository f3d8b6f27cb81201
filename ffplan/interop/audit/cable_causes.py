"""Findings on cables: missing, extra, moved, swapped, shifted, permuted or slow; one for each mistake."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ffplan.base.formatting import first_few, listed, plural
from ffplan.base.record import record
from ffplan.fabric.wiring.network import ROLES
from ffplan.interop.asbuilt.infiniband import _rate_words
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.audit.cables import (
    _CableGroup,
    _exchangeable,
    _kind_of,
    _sharing,
    _shift_of,
    _swapped_alike,
    groups,
)
from ffplan.interop.audit.effects import _of_losses, _of_miswiring
from ffplan.interop.audit.sides import (
    LANES,
    Differences,
    Sides,
    _idle_pairs,
    _links_below_rate,
    _SlowCable,
    _title_of,
)
from ffplan.results.as_built import AuditCause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.interop.audit.effects import Capacity
    from ffplan.interop.audit.sides import Differences, Sides

_SHARED = 3
"""Fewest links of one device that make one finding."""
_WHOLE = 0.5
"""Part of all links, or of those between two tiers, from which slow ones that run alike are one finding [1]."""
_LISTED = 4
"""Most ports that a finding names in its sentence."""


@record
class _Alike:
    """Slow links that run alike and are one finding."""

    links: list[_SlowCable]
    device: int = -1
    """The device that they share; -1 if none."""
    tiers: tuple[int, int] | None = None
    """The tiers that they join, if they are most of the links between these tiers."""


def _between(fabrics: Sides, pair: tuple[int, int]) -> str:
    return f"{fabrics.port(pair[0])} to {fabrics.port(pair[1])}"


def _slow_cables(fabrics: Sides, differences: Differences, have: Capacity) -> Iterator[AuditCause]:
    """Yield a finding for links below their designed width or speed.

    Links that run alike share a finding if they are at one device, whatever the design has there, or are most of the
    fabric, or most of the links between two tiers.
    """
    alike: dict[tuple[int, float], list[_SlowCable]] = {}
    for link in _links_below_rate(fabrics, differences):
        alike.setdefault((link.lanes, link.gbit_s), []).append(link)
    right = Counter(_tiers(fabrics, pair) for pair in fabrics.ours[differences.same].tolist()) if alike else Counter()
    for links in alike.values():
        for part in _slow_groups(fabrics, right, links):
            yield _slow_cause(fabrics, have, part)


def _idle_links(fabrics: Sides, differences: Differences, have: Capacity) -> Iterator[AuditCause]:
    """Yield a finding for links that are up, but not active: of one device, or of most of the fabric."""
    pairs = _idle_pairs(fabrics, differences)
    every = len(pairs) >= _SHARED and len(pairs) > _WHOLE * int(differences.same.sum())
    for device, part in [(-1, pairs)] if every else _sharing(pairs, _SHARED):
        site = f" at {fabrics.names[device]}" if device >= 0 else ""
        shown = first_few((_between(fabrics, pair) for pair in part), _LISTED)
        log = f"look in the log of the subnet manager for {'these ports' if len(part) > 1 else 'this port'}"
        yield AuditCause(
            kind="inactive-link",
            severity="error",
            what=f"{plural(len(part), 'link')}{site} up, but not active, so without traffic: {shown}",
            where=tuple(fabrics.full(end) for pair in part for end in pair),
            do=("see whether a subnet manager runs",) if every else (log, "take the link down and up again"),
            effect=_of_losses(have, [(pair, 1.0) for pair in part]),
            links=len(part),
        )


def _tiers(fabrics: Sides, pair: tuple[int, int]) -> tuple[int, int]:
    """Return the tiers that a link joins, the lower first."""
    lower, upper = sorted(fabrics.roles_of(end) for end in pair)
    return lower, upper


def _slow_groups(fabrics: Sides, right: Counter[tuple[int, int]], links: list[_SlowCable]) -> Iterator[_Alike]:
    """Yield slow links that run alike, in the groups that are one finding each."""
    joined: dict[tuple[int, int], list[_SlowCable]] = {}
    for link in links:
        joined.setdefault(_tiers(fabrics, link.ends), []).append(link)
    most = {tiers for tiers, held in joined.items() if len(held) > _WHOLE * right[tiers] and _spread(held)}
    if (
        len(links) >= _SHARED
        and len(links) > _WHOLE * right.total()
        and not (len(joined) == len(most) == 1 < len(right))
    ):
        yield _Alike(links)
        return
    left = []
    for tiers, held in joined.items():
        if tiers in most:
            yield _Alike(held, tiers=tiers)
        else:
            left += held
    by_ends = {link.ends: link for link in left}
    for device, pairs in _sharing(by_ends, _SHARED):
        yield _Alike([by_ends[pair] for pair in pairs], device=device)


def _spread(links: list[_SlowCable]) -> bool:
    """Return whether links have several devices at either end: no one device slows them all."""
    return min(len({link.ends[side] // PORTS for link in links}) for side in (0, 1)) >= _SHARED


def _slow_steps(fabrics: Sides, part: _Alike) -> tuple[str, ...]:
    lanes, single = part.links[0].lanes, len(part.links) == 1
    why = (
        "lanes are dead, or it is a split port"
        if 0 < lanes < LANES
        else f"{'it' if single else 'they'} trained at less"
    )
    reseat = f"reseat or replace the cable{'' if single else 's'}: {why}"
    if part.device >= 0:
        return f"check the speed that {fabrics.names[part.device]} is set to, and its firmware", reseat
    if part.tiers is not None:
        return f"check the speed that these tiers are set to, and the kind of cable that was laid: {why}", reseat
    if len(part.links) >= _SHARED:
        return ("check the speed that the fabric is set to, or whether the files are of another fabric",)
    return (reseat,)


def _slow_cause(fabrics: Sides, have: Capacity, part: _Alike) -> AuditCause:
    links = part.links
    where = f"at {fabrics.names[part.device]} " if part.device >= 0 else ""
    if part.tiers is not None:
        where = f"between {' and '.join('node' if tier == 0 else ROLES[tier - 1] for tier in part.tiers)} "
    shown = first_few((_between(fabrics, link.ends) for link in links), _LISTED)
    meant = listed([f"{rate:g}" for rate in sorted({link.wanted_gbit_s for link in links})])
    runs = _rate_words(links[0].lanes, links[0].gbit_s)
    return AuditCause(
        kind="slow-link",
        severity="error",
        what=f"{plural(len(links), 'link')} {where}at {runs} in place of {meant} Gb/s: {shown}",
        where=tuple(fabrics.full(end) for link in links for end in link.ends),
        do=_slow_steps(fabrics, part),
        effect=_of_losses(have, [(link.ends, link.lost) for link in links]),
        links=len(links),
    )


_NAMED = 12
"""Most steps that a finding lists."""


def _cable_faults(
    fabrics: Sides, differences: Differences, have: Capacity, explained: set[int]
) -> Iterator[AuditCause]:
    """Yield a finding for every mistake in cables: missing, extra, moved, swapped, shifted or permuted."""
    alone: dict[str, list[tuple[int, int]]] = {"missing": [], "extra": []}
    swapped: list[_CableGroup] = []
    for group in groups(fabrics, differences, explained):
        kind = _kind_of(group)
        if kind in alone:
            alone[kind] += group.lost or group.stray
        elif kind == "swapped":
            swapped.append(group)
        else:
            yield _rewired(fabrics, have, group, kind)
    for switches, alike in _swapped_alike(fabrics, swapped, _SHARED):
        if switches:
            yield _swapped_rows(fabrics, have, switches, alike)
        else:
            yield from (_rewired(fabrics, have, group, "swapped") for group in alike)
    for device, pairs in _sharing(alone["missing"], _SHARED):
        yield _missing(fabrics, have, device, pairs)
    for device, pairs in _sharing(alone["extra"], _SHARED):
        site = f" at {fabrics.names[device]}" if device >= 0 else ""
        shown = first_few((_between(fabrics, pair) for pair in pairs), _LISTED)
        yield AuditCause(
            kind="extra-cable",
            what=f"{plural(len(pairs), 'cable')}{site} that the design does not have: {shown}",
            where=tuple(fabrics.full(end) for pair in pairs for end in pair),
            do=("unplug, or add to the design",),
            effect="they take ports that the design leaves free",
            links=len(pairs),
            severity="warning",
        )


def _steps(do: list[str]) -> tuple[str, ...]:
    """Return the first steps, and how many more there are."""
    return tuple(do[:_NAMED]) + ((f"and {len(do) - _NAMED} more",) if len(do) > _NAMED else ())


def _missing(fabrics: Sides, have: Capacity, device: int, pairs: list[tuple[int, int]]) -> AuditCause:
    shown = first_few((_between(fabrics, pair) for pair in pairs), _LISTED)
    site = f" at {fabrics.names[device]}" if device >= 0 else ""
    every = device >= 0 and len(pairs) == have.degree[device]
    return AuditCause(
        kind="missing-cable",
        what=f"{plural(len(pairs), 'cable')}{site} not found: {shown}",
        where=tuple(fabrics.full(end) for pair in pairs for end in pair),
        do=(f"check {fabrics.names[device]} itself: no link of it is up",)
        if every
        else _steps([f"lay, reseat or replace the cable from {_between(fabrics, pair)}" for pair in pairs]),
        effect=_of_losses(have, [(pair, 1.0) for pair in pairs]),
        links=len(pairs),
        severity="error",
    )


def _rewired(fabrics: Sides, have: Capacity, group: _CableGroup, kind: str) -> AuditCause:
    there, bare, do = group.there, _without_cable(fabrics, group), list[str]()
    ends = sorted({end for pair in group.lost for end in pair if end in there})
    if kind == "swapped":
        first, second = _swapped(group)
        what = f"the cables in {fabrics.port(first)} and {fabrics.port(second)} are exchanged"
        nodes = {_title_of(fabrics, end // PORTS) for end in (first, second) if not fabrics.roles_of(end)}
        more = ", or the names of the two nodes" if len(nodes) == 2 else ""
        do = [f"exchange the cables in {fabrics.port(first)} and {fabrics.port(second)}{more}"]
    elif kind == "moved":
        kept, wrong, right = _moved(group)
        what = (
            f"the cable from {fabrics.port(kept)} ends in {fabrics.port(wrong)}, and belongs in {fabrics.port(right)}"
        )
        do = [f"move its end from {fabrics.port(wrong)} to {fabrics.port(right)}"]
    elif kind == "shifted" and (shift := _shift_of(group)) is not None:
        device, step = shift
        subject = f"{plural(len(group.lost) - len(bare), 'cable')} at {fabrics.names[device]}"
        what = f"{subject} sit {plural(abs(step), 'port')} too {'high' if step > 0 else 'low'}"
        do = [f"move each {plural(abs(step), 'port')} {'down' if step > 0 else 'up'} at {fabrics.names[device]}"]
    else:
        ports = first_few((fabrics.port(end) for end in ends), _LISTED)
        what = f"{plural(len(group.lost), 'cable')} are permuted among {ports}"
    if not do:
        for first, second in group.lost:
            kept, right = (first, second) if fabrics.roles_of(first) <= fabrics.roles_of(second) else (second, first)
            if kept in there:
                do.append(
                    f"move the cable of {fabrics.port(kept)} from {fabrics.port(there[kept])} to {fabrics.port(right)}"
                )
    do += [f"lay, reseat or replace the cable from {_between(fabrics, pair)}" for pair in bare]
    more = (
        f"; {plural(len(bare), 'cable')} not found: {first_few((_between(fabrics, p) for p in bare), _LISTED)}"
        if bare
        else ""
    )
    return AuditCause(
        kind=f"{kind}-cables" if kind != "moved" else "moved-cable",
        what=f"{what}{more}",
        where=tuple(fabrics.full(end) for end in sorted(group.ports)),
        do=_steps(do),
        effect=_of_losses(have, [(pair, 1.0) for pair in bare]) or _of_miswiring(have, group.lost, group.stray),
        links=len(group.lost),
        severity="error",
    )


def _swapped_rows(fabrics: Sides, have: Capacity, switches: tuple[int, ...], alike: list[_CableGroup]) -> AuditCause:
    """Return the finding of many pairs of cables that are exchanged at one switch, or between the same two."""
    names = [fabrics.names[switch] for switch in switches]
    where = f"between {names[0]} and {names[1]}" if len(names) == 2 else f"at {names[0]}"
    lost = [pair for group in alike for pair in group.lost]
    stray = [pair for group in alike for pair in group.stray]
    uplinks = all(fabrics.roles_of(end) for pair in lost for end in pair)
    ports = [_swapped(group, switches if uplinks else ()) for group in alike]
    steps = [f"exchange {fabrics.port(first)} and {fabrics.port(second)}" for first, second in ports]
    if len(names) == 2 and not uplinks:
        steps.insert(0, "see whether these nodes count their adapters the other way, and name them by a map; else")
    return AuditCause(
        kind="swapped-cables",
        severity="error",
        what=f"{len(alike)} pairs of cables are exchanged {where}",
        where=tuple(fabrics.full(end) for end in sorted({end for pair in lost for end in pair})),
        do=_steps(steps),
        effect=_of_miswiring(have, lost, stray),
        links=len(lost),
    )


def _without_cable(fabrics: Sides, group: _CableGroup) -> list[tuple[int, int]]:
    """Pick the links of a group that have no cable left: for each lower device, as many as it lacks cables.

    A cable at another port of the right device is taken for its link before a cable that leads elsewhere.
    """
    spare = Counter(fabrics.lower(pair) for pair in group.stray)
    there = group.there

    def cabled(pair: tuple[int, int]) -> int:
        ends = [(there[near], far) for near, far in (pair, pair[::-1]) if near in there]
        return max((1 + (seen // PORTS == designed // PORTS) for seen, designed in ends), default=0)

    uncabled = []
    for pair in sorted(group.lost, key=cabled, reverse=True):
        device = fabrics.lower(pair)
        if spare[device]:
            spare[device] -= 1
        else:
            uncabled.append(pair)
    return uncabled


def _moved(group: _CableGroup) -> tuple[int, int, int]:
    """Return the end of a moved cable that is right, where its other end is, and where that belongs.

    Of two readings, prefer a move between ports of one device.
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


def _swapped(group: _CableGroup, switches: tuple[int, ...] = ()) -> tuple[int, int]:
    """Choose the two ports of two links to exchange: at `switches` or one device if possible, else the first pair."""
    pairs = _exchangeable(group)
    across = [pair for pair in pairs if {end // PORTS for end in pair} == set(switches)]
    same_device = [(first, second) for first, second in pairs if first // PORTS == second // PORTS]
    return (across or same_device or pairs)[0]
