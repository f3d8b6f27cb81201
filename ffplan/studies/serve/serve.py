"""Serving a model on a fleet: rows of loads, the largest load within targets, and saturation."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import GIB, number
from ffplan.base.record import record
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.serving import (
    Latency,
    Saturation,
    ServeBeside,
    ServeChoice,
    ServeMemory,
    ServePlan,
    ServePool,
    ServePools,
    ServeReport,
    ServeRow,
    ServeTargets,
    TokenBand,
)
from ffplan.studies.basis.provenance import files_read, recalled_figures
from ffplan.studies.serve.links import ServeError, _beside_training, _kinds_of
from ffplan.studies.serve.loads import (
    Load,
    _kept_room,
    _largest_arriving,
    _run_closed,
    grows,
    latency_of,
    run_open,
    within,
)
from ffplan.studies.serve.money import _price_and_peak, token_cost, token_price, tokens_per_megawatt
from ffplan.studies.serve.state import (
    _cache_use,
    _means_that_hold,
    _part_of_design,
    _power_of,
    _prefill_busy,
    _token_parts,
)

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.store import Catalog
    from ffplan.serving.load import Steady
    from ffplan.serving.times import Times
    from ffplan.studies.serve.money import _HourPrice
    from ffplan.studies.serve.setup import ServeSetup

_RELIEF = {
    "memory": "--kv fp8 or more accelerators a copy",
    "sequences": "more copies",
    "prompts": "more accelerators, or a prefix cache",
}
"""What would serve more, by the cause of saturation."""
_FINE = 0.01
"""Precision of the search for the largest concurrency within targets, as a share [1]."""
_PARTS = (0.125, 0.25, 0.35, 0.5, 0.7, 1.0)
"""Loads of which the saturation of unlike requests is sought, over the requests with room [1]."""
_CURVE = 8
"""Loads of a curve without a request for any [1]."""


@record
class ServeTask:
    """What to report of a setup and a load."""

    load: Load
    concurrency: tuple[float, ...] = ()
    """Requests under way on a copy [1]."""
    rates: tuple[float, ...] = ()
    """Requests a second over all copies [1/s]."""
    targets: ServeTargets | None = None
    choices: tuple[ServeChoice, ...] = ()
    searched: int = 0


def serve(setup: ServeSetup, catalog: Catalog, task: ServeTask) -> ServeReport:
    """Return a model served at some loads, or up to the largest load within targets.

    Raises:
        ServeError: if a rate is beyond saturation.
    """
    price, peak = _price_and_peak(setup, catalog)
    largest = _saturation(setup, task.load)
    rates = task.rates or _traced(setup, task.load, largest)
    loads = task.concurrency or (() if rates else _curve(setup, task, largest))
    rows = [_row(setup, task, price, peak, concurrency=value) for value in loads]
    for rate in rates:
        if task.load.alike and rate >= largest.rate_s:
            raise _beyond(setup, task.load, rate)
        rows.append(_row(setup, task, price, peak, rate=rate))
    best = _best(rows)
    return _report(setup, catalog, task, rows=tuple(rows), best=best, largest=largest, price=price)


def _saturation(setup: ServeSetup, load: Load) -> Saturation:
    """Return the load at which memory or the engine runs no more requests at a time, and evicts none."""
    room = _kept_room(setup, load)
    most = setup.most(load.requests) * room / setup.room(load.requests)
    if not load.alike:
        return _saturation_of_unlike(setup, load, most, room)
    # beside those that decode, a unit of pools has requests whose prompts are computed
    counts = np.unique(np.geomspace(1, max(most, 1) * (1 if setup.apart is None else 2), 40))
    steady = setup.means(load.requests, counts)
    rates = np.asarray(steady.rate)
    # prompts can take so much of the time that more requests are no faster
    place = int(np.argmax(rates >= 0.999 * rates.max()))
    full = place == len(counts) - 1
    if setup.apart is not None:
        full = float(np.asarray(steady.decoding)[place]) > 0.99 * room
    cause, reached = _cause(setup, room, full=full), float(counts[place])
    if cause == "prompts":
        # where the engine's number binds, further requests wait without evicting any
        most = float(counts[-1]) * (2 if _is_limited(setup, room) else 1)
        reached = _reached_by_runs(setup, load, reached, most)
    return Saturation(rate_s=float(rates[place]) * setup.copies, concurrency=reached, cause=cause)


def _is_limited(setup: ServeSetup, room: float) -> bool:
    """Return whether the engine's number of requests binds, and not the room of an attention group."""
    return room >= float(setup.engine.sequences.value)


