"""Measured serving runs as data, replayed: the model's latencies and rates next to the measured ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import minimum
from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.engines import Engine
from ffplan.catalog.library import Library
from ffplan.catalog.models import Model
from ffplan.catalog.parts import Accelerator
from ffplan.results.accuracy import AccuracyRow
from ffplan.serving.hardware import (
    cache_precision,
    compute_precision,
    deployment_of,
    engine_speed,
    group_link,
    machine_of,
)
from ffplan.serving.load import closed_loop
from ffplan.serving.memory import model_weights
from ffplan.serving.plan import on_network
from ffplan.serving.pools import Pools, slices
from ffplan.serving.requests import Requests
from ffplan.serving.room import MemoryUse, memory_use, requests_with_room
from ffplan.serving.run import run_pools, run_requests
from ffplan.serving.simulate import Arrivals
from ffplan.serving.step import Served, launch_seconds, prompt_seconds, step_time
from ffplan.studies.serve.links import GroupLink, timed_link
from ffplan.validation.measured_system import CaseParts
from ffplan.validation.serving_cases import PromptPool, ServingFile, ServingRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.catalog.store import Catalog
    from ffplan.inputs.document import Document
    from ffplan.serving.plan import Rates
    from ffplan.serving.times import Times

REQUESTS = 10
"""Requests of a benchmark for each that is under way, as InferenceX runs."""
_LEAST_RANKS = 2
"""Fewest accelerators of a group that has collectives [1]."""
_MOST_REQUESTS = 3000
"""Most requests of a replayed run; its latencies are steady long before."""
_MOST_APART = 1000
"""The same with separate prefill and decoding."""
UNITS = {
    "ttft_ms": "ttft_ms",
    "tpot_ms": "tpot_ms",
    "itl_ms": "tpot_ms",
    "e2e_s": "e2e_s",
    "tokens_s": "tokens_s",
    "latency_s": "seconds",
}
"""Unit of a measured column."""


@record
class ServedRun:
    """A measured run with what its points are computed from."""

    run: ServingRun
    served: Served
    engine: Engine
    computed: str
    """Precision at which GEMMs compute."""
    use: MemoryUse
    own: bool
    """True if the engine's constants rest on runs on this accelerator."""
    pools: Pools | None = None
    """Prefill and decoding, if separate."""
    prefill_use: MemoryUse | None = None
    """Memory of an accelerator that computes prompts, where others decode."""

    @property
    def chunk(self) -> float:
        """Most tokens of a step [1]."""
        return float(self.run.chunk or self.engine.chunk.value)


def _served_run(run: ServingRun, catalog: Catalog, document: Document, path: tuple[str | int, ...]) -> ServedRun:
    """Return a run with parts of the catalogue."""
    model = catalog.get(Model, run.model, document, (*path, "model"))
    accelerator = catalog.get(Accelerator, run.accelerator, document, (*path, "accelerator"))
    library = catalog.get(Library, accelerator.library, document, (*path, "accelerator"))
    engine = catalog.get(Engine, run.engine, document, (*path, "engine"))
    if model.transformer is None:
        what = f"`{run.model}` is not a transformer"
        raise InputError(document.finding("serving-cases", (*path, "model"), what, "name a transformer"))
    links = _links(run, accelerator, library, CaseParts(catalog, document), path)
    return serve_run(run, model, accelerator, engine, links)


def _links(
    run: ServingRun, accelerator: Accelerator, library: Library, parts: CaseParts, path: tuple[str | int, ...]
) -> Callable[[int], GroupLink]:
    """Return the collectives of a group by its ranks, on a run's nodes and network."""
    system, inside = run.system, own_links(accelerator, library)
    if system is None:
        return inside

    def timed(ranks: int) -> GroupLink:
        if ranks < _LEAST_RANKS:
            return inside(ranks)
        job = parts.job(system, (ranks,), path)
        return timed_link(library, job, ranks, job.host.domain_gpus)

    return timed


def own_links(accelerator: Accelerator, library: Library) -> Callable[[int], GroupLink]:
    """Return the collectives of a group of any size in an accelerator's own scale-up network."""
    link = GroupLink(group_link(accelerator, library))
    return lambda _: link


