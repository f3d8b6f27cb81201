"""Modular switches: a chassis whose line and spine cards tools list as switches, taken as the one switch that it is."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import first_few, plural
from ffplan.interop.asbuilt.model import PORTS

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Ints
    from ffplan.interop.asbuilt.model import AsBuilt, BuiltDevice

_CARD = re.compile(r"/[LS][0-9]{1,3}(?:/U[0-9]{1,3})?$", re.IGNORECASE)
"""Card and chip at the end of a description, such as MF0;core-1:CS8500/L07/U1."""
_NUMBERS = re.compile("([0-9]+)")


def _in_order(name: str) -> list[tuple[int, str]]:
    """Return what sorts names by their numbers, such as L2 before L10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _NUMBERS.split(name[:200])]


def cards_of(built: AsBuilt) -> dict[str, list[int]]:
    """Return the cards of every chassis: switches of one system that have links among themselves.

    Args:
        built: the fabric.
    """
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


def _lines(cards: list[int], out: Ints, within: Ints, built: AsBuilt) -> list[int]:
    """Return the line cards in the order of their names: those that lead out, and those with as few links inside."""
    inside = {card: int((within // PORTS == card).sum()) for card in cards}
    leading = set((out // PORTS).tolist())
    most = max((inside[card] for card in leading), default=0)
    found = [card for card in cards if card in leading or inside[card] <= most]
    return sorted(found, key=lambda card: (_in_order(built.devices[card].name), built.devices[card].key))


def _numbered(cards: list[int], built: AsBuilt) -> tuple[dict[int, int], int, str]:
    """Return the port of the chassis for every port that leads out of it, how many ports it has, and whose they are.

    Line cards follow one another; a port leads out where on most of them no link of it stays inside.
    """
    own = np.isin(built.ends // PORTS, cards)
    both: Bools = np.logical_and(own[:, 0], own[:, 1])
    out, within = built.ends[own & ~both[:, None]], built.ends[both].ravel()
    lines = _lines(cards, out, within, built)
    inside = within[np.isin(within // PORTS, lines)] % PORTS
    most = int(max(inside.max(initial=0), (out % PORTS).max(initial=0)))
    inner = np.bincount(inside, minlength=most + 1)
    used = set((out % PORTS).tolist())
    outer = [port for port in range(1, len(inner)) if port in used or 2 * inner[port] < len(lines)]
    place = {card: at for at, card in enumerate(lines)}
    rank = {port: at for at, port in enumerate(outer, start=1)}
    ports = {end: place[end // PORTS] * len(outer) + rank[end % PORTS] for end in out.tolist()}
    return ports, len(lines) * len(outer), _whose([built.devices[card].name for card in lines], outer)


def _whose(names: list[str], outer: list[int]) -> str:
    """Return whose ports those of a chassis are, in words: an installer finds a port by its card.

    Args:
        names: descriptions of the line cards, in the order in which their ports are counted.
        outer: ports of a card that lead out.
    """
    each = len(outer)
    if not each:
        return ""
    labels = [found[0].removeprefix("/") if (found := _CARD.search(name)) else name[:40] for name in names]
    if outer == list(range(1, each + 1)):
        own = f"its ports 1 to {each} are 1 to {each} of `{labels[0]}`"
    else:
        own = f"its ports 1 to {each} are {first_few(map(str, outer))} of `{labels[0]}`"
    following = f", the next {each} those of `{labels[1]}`" if len(labels) > 1 else ""
    last = f", and so on to `{labels[-1]}`" if len(labels) > 2 else ""
    return f": {own}{following}{last}"


def joined(built: AsBuilt) -> AsBuilt:
    """Return a fabric with every chassis as one switch: links inside go, ports are numbered card after card.

    Args:
        built: the fabric.
    """
    numbered = {name: (cards, *_numbered(cards, built)) for name, cards in cards_of(built).items()}
    chassis = {name: found for name, found in numbered.items() if found[2] < PORTS}
    if not chassis:
        return built
    first = {card: cards[0] for cards, _, _, _ in chassis.values() for card in cards}
    kept = [number for number in range(len(built.devices)) if first.get(number, number) == number]
    place = {number: at for at, number in enumerate(kept)}
    devices: list[BuiltDevice] = [built.devices[number] for number in kept]
    moved: dict[int, int] = {}
    remarks = []
    for cards, ports, count, whose in chassis.values():
        at = place[cards[0]]
        name = _CARD.sub("", built.devices[cards[0]].name)
        devices[at] = replace(built.devices[cards[0]], name=name, ports=count, cards=len(cards))
        moved |= {end: at * PORTS + port for end, port in ports.items()}
        remarks.append(f"{plural(len(cards), 'card')} of the chassis `{name[:60]}` are taken as one switch{whose}")
    group = np.arange(len(built.devices))
    group[list(first)] = list(first.values())
    same = group[built.ends[:, 0] // PORTS] == group[built.ends[:, 1] // PORTS]
    inside = same & np.isin(built.ends[:, 0] // PORTS, list(first))
    ends = [
        sorted(moved.get(end, place.get(end // PORTS, 0) * PORTS + end % PORTS) for end in pair)
        for pair in built.ends[~inside].tolist()
    ]
    found: Ints = np.array(ends, np.int64).reshape(-1, 2)
    order = np.lexsort((found[:, 1], found[:, 0]))
    return replace(
        built,
        devices=devices,
        ends=found[order],
        lanes=built.lanes[~inside][order],
        gbit_s=built.gbit_s[~inside][order],
        remarks=(*built.remarks, *remarks),
    )
