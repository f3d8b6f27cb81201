"""What a fleet is to serve, and what one copy of a model serves of it, with a chance that the model's errors leave.

Errors of the model stretch all times of a run by one factor, whose logarithm is normal with the P10 to P90 of the
engine's constants. A run whose times are all s times as long is the run of a load s times as high, seen s times as
slowly: targets are met with factor s at rate X if the run at s X meets the targets over s.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import exp, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.record import record
from ffplan.catalog.engines import Engine
from ffplan.catalog.models import Model
from ffplan.results.serving import ServeTargets
from ffplan.serving.simulate import LateError
from ffplan.studies.serve.loads import MOST_REQUESTS, Load, grows, run_open
from ffplan.studies.serve.search import mean_within
from ffplan.studies.serve.serve import latency_of, scaled, within
from ffplan.studies.serve.setup import PlanRequest

if TYPE_CHECKING:
    from ffplan.studies.serve.setup import ServeSetup

AVAILABLE = 0.999
"""Fraction of the time that enough nodes are up, unless said otherwise [1]."""
AIMS = ("capex", "tco", "power", "accelerators")
"""What may be least: purchase, cost over the life, power at the peak, or accelerators."""
LIMITS = ("capex", "power", "racks", "floor")
"""What may be bounded: purchase, power at the peak [kW], racks, and their floor [m2]."""


@record
class _ServedTarget:
    """Requests with latency targets, at any rate."""

    model: Model
    engine: Engine
    load: Load
    """Lengths of the requests, and what speculation and a prefix cache save."""
    targets: ServeTargets
    _: KW_ONLY
    request: PlanRequest = PlanRequest()
    """What is fixed of the plan."""
    chance: float = 0.85
    """Chance that the targets hold [1]."""
    apart: bool = False
    """Pools that compute prompts apart from decoding are tried too."""


@record
class FleetTarget(_ServedTarget):
    """A load with latency targets, and what the fleet may take."""

    rate: float | None
    """Requests a second at the peak, of all copies [1/s]; None for as many as the limits allow."""
    peak: float
    """Requests at the peak over those on average [1]."""
    book: str
    """Price book."""
    pue: float
    hours: tuple[float, ...] = ()
    """Requests of each hour of a day or week, as proportions; empty if unknown."""
    aim: str = "capex"
    """One of `AIMS`."""
    available: float = AVAILABLE
    """Fraction of the time that enough nodes are up [1]."""
    limits: tuple[tuple[str, float], ...] = ()
    """Names of `LIMITS`, each with its maximum."""
    allowed: tuple[str, ...] = ()
    """Accelerators to choose from; all with a price if empty."""
    switches: tuple[str, ...] = ()
    """Switches to choose from; all with a price if empty."""
    excluded: tuple[str, ...] = ()
    """Parts that are not bought."""
    rack_area: float | None = None
    """Floor of a rack with its share of aisles; the ownership profile's if None [m2]."""


_NORMAL = NormalDist()
_ROUNDS = 4
"""Halvings of an interval: a rate is found to 3 % [1]."""
_BELOW = 1.6
"""Mean of a rate over one that percentiles allow, at first [1]."""
_POINTS = 64
"""Number of loads to average [1]."""
_TURNS, _LEAST_REQUESTS = 10, 1_000
"""Requests of a run for each that is under way, and least ones [1]."""


def _stretch_of(band: float, chance: float) -> float:
    """Return the factor of all times that is exceeded with probability 1 - chance.

    Args:
        band: P10 to P90 of time over model, as a fraction up and down [1].
        chance: probability [1].

    Returns:
        Factor [1].
    """
    return exp(_spread_of(band) * _NORMAL.inv_cdf(chance))


def _spread_of(band: float) -> float:
    """Return the standard deviation of the logarithm of times.

    Args:
        band: P10 to P90 of time over model, as a fraction up and down [1].

    Returns:
        Deviation [1].
    """
    return log(1 + band) / _NORMAL.inv_cdf(0.9)


@record
class _Curve:
    """Means of a copy over requests under way."""

    under_way: Floats
    """Requests of an attention group."""
    rate: Floats
    """Requests a second of the copy [1/s]."""
    ttft: Floats
    tpot: Floats


def _curve(setup: ServeSetup, load: Load) -> _Curve:
    under_way = np.geomspace(1.0, max(setup.most(load.requests), 1.0), _POINTS)
    steady = setup.means(load.requests, under_way)
    return _Curve(
        under_way=under_way / setup.parts,
        rate=np.maximum.accumulate(np.asarray(steady.rate)),
        ttft=np.asarray(steady.ttft),
        tpot=np.asarray(steady.tpot),
    )


class Copy:
    """A copy of a model under a load with latency targets."""

    def __init__(self, setup: ServeSetup, load: Load, targets: ServeTargets) -> None:
        """Take the means of all loads.

        Args:
            setup: the copy.
            load: its requests.
            targets: the targets.
        """
        self.setup, self.load, self.targets = setup, load, targets
        self._means = _curve(setup, load)

    def meets(self, rate: float, stretch: float) -> bool:
        """Return whether the targets are met.

        Args:
            rate: requests a second on the copy [1/s].
            stretch: factor of all times [1].
        """
        under_way = float(np.interp(rate * stretch, self._means.rate, self._means.under_way))
        # a run sees each place of the batch taken some times
        count = int(min(max(_TURNS * under_way, _LEAST_REQUESTS), MOST_REQUESTS // 2))
        targets = scaled(self.targets, 1 / stretch)
        try:
            times = run_open(self.setup, self.load, rate * stretch, count, targets=targets)
        except LateError:
            return False
        # a queue that grows all along is beyond saturation, whatever its first requests took
        kept = within(targets, latency_of(times.ttft), latency_of(times.tpot))
        return kept and not grows(self.setup, times, rate * stretch)

    def largest_rate(self, stretch: float, above: float = 0.0) -> float:
        """Return the largest rate that meets the targets [1/s]; 0 if none does.

        Args:
            stretch: factor of all times [1].
            above: a rate that is worth nothing, nor any below: the search may end at 0 once no other is left [1/s].
        """
        high = self._mean_rate(stretch)
        low, least = high / _BELOW, high / _BELOW**4
        while low > least and high > above and not self.meets(low, stretch):
            low, high = low / _BELOW, low
        if low <= least:
            return 0.0
        for _ in range(_ROUNDS):
            if high <= above:
                return 0.0
            middle = sqrt(low * high)
            if self.meets(middle, stretch):
                low = middle
            else:
                high = middle
        return low

    def _mean_rate(self, stretch: float) -> float:
        """Return the largest rate whose mean latencies meet the targets [1/s]."""
        means = self._means
        met = mean_within(scaled(self.targets, 1 / stretch), means.ttft, means.tpot)
        return float(means.rate[met].max() if met.any() else means.rate[0]) / stretch

    def chance(self, rate: float, least: float) -> float:
        """Return the chance that the targets are met [1].

        Args:
            rate: requests a second on the copy [1/s].
            least: a chance that it has [1].
        """
        spread = _spread_of(self.setup.speed.band)
        low = _NORMAL.inv_cdf(least)
        high = low + 1.0  # normal deviations
        for _ in range(_ROUNDS):
            middle = (low + high) / 2
            if self.meets(rate, exp(spread * middle)):
                low = middle
            else:
                high = middle
        return _NORMAL.cdf(low)
