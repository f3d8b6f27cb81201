"""Audit a fabric as built against its design: differences led back to causes, the worst first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.interop.asbuilt.matching import _matched
from ffplan.interop.asbuilt.model import PORTS, _peer_of, both_ways
from ffplan.interop.asbuilt.names import together
from ffplan.interop.audit.absent import absent
from ffplan.interop.audit.cable_causes import _cable_faults, _idle_links, _slow_cables, _without_cable
from ffplan.interop.audit.cables import (
    _CableGroup,
    _pairs_apart_from,
)
from ffplan.interop.audit.effects import _of_losses, capacity
from ffplan.interop.audit.places import _exchanged, _exchanges, _other_models, _ports_used, _shared_names, unknown
from ffplan.interop.audit.sides import (
    Differences,
    Sides,
    _idle_pairs,
    _links_below_rate,
    _unmanaged,
    compare,
    sides,
    simulated,
)
from ffplan.results.as_built import AuditCause, DiffReport, Miswired, Renamed, SlowLink
from ffplan.results.design import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ffplan.interop.asbuilt.matching import _Matched
    from ffplan.interop.asbuilt.model import AsBuilt
    from ffplan.interop.audit.sides import Designed


@record
class _Audited:
    causes: list[AuditCause]
    """The findings, the worst first."""
    placed: Sides
    """Both fabrics, with devices in the places that they hold."""
    differences: Differences
    """What differs then."""
    effect: str
    """What all findings cost together; empty of one alone."""


def causes(fabrics: Sides, shared: tuple[str, ...] = (), ports: Mapping[int, int] | None = None) -> _Audited:
    """Return the findings of a fabric.

    Args:
        ports: ports of the devices as built [1], where the files state them.
    """
    have = capacity(fabrics)
    moved = _exchanged(fabrics)
    placed = fabrics.moved(moved)
    differences = compare(placed)
    held = _held(fabrics, moved)
    left = set(moved) - set(moved.values())  # their own places are empty, as their finding says
    gone = set(np.flatnonzero(~held.present).tolist())
    strangers = set(range(fabrics.devices, len(fabrics.names)))
    explained = gone | left | (strangers - set(moved))
    small = _too_small(placed, {moved.get(device, device): count for device, count in (ports or {}).items()})
    others = _apart_from(placed, differences, small)
    all_causes = [
        *_exchanges(fabrics, moved, have),
        *absent(held, have),
        *_other_models(placed, have, small, _links_below_rate(placed, differences)),
        *_cable_faults(placed, others, have, explained),
        *_slow_cables(placed, others, have),
        *_idle_links(placed, others, have),
        *unknown(placed, set(moved)),
        *_shared_names(shared),
    ]
    rows = (placed.ours[differences.lost], placed.theirs[differences.stray])
    whole = _CableGroup(*(_pairs_apart_from(strangers, part) for part in rows))
    lost = [(pair, 1.0) for pair in _without_cable(placed, whole)]
    idle = _idle_pairs(placed, differences)
    lost += [(pair, 1.0) for pair in idle]
    slower = [(link.ends, link.lost) for link in _links_below_rate(placed, differences) if link.ends not in set(idle)]
    effect = _of_losses(have, [*lost, *slower]) if len(all_causes) > 1 else ""
    rank = {"error": 0, "warning": 1, "info": 2}
    return _Audited(
        sorted(all_causes, key=lambda cause: (rank[cause.severity], -cause.links)), placed, differences, effect
    )


def _too_small(fabrics: Sides, ports: Mapping[int, int]) -> dict[int, int]:
    """Return the switches that have fewer ports than the design uses of them, with how many they have."""
    used = _ports_used(fabrics)
    return {
        device: count
        for device, count in sorted(ports.items())
        if device < fabrics.devices and fabrics.roles[device] and 0 < count < used[device]
    }


def _apart_from(fabrics: Sides, differences: Differences, small: dict[int, int]) -> Differences:
    """Leave out the differences that follow from switches with too few ports: links beyond them, and slow ones."""
    if not small:
        return differences
    most = np.full(len(fabrics.names), PORTS)
    most[list(small)] = list(small.values())
    beyond = (fabrics.ours % PORTS > most[fabrics.ours // PORTS]).any(axis=1)
    near = np.isin(fabrics.ours // PORTS, list(small)).any(axis=1)
    lost = differences.lost
    return replace(differences, same=differences.same & ~near, lost=lost[~beyond[lost]])


def _held(fabrics: Sides, moved: dict[int, int]) -> Sides:
    """Return the fabrics with the places that devices hold, under whatever name."""
    present = fabrics.present.copy()
    present[[place for place in moved.values() if place < fabrics.devices]] = True
    return replace(fabrics, present=present)


def placed(designed: Designed, built: AsBuilt, known: dict[int, int]) -> _Matched:
    """Match every device as built to one of the design: by name, else by its wiring.

    Args:
        known: places in the design of the devices that names tell, as `named` returns them.
    """
    kinds = [device.kind for device in built.devices]
    return together(_matched(known, built.ends, designed.ends, kinds, designed.kinds), built.devices, designed.names)


def audit(designed: Designed, built: AsBuilt, where: _Matched, design: str) -> DiffReport:
    """Compare a fabric as built with its design.

    A link is miswired where one of its ends is right and the other is not; missing where neither of its ports is in use
    for another; extra where neither end is in the design.

    Args:
        where: places of its devices in the design, as `placed` returns them.
    """
    fabrics = sides(designed, built, where)
    audited = causes(fabrics, built.shared, _ports(designed, built, where))
    there, differences = audited.placed, audited.differences
    missing, extra, miswired = _rows(there, differences)
    return DiffReport(
        schema_version=SCHEMA_VERSION,
        design=design,
        form=built.form,
        same=int(differences.same.sum()),
        causes=tuple(audited.causes),
        effect=audited.effect,
        by_name=where.by_name,
        by_wiring=_renamed(designed.names, built, where),
        absent=tuple(sorted(designed.names[n] for n in np.flatnonzero(~fabrics.present & _visible(fabrics)).tolist())),
        unknown=tuple(sorted(fabrics.names[fabrics.devices :])),
        missing=missing,
        extra=extra,
        miswired=miswired,
        slow=_slow_links(there, differences),
        remarks=(*built.remarks, *_open_questions(built)),
    )


def _ports(designed: Designed, built: AsBuilt, where: _Matched) -> dict[int, int]:
    """Return the ports of the matched devices as built, where the file states them.

    A chassis that is taken as one switch has the ports of the cards that are in it, which may be fewer than it takes.
    """
    rows = zip(built.devices, where.place.tolist(), strict=True)
    return {
        number: device.ports
        for device, number in rows
        if 0 <= number < len(designed.names) and device.ports and not device.cards
    }


def _visible(fabrics: Sides) -> np.ndarray:
    """Return the devices of the design whose links the files could show."""
    seen = np.zeros(fabrics.devices, bool)
    seen[np.unique(fabrics.ours // PORTS)] = True
    return seen


def _open_questions(built: AsBuilt) -> list[str]:
    """Return the remarks on rates and states that the files do not give."""
    remarks = ["no link is active, as before a subnet manager has run: states are not compared"] * _unmanaged(built)
    if simulated(built):
        return [*remarks, "every link reads 4x SDR because ibsim links have no speed: rates are not compared"]
    unsaid = int((built.gbit_s == 0).sum())
    if not unsaid:
        return remarks
    return [*remarks, f"the rate of {plural(unsaid, 'link')} is not in the file: slow links would go unnoticed"]


def _renamed(names: list[str], built: AsBuilt, where: _Matched) -> tuple[Renamed, ...]:
    """Return the devices that were told by what they are wired to."""
    renamed = []
    known = where.known
    for number, (device, place) in enumerate(zip(built.devices, where.place.tolist(), strict=True)):
        if place >= 0 and number not in known:
            renamed.append(Renamed(device.name, names[place], int(where.confidence[number]) / 100))
    return tuple(sorted(renamed, key=lambda row: row.designed))


def _rows(
    fabrics: Sides, differences: Differences
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...], tuple[Miswired, ...]]:
    ours, theirs = fabrics.ours[differences.lost], fabrics.theirs[differences.stray]
    peers = _peer_of(both_ways(fabrics.theirs), ours)
    free = (peers < 0).all(axis=1)
    stray = (_peer_of(both_ways(fabrics.ours), theirs) < 0).all(axis=1)
    miswired = []
    for (near, far), (near_peer, far_peer) in zip(ours[~free].tolist(), peers[~free].tolist(), strict=True):
        for end, designed_end, there in ((near, far, near_peer), (far, near, far_peer)):
            if there >= 0:
                miswired.append(Miswired(*(fabrics.full(port) for port in (end, designed_end, there))))

    def pairs(ends: np.ndarray) -> tuple[tuple[str, str], ...]:
        return tuple(
            sorted((min(pair), max(pair)) for pair in ((fabrics.full(a), fabrics.full(b)) for a, b in ends.tolist()))
        )

    return pairs(ours[free]), pairs(theirs[stray]), tuple(sorted(miswired, key=lambda row: row.port))


def _slow_links(fabrics: Sides, differences: Differences) -> tuple[SlowLink, ...]:
    return tuple(
        SlowLink(
            a=fabrics.full(link.ends[0]),
            b=fabrics.full(link.ends[1]),
            designed_gbit_s=link.wanted_gbit_s,
            found_gbit_s=link.gbit_s or None,
            lanes=link.lanes or None,
        )
        for link in _links_below_rate(fabrics, differences)
    )
