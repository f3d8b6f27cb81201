"""Devices that tools count otherwise than a design: a chassis of several cards, an adapter of several ports.

Tools list the line and spine cards of a modular switch as switches, and an adapter as one host.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import first_few, plural
from ffplan.interop.asbuilt.model import PORTS, _peer_of

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Ints
    from ffplan.interop.asbuilt.model import AsBuilt, _BuiltDevice

_CARD = re.compile(r"/[LS][0-9]{1,3}(?:/U[0-9]{1,3})?$", re.IGNORECASE)
"""Card and chip at the end of a description, such as MF0;core-1:CS8500/L07/U1."""
_NUMBERS = re.compile("([0-9]+)")


def _in_order(name: str) -> list[tuple[int, str]]:
    """Return a sort key that orders names by their numbers: L2 before L10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _NUMBERS.split(name[:200])]


def _cards_of(built: AsBuilt) -> dict[str, list[int]]:
    """Group the cards of every chassis: switches of one system with links among themselves."""
    held: dict[str, list[int]] = {}
    for number, device in enumerate(built.devices):
        if device.kind == "switch" and device.chassis:
            held.setdefault(device.chassis, []).append(number)
    groups = {name: numbers for name, numbers in held.items() if len(numbers) > 1}
    group = np.full(len(built.devices), -1, np.int64)
    for place, numbers in enumerate(groups.values()):
        group[numbers] = place
    ends = group[built.ends // PORTS]
    inside = set(ends[(ends[:, 0] >= 0) & (ends[:, 0] == ends[:, 1]), 0].tolist())
    return {name: numbers for place, (name, numbers) in enumerate(groups.items()) if place in inside}


def _line_cards(cards: list[int], out: Ints, within: Ints, built: AsBuilt) -> list[int]:
    """Pick the line cards, by name: cards with cables out of the chassis, and cards with as few links inside it."""
    inside = {card: int((within // PORTS == card).sum()) for card in cards}
    leading = set((out // PORTS).tolist())
    most = max((inside[card] for card in leading), default=0)
    line_cards = [card for card in cards if card in leading or inside[card] <= most]
    return sorted(line_cards, key=lambda card: (_in_order(built.devices[card].name), built.devices[card].key))


def _numbered(cards: list[int], built: AsBuilt) -> tuple[dict[int, int], int, str]:
    """Number the ports that lead out of a chassis; return them with their count and the cards that have them.

    Line cards follow one another; a port leads out where on most of them no link of it stays inside.
    """
    on_card = np.isin(built.ends // PORTS, cards)
    both: Bools = np.logical_and(on_card[:, 0], on_card[:, 1])
    out, within = built.ends[on_card & ~both[:, None]], built.ends[both].ravel()
    lines = _line_cards(cards, out, within, built)
    inside = within[np.isin(within // PORTS, lines)] % PORTS
    most = int(max(inside.max(initial=0), (out % PORTS).max(initial=0)))
    inner = np.bincount(inside, minlength=most + 1)
    used = set((out % PORTS).tolist())
    outer = [port for port in range(1, len(inner)) if port in used or 2 * inner[port] < len(lines)]
    place = {card: index for index, card in enumerate(lines)}
    rank = {port: index for index, port in enumerate(outer, start=1)}
    ports = {end: place[end // PORTS] * len(outer) + rank[end % PORTS] for end in out.tolist()}
    return ports, len(lines) * len(outer), _whose([built.devices[card].name for card in lines], outer)


def _whose(names: list[str], outer: list[int]) -> str:
    """Describe which card has which ports of a chassis, in their order: an installer finds a port by its card."""
    ports_per_card = len(outer)
    if not ports_per_card:
        return ""
    labels = [match[0].removeprefix("/") if (match := _CARD.search(name)) else name[:40] for name in names]
    if outer == list(range(1, ports_per_card + 1)):
        first_card = f"its ports 1 to {ports_per_card} are 1 to {ports_per_card} of `{labels[0]}`"
    else:
        first_card = f"its ports 1 to {ports_per_card} are {first_few(map(str, outer))} of `{labels[0]}`"
    following = f", the next {ports_per_card} belong to `{labels[1]}`" if len(labels) > 1 else ""
    last = f", and so on to `{labels[-1]}`" if len(labels) > 2 else ""
    return f": {first_card}{following}{last}"


def join_cards(built: AsBuilt) -> AsBuilt:
    """Take every chassis as one switch: links inside it are dropped, ports are numbered card after card."""
    numbered = {name: (cards, *_numbered(cards, built)) for name, cards in _cards_of(built).items()}
    chassis = {name: numbering for name, numbering in numbered.items() if numbering[2] < PORTS}
    if not chassis:
        return built
    first = {card: cards[0] for cards, _, _, _ in chassis.values() for card in cards}
    kept = [number for number in range(len(built.devices)) if first.get(number, number) == number]
    place = {number: index for index, number in enumerate(kept)}
    devices: list[_BuiltDevice] = [built.devices[number] for number in kept]
    moved: dict[int, int] = {}
    remarks = []
    for cards, ports, count, whose in chassis.values():
        index = place[cards[0]]
        name = _CARD.sub("", built.devices[cards[0]].name)
        devices[index] = replace(built.devices[cards[0]], name=name, ports=count, cards=len(cards))
        moved |= {end: index * PORTS + port for end, port in ports.items()}
        remarks.append(f"{plural(len(cards), 'card')} of the chassis `{name[:60]}` are taken as one switch{whose}")
    group = np.arange(len(built.devices))
    group[list(first)] = list(first.values())
    same = group[built.ends[:, 0] // PORTS] == group[built.ends[:, 1] // PORTS]
    inside = same & np.isin(built.ends[:, 0] // PORTS, list(first))
    ends = [
        sorted(moved.get(end, place.get(end // PORTS, 0) * PORTS + end % PORTS) for end in pair)
        for pair in built.ends[~inside].tolist()
    ]
    pairs: Ints = np.array(ends, np.int64).reshape(-1, 2)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return replace(
        built,
        devices=devices,
        ends=pairs[order],
        lanes=built.lanes[~inside][order],
        gbit_s=built.gbit_s[~inside][order],
        idle=built.idle[~inside][order],
        remarks=(*built.remarks, *remarks),
    )


_MOST_ADAPTER_PORTS = 8
"""More ports than an adapter has [1]."""


def split_adapters(built: AsBuilt, endpoints: int) -> AsBuilt:
    """Make every port of an adapter a host, if that brings their number nearer to the endpoints of the design.

    A port without a cable becomes a host as well if most such adapters have cables in all ports. If adapters stay whole
    and most are wired at one port, as in a subnet of the second plane, that port is their endpoint.

    Args:
        endpoints: endpoints of the design, each a port of an adapter [1].
    """
    hosts = np.array([device.kind == "host" for device in built.devices], bool)
    flat = built.ends.ravel()
    used, positions = np.unique(flat[hosts[flat // PORTS]], return_index=True)
    adapters, counts = np.unique(used // PORTS, return_counts=True)
    if len(used) == len(adapters) or abs(len(used) - endpoints) >= abs(len(adapters) - endpoints):
        alone = np.isin(used // PORTS, adapters[counts == 1])
        return _from_one(built, hosts, used[alone][np.argsort(positions[alone])])
    linked: dict[int, set[int]] = {}
    for end in used.tolist():
        linked.setdefault(end // PORTS, set()).add(end % PORTS)
    several = {
        n
        for n in np.flatnonzero(hosts).tolist()
        if 1 < built.devices[n].ports <= _MOST_ADAPTER_PORTS or len(linked.get(n, ())) > 1
    }
    full = sum(len(linked.get(number, ())) >= built.devices[number].ports for number in several)
    devices: list[_BuiltDevice] = []
    first = np.zeros(len(built.devices), np.int64)
    place: dict[int, int] = {}
    for number, device in enumerate(built.devices):
        first[number] = len(devices)
        if number not in several:
            devices.append(device)
            continue
        ports = linked.get(number, set())
        if 2 * full > len(several) and device.ports <= _MOST_ADAPTER_PORTS:
            ports = ports | set(range(1, device.ports + 1))
        for port in sorted(ports):
            place[number * PORTS + port] = len(devices) * PORTS + 1
            devices.append(replace(device, name=f"{device.name}p{port}", key=f"{device.key}/p{port}", ports=1))
    to = _peer_of(np.array(list(place.items()), np.int64), built.ends)
    ends = np.sort(np.where(to >= 0, to, first[built.ends // PORTS] * PORTS + built.ends % PORTS), axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    remark = f"{plural(len(several), 'adapter')} of several ports are taken as a host for each port"
    return replace(
        built,
        devices=devices,
        ends=ends[order],
        lanes=built.lanes[order],
        gbit_s=built.gbit_s[order],
        idle=built.idle[order],
        remarks=(*built.remarks, remark),
    )


def _from_one(built: AsBuilt, hosts: Bools, alone: Ints) -> AsBuilt:
    """Renumber the port at which most adapters are wired as their first."""
    told = Counter((alone % PORTS).tolist())
    usual = told.most_common(1)[0][0] if told else 1
    if usual == 1:
        return built
    port = built.ends % PORTS
    swapped = np.where(port == usual, 1, np.where(port == 1, usual, port))
    return replace(built, ends=np.where(hosts[built.ends // PORTS], built.ends - port + swapped, built.ends))
