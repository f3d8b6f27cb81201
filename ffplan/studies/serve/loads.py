"""Requests of a load: lengths and arrivals, drawn or from files, and a run of them on one copy."""

from __future__ import annotations

from dataclasses import replace
from math import floor, inf
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.record import record
from ffplan.serving.load import Requests
from ffplan.serving.run import run_pools, run_requests
from ffplan.serving.simulate import Arrivals, Bar, Times

if TYPE_CHECKING:
    from ffplan.results.serving import ServeTargets
    from ffplan.studies.serve.setup import ServeSetup

LEAST_REQUESTS, MOST_REQUESTS = 400, 10_000
"""Requests of a run [1]."""
_TURNS = 12
"""Requests of a run for each that is under way [1]."""
_BELOW = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
"""Part of the requests below a statistic [1]; a mean has none."""


@record
class Trace:
    """Requests with lengths, and times of arrival if it has them."""

    prompts: Floats
    outputs: Floats
    times: Floats | None = None
    """Seconds from the first request [s]."""


@record
class Load:
    """What is asked of the copies."""

    requests: Requests
    """Mean lengths, and what speculation and a prefix cache save."""
    trace: Trace | None = None
    """Lengths to draw from, or to follow with their times."""
    seed: int = 0


def _lengths(load: Load, count: int, draw: np.random.Generator) -> tuple[Floats, Floats]:
    """Return computed prompt tokens and answer tokens of some requests."""
    requests, trace = load.requests, load.trace
    if trace is None:
        return np.full(count, float(requests.computed)), np.full(count, float(requests.output))
    chosen = draw.integers(0, len(trace.prompts), count)
    return np.maximum(trace.prompts[chosen] * (1 - requests.hit), 1.0), trace.outputs[chosen]


def _run_closed(setup: ServeSetup, load: Load, concurrency: float) -> Times:
    """Return latencies at a fixed number of requests under way on a copy.

    The first requests are at every point of their answers, as in a system that has run for long; they are left out.
    """
    group = max(round(concurrency / setup.parts), 1)
    count = min(max(_TURNS * group, LEAST_REQUESTS), MOST_REQUESTS) + group
    draw = np.random.default_rng(load.seed)
    prompts, outputs = _lengths(load, count, draw)
    outputs = outputs.copy()
    outputs[:group] = np.maximum(np.round(outputs[:group] * draw.uniform(0, 1, group)), 1.0)
    return _without(_run(setup, load, Arrivals(prompts, outputs, None, group)), group)


def _bar(targets: ServeTargets | None, count: int, skipped: int) -> Bar | None:
    """Return the bar that stops a run that misses its targets; None if only its end can decide.

    Args:
        count: requests of the run [1].
        skipped: the first of them, which do not count [1].
    """
    if targets is None or targets.at not in _BELOW:
        return None
    counted = count - skipped
    # a percentile lies at place (n - 1) q of n sorted latencies or above: with more late ones, that place is late
    late = counted - floor((counted - 1) * _BELOW[targets.at])
    ttft, tpot = (inf if limit is None else limit for limit in (targets.ttft_s, targets.tpot_s))
    return Bar(ttft=ttft, tpot=tpot, late=late, skipped=skipped)


def run_open(
    setup: ServeSetup, load: Load, rate: float, count: int = 0, *, targets: ServeTargets | None = None
) -> Times:
    """Return latencies of requests that arrive at random, or as a trace says.

    Args:
        setup: the copy.
        load: its requests.
        rate: requests a second on a copy [1/s].
        count: requests of the run; half of the most if 0 [1].
        targets: what the run is held to.

    Raises:
        LateError: if it misses the targets.
    """
    draw = np.random.default_rng(load.seed)
    share = rate / setup.parts
    if load.trace is not None and load.trace.times is not None:
        every = max(setup.copies * setup.parts, 1)
        prompts = np.maximum(load.trace.prompts[::every] * (1 - load.requests.hit), 1.0)
        outputs, bar = load.trace.outputs[::every], _bar(targets, len(prompts), 0)
        return _run(setup, load, Arrivals(prompts, outputs, load.trace.times[::every], bar=bar))
    count = count or MOST_REQUESTS // 2
    skipped = count // 10  # they find an empty copy
    prompts, outputs = _lengths(load, count, draw)
    times = np.cumsum(draw.exponential(1 / share, count))
    return _without(_run(setup, load, Arrivals(prompts, outputs, times, bar=_bar(targets, count, skipped))), skipped)


def _run(setup: ServeSetup, load: Load, arrivals: Arrivals) -> Times:
    apart = setup.apart
    if apart is not None:
        return run_pools(apart.pools, (apart.prefill.use, setup.use), load.requests, arrivals)
    return run_requests(setup.served, setup.use, load.requests, arrivals)


def _without(times: Times, count: int) -> Times:
    """Return a run without its first requests."""
    return replace(times, ttft=times.ttft[count:], tpot=times.tpot[count:], e2e=times.e2e[count:])