def _cause(setup: ServeSetup, room: float, *, full: bool) -> str:
    """Return what ends the growth of a rate: prompts, unless as many requests run as can."""
    if not full:
        return "prompts"
    return "sequences" if _is_limited(setup, room) else "memory"


def _saturation_of_unlike(setup: ServeSetup, load: Load, most: float, room: float) -> Saturation:
    """Return the least load whose run serves as much as any, up to the most requests that have room on a copy.

    Formulas of mean lengths do not hold for it: long prompts are few, and long answers are what fills the room.
    """
    rates = {
        concurrency: _run_rate(setup, load, concurrency)
        for concurrency in {max(round(part * most), 1) for part in _PARTS}
    }
    best = max(rates.values())
    reached = min(concurrency for concurrency, rate in rates.items() if rate >= (1 - _FINE) * best)
    cause = _cause(setup, room, full=reached == max(rates))
    return Saturation(rate_s=rates[reached] * setup.copies, concurrency=float(reached), cause=cause)


def _run_rate(setup: ServeSetup, load: Load, concurrency: float) -> float:
    """Return the requests a second that a run on a copy ends, with a number under way [1/s]."""
    return concurrency / float(_run_closed(setup, load, concurrency).e2e.mean())


def _reached_by_runs(setup: ServeSetup, load: Load, least: float, most: float) -> float:
    """Return the concurrency, doubled from the least on, from which on runs serve no more than a hundredth more [1]."""
    reached = float(ceil(least))  # a run has whole requests
    rate, most = _run_rate(setup, load, reached), float(ceil(most))
    while reached < most:
        further = min(2 * reached, most)
        more = _run_rate(setup, load, further)
        if more <= (1 + _FINE) * rate:
            break
        reached, rate = further, more
    return reached


def _traced(setup: ServeSetup, load: Load, largest: Saturation) -> tuple[float, ...]:
    """Return the mean rate of a trace with times; nothing without times.

    A trace may be above saturation for a while: its run has the latencies, and the mean rate gives the rest.
    """
    if load.trace is None or load.trace.times is None:
        return ()
    rate = (len(load.trace.times) - 1) / float(load.trace.times[-1])
    untimed, each = replace(load, trace=replace(load.trace, times=None)), rate / setup.copies
    if rate >= largest.rate_s and (load.alike or grows(setup, run_open(setup, untimed, each), each)):
        raise _beyond(setup, untimed, rate, "--trace: on average ")
    return (rate,)


def _beyond(setup: ServeSetup, load: Load, rate: float, what: str = "") -> ServeError:
    """Return the refusal of a rate [1/s] over all copies that is beyond saturation, with the largest that is not."""
    largest = _saturation(setup, load)
    too_high = largest.rate_s if load.alike else rate
    most = _largest_arriving(setup, load, too_high / setup.copies) * setup.copies
    asks = f"{what}{number(rate)} requests a second arrive, and at most {number(most)} can be served"
    return ServeError(f"{asks}; {_RELIEF[largest.cause]} would relieve it", infeasible=True)


def _curve(setup: ServeSetup, task: ServeTask, largest: Saturation) -> tuple[float, ...]:
    """Return concurrencies up to saturation, and the largest within the targets."""
    # where prompts fill the time, a further request only waits; where memory is full, it evicts another
    top = max(ceil(largest.concurrency) if largest.cause == "prompts" else int(largest.concurrency), 1)
    points = {float(int(value + 1e-9)) for value in np.geomspace(1, top, _CURVE)}
    if task.targets is not None:
        points.add(float(_most_within(setup, task, top)))
    return tuple(sorted(point for point in points if point >= 1))


def _most_within(setup: ServeSetup, task: ServeTask, top: int) -> int:
    """Return the largest concurrency that meets the targets, to a hundredth, by bisection; 1 if none does."""
    low, high = 1, max(top, 1)
    while high - low > low * _FINE:
        middle = (low + high + 1) // 2
        if _meets(setup, task, float(middle)):
            low = middle
        else:
            high = middle - 1
    return low


def _meets(setup: ServeSetup, task: ServeTask, concurrency: float) -> bool:
    """Return whether requests under way on a copy meet the targets of a task that has some."""
    assert task.targets is not None
    return within(task.targets, *_latencies(task, *_closed(setup, task, concurrency))[:2])


def _closed(setup: ServeSetup, task: ServeTask, concurrency: float) -> tuple[Steady, Times]:
    """Return means and a run of requests under way on a copy."""
    times = _run_closed(setup, task.load, concurrency)
    steady = setup.means(task.load.requests, concurrency)
    return _means_that_hold(setup, task.load, steady, times, concurrency=concurrency), times