def serve_run(
    run: ServingRun, model: Model, accelerator: Accelerator, engine: Engine, links: Callable[[int], GroupLink]
) -> ServedRun:
    """Return a run with its parts."""
    assert model.transformer is not None
    shape, computed = model.transformer, compute_precision(accelerator, run.precision)
    speed = engine_speed(engine, accelerator, run.precision)

    def copy(plan: ServingRun | PromptPool, pipeline: int = 1) -> Served:
        deployment = deployment_of(
            shape,
            run.precision,
            cache_precision(engine, run.precision, run.cache),
            computed,
            tensor=plan.tensor,
            pipeline=pipeline,
            data=plan.data,
            expert=plan.expert,
        )
        among = [links(int(ranks)) for ranks in (deployment.tensor, deployment.expert_gpus)]
        return Served(
            shape=shape,
            weights=model_weights(shape),
            deployment=deployment,
            machine=machine_of(accelerator, run.precision, *(link.rate for link in among)),
            rates=on_network(speed.rates, *(link.latency for link in among)),
            mixed=engine.mixed,
        )

    served = copy(run, run.pipeline)
    prefill = copy(run.prefill) if run.prefill is not None else None
    return ServedRun(
        run=run,
        served=served,
        engine=engine,
        computed=computed,
        use=memory_use(served, engine, run.memory),
        own=speed.runs > 0,
        pools=None if prefill is None else _pools(run, prefill, served),
        prefill_use=None if prefill is None else memory_use(prefill, engine, run.memory),
    )


def _pools(run: ServingRun, prefill: Served, decode: Served) -> Pools:
    """Return separate prefill and decoding; keys and values move at the rate of a group's collectives."""
    assert run.prefill is not None
    return Pools(
        prefill=prefill,
        decode=decode,
        prefills=run.prefill.copies,
        decodes=run.copies,
        rate=minimum(prefill.machine.exchange, decode.machine.exchange),
    )


@record
class ServedPoint:
    """A measured point: its load, and its numbers by column."""

    numbers: dict[str, float]
    prompt: float
    """Mean tokens of a prompt [1]."""
    output: float
    """Mean tokens of an answer [1]."""
    load: float
    """Requests under way or in the batch, on the whole copy [1]; requests with room if all are queued at once."""

    @property
    def poll(self) -> int:
        """Steps of decoding between the engine's looks for new requests [1]."""
        return int(self.numbers.get("poll", 1))

    def __getitem__(self, name: str) -> float:
        return self.numbers[name]


def points_of(served: ServedRun) -> Iterator[ServedPoint]:
    """Yield the points of a run."""
    run = served.run
    mean = 0.5 * (1 + run.shortest)
    for values in run.points:
        numbers: dict[str, float] = dict(zip(run.columns, values, strict=True))
        prompt = numbers.get("prompt", float(run.prompt or 1)) * mean
        output = numbers.get("output", float(run.output or 1)) * mean
        load = numbers.get("concurrency", numbers.get("batch"))
        if load is None:
            requests = Requests(prompt=prompt, output=output)
            load = float(requests_with_room(served.use, served.served.shape, requests)) * run.data
        yield ServedPoint(numbers, prompt, output, load)


def _static_batch(served: Served, chunk: float, point: ServedPoint) -> float:
    """Return the seconds of one batch from its prompts to its last tokens [s].

    Equation:
        prompts + output x step at the mean context; prompts at least as many steps as they fill, one of the output's
        or, apart, all their own
    """
    group = point.load / float(served.deployment.data)
    step = float(step_time(served, group, point.prompt + point.output / 2).total)
    beside = step if served.mixed else float(step_time(served, 1.0, 0.0).total)
    steps = max(group * point.prompt / chunk, 1.0)
    prompts = max(group * float(prompt_seconds(served, point.prompt)), steps * (float(launch_seconds(served)) - beside))
    return prompts + (point.output * step if served.mixed else steps * beside + (point.output - 1) * step)


def _requests(served: ServedRun, point: ServedPoint) -> Requests:
    return Requests(prompt=point.prompt, output=point.output, chunk=served.chunk)


def _closed(served: ServedRun, point: ServedPoint) -> dict[str, float]:
    run = served.run
    group = max(round(point.load / run.data), 1)
    count = min(REQUESTS * group, max(_MOST_REQUESTS, 3 * group))
    arrivals = _drawn(run, point, count, group)
    return _statistics(run, run_requests(served.served, served.use, _requests(served, point), arrivals))


def _apart(served: ServedRun, point: ServedPoint) -> dict[str, float]:
    run, pools, use = served.run, served.pools, served.prefill_use
    assert pools is not None
    assert use is not None
    under_way = max(round(point.load / slices(pools)), 1)
    count = min(REQUESTS * under_way, max(_MOST_APART, 3 * under_way))
    arrivals = _drawn(run, point, count, under_way)
    times = run_pools(pools, (use, served.use), _requests(served, point), arrivals, begun=False)
    return _statistics(run, times)


def _drawn(run: ServingRun, point: ServedPoint, count: int, under_way: int) -> Arrivals:
    """Return requests with lengths drawn as the client draws them."""
    draw = np.random.default_rng(0)
    lengths = draw.uniform(run.shortest, 1.0, (2, count)) / (0.5 * (1 + run.shortest))
    return Arrivals(lengths[0] * point.prompt, np.round(lengths[1] * point.output), None, under_way, poll=point.poll)


def _statistics(run: ServingRun, times: Times) -> dict[str, float]:
    statistic = np.mean if run.statistic == "mean" else np.median
    return {"ttft_ms": float(statistic(times.ttft)) * 1e3, "tpot_ms": float(statistic(times.tpot)) * 1e3}


