"""Ways to spread a copy of a model over accelerators: one plan, or a unit of pools for prompts and for decoding."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.results.serving import ServePlan
from ffplan.serving.hardware import engine_speed
from ffplan.studies.fleet.capacity import Copy, _stretch_of
from ffplan.studies.serve.apart import _apart_setup, _best_pools, _FoundPools
from ffplan.studies.serve.links import ServeError, fleet_of
from ffplan.studies.serve.search import search
from ffplan.studies.serve.serve import scaled
from ffplan.studies.serve.setup import default_precision, serve_setup

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.serving import ServeTargets
    from ffplan.studies.fleet.capacity import _ServedTarget
    from ffplan.studies.serve.links import Fleet
    from ffplan.studies.serve.setup import PlanRequest, ServeSetup

_TIGHTER = (1.0, 0.6)
"""Mean latencies over the targets for which ways are sought: percentiles lie above means [1]."""


@record
class _Way:
    plan: ServePlan | None
    """Plan of a copy; None for pools."""
    pools: _FoundPools | None
    """Plans of both pools; None for one plan."""
    gpus: int
    """Accelerators of a copy or unit [1]."""
    chunk: int
    """Most tokens of a step [1]."""
    tokens_s_gpu: float
    """Output tokens a second of an accelerator, by means [1/s]."""


def _plan_request(target: _ServedTarget) -> PlanRequest:
    precision = target.request.precision or default_precision(target.model)
    return replace(target.request, precision=precision)


def _ways(
    target: _ServedTarget, catalog: Catalog, design: ResolvedDesign, *, wide: bool = True, apart: bool = False
) -> tuple[list[_Way], bool]:
    """Return ways whose means meet the targets with most tokens an accelerator, and whether they are measured."""
    fleet = fleet_of(design)
    fleet = fleet if wide else replace(fleet, gpus=min(fleet.domain, fleet.gpus))
    precision = _plan_request(target).precision
    assert precision is not None
    speed = engine_speed(target.engine, fleet.accelerator, precision)
    slower = _stretch_of(speed.band, target.chance)
    seek = _pools_within if apart else _plan_within
    ways: list[_Way] = []
    for factor in _TIGHTER:
        try:
            ways.append(seek(target, catalog, fleet, scaled(target.targets, factor / slower)))
        except ServeError:
            if not ways:
                raise
    return ways, speed.runs > 0


def _plan_within(target: _ServedTarget, catalog: Catalog, fleet: Fleet, targets: ServeTargets) -> _Way:
    request, requests = _plan_request(target), target.load.requests
    space = search(catalog, target.model, target.engine, fleet, request, requests=requests, targets=targets)
    best = max(space.choices, key=lambda choice: choice.output_tokens_s_gpu)
    plan, tokens_s = best.plan, best.output_tokens_s_gpu
    return _Way(plan=plan, pools=None, gpus=plan.gpus, chunk=plan.chunk, tokens_s_gpu=tokens_s)


def _pools_within(target: _ServedTarget, catalog: Catalog, fleet: Fleet, targets: ServeTargets) -> _Way:
    request, requests = _plan_request(target), target.load.requests
    found = _best_pools(catalog, target.model, target.engine, fleet, request, requests=requests, targets=targets)
    tokens_s = found.rate * float(requests.output) / fleet.gpus
    chunk, gpus = found.request.chunk, found.prefill.gpus + found.decode.gpus
    assert chunk is not None, "a search chooses it"
    return _Way(plan=None, pools=found, gpus=gpus, chunk=chunk, tokens_s_gpu=tokens_s)


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