def _latencies(task: ServeTask, steady: Steady, times: Times | None) -> tuple[Latency, Latency, Latency]:
    """Return TTFT, TPOT and latency of a whole request; without a run, every quantile is the mean."""
    means = (float(steady.ttft), float(steady.tpot), float(steady.latency(float(task.load.requests.output))))
    if times is None:
        ttft, tpot, whole = (Latency(mean=mean, p50=mean, p90=mean, p99=mean) for mean in means)
        return ttft, tpot, whole
    if task.load.requests.output <= 1:
        times = replace(times, tpot=np.full_like(times.tpot, means[1]))  # no request has a second token
    ttft, tpot, whole = (
        latency_of(values, mean) for mean, values in zip(means, (times.ttft, times.tpot, times.e2e), strict=True)
    )
    return ttft, tpot, whole


def _served_row(
    setup: ServeSetup,
    catalog: Catalog,
    task: ServeTask,
    *,
    concurrency: float = 0.0,
    rate: float = 0.0,
    percentiles: bool = True,
) -> ServeRow:
    """Return one load: a concurrency of each copy, or a rate over all copies.

    Args:
        percentiles: run the requests; every quantile is the mean otherwise.
    """
    price, peak = _price_and_peak(setup, catalog)
    return _row(setup, task, price, peak, concurrency=concurrency, rate=rate, percentiles=percentiles)


def _row(
    setup: ServeSetup,
    task: ServeTask,
    price: _HourPrice | None,
    peak: float | None,
    *,
    concurrency: float = 0.0,
    rate: float = 0.0,
    percentiles: bool = True,
) -> ServeRow:
    requests, trace = task.load.requests, task.load.trace
    if rate:
        each = rate / setup.copies
        steady = setup.means_at(requests, each)
        times = run_open(setup, task.load, each) if percentiles else None
        if times and (trace is None or trace.times is None) and grows(setup, times, each):
            raise _beyond(setup, task.load, rate)
        if times is not None:
            # formulas of mean lengths may have no such rate, which the run has
            asked = steady if task.load.alike else replace(steady, rate=each)
            steady = _means_that_hold(setup, task.load, asked, times)
    elif percentiles:
        steady, times = _closed(setup, task, concurrency)
    else:
        steady, times = setup.means(requests, concurrency), None
    ttft, tpot, whole = _latencies(task, steady, times)
    served_s = float(steady.rate) * setup.copies
    output_s = served_s * float(requests.output)
    gpus = setup.gpus * setup.copies
    power = _power_of(setup, requests, steady)
    parts = _token_parts(steady)
    waits = parts[0].name == "evictions" or (float(steady.waiting) > 0 and parts[0].name != "prompts")
    band = setup.speed.band
    return ServeRow(
        concurrency=concurrency or served_s / setup.copies * whole.mean,
        rate_s=served_s,
        ttft_s=ttft,
        tpot_s=tpot,
        e2e_s=whole,
        output_tokens_s=output_s,
        output_tokens_s_gpu=output_s / gpus,
        output_tokens_s_user=1 / tpot.mean,
        input_tokens_s=served_s * float(requests.prompt),
        kv=_cache_use(setup, task.load, steady),
        limited_by="memory" if waits else parts[0].name,
        limited_by_label="memory for keys and values" if waits else parts[0].label,
        parts=parts,
        prefill_busy=_prefill_busy(setup, requests, steady),
        meets=None if task.targets is None else within(task.targets, ttft, tpot),
        power_w=power,
        j_per_token=None if power is None else power / output_s,
        output_tokens_s_mw=None if peak is None else tokens_per_megawatt(output_s, peak * _part_of_design(setup)),
        cost=token_cost(setup, requests, steady, price) if price else None,
        band=TokenBand(tpot.mean * (1 - band), tpot.mean * (1 + band)),
    )


def _best(rows: list[ServeRow]) -> int:
    """Return the position of the row with most tokens a second, of those within the targets if there are any."""
    if rows[0].meets is not None and not any(row.meets for row in rows):
        return 0  # the lowest load is nearest to the targets
    places = [place for place, row in enumerate(rows) if row.meets is not False]
    return max(places, key=lambda place: rows[place].output_tokens_s)


