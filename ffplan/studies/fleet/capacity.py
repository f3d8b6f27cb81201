"""Largest rate of a copy within latency targets, and ways to spread it."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from itertools import count
from math import exp, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.outcomes import IN_TIME
from ffplan.base.record import record
from ffplan.catalog.engines import Engine
from ffplan.catalog.models import Model
from ffplan.results.serving import ServePlan, ServeTargets
from ffplan.serving.hardware import engine_speed
from ffplan.serving.placement import copies_that_fit
from ffplan.serving.simulate import LateError
from ffplan.studies.serve.apart import _apart_setup, _best_pools, _FoundPools
from ffplan.studies.serve.links import ServeError, fleet_of
from ffplan.studies.serve.loads import MOST_REQUESTS, Load, grows, latency_of, run_open, scaled, within
from ffplan.studies.serve.search import CHUNKS, mean_within, search
from ffplan.studies.serve.setup import PlanRequest, default_precision, serve_setup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.serve.links import Fleet
    from ffplan.studies.serve.setup import ServeSetup


AVAILABLE = 0.999
"""Fraction of the time that enough nodes are up, unless said otherwise [1]."""
AIMS = ("capex", "tco", "power", "accelerators")
"""What may be least: purchase, cost over the life, power at the peak, or accelerators."""
LIMITS = ("capex", "power", "racks", "floor")
"""What may be bounded: purchase, power at the peak [kW], racks, and their floor [m2]."""


@record
class _ServedTarget:
    model: Model
    engine: Engine
    load: Load
    """Lengths of the requests, and what speculation and a prefix cache save."""
    targets: ServeTargets
    _: KW_ONLY
    request: PlanRequest = PlanRequest()
    chance: float = IN_TIME
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
    rack_area: float | None = None
    """Floor of a rack with its share of aisles; the ownership profile's if None [m2]."""


_NORMAL = NormalDist()
_ROUNDS = 4
"""Halvings of an interval of normal deviations [1]."""
_FOUND = 1.03
"""Ends of the interval that a rate is found in [1]."""
_BELOW, _STEPS = 1.6, 4
"""Mean of a rate over one that percentiles allow, and steps of it before those of `_FAR_BELOW` [1]."""
_FAR_BELOW = 4.0
_ALONE = 0.02
"""Requests under way at the lowest rate tried: hardly any meets another [1]."""
_POINTS = 64
_TURNS, _LEAST_REQUESTS = 10, 1_000
"""Requests of a run for each that is under way, and least ones [1]."""


def _stretch_of(band: float, chance: float) -> float:
    """Return the factor of all times that is exceeded with probability 1 - chance."""
    return exp(_spread_of(band) * _NORMAL.inv_cdf(chance))


def _spread_of(band: float) -> float:
    """Return the standard deviation of the logarithm of times."""
    return log(1 + band) / _NORMAL.inv_cdf(0.9)


