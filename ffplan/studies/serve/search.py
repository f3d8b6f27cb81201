"""Plans and loads searched as one array: most tokens a second of all copies for every speed to a user."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.results.serving import ServeChoice, ServePlan
from ffplan.serving.hardware import cache_precision, compute_precision, deployment_of, engine_speed, machine_of
from ffplan.serving.load import closed_loop
from ffplan.serving.memory import model_weights, splits_heads
from ffplan.serving.placement import copies_that_fit
from ffplan.serving.plan import on_network
from ffplan.serving.room import memory_use, requests_with_room
from ffplan.serving.step import Served
from ffplan.studies.serve.links import ServeError, _link_of
from ffplan.studies.serve.setup import WIDEST, _refuse_features, _with_tensor

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Floats
    from ffplan.catalog.engines import Engine
    from ffplan.catalog.models import Model, Transformer
    from ffplan.catalog.store import Catalog
    from ffplan.results.serving import ServeTargets
    from ffplan.serving.requests import Requests
    from ffplan.studies.serve.links import Fleet
    from ffplan.studies.serve.setup import PlanRequest

_PRECISIONS = ("bf16", "fp8", "fp4")
"""Precisions that are tried beside a model's published one."""
CHUNKS = (2048, 4096, 8192, 16384)
"""Most tokens of a step that are tried [1]."""
_GAIN = 1.002
"""Least ratio of tokens a second between neighbouring points of the frontier [1]."""
_LOADS = 64
"""Concurrencies of every plan [1]."""


@record
class _Space:
    """The plans of a search that no other beats."""

    choices: tuple[ServeChoice, ...]
    bests: tuple[ServeChoice, ...]
    """Every plan at its most tokens a second of all copies, the best first."""
    points: int
    """Points that were timed [1]."""


def _powers(most: int) -> list[int]:
    return [2**power for power in range(max(most, 1).bit_length()) if 2**power <= most]


def _plans_of(shape: Transformer, engine: Engine, fleet: Fleet, request: PlanRequest) -> list[ServePlan]:
    """Return the plans to try: all that a request leaves open."""
    widest = min(fleet.gpus, WIDEST)
    tensors = [request.tensor] if request.tensor else _powers(widest)
    open_stages = _powers(8) if "pipeline" in engine.features else [1]
    pipelines = [request.pipeline] if request.pipeline else open_stages
    chunks = [request.chunk] if request.chunk else list(CHUNKS)
    precisions = _precisions(shape, fleet, request)
    plans = []
    for tensor, pipeline in product(tensors, pipelines):
        if not splits_heads(shape, tensor) or pipeline > shape.layers:
            continue
        for data, expert in _spreads(shape, engine, request, tensor, widest):
            gpus = tensor * pipeline * data
            if gpus > fleet.gpus:
                continue
            plans += [
                ServePlan(
                    tensor=tensor,
                    pipeline=pipeline,
                    expert=expert,
                    data=data,
                    gpus=gpus,
                    precision=precision,
                    kv=cache_precision(engine, precision, request.kv),
                    chunk=chunk,
                )
                for precision, chunk in product(precisions, chunks)
            ]
    return plans


def _precisions(shape: Transformer, fleet: Fleet, request: PlanRequest) -> list[str]:
    """Return the precisions to try: those that the accelerator computes in, and the published one."""
    if request.precision:
        return [request.precision]
    known = [p for p in _PRECISIONS if p == "bf16" or "fp8" in fleet.accelerator.peak]
    native = [p for p in known if p in fleet.accelerator.peak]
    return list(dict.fromkeys((*(native or known), shape.checkpoint)))


