"""Copies of a model on scale-up domains and nodes: how many fit without a collective that crosses more than it must."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ffplan.base.record import record

Parts = tuple[tuple[int, int], ...]
"""What is placed together: accelerators of a copy, and how many such copies [1]; a pair for each pool of a unit."""
_KEPT = 4096
"""Answers that are kept for the next question [1]."""


@record
class Ground:
    """Accelerators to place copies on: nodes are filled one after the other, domain after domain."""

    gpus: int
    """Accelerators [1]."""
    domain: int
    """Accelerators behind one scale-up network [1]."""
    node: int
    """Accelerators of a node [1]."""

    def of_nodes(self, nodes: int) -> Ground:
        """Return as many nodes of the same kind."""
        return replace(self, gpus=nodes * self.node)


def _domains(ground: Ground, down: int) -> dict[int, int]:
    """Return how many domains have how many accelerators; nodes that are down lie in as many domains as they can."""
    whole, rest = divmod(ground.gpus, ground.domain)
    last = rest // ground.node
    nodes = whole * (ground.domain // ground.node) + last
    down = min(down, nodes)
    down_last = -(-down * last // nodes) if down else 0
    each, more = divmod(down - down_last, whole) if whole else (0, 0)
    left = ground.domain - each * ground.node
    free = {rest - down_last * ground.node: 1}
    for size, count in ((left, whole - more), (left - ground.node, more)):
        free[size] = free.get(size, 0) + count
    return {size: count for size, count in free.items() if size > 0 and count > 0}


def _move(free: dict[int, int], size: int, left: int, count: int = 1) -> None:
    free[size] -= count
    if not free[size]:
        del free[size]
    if left > 0:
        free[left] = free.get(left, 0) + count


def _place_inside(free: dict[int, int], size: int, count: int) -> int:
    """Place copies that a domain holds, in the smallest rooms first; return how many found room."""
    placed = 0
    for room, domains in sorted(free.items()):
        each = room // size
        if not each or placed == count:
            continue
        full = min((count - placed) // each, domains)
        if full:
            _move(free, room, room - each * size, full)
            placed += full * each
        if full < domains and placed < count:
            _move(free, room, room - (count - placed) * size)
            placed = count
    return placed


def _place_across(free: dict[int, int], size: int, count: int, ground: Ground) -> int:
    """Place copies of several domains, each on whole nodes of as few domains as hold it; return how many found room."""
    placed = 0
    while placed < count and free:
        many = _place_many(free, size, count - placed, ground)
        if not many and not _place_one(free, size, ground):
            break
        placed += many or 1
    return placed


def _place_many(free: dict[int, int], size: int, count: int, ground: Ground) -> int:
    """Place copies that take largest rooms whole, as many at a time as fill others with their ends; return how many."""
    largest = max(free)
    whole = -(-size // largest) - 1
    end = size - whole * largest
    if whole >= -(-size // ground.domain):
        return 0
    room, taken = min(room for room in free if room >= end), -(-end // ground.node) * ground.node
    each = max(room // taken, 1)
    most = free[room] // (whole * each + 1) if room == largest else min(free[room], free[largest] // (whole * each))
    rooms = min(most, count // each)
    if rooms:
        _move(free, largest, 0, rooms * whole * each)
        _move(free, room, room - each * taken, rooms)
    return rooms * each


def _place_one(free: dict[int, int], size: int, ground: Ground) -> bool:
    """Place one copy, in the largest rooms first, and its end in the smallest that holds it; return whether it fits."""
    left = size
    for _ in range(-(-size // ground.domain)):
        if not left or not free:
            break
        largest = max(free)
        room = largest if left > largest else min(room for room in free if room >= left)
        used = min(left, room)
        # a node that holds a part of a copy holds nothing else
        _move(free, room, room - -(-used // ground.node) * ground.node)
        left -= used
    return not left


def _place(free: dict[int, int], size: int, count: int, ground: Ground) -> int:
    """Place copies; return how many found room."""
    if size <= ground.domain:
        return _place_inside(free, size, count)
    return _place_across(free, size, count, ground)


def _place_units(free: dict[int, int], parts: Parts, units: int, ground: Ground) -> bool:
    """Place units, the larger copies first; return whether all found room."""
    return all(
        _place(free, size, count * units, ground) == count * units for size, count in sorted(parts, reverse=True)
    )


def _together(parts: Parts, ground: Ground) -> Parts:
    """Return what must stay together: a unit that one domain holds is placed as a whole."""
    total = sum(size * count for size, count in parts)
    return ((total, 1),) if total <= ground.domain else parts


@lru_cache(maxsize=_KEPT)
def copies_that_fit(parts: Parts, ground: Ground, down: int = 0) -> int:
    """Return how many copies, or units of pools, fit on some accelerators [1].

    A copy that a domain holds lies in one; a larger one lies on whole nodes in as few domains as hold it, full ones
    but the last, whose rest others may use. So it is as its collectives are timed.

    Args:
        parts: what is placed together.
        ground: the accelerators.
        down: nodes in repair, in as many domains as they can be [1].

    Equation:
        sum over domains of floor(accelerators / size) for copies of at most a domain
    """
    parts = _together(parts, ground)
    most = ground.gpus // sum(size * count for size, count in parts)
    if len(parts) == 1 and parts[0][1] == 1:
        return _place(_domains(ground, down), parts[0][0], most, ground)
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        if _place_units(_domains(ground, down), parts, middle, ground):
            low = middle
        else:
            most = middle - 1
    return low


@lru_cache(maxsize=_KEPT)
def nodes_held(parts: Parts, ground: Ground, copies: int) -> int:
    """Return the nodes on which copies lie that fit on some accelerators [1]."""
    free = _domains(ground, 0)
    before = sum(size // ground.node * count for size, count in free.items())
    _place_units(free, _together(parts, ground), copies, ground)
    return before - sum(size // ground.node * count for size, count in free.items())


@lru_cache(maxsize=_KEPT)
def least_nodes(parts: Parts, ground: Ground, copies: int, down: int = 0) -> int:
    """Return the fewest nodes on which copies fit while some are in repair [1].

    Args:
        parts: what is placed together.
        ground: accelerators of the same kind, of any number.
        copies: copies, or units of pools [1].
        down: nodes in repair [1].
    """

    def hold(nodes: int) -> bool:
        return copies_that_fit(parts, ground.of_nodes(nodes), down) >= copies

    most = max(-(-copies * sum(size * count for size, count in parts) // ground.node) + down, 1)
    while not hold(most):
        most *= 2
    low = 0
    while most - low > 1:
        middle = (low + most) // 2
        if hold(middle):
            most = middle
        else:
            low = middle
    return most
