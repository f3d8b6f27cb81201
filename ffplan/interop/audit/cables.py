"""Cables that lead elsewhere than designed, taken together where one mistake made them."""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.base.union_find import union_find
from ffplan.interop.asbuilt.model import PORTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.base.array_math import Ints
    from ffplan.interop.audit.sides import Differences, Sides

_PART = 3
"""Fewest absent switches that make a part of the fabric."""
_OUTSIDE = 0.2
"""Most links of an absent part to what was found, for each inside it [1]."""


@record
class CableGroup:
    """Ports that one mistake joins: links of the design that are lost, and others in their place."""

    lost: list[tuple[int, int]]
    """Ends of links of the design that are not there."""
    stray: list[tuple[int, int]]
    """Ends of links that the design has not."""

    @property
    def ports(self) -> set[int]:
        """All ports."""
        return {end for pair in (*self.lost, *self.stray) for end in pair}

    @property
    def there(self) -> dict[int, int]:
        """The other end of every stray cable, by either."""
        return {one: two for pair in self.stray for one, two in (pair, pair[::-1])}


def groups(fabrics: Sides, differences: Differences, explained: set[int]) -> list[CableGroup]:
    """Return differing links in groups that share ports.

    Args:
        explained: devices whose links differ for a known reason; they are left out.
    """
    lost = pairs_apart_from(explained, fabrics.ours[differences.lost])
    stray = pairs_apart_from(explained, fabrics.theirs[differences.stray])
    roots = union_find((*lost, *stray))
    parts: dict[int, CableGroup] = {}
    for kind, pairs in (("lost", lost), ("stray", stray)):
        for pair in pairs:
            part = parts.setdefault(roots[pair[0]], CableGroup([], []))
            (part.lost if kind == "lost" else part.stray).append(pair)
    return list(parts.values())


def pairs_apart_from(left_out: set[int], rows: Ints) -> list[tuple[int, int]]:
    """Return links but for those of some devices.

    Args:
        left_out: the devices.
        rows: both ends of every link, shape (links, 2).
    """
    return [(one, two) for one, two in rows.tolist() if one // PORTS not in left_out and two // PORTS not in left_out]


def kind_of(group: CableGroup) -> str:
    """Return what became of a group: missing, extra, moved, swapped, shifted or permuted."""
    lost, stray = len(group.lost), len(group.stray)
    if not stray:
        return "missing"
    if not lost:
        return "extra"
    if stray == 1:
        return "moved"
    if (lost, stray, len(group.ports)) == (2, 2, 4):
        return "swapped"
    return "shifted" if shift_of(group) is not None else "permuted"


def shift_of(group: CableGroup) -> tuple[int, int] | None:
    """Find a device at which cables are shifted by some ports; return (device, ports), or None.

    As many cables as ports of the step may have come round to the other end of the row.
    """
    there = group.there
    found: dict[int, Counter[int]] = {}
    for one, two in group.lost:
        for end, other in ((one, two), (two, one)):
            if end in there and there[end] // PORTS == other // PORTS:
                found.setdefault(other // PORTS, Counter())[there[end] - other] += 1
    for device, steps in found.items():
        ((step, count),) = steps.most_common(1)
        if count > 1 and count >= len(group.lost) - abs(step):
            return device, step
    return None


def exchangeable(group: CableGroup) -> list[tuple[int, int]]:
    """Return the pairs of ports, one of each link, whose exchange makes two swapped links right again.

    Args:
        group: two links of the design, and two cables between their four ports.
    """
    first, second = group.lost
    crossed = {frozenset(pair) for pair in group.stray}
    return [(one, two) for one in first for two in second if frozenset((one, two)) not in crossed]


def swapped_alike(
    fabrics: Sides, swapped: list[CableGroup], least: int
) -> list[tuple[tuple[int, ...], list[CableGroup]]]:
    """Return pairs of swapped cables by the one or two switches at which many of them are; those of none stand last.

    Uplinks of two leaves to the same spines are exchanged between the leaves, whichever spines these are.

    Args:
        least: fewest pairs of cables that go together.
    """
    left, made = list(swapped), list[tuple[tuple[int, ...], list[CableGroup]]]()
    while left:
        at: dict[tuple[int, ...], list[CableGroup]] = {}
        for group in left:
            for one, two in exchangeable(group):
                if fabrics.roles_of(one) == fabrics.roles_of(two) > 0:
                    at.setdefault(tuple(sorted({one // PORTS, two // PORTS})), []).append(group)
        switches, alike = max(at.items(), key=lambda item: (len(item[1]), -len(item[0])), default=((), left))
        if not switches or len(alike) < least:
            return [*made, ((), left)]
        made.append((switches, alike))
        held = {id(group) for group in alike}
        left = [group for group in left if id(group) not in held]
    return made


def sharing(pairs: Iterable[tuple[int, int]], least: int) -> list[tuple[int, list[tuple[int, int]]]]:
    """Group links by the device that most of them share; -1 marks links that share none.

    Args:
        pairs: ends of links.
        least: fewest links that a device must share for a group.
    """
    every = list(pairs)
    held: dict[int, dict[int, None]] = {}
    for at, pair in enumerate(every):
        for end in pair:
            held.setdefault(end // PORTS, {})[at] = None
    ranked = [(-len(own), device) for device, own in held.items() if len(own) >= least]
    heapify(ranked)
    left = dict.fromkeys(range(len(every)))
    found: list[tuple[int, list[tuple[int, int]]]] = []
    while ranked:
        count, device = heappop(ranked)
        own = list(held[device])
        if len(own) < -count:  # others took links of it
            if len(own) >= least:
                heappush(ranked, (-len(own), device))
            continue
        found.append((device, [every[at] for at in own]))
        for at in own:
            del left[at]
            for end in set(every[at]):
                held[end // PORTS].pop(at, None)
    return [*found, *((-1, [every[at]]) for at in left)]


def parts_not_found(fabrics: Sides, gone: set[int]) -> list[set[int]]:
    """Return parts of the fabric that are missing as a whole: absent switches that are joined, and hardly to others.

    Args:
        gone: devices that were not found.
    """
    switches = {device for device in gone if fabrics.roles[device]}
    if len(switches) < _PART:
        return []
    beside: dict[int, list[int]] = {device: [] for device in gone}
    outside = dict.fromkeys(gone, 0)
    ends = fabrics.ours // PORTS
    for one, two in ends[np.isin(ends, sorted(gone)).any(axis=1)].tolist():
        for own, other in ((one, two), (two, one)):
            if own in gone:
                if other in gone:
                    beside[own].append(other)
                else:
                    outside[own] += 1
    parts, left = [], set(switches)
    while left:
        part, edge = set(), [left.pop()]
        while edge:
            device = edge.pop()
            if device not in part:
                part.add(device)
                edge += beside[device]
        left -= part
        links = sum(len(beside[device]) for device in part) // 2
        if len(part & switches) >= _PART and sum(outside[device] for device in part) < _OUTSIDE * links:
            parts.append(part)
    return parts
