"""Load of every directed link, the rate of the job that follows, and equal flows that are routed once.

Flows are counted, link by link, and a count of equal flows gives their bytes without rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Bools, Ints
from ffplan.base.record import record
from ffplan.fabric.wiring.network import TIERS

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats
    from ffplan.fabric.routing.router import Router
    from ffplan.fabric.routing.routing import Routing
    from ffplan.fabric.routing.traffic import Flows
    from ffplan.fabric.wiring.network import Network

BATCH = 500_000
"""Flows routed at once."""


@record
class _Outcome:
    time_s: float
    """Time of the busiest link [s]."""
    ideal_s: float
    """Time of the busiest endpoint link alone, the time of a fabric without contention [s]."""

    @property
    def share(self) -> float:
        """Rate of the job as a fraction of the ideal [1]."""
        return self.ideal_s / self.time_s if self.time_s else 1.0


def flow_loads(
    router: Routing, src: Ints, dst: Ints, nbytes: Floats, seed: int | None = None, *, detour: bool = False
) -> tuple[Floats, int]:
    """Return the bytes on every directed link, and the number of flows that do not arrive.

    Args:
        src: sending endpoints, shape (flows,).
        dst: receiving endpoints, same shape.
        nbytes: bytes of each flow, same shape.
        seed: hash flows with it (ECMP); destination-modulo if omitted.
        detour: pass a group chosen at random (Valiant).
    """
    size = 2 * len(router.fabric.network.links)
    load = np.zeros(size)
    lost = 0
    for start in range(0, len(src), BATCH):
        part = slice(start, start + BATCH)
        routes = router.paths(src[part], dst[part], seed, detour=detour)
        used = routes.links >= 0
        weights = np.broadcast_to(nbytes[part, None], used.shape)[used]
        load += np.bincount(routes.links[used], weights=weights, minlength=size)
        lost += int((~routes.reached & (src[part] != dst[part])).sum())
    return load, lost


def link_times(network: Network, load: Floats) -> Floats:
    """Return the time that each link needs for the bytes on it [s], shape (links, 2): up, down.

    Args:
        load: bytes on every directed link [byte], shape (2 * links,).
    """
    times: Floats = load.reshape(-1, 2) / (network.links.gbyte_s[:, None].astype(float) * 1e9)
    return times


def outcome(network: Network, load: Floats) -> _Outcome:
    """Return the time of traffic, and of a fabric without contention.

    Args:
        load: bytes on every directed link [byte], shape (2 * links,).

    Equation:
        time = max over directed links of load / rate

    Source:
        Definition: flows that share a link share its rate, and the last byte ends the exchange.
    """
    time = link_times(network, load)
    # every route uses the links of its endpoints, so none is faster
    ideal = time[network.links.tier == TIERS.index("endpoint")]
    return _Outcome(time_s=float(time.max()), ideal_s=float(ideal.max()))


@record
class _LaneRates:
    """Rate of each class, as a multiple of its traffic per second."""

    alone: tuple[float, float]
    """Rate of each class with the links to itself [1/s]."""
    together: tuple[float, float]
    """Rate of each class while both run [1/s]."""


def lane_rates(first: Any, second: Any, rate: Any, share: float) -> _LaneRates:
    """Return the rates of two classes that share links.

    On every link a class gets its reserved fraction, and the capacity that the other class leaves unused.

    Args:
        first: bytes of the first class on each directed link for one unit of its work [byte].
        second: bytes of the second class on each directed link for one unit of its work [byte].
        rate: rate of each directed link [byte/s].
        share: fraction of a link reserved for the first class, between 0 and 1 [1].

    Equation:
        r1 = min over links of max(share C, C - r2 l2) / l1; r2 likewise with 1 - share; the fixed point reached from
        r2 = min (1 - share) C / l2

    Source:
        Derived: weighted arbitration of virtual lanes that leaves no link idle (InfiniBand architecture, volume 1,
        section 7.6.9).
    """
    alone = (_slowest(rate, first), _slowest(rate, second))
    rate_second = min(alone[1], _slowest((1 - share) * rate, second))
    rate_first = 0.0
    # each class may use what the other leaves, so both rates are a fixed point
    for _ in range(64):
        next_first = min(alone[0], _slowest(np.maximum(share * rate, rate - rate_second * second), first))
        next_second = min(alone[1], _slowest(np.maximum((1 - share) * rate, rate - next_first * first), second))
        if next_first == rate_first and next_second == rate_second:
            break
        rate_first, rate_second = next_first, next_second
    return _LaneRates(alone, (rate_first, rate_second))


def _slowest(rate: Floats, load: Floats) -> float:
    busy = load > 0
    return float((rate[busy] / load[busy]).min()) if busy.any() else float("inf")


EXACT_BITS = 53
"""Bits of a whole number that a float holds [1]."""


def _countable(flows: Flows) -> bool:
    """Return whether all flows have equal bytes whose sums are free of rounding in any order."""
    if not len(flows):
        return False
    size = float(flows.nbytes[0])
    # sums stay exact while size times count fits the mantissa
    bits = size.as_integer_ratio()[0].bit_length() + len(flows).bit_length()
    return bits <= EXACT_BITS and bool((flows.nbytes == size).all())


@record
class _Routed:
    links: Ints
    """Directed links of each flow, padded with -1, shape (flows, steps)."""
    lost: Bools
    """True if a flow does not arrive, shape (flows,)."""


class _StaticTraffic:
    """Equal flows, and their loads on the links of the whole or the degraded fabric."""

    def __init__(self, router: Router, flows: Flows) -> None:
        """Select the flows between leaves; all others use two endpoint links alone."""
        self.router, self.each = router, float(flows.nbytes[0])
        network = router.fabric.network
        count = len(network.endpoints)
        self.ends = np.stack([np.bincount(end, minlength=count) for end in (flows.src, flows.dst)], axis=1)
        """Flows from and to each endpoint."""
        leaf = network.endpoints.leaf
        away = np.flatnonzero(leaf[flows.src] != leaf[flows.dst])
        self.src, self.dst = flows.src[away], flows.dst[away]
        self.used = np.flatnonzero(self.ends.any(axis=1))
        self._whole: tuple[_Routed, Ints] | None = None

    def loads(self, left: Router) -> tuple[Floats, int]:
        """Return the bytes on every directed link, shape (2 * links,), and how many flows do not arrive."""
        if left.alive is not None and not left.alive[self.used].all():
            raise ValueError("a flow begins or ends at an endpoint without its link")
        if left.alive is None:
            return self._bytes(*self._of_whole())
        if self._whole is None:  # the first loss of these flows may be the last: no second routing for it
            every = np.arange(len(self.src))
            routed = self._routed(left, every)
            return self._bytes(routed, _count(routed.links, self._size))
        before, count = self._of_whole()
        rows = np.flatnonzero(left.disturbed(self.src, self.dst))
        routed, count = self._routed(left, rows), count.copy()
        old, new = before.links[rows], routed.links
        # `at` counts a link that several flows share several times; plain indexing would count it once
        np.subtract.at(count, old[old >= 0], 1)
        np.add.at(count, new[new >= 0], 1)
        lost = before.lost.copy()
        lost[rows] = routed.lost
        return self._bytes(_Routed(new, lost), count)

    @property
    def _size(self) -> int:
        return 2 * len(self.router.fabric.network.links)

    def _of_whole(self) -> tuple[_Routed, Ints]:
        """Return the routes on the whole fabric, and the flows on every directed link between switches."""
        if self._whole is None:
            routed = self._routed(self.router, np.arange(len(self.src)))
            self._whole = routed, _count(routed.links, self._size)
        return self._whole

    def _routed(self, router: Router, rows: Ints) -> _Routed:
        """Return the links between switches that some of the flows take."""
        parts, lost = [], []
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            routes = router.paths(self.src[batch], self.dst[batch])
            parts.append(routes.links[:, 1:-1].astype(np.int32))
            lost.append(~routes.reached)
        if not parts:
            return _Routed(np.zeros((0, 1), np.int32), np.zeros(0, bool))
        return _Routed(np.concatenate(parts), np.concatenate(lost))

    def _bytes(self, routed: _Routed, count: Ints) -> tuple[Floats, int]:
        ends, lost = self.ends, int(routed.lost.sum())
        if lost:
            ends = ends.copy()
            for way, end in enumerate((self.src, self.dst)):
                # a lost flow does not load the links of its endpoints either
                np.subtract.at(ends[:, way], end[routed.lost], 1)
        load = count * self.each
        load[: ends.size] = ends.ravel() * self.each
        return load, lost


def _count(links: Ints, size: int) -> Ints:
    flows: Ints = np.bincount(links[links >= 0], minlength=size)
    return flows