class Copy:
    """A copy of a model under a load with latency targets."""

    def __init__(self, setup: ServeSetup, load: Load, targets: ServeTargets) -> None:
        self.setup, self.load, self.targets = setup, load, targets
        # mean latencies over requests under way
        under_way = np.geomspace(1.0, max(setup.most(load.requests), 1.0), _POINTS)
        steady = setup.means(load.requests, under_way)
        self._under_way = under_way / setup.parts  # of an attention group
        self._rate = np.maximum.accumulate(np.asarray(steady.rate))
        self._ttft, self._tpot = np.asarray(steady.ttft), np.asarray(steady.tpot)

    def meets(self, rate: float, stretch: float) -> bool:
        """Return whether the targets are met; `stretch`: factor of all times [1]."""
        under_way = float(np.interp(rate * stretch, self._rate, self._under_way))
        # a run sees each place of the batch taken some times
        requests = int(min(max(_TURNS * under_way, _LEAST_REQUESTS), MOST_REQUESTS // 2))
        targets = scaled(self.targets, 1 / stretch)
        try:
            times = run_open(self.setup, self.load, rate * stretch, requests, targets=targets)
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
        if above > 0:
            low = above if high > above and self.meets(above, stretch) else 0.0
        else:
            low, high = self._first_met(high, stretch)
        while low > 0 and high > _FOUND * low:
            middle = sqrt(low * high)
            if self.meets(middle, stretch):
                low = middle
            else:
                high = middle
        return low

    def _first_met(self, high: float, stretch: float) -> tuple[float, float]:
        """Return the first of ever lower rates that meets the targets, 0 if none does, and the one before it [1/s]."""
        least = min(_ALONE * float(self._rate[0]) / stretch, high / _BELOW)
        for step in count(1):
            low = max(high / (_BELOW if step <= _STEPS else _FAR_BELOW), least)
            if self.meets(low, stretch):
                return low, high
            if low <= least:
                break
            high = low
        return 0.0, high

    def _mean_rate(self, stretch: float) -> float:
        """Return the largest rate whose mean latencies meet the targets [1/s]."""
        met = mean_within(scaled(self.targets, 1 / stretch), self._ttft, self._tpot)
        return float(self._rate[met].max() if met.any() else self._rate[0]) / stretch

    def chance(self, rate: float, least: float) -> float:
        """Return the chance that the targets are met [1]."""
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


_TIGHTER = (1.0, 0.6)
"""Mean latencies over the targets for which pools are sought: percentiles lie above means [1]."""
_MOST_WAYS = 6
"""Plans of a copy that are run at most, those of most tokens by means [1]."""


@record
class _Way:
    plan: ServePlan | None
    """Plan of a copy; None for pools."""
    pools: _FoundPools | None
    """Plans of both pools; None for one plan."""
    gpus: int
    """Accelerators of a copy or unit [1]."""
    held: float
    """The same with its part of those that no copy of the searched fleet uses [1]."""
    chunk: int
    """Most tokens of a step [1]."""
    tokens_s_gpu: float
    """Output tokens a second of an accelerator, idle ones included, by means [1/s]."""


def _plan_request(target: _ServedTarget) -> PlanRequest:
    precision = target.request.precision or default_precision(target.model)
    return replace(target.request, precision=precision)


def _ways(
    target: _ServedTarget, catalog: Catalog, design: ResolvedDesign, *, wide: bool = True, apart: bool = False
) -> tuple[list[_Way], bool]:
    """Return ways whose means meet the targets, most tokens an accelerator first, and whether they are measured."""
    fleet = fleet_of(design)
    fleet = fleet if wide else replace(fleet, gpus=min(fleet.domain, fleet.gpus))
    precision = _plan_request(target).precision
    assert precision is not None
    speed = engine_speed(target.engine, fleet.accelerator, precision)
    slower = _stretch_of(speed.band, target.chance)
    if not apart:
        return _plans_within(target, catalog, fleet, scaled(target.targets, 1 / slower)), speed.runs > 0
    ways: list[_Way] = []
    for factor in _TIGHTER:
        try:
            ways.append(_pools_within(target, catalog, fleet, scaled(target.targets, factor / slower)))
        except ServeError:
            if not ways:
                raise
    return ways, speed.runs > 0


def _plans_within(target: _ServedTarget, catalog: Catalog, fleet: Fleet, targets: ServeTargets) -> list[_Way]:
    """Return plans with the engine's own chunk: means hardly know the tokens of a step."""
    request, requests = _plan_request(target), target.load.requests
    if request.chunk is None:
        request = replace(request, chunk=int(target.engine.chunk.value))
    space = search(catalog, target.model, target.engine, fleet, request, requests=requests, targets=targets)
    return [
        _Way(
            plan=one.plan,
            pools=None,
            gpus=one.plan.gpus,
            held=fleet.gpus / copies_that_fit(((one.plan.gpus, 1),), fleet.ground),
            chunk=one.plan.chunk,
            tokens_s_gpu=one.output_tokens_s_gpu,
        )
        for one in space.bests[:_MOST_WAYS]
    ]


def _worth_trying(
    target: _ServedTarget, ways: Sequence[_Way], so_far: Callable[[], tuple[_Way | None, float]]
) -> Iterator[_Way]:
    """Yield ways whose means serve more than the best so far, and then the best of them with other chunks.

    Args:
        so_far: gives the best way tried, and what it serves within the targets, in output tokens a second of an
            accelerator [1/s].
    """
    # a mean is no less than what percentiles leave of it
    yield from (way for way in ways if way.tokens_s_gpu > so_far()[1])
    best, _ = so_far()
    if best is not None:
        yield from (way for way in _rechunked(target, best) if way.tokens_s_gpu > so_far()[1])


def _rechunked(target: _ServedTarget, way: _Way) -> list[_Way]:
    """Return a way with other tokens of a step, on which percentiles depend; none where they are asked for."""
    if way.plan is None or target.request.chunk is not None:
        return []
    others = [chunk for chunk in CHUNKS if chunk != way.chunk]
    return [replace(way, plan=replace(way.plan, chunk=chunk), chunk=chunk) for chunk in others]


def _best_copy(
    target: _ServedTarget, catalog: Catalog, design: ResolvedDesign, ways: Sequence[_Way], stretch: float
) -> Copy:
    """Return a copy of the way that sustains most requests on the fleet; of the first way if none meets the targets.

    Args:
        stretch: factor of all times [1].
    """
    output = float(target.load.requests.output)
    best, most = _copy_on(target, catalog, design, ways[0]), 0.0
    chosen: _Way | None = None

    def so_far() -> tuple[_Way | None, float]:
        return chosen, most * output

    for way in _worth_trying(target, ways, so_far):
        copy = _copy_on(target, catalog, design, way)
        rate = copy.largest_rate(stretch, most * way.held) / way.held
        if rate > most:
            best, chosen, most = copy, way, rate
    return best


def _pools_within(target: _ServedTarget, catalog: Catalog, fleet: Fleet, targets: ServeTargets) -> _Way:
    request, requests = _plan_request(target), target.load.requests
    found = _best_pools(catalog, target.model, target.engine, fleet, request, requests=requests, targets=targets)
    tokens_s = found.rate * float(requests.output) / fleet.gpus
    chunk, gpus = found.request.chunk, found.prefill.gpus + found.decode.gpus
    assert chunk is not None, "a search chooses it"
    held = fleet.gpus / found.units
    return _Way(plan=None, pools=found, gpus=gpus, held=held, chunk=chunk, tokens_s_gpu=tokens_s)


def _copy_setup(target: _ServedTarget, catalog: Catalog, design: ResolvedDesign, way: _Way) -> ServeSetup:
    fleet, requests = fleet_of(design), replace(target.load.requests, chunk=way.chunk)
    if way.pools is not None:
        found = way.pools
        pools, request = (found.prefill, found.decode), found.request
        return _apart_setup(catalog, target.model, target.engine, fleet, request, requests=requests, pools=pools)
    fields = {name: getattr(way.plan, name) for name in ("tensor", "pipeline", "expert", "data", "chunk")}
    request = replace(_plan_request(target), **fields)
    return serve_setup(catalog, target.model, target.engine, fleet, request=request, requests=requests)


def _copy_on(target: _ServedTarget, catalog: Catalog, design: ResolvedDesign, way: _Way) -> Copy:
    load = replace(target.load, requests=replace(target.load.requests, chunk=way.chunk))
    return Copy(_copy_setup(target, catalog, design, way), load, target.targets)
