"""The report of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import plural
from ffplan.interop.asbuilt.matching import matched
from ffplan.interop.asbuilt.model import PORTS, both_ways, peer_of
from ffplan.interop.asbuilt.names import named, together
from ffplan.interop.audit.causes import causes
from ffplan.interop.audit.sides import sides, simulated, slow_links
from ffplan.results.as_built import DiffReport, Miswired, Renamed, SlowLink
from ffplan.results.design import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.interop.asbuilt.matching import Matched
    from ffplan.interop.asbuilt.model import AsBuilt
    from ffplan.interop.asbuilt.names import NameRule
    from ffplan.interop.audit.sides import Designed, Differences, Sides


def placed(wanted: Designed, built: AsBuilt, rules: Sequence[NameRule] = (), file: str = "") -> Matched:
    """Return which device of the design every device as built is: by name, else by what it is wired to.

    Args:
        wanted: the design.
        built: the fabric as built.
        rules: rows of a map of names.
        file: the map, for messages.

    Raises:
        InputError: where the map leads two devices to one, or to none.
    """
    known = named(built.devices, wanted.names, rules, file)
    kinds = [device.kind for device in built.devices]
    return together(matched(known, built.ends, wanted.ends, kinds, wanted.kinds), built.devices, wanted.names)


def audit(wanted: Designed, built: AsBuilt, where: Matched, design: str) -> DiffReport:
    """Return what is wrong with a fabric as built.

    A link is miswired where one of its ends is right and the other is not; missing where neither of its ports is in use
    for another; extra where neither end is in the design.

    Args:
        wanted: the design.
        built: the fabric as built.
        where: places of its devices in the design, as `placed` returns them.
        design: name of the design.
    """
    found = sides(wanted, built, where)
    made = causes(found, built.shared, _ports(wanted, built, where))
    there, differences = made.placed, made.differences
    missing, extra, miswired = _rows(there, differences)
    return DiffReport(
        schema_version=SCHEMA_VERSION,
        design=design,
        form=built.form,
        same=int(differences.same.sum()),
        causes=tuple(made.causes),
        effect=made.effect,
        by_name=where.by_name,
        by_wiring=_renamed(wanted.names, built, where),
        absent=tuple(sorted(wanted.names[n] for n in np.flatnonzero(~found.present & _visible(found)).tolist())),
        unknown=tuple(sorted(found.names[found.devices :])),
        missing=missing,
        extra=extra,
        miswired=miswired,
        slow=_slow(there, differences),
        remarks=(*built.remarks, *_open(built)),
    )


def _ports(wanted: Designed, built: AsBuilt, where: Matched) -> dict[int, int]:
    """Return the ports that devices as built have, of those in the design of which the file says it.

    A chassis that is taken as one switch has the ports of the cards that are in it, which may be fewer than it takes.
    """
    rows = zip(built.devices, where.place.tolist(), strict=True)
    return {
        at: device.ports for device, at in rows if 0 <= at < len(wanted.names) and device.ports and not device.cards
    }


def _visible(found: Sides) -> np.ndarray:
    """Return the devices of the design whose links the files could show."""
    seen = np.zeros(found.devices, bool)
    seen[np.unique(found.ours // PORTS)] = True
    return seen


def _open(built: AsBuilt) -> list[str]:
    """Return a remark on rates that the file does not give."""
    if simulated(built):
        return ["every link stands at 4x SDR, as ibsim has links without a speed: rates are not compared"]
    unsaid = int((built.gbit_s == 0).sum())
    if not unsaid:
        return []
    return [f"the rate of {plural(unsaid, 'link')} is not in the file: slow ones would not be seen"]


def _renamed(names: list[str], built: AsBuilt, where: Matched) -> tuple[Renamed, ...]:
    """Return the devices that were told by what they are wired to."""
    found = []
    known = where.known
    for number, (device, at) in enumerate(zip(built.devices, where.place.tolist(), strict=True)):
        if at >= 0 and number not in known:
            found.append(Renamed(device.name, names[at], int(where.confidence[number]) / 100))
    return tuple(sorted(found, key=lambda item: item.designed))


def _rows(
    found: Sides, differences: Differences
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...], tuple[Miswired, ...]]:
    """Return missing, extra and miswired links by their ports."""
    ours, theirs = found.ours[differences.lost], found.theirs[differences.stray]
    at = peer_of(both_ways(found.theirs), ours)
    free = (at < 0).all(axis=1)
    stray = (peer_of(both_ways(found.ours), theirs) < 0).all(axis=1)
    miswired = []
    for (one, two), (at_one, at_two) in zip(ours[~free].tolist(), at[~free].tolist(), strict=True):
        for end, other, there in ((one, two, at_one), (two, one, at_two)):
            if there >= 0:
                miswired.append(Miswired(*(found.full(item) for item in (end, other, there))))

    def pairs(ends: np.ndarray) -> tuple[tuple[str, str], ...]:
        return tuple(
            sorted((min(pair), max(pair)) for pair in ((found.full(a), found.full(b)) for a, b in ends.tolist()))
        )

    return pairs(ours[free]), pairs(theirs[stray]), tuple(sorted(miswired, key=lambda item: item.port))


def _slow(found: Sides, differences: Differences) -> tuple[SlowLink, ...]:
    """Return the links that run below their designed rate, or on one lane."""
    return tuple(
        SlowLink(
            a=found.full(link.ends[0]),
            b=found.full(link.ends[1]),
            designed_gbit_s=link.wanted_gbit_s,
            found_gbit_s=link.gbit_s or None,
            lanes=link.lanes or None,
        )
        for link in slow_links(found, differences)
    )
