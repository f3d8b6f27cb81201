"""Cables that lead elsewhere than designed, taken together where one mistake made them."""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.interop.asbuilt.model import PORTS, _union_find

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.base.array_math import Ints
    from ffplan.interop.audit.sides import Differences, Sides

_PART = 3
"""Fewest absent switches that make a part of the fabric."""
_OUTSIDE = 0.2
"""Most links of an absent part to what was found, for each inside it [1]."""


@record
class _CableGroup:
    """Ports that one mistake joins: links of the design that are lost, and others in their place."""

    lost: list[tuple[int, int]]
    """Ends of links of the design that are not there."""
    stray: list[tuple[int, int]]
    """Ends of links that the design has not."""

    @property
    def ports(self) -> set[int]:
        return {end for pair in (*self.lost, *self.stray) for end in pair}

    @property
    def there(self) -> dict[int, int]:
        return {near: far for pair in self.stray for near, far in (pair, pair[::-1])}


def groups(fabrics: Sides, differences: Differences, explained: set[int]) -> list[_CableGroup]:
    """Return differing links in groups that share ports.

    Args:
        explained: devices whose links differ for a known reason; they are left out.
    """
    lost = _pairs_apart_from(explained, fabrics.ours[differences.lost])
    stray = _pairs_apart_from(explained, fabrics.theirs[differences.stray])
    roots = _union_find((*lost, *stray))
    parts: dict[int, _CableGroup] = {}
    for kind, pairs in (("lost", lost), ("stray", stray)):
        for pair in pairs:
            part = parts.setdefault(roots[pair[0]], _CableGroup([], []))
            (part.lost if kind == "lost" else part.stray).append(pair)
    return list(parts.values())


def _pairs_apart_from(left_out: set[int], rows: Ints) -> list[tuple[int, int]]:
    return [
        (near, far) for near, far in rows.tolist() if near // PORTS not in left_out and far // PORTS not in left_out
    ]


def _kind_of(group: _CableGroup) -> str:
    lost, stray = len(group.lost), len(group.stray)
    if not stray:
        return "missing"
    if not lost:
        return "extra"
    if stray == 1:
        return "moved"
    if (lost, stray, len(group.ports)) == (2, 2, 4):
        return "swapped"
    return "shifted" if _shift_of(group) is not None else "permuted"


def _shift_of(group: _CableGroup) -> tuple[int, int] | None:
    """Find a device at which cables are shifted by some ports; return (device, ports), or None.

    As many cables as ports of the step may have come round to the other end of the row.
    """
    there = group.there
    shifts: dict[int, Counter[int]] = {}
    for near, far in group.lost:
        for end, designed in ((near, far), (far, near)):
            if end in there and there[end] // PORTS == designed // PORTS:
                shifts.setdefault(designed // PORTS, Counter())[there[end] - designed] += 1
    for device, steps in shifts.items():
        ((step, count),) = steps.most_common(1)
        if count > 1 and count >= len(group.lost) - abs(step):
            return device, step
    return None


def _exchangeable(group: _CableGroup) -> list[tuple[int, int]]:
    """Return the pairs of ports, one of each link, whose exchange makes two swapped links right again."""
    first, second = group.lost
    crossed = {frozenset(pair) for pair in group.stray}
    return [(near, far) for near in first for far in second if frozenset((near, far)) not in crossed]


def _swapped_alike(
    fabrics: Sides, swapped: list[_CableGroup], least: int
) -> list[tuple[tuple[int, ...], list[_CableGroup]]]:
    """Group pairs of swapped cables by the one or two switches that many of them share; the ungrouped come last.

    Uplinks of two leaves to the same spines are exchanged between the leaves, whichever spines these are.
    """
    left, runs = list(swapped), list[tuple[tuple[int, ...], list[_CableGroup]]]()
    while left:
        sharing_switches: dict[tuple[int, ...], list[_CableGroup]] = {}
        for group in left:
            for near, far in _exchangeable(group):
                if fabrics.roles_of(near) == fabrics.roles_of(far) > 0:
                    sharing_switches.setdefault(tuple(sorted({near // PORTS, far // PORTS})), []).append(group)
        switches, alike = max(
            sharing_switches.items(), key=lambda entry: (len(entry[1]), -len(entry[0])), default=((), left)
        )
        if not switches or len(alike) < least:
            return [*runs, ((), left)]
        runs.append((switches, alike))
        held = {id(group) for group in alike}
        left = [group for group in left if id(group) not in held]
    return runs


def _sharing(pairs: Iterable[tuple[int, int]], least: int) -> list[tuple[int, list[tuple[int, int]]]]:
    """Group links by the device that most of them share; -1 marks links that share none."""
    every = list(pairs)
    held: dict[int, dict[int, None]] = {}
    for index, pair in enumerate(every):
        for end in pair:
            held.setdefault(end // PORTS, {})[index] = None
    ranked = [(-len(indices), device) for device, indices in held.items() if len(indices) >= least]
    heapify(ranked)
    left = dict.fromkeys(range(len(every)))
    shares: list[tuple[int, list[tuple[int, int]]]] = []
    while ranked:
        count, device = heappop(ranked)
        indices = list(held[device])
        if len(indices) < -count:  # others took links of it
            if len(indices) >= least:
                heappush(ranked, (-len(indices), device))
            continue
        shares.append((device, [every[index] for index in indices]))
        for index in indices:
            del left[index]
            for end in set(every[index]):
                held[end // PORTS].pop(index, None)
    return [*shares, *((-1, [every[index]]) for index in left)]


def _parts_not_found(fabrics: Sides, gone: set[int]) -> list[set[int]]:
    """Return parts of the fabric that are missing as a whole: absent switches that are joined, and hardly to others."""
    switches = {device for device in gone if fabrics.roles[device]}
    if len(switches) < _PART:
        return []
    beside: dict[int, list[int]] = {device: [] for device in gone}
    outside = dict.fromkeys(gone, 0)
    ends = fabrics.ours // PORTS
    for near, far in ends[np.isin(ends, sorted(gone)).any(axis=1)].tolist():
        for missing, neighbour in ((near, far), (far, near)):
            if missing in gone:
                if neighbour in gone:
                    beside[missing].append(neighbour)
                else:
                    outside[missing] += 1
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
