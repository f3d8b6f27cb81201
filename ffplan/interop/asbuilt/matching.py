"""Match devices without a known name by their wiring."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Bools, Ints
from ffplan.base.record import record
from ffplan.interop.asbuilt.model import PORTS, _peer_of, both_ways

if TYPE_CHECKING:
    from collections.abc import Sequence

_Features = dict[int, Counter[int]]
"""Wiring of each switch, which identifies one without a name."""
_ANCHORS = 64
"""Most guesses of a first device, before what is left stays unknown."""
_ROUNDS = 4
"""Most times that switches are moved to where most neighbours say they are."""
_AGREEING = 0.5
"""Least part of the links near a guessed device that must fit for the guess to stand."""


@record
class _Matched:
    """Which device of the design every device as built is."""

    place: Ints
    """Number in the design; -1 of devices that it has not, shape (devices,)."""
    confidence: Ints
    """Links that the design has alike, of 100, shape (devices,)."""
    known: dict[int, int]
    """Places that names told."""

    @property
    def by_name(self) -> int:
        return len(self.known)


class _Votes:
    """Both graphs, each link from both of its ends."""

    def __init__(self, built: Ints, designed: Ints) -> None:
        self.built, self.designed = both_ways(built), both_ways(designed)

    def candidates(self, place: Ints, devices: int, selected: Bools | None = None) -> Ints:
        """Return (device as built, device of the design, votes) of all that neighbours with a place say, best first.

        A neighbour at a known place says that the device at its port is the one that the design has at this port. Those
        of `selected` alone, of all if None.
        """
        built = self.built if selected is None else self.built[selected[self.built[:, 0] // PORTS]]
        device, peer = built[:, 0] // PORTS, built[:, 1]
        far = place[peer // PORTS]
        there = np.where(far >= 0, far * PORTS + peer % PORTS, -1)
        meant = _peer_of(self.designed, there)
        told = meant >= 0
        same_port = meant[told] % PORTS == built[told, 0] % PORTS
        key = device[told] * devices + meant[told] // PORTS
        keys, where = np.unique(key, return_inverse=True)
        votes = np.bincount(where.ravel(), weights=1.0 + same_port, minlength=len(keys))
        order = np.argsort(-votes, kind="stable")
        result: Ints = np.column_stack([keys // devices, keys % devices, np.round(votes).astype(np.int64)])
        return result[order]


def _matched(
    known: dict[int, int], built: Ints, designed: Ints, built_kinds: Sequence[str], designed_kinds: Sequence[str]
) -> _Matched:
    """Return the place of every device as built in the design.

    Devices with a known name are anchors. What is wired to a port of an anchor is the device that the design has there;
    most votes win. Where no anchor is near, a switch that is wired like no other is taken for one, else the one with
    most links, at the place that its ports fit best, if what follows agrees.
    """
    place = np.full(len(built_kinds), -1, np.int64)
    for device, to in known.items():
        place[device] = to
    votes = _Votes(built, designed)
    forwards = [np.array([kind != "host" for kind in kinds], bool) for kinds in (built_kinds, designed_kinds)]
    degree = np.bincount(votes.built[:, 0] // PORTS, minlength=len(place))
    _spread(place, votes, forwards)
    if ((place < 0) & forwards[0] & (degree > 0)).any():
        features = (_features(votes.built, forwards[0]), _features(votes.designed, forwards[1]))
        for _ in range(_ANCHORS):
            if not _anchored(place, votes, forwards, degree, features):
                break
    for _ in range(_ROUNDS):
        if not _settled(place, known, votes, forwards):
            break
    place = np.maximum(place, -1)  # -2 marked switches whose guesses failed
    return _Matched(place=place, confidence=_agreeing(place, votes), known=known)


def _spread(place: Ints, votes: _Votes, forwards: list[np.ndarray]) -> None:
    """Give places to the neighbours of devices that have one, until none is added."""
    devices = len(forwards[1])
    taken = np.zeros(devices, bool)
    taken[place[place >= 0]] = True
    while (place < 0).any():
        before = int((place >= 0).sum())
        for device, to, _ in votes.candidates(place, devices, place < 0).tolist():
            if place[device] < 0 and not taken[to] and forwards[0][device] == forwards[1][to]:
                place[device], taken[to] = to, True
        if int((place >= 0).sum()) == before:
            return


def _settled(place: Ints, known: dict[int, int], votes: _Votes, forwards: list[np.ndarray]) -> bool:
    """Move switches to where most of their neighbours say they are; return whether any moved.

    The first neighbours that had a place may have been the ones with a wrong cable.
    """
    best: dict[int, int] = {}
    taken: set[int] = set()
    movable = (place >= 0) & forwards[0]
    movable[list(known)] = False
    if not movable.any():
        return False
    for device, to, _ in votes.candidates(place, len(forwards[1]), movable).tolist():
        if forwards[1][to] and device not in best and to not in taken:
            best[device] = to
            taken.add(to)
    moves = {device: to for device, to in best.items() if place[device] != to}
    left = {int(place[device]) for device in moves}
    held = set(place[place >= 0].tolist()) - left
    moves = {device: to for device, to in moves.items() if to not in held}
    if not moves:
        return False
    place[list(moves)] = -1
    for device, to in moves.items():
        place[device] = to
    ends = [device for device in np.flatnonzero(~forwards[0]).tolist() if device not in known]
    place[ends] = -1  # they hang at switches that moved
    _spread(place, votes, forwards)
    return True


def _features(ends: Ints, forwards: np.ndarray) -> _Features:
    """Describe a switch without names: its ports, the ports at the other ends, and whether those belong to switches."""
    features: _Features = {}
    near, peer = ends[:, 0], ends[:, 1]
    kinds = forwards[peer // PORTS].astype(np.int64)
    told = (near % PORTS) * 2 * PORTS + (peer % PORTS) * 2 + kinds
    for device, feature in zip((near // PORTS).tolist(), told.tolist(), strict=True):
        features.setdefault(device, Counter())[feature] += 1
    return features


def _anchored(
    place: Ints, votes: _Votes, forwards: list[np.ndarray], degree: Ints, features: tuple[_Features, _Features]
) -> bool:
    """Guess the place of one switch without one, and spread from there; return whether a guess stood."""
    open_built = np.flatnonzero((place == -1) & forwards[0] & (degree > 0)).tolist()
    taken = set(place[place >= 0].tolist())
    open_design = [n for n in np.flatnonzero(forwards[1]).tolist() if n not in taken]
    if not open_built or not open_design:
        return False
    here, there = features
    first = max(_singular(open_built, open_design, features) or open_built, key=lambda n: (degree[n], -n))
    fits = [((here[first] & there.get(n, Counter())).total(), -n) for n in open_design]
    for fit, number in sorted(fits, reverse=True)[:4]:
        if fit == 0:
            break
        trial = place.copy()
        trial[first] = -number  # numbers are negative here, so that ties go to the first device
        _spread(trial, votes, forwards)
        if _agreement(trial, place, votes) >= _AGREEING:
            place[:] = trial
            return True
    place[first] = -2  # no place; it is not tried again
    return len(open_built) > 1


def _singular(built: list[int], designed: list[int], features: tuple[_Features, _Features]) -> list[int]:
    """Pick the switches as built whose wiring matches exactly one of the design, and no other as built.

    Leaves of two pods are wired alike; ports of cores distinguish their spines.
    """
    here, there = (
        {n: frozenset(of.get(n, {}).items()) for n in devices}
        for devices, of in zip((built, designed), features, strict=True)
    )
    seen, designed_counts = Counter(here.values()), Counter(there.values())
    return [n for n, ports in here.items() if seen[ports] == designed_counts[ports] == 1]


def _alike(place: Ints, ends: Ints, votes: _Votes) -> Bools:
    """Return which links, from one of their ends, the design has alike, shape (links,)."""
    near, peer = ends[:, 0], ends[:, 1]
    designed = place[near // PORTS] * PORTS + near % PORTS
    there = place[peer // PORTS]
    to = np.where(there >= 0, there * PORTS + peer % PORTS, -2)
    result: Bools = (place[near // PORTS] >= 0) & (_peer_of(votes.designed, designed) == to)
    return result


def _agreeing(place: Ints, votes: _Votes) -> Ints:
    """Return the links of every device that the design has alike, of 100, shape (devices,)."""
    devices = votes.built[:, 0] // PORTS
    alike = np.bincount(devices, weights=_alike(place, votes.built, votes), minlength=len(place))
    result: Ints = np.round(100 * alike / np.maximum(np.bincount(devices, minlength=len(place)), 1)).astype(np.int64)
    return result


def _agreement(trial: Ints, before: Ints, votes: _Votes) -> float:
    """Return the part of the links of newly placed devices that the design has alike [1]."""
    devices = votes.built[:, 0] // PORTS
    fresh = (before[devices] < 0) & (trial[devices] >= 0)
    return float(_alike(trial, votes.built[fresh], votes).mean()) if fresh.any() else 0.0
