"""Differences of a fabric as built from its design."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Ints
from ffplan.base.record import record
from ffplan.interop.asbuilt import PORTS, peer_of, port_name, renumbered
from ffplan.results.fabric import DiffReport, Miswired

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network
    from ffplan.interop.asbuilt import AsBuilt


@record
class Designed:
    """The links of a fabric as designed."""

    names: list[str]
    """Names of its devices."""
    ends: Ints
    """Both ends of every link, as `device * PORTS + port`, ports counted from 1; shape (links, 2)."""


def designed(network: Network, names: Names, inside: Bools) -> Designed:
    """Return the links of a design between some devices.

    Args:
        network: the fabric as designed.
        names: names of its devices.
        inside: the devices to look at, shape (switches + endpoints,).
    """
    titles, k, first = names.devices(), network.links, len(network.switches)
    kept = inside[k.a] & inside[k.b]
    a, a_port, b, b_port = (column[kept].astype(np.int64) for column in (k.a, k.a_port, k.b, k.b_port))
    own = np.where(a >= first, 1, a_port + 1)
    wired = np.unique(np.concatenate([a, b]))
    place = np.zeros(len(titles), np.int64)
    place[wired] = np.arange(len(wired))
    ends = np.column_stack([place[a] * PORTS + own, place[b] * PORTS + b_port + 1])
    return Designed([titles[number] for number in wired.tolist()], ends)


def _both_ways(ends: Ints) -> Ints:
    return np.concatenate([ends, ends[:, ::-1]])


def compare(wanted: Designed, built: AsBuilt, design: str, version: str) -> DiffReport:
    """Return the differences of a fabric as built from the design.

    A link is miswired where one of its ends is right and the other is not; missing where neither of its ports is in use
    for another; extra where neither end is in the design.

    Args:
        wanted: the fabric as designed, as `designed` returns it.
        built: the fabric as built.
        design: name of the design.
        version: version of the JSON format.
    """
    found_names = [device.name for device in built.devices]
    known, present = set(wanted.names), set(found_names)
    names = sorted(known | present)
    number = {name: place for place, name in enumerate(names)}

    def numbered(ends: Ints, titles: list[str]) -> Ints:
        return renumbered(ends, np.array([number[name] for name in titles], np.int64))

    ours, theirs = numbered(wanted.ends, wanted.names), numbered(built.ends, found_names)
    at = peer_of(_both_ways(theirs), ours)
    same, free = at[:, 0] == ours[:, 1], (at < 0).all(axis=1)
    stray = (peer_of(_both_ways(ours), theirs) < 0).all(axis=1)
    miswired = []
    for row in np.flatnonzero(~same & ~free).tolist():
        (one, two), (at_one, at_two) = ours[row].tolist(), at[row].tolist()
        for end, other, found in ((one, two, at_one), (two, one, at_two)):
            if found >= 0:
                miswired.append(Miswired(*(port_name(names, item) for item in (end, other, found))))

    def pairs(ends: Ints) -> tuple[tuple[str, str], ...]:
        return tuple((port_name(names, a), port_name(names, b)) for a, b in ends.tolist())

    return DiffReport(
        schema_version=version,
        design=design,
        same=int(same.sum()),
        absent=tuple(sorted(known - present)),
        unknown=tuple(sorted(present - known)),
        missing=pairs(ours[free]),
        extra=pairs(theirs[stray]),
        miswired=tuple(miswired),
    )
