"""What a fault of a fabric costs the jobs on it, from the links that are left."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Ints
from ffplan.base.formatting import first_few, percent, plural
from ffplan.base.record import record
from ffplan.fabric.routing.cuts import between_zones
from ffplan.fabric.wiring.network import INTERZONE, ROUTER
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.audit.sides import Sides, _host_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_PORTED = re.compile(r"(?<=[0-9])p[0-9]+$")
"""Ending of the name of an endpoint that is one of several ports of a NIC."""
_DEAD = 0.001
"""Part of its rate at which an endpoint counts as lost [1]: parts are sums of fractions."""
_TO_TIER = {ROUTER + 1: "the links to other routers"}
"""Name of the links to a tier that is not simply above, by the number of the tier."""


@record
class Capacity:
    """The links of the design, counted: what losses are measured against."""

    fabrics: Sides
    up: Counter[tuple[int, int]]
    """Links of every device to each tier above it."""
    ends: dict[str, list[int]]
    """Endpoints of every host."""
    degree: Ints
    """Links of every device, shape (devices of the design,)."""


def capacity(fabrics: Sides) -> Capacity:
    """Return the links of a design, counted."""
    devices = fabrics.ours // PORTS
    degree = np.bincount(devices.ravel(), minlength=fabrics.devices)
    tiers = fabrics.roles[devices]
    level = tiers[:, 0] == tiers[:, 1]
    order = np.argsort(tiers, axis=1, kind="stable")
    devices, tiers = (np.take_along_axis(column, order, axis=1) for column in (devices, tiers))
    charged = np.concatenate(
        [np.column_stack([devices[:, 0], tiers[:, 1]]), np.column_stack([devices, tiers])[level][:, [1, 2]]]
    )
    tops = int(tiers.max(initial=0)) + 1
    keys, counts = np.unique(charged[:, 0] * tops + charged[:, 1], return_counts=True)
    up = Counter({divmod(key, tops): count for key, count in zip(keys.tolist(), counts.tolist(), strict=True)})
    ends: dict[str, list[int]] = {}
    for device in np.flatnonzero(fabrics.roles == 0).tolist():
        ends.setdefault(_host_of(fabrics.names[device]), []).append(device)
    return Capacity(fabrics=fabrics, up=up, ends=ends, degree=degree)


def _tiers(fabrics: Sides, pair: tuple[int, int]) -> tuple[int, int]:
    """Return the tiers of the devices at both ends of a link."""
    return int(fabrics.roles[pair[0] // PORTS]), int(fabrics.roles[pair[1] // PORTS])


def _left_between_zones(fabrics: Sides, lost: dict[tuple[int, int], float]) -> float:
    """Return what is left of the bandwidth between zones, as `cuts.between_zones` has it, over all planes [1].

    Args:
        lost: the part of its rate that each lost or slow link loses [1]; the lower end of a link first.
    """
    links = np.sort(fabrics.designed.between, axis=1)
    first, second = (links // PORTS).T
    joint = fabrics.roles[first] == INTERZONE + 1
    plane, zone = fabrics.designed.places[np.where(joint, second, first)].T
    switch = np.unique(np.where(joint, first, second), return_inverse=True)[1]
    rates = np.zeros((2, *(int(column.max()) + 1 for column in (plane, zone, switch))))
    np.add.at(rates[0], (plane, zone, switch), 1.0)
    np.add.at(rates[1], (plane, zone, switch), [1 - lost.get((near, far), 0.0) for near, far in links.tolist()])
    whole, left = (sum(map(between_zones, planes)) for planes in rates)
    return left / whole


def _charged(fabrics: Sides, pair: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the devices that a link belongs to, with the tier that it leads to: the lower, or both of one tier."""
    near, far = pair[0] // PORTS, pair[1] // PORTS
    first, second = _tiers(fabrics, pair)
    if first == second:
        return [(near, second), (far, first)]
    return [(near, second)] if first < second else [(far, first)]


def _of_losses(have: Capacity, lost: Iterable[tuple[tuple[int, int], float]]) -> str:
    """Describe what slow or lost links cost, each with the part of its rate that is lost [1].

    A node is held back by its slowest NIC where all carry alike, so it keeps what its NIC keeps; a NIC with one of
    two ports lost keeps half. A switch keeps its links to the tier above less what is lost.
    """
    hosts: dict[str, dict[int, float]] = {}
    switches: dict[int, dict[int, float]] = {}
    between: dict[tuple[int, int], float] = {}
    for pair, part in lost:
        if INTERZONE + 1 in _tiers(have.fabrics, pair):
            link = min(pair), max(pair)
            between[link] = max(part, between.get(link, 0.0))
            continue
        for device, tier in _charged(have.fabrics, pair):
            if have.fabrics.roles[device]:
                parts = switches.setdefault(tier, {})
                parts[device] = parts.get(device, 0.0) + part
            else:
                ends = hosts.setdefault(_host_of(have.fabrics.names[device]), {})
                ends[device] = max(part, ends.get(device, 0.0))
    phrases = _hosts_words(have, hosts)
    for tier in sorted(switches):
        phrases += _switch_words(have, tier, switches[tier])
    if between:
        left = _left_between_zones(have.fabrics, between)
        phrases.append(f"{percent(left)} of the bandwidth between zones is left")
    return "; ".join(phrases)