def plan_row(setup: ServeSetup) -> ServePlan:
    """Return the plan of a copy as results have it."""
    deployment = setup.served.deployment
    return ServePlan(
        tensor=int(deployment.tensor),
        pipeline=int(deployment.pipeline),
        expert=int(deployment.expert),
        data=int(deployment.data),
        gpus=int(deployment.gpus),
        precision=setup.precision,
        kv=setup.kv,
        chunk=setup.chunk,
    )


def pools_row(setup: ServeSetup) -> ServePools | None:
    """Return the pools of a unit as results have them; None where prompts share the copies that decode."""
    apart = setup.apart
    if apart is None:
        return None
    return ServePools(
        prefill=_pool_row(apart.prefill, apart.pools.prefills),
        decode=_pool_row(setup, apart.pools.decodes),
        transfer=apart.transfer,
    )


def _pool_row(setup: ServeSetup, copies: Number) -> ServePool:
    return ServePool(copies=int(copies), plan=plan_row(setup), accelerator=setup.fleet.accelerator.id)


def _beside(setup: ServeSetup, rate: float) -> ServeBeside | None:
    """Return a training job on the rest of the design beside pools at a rate of requests [1/s]."""
    apart = setup.apart
    if apart is None or len(setup.kinds) > 1:
        return None
    return _beside_training(setup.fleet, setup.parts_placed, rate * apart.transfer.bytes)


def _assumptions(setup: ServeSetup, task: ServeTask) -> tuple[str, ...]:
    """Return the model's omissions and assumptions."""
    requests, deployment, shape = task.load.requests, setup.served.deployment, setup.served.shape
    said = [
        "Experts are as likely as each other; their imbalance is within the constants.",
        "Memory settings of the engine are its defaults, recalled.",
    ]
    without = [part.fleet.accelerator.id for part in setup.kinds if not part.speed.runs]
    said += [
        f"No run of {setup.engine.name} on {kind} is known: other accelerators' constants are used." for kind in without
    ]
    said += _of_unlike(setup)
    if setup.fleet.design is None and setup.fleet.domain % setup.gpus:
        said.append("One scale-up network joins the accelerators of a copy.")
    if shape.latent is None and deployment.tensor > shape.key_value_heads:
        copies = int(deployment.tensor) // shape.key_value_heads
        said.append(f"{shape.key_value_heads} heads of keys and values on {deployment.tensor} ranks: {copies} copies.")
    if requests.hit:
        said.append("Cached prefixes are shared by all requests, and held once.")
    if task.load.trace is None or task.load.trace.constant:
        said.append("All requests have the same lengths.")
    return tuple(said)


def _of_unlike(setup: ServeSetup) -> list[str]:
    design = setup.fleet.design
    if design is None or len(_kinds_of(design)) == 1:
        return []
    used = {part.fleet.accelerator.id for part in setup.kinds}
    left = ", ".join(kind for kind in _kinds_of(design) if kind not in used)
    said = []
    if left:
        borne = "; what they cost and draw is borne by those that serve" if setup.others else ""
        said.append(f"The design's {left} serve nothing: --accelerator chooses the kind{borne}.")
    return [*said, "An owned accelerator-hour is the mean of the design's unlike accelerators."]


def _report(
    setup: ServeSetup,
    catalog: Catalog,
    task: ServeTask,
    *,
    rows: tuple[ServeRow, ...],
    best: int,
    largest: Saturation,
    price: _HourPrice | None,
) -> ServeReport:
    requests, use, design = task.load.requests, setup.use, setup.fleet.design
    return ServeReport(
        schema_version=SCHEMA_VERSION,
        design=design.spec.name if design else None,
        accelerator=setup.fleet.accelerator.id,
        model=setup.model.id,
        engine=setup.engine.id,
        plan=plan_row(setup),
        pools=pools_row(setup),
        beside=_beside(setup, rows[best].rate_s),
        copies=setup.copies,
        idle=setup.idle,
        prompt_tokens=float(requests.prompt),
        output_tokens=float(requests.output),
        memory=ServeMemory(
            limit_gib=float(use.limit) / GIB,
            weights_gib=float(use.weights) / GIB,
            reserve_gib=float(use.reserve) / GIB,
            cache_gib=float(use.cache) / GIB,
        ),
        rows=rows,
        best=best,
        saturation=largest,
        targets=task.targets,
        searched=task.searched,
        choices=task.choices,
        calibrated_on=setup.speed.source if setup.speed.runs else None,
        runs=setup.speed.runs,
        price=price.source if price else None,
        currency=price.currency if price else None,
        api=token_price(catalog, setup.model.id, requests),
        assumptions=_assumptions(setup, task),
        catalog=files_read(catalog),
        unverified=recalled_figures(catalog),
    )