def _decoding(served: ServedRun, point: ServedPoint) -> dict[str, float]:
    """Return the median gap between tokens of a batch that decodes: most steps carry a prompt, or none does."""
    group = point.load / served.run.data
    step = float(step_time(served.served, group, point.prompt + point.output / 2).total)
    prompts = median_prompts(group / point.output)
    work = prompts * float(prompt_seconds(served.served, point.prompt))
    beside = step if served.served.mixed else float(step_time(served.served, 1.0, 0.0).total)
    carried = min(prompts, 1.0)
    added = max(work, carried * (float(launch_seconds(served.served)) - beside)) / float(
        served.served.deployment.pipeline
    )
    return {"itl_ms": (step + added + carried * beside * (not served.served.mixed)) * 1e3}


def median_prompts(rate: float) -> float:
    """Return the median number of prompts of a step.

    Args:
        rate: mean prompts of a step [1].

    Equation:
        floor(rate + 1/3 - 0.02 / rate), 0 below ln 2

    Source:
        Median of a Poisson variable; Choi, Proc. AMS 121 (1994).
    """
    return float(np.floor(rate + 1 / 3 - 0.02 / rate)) if rate > np.log(2) else 0.0


def modelled(served: ServedRun, point: ServedPoint) -> dict[str, float]:
    """Return the model's values of the measured columns of a point."""
    run = served.run
    if run.load == "static":
        seconds = _static_batch(served.served, served.chunk, point)
        return {"latency_s": seconds, "tokens_s": point.load * point.output / seconds}
    if run.load == "offline":
        steady = closed_loop(served.served, _requests(served, point), point.load, point.load / run.data)
        return {"tokens_s": float(steady.rate) * point.output}
    if "batch" in run.columns:
        return _decoding(served, point)
    if served.pools is not None:
        return _apart(served, point)
    return _closed(served, point)


def with_rates(served: ServedRun, rates: Rates) -> ServedRun:
    """Return a run with other constants of its engine."""
    copy = replace(served.served, rates=rates)
    pools = served.pools
    if pools is not None:
        pools = replace(pools, decode=copy, prefill=replace(pools.prefill, rates=rates))
    return replace(served, served=copy, pools=pools)


def _whole(point: ServedPoint) -> float:
    """Return the measured time of a whole request [s], from its first token and the others."""
    return (point["ttft_ms"] + (point.output - 1) * point["tpot_ms"]) / 1e3


def signed_error(column: str, measured: float, model: float) -> float:
    """Return the error of a modelled value [1], positive if the model is slower than the measurement."""
    return measured / model - 1 if column == "tokens_s" else model / measured - 1


def _gpus(served: ServedRun) -> int:
    decoding = int(served.served.deployment.gpus) * served.run.copies
    pools = served.pools
    return decoding + (0 if pools is None else int(pools.prefill.deployment.gpus) * int(pools.prefills))


def _row(file: ServingFile, served: ServedRun, point: ServedPoint, column: str, model: float) -> AccuracyRow:
    run, measured = served.run, _whole(point) if column == "e2e_s" else point[column]
    error = signed_error(column, measured, model)
    load = f"{point.load:,.0f}" if run.load != "offline" else "all"
    assumed = {"batch", "chunk", "deployment", "lengths", "network", "poll", "prompt", "speculation"} & set(run.open)
    kind = "estimated" if not served.own else "assumed" if assumed else "fitted"
    return AccuracyRow(
        source=file.id,
        case=run.id,
        what=f"{point.prompt:,.0f}/{point.output:,.0f} x {load}, {UNITS[column]}",
        gpus=_gpus(served),
        size_bytes=None,
        unit=UNITS[column],
        measured=measured,
        measured_high=None,
        model=model,
        error=error,
        chosen="",
        status=file.source.status,
        kind=kind,
        scored=run.scored and run.speculation is None,
        note=run.note or (f"open: {', '.join(run.open)}" if run.open else None),
    )


def _replay_serving(file: ServingFile, document: Document, catalog: Catalog) -> list[AccuracyRow]:
    """Return the rows of a file of measured runs."""
    rows = []
    for position, run in enumerate(file.runs):
        if run.speculation is not None:
            continue  # no source gives the acceptance
        path: tuple[Any, ...] = ("runs", position)
        served = _served_run(run, catalog, document, path)
        for point in points_of(served):
            if point.load < 1:
                what = f"`{run.model}` at {run.precision} has no room on its accelerators"
                raise InputError(document.finding("serving-cases", path, what, "correct the deployment"))
            values = modelled(served, point)
            names: list[str] = [name for name in run.columns if name in values]
            if {"ttft_ms", "tpot_ms"} <= set(names):
                values["e2e_s"] = (values["ttft_ms"] + (point.output - 1) * values["tpot_ms"]) / 1e3
                names.append("e2e_s")
            rows += [_row(file, served, point, name, values[name]) for name in names]
    return rows
