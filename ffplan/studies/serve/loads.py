"""Requests of a load: lengths and arrivals, drawn or from files, a run of them on one copy, and targets of latency."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor, inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats, Number
from ffplan.base.errors import did_you_mean
from ffplan.base.record import record
from ffplan.results.serving import Latency, ServeTargets
from ffplan.serving.requests import Requests
from ffplan.serving.run import run_pools, run_requests
from ffplan.serving.simulate import MOST_PASSES, Arrivals, Bar, LongRunError
from ffplan.serving.times import EACH, joined
from ffplan.studies.serve.links import ServeError

if TYPE_CHECKING:
    from ffplan.serving.times import Times
    from ffplan.studies.serve.setup import ServeSetup

LEAST_REQUESTS, MOST_REQUESTS = 400, 10_000
"""Requests of a run [1]."""
_PASSES = 10.0
"""Passes of a request that are allowed for beside the steps of its prompt: to decode, and where it is evicted [1]."""
_TURNS = 12
"""Requests of a run for each that is under way [1]."""
_SMALL, _DRAWS, _TURNS_OF_DRAW = 100, 8, 3
"""Requests under way up to which a run has several draws, most of them, and requests of each for one under way [1]."""
_SETTLING = 8
"""Requests for each under way that pass before a short draw has settled [1]."""
_ALIKE = 32
"""Requests of an attention group from which on groups are taken for alike [1]."""
_DRAWN = 1_000_003
"""Step of the seed from a draw to the next [1]."""
_DEVIATIONS = 3.0
"""Standard deviations of the tokens held for which a copy keeps room: fewer, and it evicts [1]."""
_GROWING = 0.02
"""Part of what arrives that a queue may keep, from which on it grows all along [1]."""
_HALVINGS = 7
"""Halvings of the interval in which the largest rate lies [1]."""
_BELOW = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
"""Part of the requests below a statistic [1]; a mean has none."""


STATISTICS = ("mean", "p50", "p90", "p99")


def targets_of(ttft: float | None, tpot: float | None, at: str | None, output: Number) -> ServeTargets | None:
    """Return latency targets; None without any.

    Args:
        ttft: most time to the first token [s].
        tpot: most time of a further token [s].
        at: statistic that is held to them; p99 if omitted.
        output: tokens of an answer, on average [1].

    Raises:
        ServeError: if the statistic is unknown, there is no target, or none for a token that no answer has.
    """
    if tpot is not None and output <= 1:
        raise ServeError("--tpot: answers of one token have no further one; leave it out")
    if at is not None and at not in STATISTICS:
        raise ServeError(f"--at: no `{at}`; {did_you_mean(at, STATISTICS, what='statistic')}")
    if ttft is None and tpot is None:
        if at is not None:
            raise ServeError(f"--at {at}: it is the statistic of a target; give --ttft or --tpot")
        return None
    return ServeTargets(ttft_s=ttft, tpot_s=tpot, at=at or STATISTICS[-1])


def scaled(targets: ServeTargets, factor: float) -> ServeTargets:
    """Return targets whose times are multiplied [1], at the same statistic."""
    ttft, tpot = (None if limit is None else limit * factor for limit in (targets.ttft_s, targets.tpot_s))
    return ServeTargets(ttft_s=ttft, tpot_s=tpot, at=targets.at)


def within(targets: ServeTargets, ttft: Latency, tpot: Latency) -> bool:
    """Return whether latencies meet targets at their percentile."""
    pairs = ((targets.ttft_s, ttft), (targets.tpot_s, tpot))
    return all(limit is None or getattr(latency, targets.at) <= limit for limit, latency in pairs)


def latency_of(values: Floats, mean: float | None = None) -> Latency:
    """Return a latency over the values of requests [s], with a mean by formula if one is given [s]."""
    p50, p90, p99 = (float(value) for value in np.percentile(values, (50, 90, 99)))
    return Latency(mean=float(values.mean()) if mean is None else mean, p50=p50, p90=p90, p99=p99)


@record
class Trace:
    """Requests with lengths, and times of arrival if it has them."""

    prompts: Floats
    outputs: Floats
    times: Floats | None = None
    """Seconds from the first request [s]."""

    @property
    def alike(self) -> bool:
        """True if its requests all have the same lengths."""
        return not (np.ptp(self.prompts) or np.ptp(self.outputs))

    @property
    def constant(self) -> bool:
        """True if it has no times, and its requests all have the same lengths."""
        return self.times is None and self.alike


@record
class Load:
    """What is asked of the copies."""

    requests: Requests
    """Mean lengths, and what speculation and a prefix cache save."""
    trace: Trace | None = None
    """Lengths to draw from, or to follow with their times."""
    seed: int = 0

    @property
    def alike(self) -> bool:
        """True if all requests have the same lengths, for which formulas hold."""
        return self.trace is None or self.trace.alike


def _lengths(load: Load, count: int) -> tuple[Floats, Floats]:
    """Return computed prompt tokens and answer tokens of some requests."""
    requests, trace = load.requests, load.trace
    if trace is None:
        return np.full(count, float(requests.computed)), np.full(count, float(requests.output))
    chosen = np.random.default_rng((load.seed, 1)).integers(0, len(trace.prompts), count)
    return np.maximum(trace.prompts[chosen] * (1 - requests.hit), 1.0), trace.outputs[chosen]


@record
class _Held:
    """Tokens of a request under way [1], weighted by the time of each."""

    mean: float
    deviation: float
    """Standard deviation of what it holds."""
    whole: float
    """Mean with the whole answer."""


def _held(prompts: Floats, outputs: Floats) -> _Held:
    """Return the tokens that requests under way hold.

    Args:
        prompts: tokens computed of each prompt [1].
        outputs: tokens of each answer [1].

    Equation:
        E[o (p + o / 2)] / E[o] and E[o (p^2 + p o + o^2 / 3)] / E[o]: a request is met as long as its answer o takes,
        with any part of it made

    Source:
        Definition: moments of p + u o, u even in 0 to 1, over requests weighted by their time.
    """
    weights = outputs / outputs.sum()
    mean = float((weights * (prompts + outputs / 2)).sum())
    square = float((weights * (prompts**2 + prompts * outputs + outputs**2 / 3)).sum())
    whole = float((weights * (prompts + outputs)).sum())
    return _Held(mean=mean, deviation=sqrt(max(square - mean**2, 0.0)), whole=whole)


def _held_of(load: Load) -> _Held:
    requests, trace = load.requests, load.trace
    if trace is None:
        return _held(np.array([float(requests.computed)]), np.array([float(requests.output)]))
    return _held(trace.prompts * (1 - requests.hit), trace.outputs)


def traced_requests(trace: Trace, hit: float, **speculation: float) -> Requests:
    """Return the requests of a trace as formulas take them: mean lengths, and the room that unlike ones need.

    Args:
        hit: part of every prompt that is cached [1].
        speculation: what a draft proposes.
    """
    output, held = float(trace.outputs.mean()), _held(trace.prompts * (1 - hit), trace.outputs)
    return Requests(
        prompt=float(trace.prompts.mean()),
        output=output,
        hit=hit,
        variation=float(trace.outputs.var()) / output**2,
        held=held.mean,
        reserved=held.whole,
        **speculation,
    )


def _kept_room(setup: ServeSetup, load: Load) -> float:
    """Return how many requests an attention group runs at a time without evicting any [1].

    Equation:
        n with n mean + 3 deviation sqrt(n) = tokens with room; all that have room if each is let in with its answer
    """
    requests, use = load.requests, setup.use
    room = setup.room(requests)
    if use.whole:
        return room
    held = _held_of(load)
    unlimited = replace(setup, use=replace(use, most=inf)).room(requests)
    margin = _DEVIATIONS * held.deviation / held.mean / 2
    root = sqrt(margin**2 + unlimited) - margin
    return min(room, max(root**2, 1.0))


def _run_closed(setup: ServeSetup, load: Load, concurrency: float) -> Times:
    """Return latencies at a fixed number of requests under way on a copy.

    Attention groups have as many requests each, or some one more than the others.
    """
    each, more = divmod(max(round(concurrency), 1), setup.parts)
    if each >= _ALIKE:  # one more or less changes little
        each, more = round(concurrency / setup.parts), 0
    sizes = {each: setup.parts - more, each + 1: more}
    runs = {size: _run_group(setup, load, size) for size, groups in sizes.items() if size and groups}
    rates = {size: sizes[size] * size / float(times.e2e.mean()) for size, times in runs.items()}
    # as many requests of each size as end in the same time
    span = min(len(times.e2e) / rates[size] for size, times in runs.items())
    return joined([_part(times, slice(0, max(round(span * rates[size]), 1))) for size, times in runs.items()])


def _run_group(setup: ServeSetup, load: Load, under_way: int) -> Times:
    """Return latencies at a fixed number of requests under way in an attention group.

    The first requests are at every point of their answers, as in a system that has run for long; they are left out, as
    the last are, beside which others end. Of requests beyond twice those with room, all wait in line.
    """
    group = min(under_way, max(ceil(2 * setup.most(load.requests) / setup.parts), 2))
    count = _count_of(load, min(max(_TURNS * group, LEAST_REQUESTS), MOST_REQUESTS))
    # equal requests that end together once do so ever after: a small group is drawn several times
    draws = min(max(count // (_TURNS_OF_DRAW * group), 1), _DRAWS) if 1 < group <= _SMALL else 1
    before = group * (_SETTLING if draws > 1 else 1)
    seeds = [load.seed + _DRAWN * draw for draw in range(draws)]
    runs = [_run_drawn(setup, replace(load, seed=seed), group, (before, count // draws)) for seed in seeds]
    times = joined(runs)
    line = (under_way - group) * float(times.e2e.mean()) / group
    return replace(times, ttft=times.ttft + line, e2e=times.e2e + line)


def _run_drawn(setup: ServeSetup, load: Load, group: int, counts: tuple[int, int]) -> Times:
    """Return latencies of requests at a number under way, the first of which are at any point of their answers.

    Args:
        setup: the copy.
        load: its requests.
        group: requests under way in an attention group [1].
        counts: requests until the run has settled, and those after them that count [1].
    """
    prompts, outputs = _lengths(load, sum(counts) + group)
    outputs = outputs.copy()
    begun = np.random.default_rng(load.seed).uniform(0, 1, group)
    outputs[:group] = np.maximum(np.round(outputs[:group] * begun), 1.0)
    return _part(_run(setup, load, Arrivals(prompts, outputs, None, group)), slice(counts[0], -group))


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
    share = rate / setup.parts
    if load.trace is not None and load.trace.times is not None:
        return _run_trace(setup, load, load.trace, load.trace.times)
    count = _count_of(load, count or MOST_REQUESTS // 2)
    skipped = count // 10  # they find an empty copy
    prompts, outputs = _lengths(load, count)
    times = np.cumsum(np.random.default_rng(load.seed).exponential(1 / share, count))
    run = _run(setup, load, Arrivals(prompts, outputs, times, bar=_bar(targets, count, skipped)))
    return _part(run, slice(skipped, None))


def _run_trace(setup: ServeSetup, load: Load, trace: Trace, times: Floats) -> Times:
    """Return latencies of a trace whose requests a router deals at random to all attention groups, or slices of units.

    So many groups are run as have half of the most requests together. Arrivals at random stay so in every group: a rate
    and a trace of it have the same latencies.
    """
    groups = max(setup.copies * setup.parts, 1)
    place = np.random.default_rng((load.seed, 2)).integers(0, groups, len(times))
    runs, count = [], 0
    for group in range(groups):
        chosen = place == group
        if not chosen.any():
            continue
        prompts = np.maximum(trace.prompts[chosen] * (1 - load.requests.hit), 1.0)
        runs.append(_run(setup, load, Arrivals(prompts, trace.outputs[chosen], times[chosen])))
        count += len(prompts)
        if count >= MOST_REQUESTS // 2:
            break
    return joined(runs)


def grows(setup: ServeSetup, times: Times, rate: float) -> bool:
    """Return whether the queue of a run grows all along: the rate is beyond saturation.

    Args:
        setup: the copy.
        times: a run of requests that arrive at random.
        rate: requests a second on the copy [1/s].

    Equation:
        slope of the time to the first token over the time of arrival, above 2 %

    Source:
        A queue that is served at mu and arrives at lambda makes who arrives t later wait (lambda / mu - 1) t longer.
    """
    arrived = np.arange(len(times.ttft)) * setup.parts / rate
    return bool(np.polyfit(arrived, times.ttft, 1)[0] > _GROWING)


def _largest_arriving(setup: ServeSetup, load: Load, most: float) -> float:
    """Return the largest rate of arrivals at which no queue grows [1/s], by bisection.

    Args:
        setup: the copy.
        load: its requests.
        most: a rate that is too high [1/s].
    """
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if grows(setup, run_open(setup, load, middle), middle) else (middle, high)
    return low


def _count_of(load: Load, usual: int) -> int:
    """Return the requests of a run: as usual, or fewer where each prompt takes many steps [1].

    Raises:
        ServeError: if even the least take too many.
    """
    requests = load.requests
    steps = float(requests.computed) / float(requests.chunk)
    if steps * LEAST_REQUESTS > MOST_PASSES:
        raise ServeError(
            f"--chunk {requests.chunk:,.0f}: a prompt of {requests.computed:,.0f} tokens takes {ceil(steps):,} steps, "
            f"too many to run; write {ceil(requests.computed * LEAST_REQUESTS / MOST_PASSES):,} or more"
        )
    return min(usual, max(int(MOST_PASSES / (steps + _PASSES)), LEAST_REQUESTS))


def _run(setup: ServeSetup, load: Load, arrivals: Arrivals) -> Times:
    apart = setup.apart
    try:
        if apart is not None:
            return run_pools(apart.pools, (apart.prefill.use, setup.use), load.requests, arrivals)
        return run_requests(setup.served, setup.use, load.requests, arrivals)
    except LongRunError:
        room = f"{setup.room(load.requests):,.0f} of {setup.use.most:,.0f} requests have room"
        raise ServeError(
            f"requests are evicted and computed again without end: {room} in an attention group; shorter answers or "
            "more accelerators a copy would relieve it",
            infeasible=True,
        ) from None


def _part(times: Times, chosen: slice) -> Times:
    """Return some requests of a run."""
    return replace(times, **{name: getattr(times, name)[chosen] for name in EACH})