def _spreads(
    shape: Transformer, engine: Engine, request: PlanRequest, tensor: int, widest: int
) -> list[tuple[int, int]]:
    """Return attention groups and expert parallelism to try: all that `serve` takes if a request gives both.

    Groups that share no experts are copies under one router: they are tried only where they are asked for.
    """
    shared = shape.experts is not None and "data-attention" in engine.features
    counts = [request.data] if request.data else _powers(widest // tensor) if shared else [1]
    if not request.data and shared and request.expert and request.expert % tensor == 0:
        counts = [1, request.expert // tensor]
    found = dict[tuple[int, int], None]()
    for data in counts:
        ways = {1} if data == 1 or request.data else set[int]()
        if shape.experts is not None:
            ways |= {tensor * data} | ({tensor} & {request.expert or 0} if request.data else set[int]())
        for expert in sorted(ways):
            routed = shape.experts.routed if shape.experts is not None else 1
            known = data == 1 or expert <= 1 or "data-attention" in engine.features
            if known and routed % expert == 0 and (request.expert or expert) == expert:
                found[data, expert] = None
    return list(found)


def _refusal(catalog: Catalog, model: Model, engine: Engine, fleet: Fleet, request: PlanRequest) -> ServeError:
    """Return why no plan is as a request says: what `serve` says of the narrowest."""
    tensors = [request.tensor] if request.tensor else _powers(min(fleet.gpus, WIDEST))
    reasons = []
    for tensor in tensors:
        try:
            _with_tensor(catalog, model, engine, fleet, request, tensor)
        except ServeError as error:
            reasons.append(error)
    if reasons:
        return reasons[0]
    return ServeError(f"no plan of {model.id} splits over {fleet.gpus:,} accelerators", infeasible=True)


def search(
    catalog: Catalog,
    model: Model,
    engine: Engine,
    fleet: Fleet,
    request: PlanRequest,
    *,
    requests: Requests,
    targets: ServeTargets | None,
) -> _Space:
    """Return the plans that no other beats in tokens a second of all copies and of a user.

    Accelerators that no copy of a plan uses count against it.

    Args:
        catalog: where libraries are.
        model: the model.
        engine: the engine.
        fleet: the accelerators.
        request: what is fixed.
        requests: lengths, speculation and prefix cache.
        targets: limits on mean latencies; points beyond are left out.

    Raises:
        ServeError: if no plan has room, or none meets the targets.
    """
    shape = model.transformer
    if shape is None:
        raise ServeError(f"--model: {model.id} is no transformer")
    _refuse_features(engine, request)
    plans = _plans_of(shape, engine, fleet, request)
    if not plans:
        raise _refusal(catalog, model, engine, fleet, request)
    served, chunk = _served_plans(catalog, model, engine, fleet, plans)
    use = memory_use(served, engine)
    room = requests_with_room(use, shape, requests)
    top = np.asarray(room) * served.deployment.data
    share = np.geomspace(0.01, 1, _LOADS)[:, None]
    load = np.maximum(np.round(share * top), 1.0)
    steady = closed_loop(served, replace(requests, chunk=chunk), load, room)
    copies = np.array([copies_that_fit(((plan.gpus, 1),), fleet.ground) for plan in plans], dtype=float)
    columns = {
        "load": load,
        "gpu": np.asarray(steady.rate) * float(requests.output) * copies / fleet.gpus,
        "user": 1 / np.asarray(steady.tpot),
        "ttft": np.asarray(steady.ttft),
        "tpot": np.asarray(steady.tpot),
    }
    possible = np.broadcast_to(top >= 1, load.shape)
    if not possible.any():
        raise ServeError(f"{model.id} has no room in any plan on {fleet.gpus:,} accelerators", infeasible=True)
    allowed = possible & mean_within(targets, columns["ttft"], columns["tpot"])
    if not allowed.any():
        raise ServeError(_nearest(columns, possible, targets), infeasible=True)
    kept = _frontier(columns["gpu"], columns["user"], allowed)
    choices = tuple(_choice(plans[column], columns, (row, column)) for row, column in kept)
    most = np.where(allowed, columns["gpu"], -np.inf)
    rows, order = most.argmax(axis=0), np.argsort(-most.max(axis=0), kind="stable")
    reached = [int(column) for column in order if allowed[rows[column], column]]
    bests = tuple(_choice(plans[column], columns, (int(rows[column]), column)) for column in reached)
    return _Space(choices, bests, int(possible.sum()))


def mean_within(targets: ServeTargets | None, ttft: Floats, tpot: Floats) -> Bools:
    """Return which mean latencies meet targets; all without any.

    Args:
        targets: the targets.
        ttft: times to the first token [s].
        tpot: times of a further one [s].
    """
    most_first = targets.ttft_s if targets and targets.ttft_s is not None else np.inf
    most_each = targets.tpot_s if targets and targets.tpot_s is not None else np.inf
    return np.asarray((ttft <= most_first) & (tpot <= most_each))


def _nearest(columns: dict[str, Floats], possible: Bools, targets: ServeTargets | None) -> str:
    """Return the message for targets that nothing meets: the nearest miss."""
    assert targets is not None
    over = np.ones_like(columns["ttft"])
    for name, limit in (("ttft", targets.ttft_s), ("tpot", targets.tpot_s)):
        if limit is not None:
            over = np.maximum(over, columns[name] / limit)
    place = np.unravel_index(np.argmin(np.where(possible, over, np.inf)), over.shape)
    ttft, tpot = columns["ttft"][place], columns["tpot"][place]
    return f"no plan meets the targets; the nearest has a TTFT of {ttft:.3g} s and a TPOT of {1e3 * tpot:.3g} ms"


def _served_plans(
    catalog: Catalog, model: Model, engine: Engine, fleet: Fleet, plans: list[ServePlan]
) -> tuple[Served, Floats]:
    """Return all plans as one array, and their chunks."""
    shape, accelerator = model.transformer, fleet.accelerator
    assert shape is not None
    sizes = {
        name: np.array([getattr(plan, name) for plan in plans], dtype=float)
        for name in ("tensor", "pipeline", "data", "expert")
    }
    groups = [[plan.tensor for plan in plans], [max(plan.tensor, plan.expert) for plan in plans]]
    links = {ranks: _link_of(fleet, catalog, ranks) for ranks in {*groups[0], *groups[1]}}
    caches = {plan.precision: plan.kv for plan in plans}
    kinds = sorted(caches)
    kind = np.array([kinds.index(plan.precision) for plan in plans])
    speeds = [engine_speed(engine, accelerator, precision).rates for precision in kinds]
    rates = [np.array([links[size].rate for size in ranks]) for ranks in groups]
    machines = [machine_of(accelerator, precision, *rates) for precision in kinds]
    computed = [compute_precision(accelerator, precision) for precision in kinds]
    widths = [deployment_of(shape, name, caches[name], other) for name, other in zip(kinds, computed, strict=True)]
    fields = ("width", "attention_width", "cache_width", "quantised")
    by_kind = {name: np.array([getattr(width, name) for width in widths], dtype=float)[kind] for name in fields}
    latencies = [np.array([links[size].latency for size in ranks]) for ranks in groups]
    served = Served(
        shape=shape,
        weights=model_weights(shape),
        deployment=replace(widths[0], **sizes, **by_kind),
        machine=replace(
            machines[0],
            peak=np.array([machine.peak for machine in machines])[kind],
        ),
        rates=on_network(replace(speeds[0], matrix=np.array([speed.matrix for speed in speeds])[kind]), *latencies),
        mixed=engine.mixed,
    )
    return served, np.array([plan.chunk for plan in plans], dtype=float)


def _frontier(gpu: Floats, user: Floats, allowed: Bools) -> list[tuple[int, int]]:
    """Return the points that no other beats in both, the fastest for a user first."""
    rows, places = np.nonzero(allowed)
    order = np.lexsort((-gpu[rows, places], -user[rows, places]))
    rates = gpu[rows, places][order]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(rates)[:-1]])
    kept = order[rates > _GAIN * before]
    return [(int(rows[place]), int(places[place])) for place in kept]


def _choice(plan: ServePlan, columns: dict[str, Floats], place: tuple[int, int]) -> ServeChoice:
    return ServeChoice(
        plan=plan,
        concurrency=float(columns["load"][place]),
        output_tokens_s_gpu=float(columns["gpu"][place]),
        output_tokens_s_user=float(columns["user"][place]),
        ttft_s=float(columns["ttft"][place]),
        tpot_s=float(columns["tpot"][place]),
    )
