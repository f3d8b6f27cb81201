"""Load of every directed link under some traffic, the rate of the job that follows, and the shares of two classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.record import record
from ffplan.fabric.wiring.network import TIERS

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Ints
    from ffplan.fabric.routing.routing import Routing
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
