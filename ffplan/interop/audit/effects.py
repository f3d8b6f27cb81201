"""What a fault of a fabric costs the jobs on it, from the links that are left."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Ints
from ffplan.base.formatting import first_few, percent, plural
from ffplan.base.record import record
from ffplan.fabric.wiring.network import INTERZONE, ROUTER
from ffplan.interop.asbuilt.model import PORTS
from ffplan.interop.audit.sides import Sides, _host_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_PORTED = re.compile(r"[0-9]p[0-9]+$")
"""Ending of the name of an endpoint that is one of several ports of a NIC."""
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


def _charged(fabrics: Sides, pair: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the devices that a link belongs to, with the tier that it leads to: the lower, or both of one tier."""
    near, far = pair[0] // PORTS, pair[1] // PORTS
    first, second = int(fabrics.roles[near]), int(fabrics.roles[far])
    if first == second:
        return [(near, second), (far, first)]
    return [(near, second)] if first < second else [(far, first)]


def _of_losses(have: Capacity, lost: Iterable[tuple[tuple[int, int], float]]) -> str:
    """Describe what slow or lost links cost, each with the part of its rate that is lost [1].

    A node is held back by its slowest NIC where all carry alike, so it keeps what its NIC keeps; a switch keeps
    its links to the tier above less what is lost.
    """
    hosts: dict[str, list[float]] = {}
    switches: dict[int, dict[int, float]] = {}
    for pair, part in lost:
        for device, tier in _charged(have.fabrics, pair):
            if have.fabrics.roles[device]:
                parts = switches.setdefault(tier, {})
                parts[device] = parts.get(device, 0.0) + part
            else:
                hosts.setdefault(_host_of(have.fabrics.names[device]), []).append(part)
    phrases = _hosts_words(have, hosts)
    for tier in sorted(switches):
        phrases += _switch_words(have, tier, switches[tier])
    return "; ".join(phrases)


def _hosts_words(have: Capacity, hosts: dict[str, list[float]]) -> list[str]:
    # Parts are sums of fractions: a lost link counts 1 but for rounding.
    cut = [host for host, parts in hosts.items() if sum(parts) > 0.999 * len(have.ends[host])]
    phrases = [f"{first_few(cut)} {'is' if len(cut) == 1 else 'are'} off the fabric"] if cut else []
    slowed = {host: parts for host, parts in hosts.items() if host not in cut}
    if slowed:
        worst, parts = max(slowed.items(), key=lambda entry: max(entry[1]))
        gone = [part for part in parts if part > 0.999]
        count = len(have.ends[worst])
        kept = (count - len(gone)) / count if gone else 1 - max(parts)
        # endpoints may be ports of a NIC, such as nic0p1
        ported = any(_PORTED.search(have.fabrics.names[end]) for end in have.ends[worst])
        why = (
            f"{len(gone)} of its {plural(count, 'NIC port' if ported else 'NIC')} gone"
            if gone
            else "its slowest NIC holds the others back"
        )
        names = first_few(slowed)
        phrases.append(f"a job with {names} communicates between nodes at {percent(kept)} of its rate: {why}")
    return phrases


def _switch_words(have: Capacity, tier: int, switches: dict[int, float]) -> list[str]:
    if tier == INTERZONE + 1:
        every = sum(count for (_, above), count in have.up.items() if above == tier)
        return [f"{percent(1 - sum(switches.values()) / every)} of the bandwidth between zones is left"]
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
