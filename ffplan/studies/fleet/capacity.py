"""What one copy of a model serves within latency targets, with a chance that the model's errors leave.

Errors of the model stretch all times of a run by one factor, whose logarithm is normal with the P10 to P90 of the
engine's constants. A run whose times are all s times as long is the run of a load s times as high, seen s times as
slowly: targets are met with factor s at rate X if the run at s X meets the targets over s.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.record import record
from ffplan.results.serving import Latency
from ffplan.serving.load import closed_loop
from ffplan.studies.serve.loads import MOST_REQUESTS, run_open

if TYPE_CHECKING:
    from ffplan.results.serving import ServeTargets
    from ffplan.serving.simulate import Times
    from ffplan.studies.serve.loads import Load
    from ffplan.studies.serve.setup import ServeSetup

_P90 = 1.2815515655446004
"""Normal deviations of the ninetieth percentile [1]."""
_ROUNDS = 4
"""Halvings of an interval: a rate is found to 3 % [1]."""
_BELOW = 1.6
"""Mean of a rate over one that percentiles allow, at first [1]."""
_POINTS = 64
"""Loads of which means are taken [1]."""
_TURNS, _LEAST_REQUESTS = 10, 1_000
"""Requests of a run for each that is under way, and least ones [1]."""
_LATE = 1.1
"""End of a run over its last arrival, above which its queue grows [1]."""


def deviation_of(band: float) -> float:
    """Return the standard deviation of the logarithm of times whose P10 and P90 lie a fraction down and up [1]."""
    return log(1 + band) / _P90


def spread_of(setup: ServeSetup) -> float:
    """Return the standard deviation of the logarithm of time over model [1], from the engine's band."""
    return deviation_of((setup.engine.band if setup.speed.runs else setup.engine.band_kin).value)


def stretch_of(spread: float, chance: float) -> float:
    """Return the factor of all times that is exceeded with probability 1 - chance.

    Args:
        spread: standard deviation of its logarithm [1].
        chance: probability [1].

    Returns:
        Factor [1].
    """
    from statistics import NormalDist

    return exp(spread * NormalDist().inv_cdf(chance))


def latencies(times: Times) -> tuple[Latency, Latency]:
    """Return times to the first token and of a further one."""
    return _latency(times.ttft), _latency(times.tpot)


def _latency(values: Floats) -> Latency:
    p50, p90, p99 = (float(value) for value in np.percentile(values, (50, 90, 99)))
    return Latency(mean=float(values.mean()), p50=p50, p90=p90, p99=p99)


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
    steady = closed_loop(setup.served, load.requests, under_way, setup.room(load.requests))
    return _Curve(
        under_way=under_way / float(setup.served.deployment.data),
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
        targets, groups = self.targets, float(self.setup.served.deployment.data)
        under_way = float(np.interp(rate * stretch, self._means.rate, self._means.under_way))
        # a run sees each place of the batch taken some times
        count = int(min(max(_TURNS * under_way, _LEAST_REQUESTS), MOST_REQUESTS // 2))
        times = run_open(self.setup, self.load, rate * stretch, count)
        first, each = latencies(times)
        pairs = ((first, targets.ttft_s), (each, targets.tpot_s))
        within = all(limit is None or getattr(latency, targets.at) * stretch <= limit for latency, limit in pairs)
        # a queue that grows all along is beyond saturation, whatever its first requests took
        arriving = count * groups / (rate * stretch)
        return within and times.end - float(times.e2e.max()) <= arriving * _LATE

    def largest_rate(self, stretch: float) -> float:
        """Return the largest rate that meets the targets [1/s]; 0 if none does.

        Args:
            stretch: factor of all times [1].
        """
        high = self._mean_rate(stretch)
        low, least = high / _BELOW, high / _BELOW**4
        while low > least and not self.meets(low, stretch):
            low, high = low / _BELOW, low
        if low <= least:
            return 0.0
        for _ in range(_ROUNDS):
            middle = sqrt(low * high)
            if self.meets(middle, stretch):
                low = middle
            else:
                high = middle
        return low

    def _mean_rate(self, stretch: float) -> float:
        """Return the largest rate whose mean latencies meet the targets [1/s]."""
        means = self._means
        within = np.ones(_POINTS, dtype=bool)
        for limit, mean in ((self.targets.ttft_s, means.ttft), (self.targets.tpot_s, means.tpot)):
            within &= mean * stretch <= (np.inf if limit is None else limit)
        return float(means.rate[within].max() if within.any() else means.rate[0]) / stretch

    def chance(self, rate: float, least: float) -> float:
        """Return the chance that the targets are met [1].

        Args:
            rate: requests a second on the copy [1/s].
            least: a chance that it has [1].
        """
        from statistics import NormalDist

        normal, spread = NormalDist(), spread_of(self.setup)
        low = normal.inv_cdf(least)
        high = low + 1.0  # normal deviations
        for _ in range(_ROUNDS):
            middle = (low + high) / 2
            if self.meets(rate, exp(spread * middle)):
                low = middle
            else:
                high = middle
        return normal.cdf(low)
