"""A design and a fabric as built in one numbering of devices, and what differs between them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Bools, Floats, Ints
from ffplan.base.record import record
from ffplan.fabric.wiring.names import _PrintedPorts
from ffplan.fabric.wiring.network import INTERZONE
from ffplan.interop.asbuilt.model import PORTS, _peer_of, _port_name, _renumbered, both_ways

if TYPE_CHECKING:
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network
    from ffplan.interop.asbuilt.matching import _Matched
    from ffplan.interop.asbuilt.model import AsBuilt


_IBSIM_GBIT_S = 10.0
"""Rate of ibsim's links without a speed: four lanes of SDR [Gb/s]."""

LANES = 4
"""Lanes of a link of InfiniBand in a fabric."""
_SLOWER = 0.95
"""Part of the designed rate below which a link is slow [1]; FDR10 and QDR, and rates with their coding, count alike."""


@record
class Designed:
    """The links of a fabric as designed."""

    names: list[str]
    """Names of its devices."""
    ends: Ints
    """Both ends of every link, as `device * PORTS + port`, ports counted from 1; shape (links, 2)."""
    gbit_s: Floats
    """Rate of every link, one direction [Gb/s], shape (links,)."""
    roles: Ints
    """Tier of every device: 0 endpoints, 1 leaves and routers, then upwards, shape (devices,)."""
    places: Ints
    """Plane and zone of every device, counted from 0, shape (devices, 2); a switch between zones is in none."""
    printed: _PrintedPorts
    """Ports as they are printed on the switches, which come first among the devices."""
    beside: str
    """Name of a network beside the compute fabric; empty for that."""

    def full(self, end: int) -> str:
        """Return the name of a port: of a switch as printed on it, such as `leaf-07/p3`, or `leaf-07/p3/2` if split."""
        device, port = divmod(end, PORTS)
        if self.roles[device] and port:
            return f"{self.names[device]}/p{self.printed.name(device, port - 1)}"
        return _port_name(self.names, end)

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        return f"the network {self.beside}" if self.beside else "the compute fabric"

    @property
    def between(self) -> Ints:
        """Ends of every link to a switch between zones, shape (links, 2)."""
        result: Ints = self.ends[(self.roles[self.ends // PORTS] == INTERZONE + 1).any(axis=1)]
        return result

    @property
    def kinds(self) -> list[str]:
        """switch or host of every device."""
        return ["switch" if role else "host" for role in self.roles.tolist()]


def designed(network: Network, names: Names, inside: Bools) -> Designed:
    """Return the links of a design between some devices.

    Args:
        inside: the devices to look at, shape (switches + endpoints,).
    """
    titles, k, first = names.devices(), network.links, len(network.switches)
    kept = inside[k.a] & inside[k.b]
    a, a_port, b, b_port = (column[kept].astype(np.int64) for column in (k.a, k.a_port, k.b, k.b_port))
    near_port = np.where(a >= first, 1, a_port + 1)
    wired = np.unique(np.concatenate([a, b]))
    place = np.zeros(len(titles), np.int64)
    place[wired] = np.arange(len(wired))
    roles = np.where(wired < first, network.switches.role[np.minimum(wired, first - 1)].astype(np.int64) + 1, 0)
    s, e = network.switches, network.endpoints
    places = np.column_stack([np.append(s.plane, e.plane), np.append(s.zone, e.zone)]).astype(np.int64)
    return Designed(
        names=[titles[number] for number in wired.tolist()],
        ends=np.column_stack([place[a] * PORTS + near_port, place[b] * PORTS + b_port + 1]),
        gbit_s=8.0 * k.gbyte_s[kept].astype(np.float64),
        roles=roles,
        places=places[wired],
        beside=names.prefix.removesuffix("-"),
        printed=replace(
            names.printed, role=[names.printed.role[number] for number in wired.tolist() if number < first]
        ),
    )


def as_printed(designed: Designed, built: AsBuilt, known: dict[int, int]) -> AsBuilt:
    """Return a fabric as built with the port numbers of the design where names tell the printed port and its part.

    A file does not say how a port without a cable is split, on which the numbers of the ports behind it depend; the
    design does. A switch whose ports are split otherwise keeps its numbers.

    Args:
        known: places in the design of the devices that names tell.
    """
    changes: dict[int, int] = {}
    for device, place in known.items():
        printed = built.devices[device].printed
        if not printed or not designed.roles[place]:
            continue
        numbers = [designed.printed.number(place, port, part) for _, port, part in printed]
        if None not in numbers:
            changes |= {
                device * PORTS + old: device * PORTS + 1 + new
                for (old, _, _), new in zip(printed, numbers, strict=True)
                if new is not None
            }
    if not changes:
        return built
    ends, rows = np.unique(built.ends, return_inverse=True)
    renumbered = np.array([changes.get(end, end) for end in ends.tolist()], np.int64)
    return replace(built, ends=np.sort(renumbered[rows].reshape(built.ends.shape), axis=1))


@record
class Sides:
    """Both fabrics in one numbering: devices of the design first, then all others."""

    names: list[str]
    """Names; the design's name for each device in the design."""
    designed: Designed
    """The design, with links that the files do not list."""
    present: Bools
    """True of devices of the design that were found, shape (devices of the design,)."""
    ours: Ints
    """Ends of every link of the design, shape (links, 2)."""
    ours_gbit_s: Floats
    theirs: Ints
    """Ends of every link as built, shape (links, 2)."""
    theirs_gbit_s: Floats
    theirs_lanes: Ints
    theirs_idle: Bools
    """True of links as built that are up without traffic."""

    @property
    def roles(self) -> Ints:
        """Tier of every designed device, shape (designed devices,)."""
        return self.designed.roles

    @property
    def devices(self) -> int:
        """Devices of the design."""
        return len(self.roles)

    def full(self, end: int) -> str:
        """Return the name of a port; of a switch that the design has not, counted in parts if split."""
        return self.designed.full(end) if end // PORTS < self.devices else _port_name(self.names, end)

    def port(self, end: int) -> str:
        """Return the name of a port for people: an endpoint has one, and goes by its own name."""
        device = end // PORTS
        if device < self.devices and not self.roles[device]:
            return self.names[device]
        return self.full(end)

    def roles_of(self, end: int) -> int:
        """Return the tier of a port's device; -1 for a device outside the design."""
        device = end // PORTS
        return int(self.roles[device]) if device < self.devices else -1

    def lower(self, pair: tuple[int, int]) -> int:
        """Return the device at the lower end of a link; of a link within a tier, the first."""
        return min(pair, key=lambda end: (self.roles_of(end), end)) // PORTS

    def moved(self, to: dict[int, int]) -> Sides:
        """Return the fabrics with devices as built taken for others."""
        place = np.arange(len(self.names))
        place[list(to)] = list(to.values())
        return replace(self, theirs=_renumbered(self.theirs, place))


def _host_of(name: str) -> str:
    return name.partition("/")[0]


def _title_of(fabrics: Sides, device: int) -> str:
    name = fabrics.names[device]
    if device < fabrics.devices:
        return name if fabrics.roles[device] else _host_of(name)
    return name.partition(" ")[0]


def sides(designed: Designed, built: AsBuilt, matched: _Matched) -> Sides:
    """Return a design and a fabric as built in one numbering.

    If the files list the links of some devices alone, only the design's links at these devices count.
    """
    count = len(designed.names)
    place = np.where(matched.place >= 0, matched.place, count + np.cumsum(matched.place < 0) - 1)
    names = [
        *designed.names,
        *(d.name for d, number in zip(built.devices, matched.place.tolist(), strict=True) if number < 0),
    ]
    present = np.zeros(count, bool)
    present[matched.place[matched.place >= 0]] = True
    kept = _visible(designed, built, matched)
    plain = simulated(built)
    return Sides(
        names=names,
        designed=designed,
        present=present,
        ours=designed.ends[kept],
        ours_gbit_s=designed.gbit_s[kept],
        theirs=_renumbered(built.ends, place),
        theirs_gbit_s=np.zeros_like(built.gbit_s) if plain else built.gbit_s,
        theirs_lanes=np.zeros_like(built.lanes) if plain else built.lanes,
        theirs_idle=np.zeros_like(built.idle) if _unmanaged(built) else built.idle,
    )


def _unmanaged(built: AsBuilt) -> bool:
    """Return whether no link is active: cables are right before a subnet manager has run, too."""
    return len(built.idle) > 1 and bool(built.idle.all())


def simulated(built: AsBuilt) -> bool:
    """Return whether every link runs at 4x SDR, ibsim's default for a netlist without speeds."""
    return len(built.gbit_s) > 1 and bool((built.gbit_s == _IBSIM_GBIT_S).all())


def _visible(designed: Designed, built: AsBuilt, matched: _Matched) -> Bools:
    """Return the links of the design that the files could show, shape (links,)."""
    listed = np.array([device.seen for device in built.devices], bool)
    everything = np.ones(len(designed.ends), bool)
    if not listed.any() or listed.all():
        return everything
    places = matched.place[listed]
    shown = np.zeros(len(designed.names), bool)
    shown[places[places >= 0]] = True
    result: Bools = shown[designed.ends // PORTS].any(axis=1)
    return result


@record
class Differences:
    """Links that differ."""

    same: Bools
    """True of links of the design that are as designed, shape (links of the design,)."""
    lost: Ints
    """Links of the design that are not there, rows of `Sides.ours`."""
    stray: Ints
    """Links as built that the design has not, rows of `Sides.theirs`."""
    built_rows: Ints
    """Row of `Sides.theirs` of every link that is as designed, -1 of others, shape (links of the design,)."""


def compare(fabrics: Sides) -> Differences:
    """Return the links that differ."""
    ours, theirs = np.sort(fabrics.ours, axis=1), np.sort(fabrics.theirs, axis=1)
    order = np.argsort(theirs[:, 0], kind="stable")
    peers = _peer_of(both_ways(theirs), ours[:, 0])
    same = peers == ours[:, 1]
    rows = np.full(len(ours), -1, np.int64)
    if len(theirs):
        position = np.minimum(np.searchsorted(theirs[order, 0], ours[:, 0]), len(theirs) - 1)
        rows[same] = order[position[same]]
    stray = np.ones(len(theirs), bool)
    stray[rows[same]] = False
    return Differences(same=same, lost=np.flatnonzero(~same), stray=np.flatnonzero(stray), built_rows=rows)


@record
class _SlowCable:
    ends: tuple[int, int]
    """Its ends, as the design has them."""
    lanes: int
    """Lanes as built; 0 where unknown."""
    gbit_s: float
    """Rate as built [Gb/s]; 0 where unknown."""
    wanted_gbit_s: float
    """Rate of the design [Gb/s]."""

    @property
    def lost(self) -> float:
        """The part of its designed rate that it loses [1]; all lanes but one where its rate is unknown."""
        return 1 - (self.gbit_s / self.wanted_gbit_s if self.gbit_s else 1 / LANES)


def _idle_pairs(fabrics: Sides, differences: Differences) -> list[tuple[int, int]]:
    """Return the ends of links that are as designed and up, but not active."""
    rows = np.flatnonzero(differences.same)
    idle = rows[fabrics.theirs_idle[differences.built_rows[rows]]]
    return [(near, far) for near, far in fabrics.ours[idle].tolist()]


def _links_below_rate(fabrics: Sides, differences: Differences) -> list[_SlowCable]:
    """Return the links that run below their designed rate, or on one lane where the rate is unknown."""
    rows = np.flatnonzero(differences.same)
    built_rows = differences.built_rows[rows]
    rate, lanes, designed = (
        fabrics.theirs_gbit_s[built_rows],
        fabrics.theirs_lanes[built_rows],
        fabrics.ours_gbit_s[rows],
    )
    below = ((rate > 0) & (rate < _SLOWER * designed)) | ((rate == 0) & (lanes == 1))
    columns = (fabrics.ours[rows], lanes, rate, designed)
    links = zip(*(column[below].tolist() for column in columns), strict=True)
    return [_SlowCable((near, far), width, seen, meant) for (near, far), width, seen, meant in links]
