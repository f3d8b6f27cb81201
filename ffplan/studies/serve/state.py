"""Means of a load, by formula or of its run, and what follows from them: parts of a token's time, memory, and power."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.results.serving import CacheUse, TokenPart
from ffplan.serving.hardware import accelerator_power, prompt_power
from ffplan.serving.load import middle_step
from ffplan.serving.memory import cache_bytes, cached_tokens
from ffplan.serving.pools import prefill_rate
from ffplan.studies.serve.loads import _held_of
from ffplan.studies.serve.money import _node_rest_power

if TYPE_CHECKING:
    from ffplan.serving.load import Steady
    from ffplan.serving.requests import Requests
    from ffplan.serving.times import Times
    from ffplan.studies.serve.loads import Load
    from ffplan.studies.serve.setup import ServeSetup

_APART = 0.05
"""Part by which a mean by formula may miss that of its run [1]."""
_ROUNDING = 1e-9
"""Part by which equal means differ in floating point [1]."""
PART_LABELS = {
    "weights": "reading weights",
    "experts": "reading experts",
    "cache": "reading keys and values",
    "compute": "arithmetic of a step",
    "layers": "kernels of the layers",
    "sequences": "scheduling and sampling",
    "communication": "collectives",
    "fixed": "fixed time of a step",
    "prompts": "prefill of other requests",
    "evictions": "evicted and computed again",
}
"""Parts of a token's time, for people."""


def _means_that_hold(
    setup: ServeSetup, load: Load, steady: Steady, times: Times, *, concurrency: float | None = None
) -> Steady:
    """Return the means of a load by formula where its run agrees, else those of the run.

    Formulas know neither evictions nor unlike requests, and hold up to half of the time for prompts. Whatever the
    cause, means that are further from the run's than formulas may be, or above its P99, are not printed.

    Args:
        setup: the copy.
        load: its requests.
        steady: means by formula.
        times: a run.
        concurrency: requests under way on the copy; None if they arrive at a rate [1].
    """
    alike = load.trace is None or load.trace.constant
    output = float(load.requests.output)
    pairs = [(float(steady.ttft), times.ttft), (float(steady.latency(output)), times.e2e)]
    pairs += [(float(steady.tpot), times.tpot)] if output > 1 else []
    if alike and not times.crowded and all(_agrees(mean, values) for mean, values in pairs):
        return steady
    return _of_run(setup, load, steady, times, concurrency=concurrency)


def _agrees(mean: float, values: np.ndarray) -> bool:
    near = abs(mean - float(values.mean())) <= _APART * float(values.mean())
    return near and mean <= float(np.percentile(values, 99)) * (1 + _ROUNDING)


def _of_run(setup: ServeSetup, load: Load, steady: Steady, times: Times, *, concurrency: float | None) -> Steady:
    """Return the means of a run, with a step of as many sequences as it had.

    Equation:
        rate = concurrency / mean time of a request; in memory and decoding are rate / groups times the mean time there
    """
    requests = load.requests
    ttft, tpot, whole, held, decoded, plain, lost = (
        float(values.mean())
        for values in (times.ttft, times.tpot, times.e2e, times.held, times.decoded, times.plain, times.lost)
    )
    prompts = max(tpot - plain - lost, 0.0)
    if requests.output <= 1:  # no request has a second token: the time of one is a formula's
        tpot, prompts, lost = float(steady.tpot), float(steady.prompts), 0.0
    rate = float(steady.rate) if concurrency is None else concurrency / whole  # of arrivals, what arrives
    running, decoding = (rate / setup.groups * seconds for seconds in (held, decoded))
    waiting = float(steady.waiting)
    if times.crowded and setup.apart is None:
        waiting = max(rate / setup.groups * (whole - float(setup.served.rates.first)) - running, 0.0)
    state = replace(
        steady,
        running=running,
        decoding=decoding,
        waiting=waiting,
        rate=rate,
        ttft=ttft,
        tpot=tpot,
        prompts=prompts,
        lost=lost,
        whole=whole,
        filled=times.prompts,
    )
    return replace(state, step=middle_step(setup.served, requests, max(float(state.together), 1.0)))


def _part_of_design(setup: ServeSetup) -> float:
    """Return the part of a design's accelerators that serve or stand idle for it [1]: its part of the peak."""
    design = setup.fleet.design
    return 1.0 if design is None else setup.bearing * setup.copies / int(design.accelerators)


def _token_parts(steady: Steady) -> tuple[TokenPart, ...]:
    """Return the parts of a token's time, the largest first."""
    total = float(steady.step.total)
    decoding = float(steady.tpot - steady.prompts - steady.lost)
    seconds = {field.name: float(getattr(steady.step, field.name)) / total * decoding for field in fields(steady.step)}
    seconds |= {"prompts": float(steady.prompts), "evictions": float(steady.lost)}
    whole = float(steady.tpot)
    parts = [TokenPart(name, PART_LABELS[name], value, value / whole) for name, value in seconds.items() if value > 0]
    return tuple(sorted(parts, key=lambda part: -part.seconds))


def _cache_use(setup: ServeSetup, load: Load, steady: Steady) -> CacheUse:
    """Return keys and values of a load, each request at the middle of its answer, and of the prefix that all share."""
    shape = setup.served.shape
    held = float(cached_tokens(shape, _held_of(load).mean)) * float(steady.running)
    held += float(cached_tokens(shape, load.requests.shared))
    return CacheUse(
        bytes_per_token=float(cache_bytes(shape, setup.served.deployment.cache_width)),
        capacity_tokens=float(setup.use.tokens),
        used=min(held / max(float(setup.use.tokens), 1.0), 1.0),
        waiting=float(steady.waiting) * setup.groups,
    )


def _power_of(setup: ServeSetup, requests: Requests, steady: Steady) -> float | None:
    """Return the power of all accelerators in use and of their part of the nodes [W]; None if it is unknown."""
    accelerator, apart = setup.fleet.accelerator, setup.apart
    if accelerator.power is None:
        return None
    shared = 0.0 if apart is not None else setup.prompt_share(requests, steady)
    each = float(accelerator_power(setup.engine, accelerator, setup.served, steady, shared))
    used = (each + _node_rest_power(setup)) * setup.decode_gpus
    busy = _prefill_busy(setup, requests, steady)
    if apart is not None and busy is not None:
        prefill = apart.prefill.fleet.accelerator
        if prefill.power is None:
            return None
        used += (
            float(prompt_power(setup.engine, prefill, busy)) + _node_rest_power(apart.prefill)
        ) * setup.prefill_gpus
    return used * setup.copies


def _prefill_busy(setup: ServeSetup, requests: Requests, steady: Steady) -> float | None:
    """Return the utilisation of the prefill pool, prompts over capacity [1]; None if prompts share the copies."""
    if setup.apart is None:
        return None
    return min(float(steady.rate) / float(prefill_rate(setup.apart.pools, requests)), 1.0)