def _kept(parts: list[float]) -> float:
    """Return the part of a group's rate that is left [1]: the remaining members work at the rate of the slowest."""
    left = [kept for kept in parts if kept > _DEAD]
    return len(left) / len(parts) * min(left) if left else 0.0


def _host_words(have: Capacity, host: str, lost: dict[int, float]) -> tuple[float, str]:
    """Return what a node keeps of its rate [1], and why, by the part that each of its endpoints loses [1]."""
    nics: dict[str, list[float]] = {}
    for end in have.ends[host]:
        # endpoints may be ports of a NIC, such as nic0p1
        nics.setdefault(_PORTED.sub("", have.fabrics.names[end]), []).append(1 - lost.get(end, 0.0))
    rates = [_kept(ports) for ports in nics.values()]
    ports = sum(part > 1 - _DEAD for part in lost.values())
    count, ported = len(have.ends[host]), any(_PORTED.search(have.fabrics.names[end]) for end in have.ends[host])
    slowest = min((rate for rate in rates if rate > _DEAD), default=0.0)
    why = [f"{ports} of its {plural(count, 'NIC port' if ported else 'NIC')} gone"] if ports else []
    if slowest < 1 - _DEAD:
        why.append("its slowest NIC holds the others back")
    return _kept(rates), ", and ".join(why)


def _off(fabrics: Sides) -> str:
    """Return the words of nodes that have no link left."""
    return f"off the {fabrics.designed.title.removeprefix('the ')}" if fabrics.designed.beside else "off the fabric"


def _hosts_words(have: Capacity, hosts: dict[str, dict[int, float]]) -> list[str]:
    cut = [host for host, lost in hosts.items() if sum(lost.values()) > (1 - _DEAD) * len(have.ends[host])]
    phrases = [f"{first_few(cut)} {'is' if len(cut) == 1 else 'are'} {_off(have.fabrics)}"] if cut else []
    slowed = {host: _host_words(have, host, lost) for host, lost in hosts.items() if host not in cut}
    if slowed:
        kept, why = min(slowed.values(), key=lambda entry: entry[0])
        names = first_few(slowed)
        at = f"{percent(kept)} of its rate: {why}"
        beside = have.fabrics.designed.beside
        phrases.append(
            f"a job with {names} communicates between nodes at {at}"
            if not beside
            else f"{names} {'is' if len(slowed) == 1 else 'are'} on the network {beside} at {at}"
        )
    return phrases


def _switch_words(have: Capacity, tier: int, switches: dict[int, float]) -> list[str]:
    shares = {device: 1 - lost / max(have.up[device, tier], 1) for device, lost in switches.items()}
    least = min(shares.values())
    names = first_few(have.fabrics.names[device] for device in sorted(shares))
    verb = "keeps" if len(shares) == 1 else "keep"
    more = "" if max(shares.values()) - least < 1e-9 else " or more"
    return [
        f"{names} {verb} {percent(max(least, 0.0))}{more} of {_TO_TIER.get(tier, 'the bandwidth to the tier above')}"
    ]


def _of_miswiring(have: Capacity, lost: Iterable[tuple[int, int]], stray: Iterable[tuple[int, int]]) -> str:
    """Describe what cables at wrong ports cost: nothing if the same devices are joined by as many links.

    There are as many cables as designed; `of_losses` describes permanent losses.
    """

    def joined(pairs: Iterable[tuple[int, int]]) -> Counter[tuple[int, int]]:
        return Counter((min(a, b), max(a, b)) for a, b in ((near // PORTS, far // PORTS) for near, far in pairs))

    before, after = joined(lost), joined(stray)
    names = have.fabrics.names
    if before == after:
        return "the same devices are joined at other ports: no bandwidth is lost, but tables and labels are wrong"
    moved = sorted({device for pair in before - after for device in pair if have.fabrics.roles[device] == 0})
    if moved:
        hosts = first_few(_host_of(names[device]) for device in moved)
        return f"other switches sit above {hosts}: traffic meant to stay below one switch crosses the tier above"
    pair, more = max((after - before).items())
    ends = f"{names[pair[0]]} and {names[pair[1]]}"
    return f"{ends} have {plural(more, 'link')} too many, and others too few: routes pile up on what is left"
