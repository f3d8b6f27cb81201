"""Separate pools for prefill and decoding: as requested, or the pair of plans that serves most."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.inputs.part_ids import id_of
from ffplan.inputs.workloads import PoolPlan
from ffplan.results.serving import ServePlan, ServeTransfer
from ffplan.serving.load import middle_step, token_seconds
from ffplan.serving.placement import copies_that_fit
from ffplan.serving.pools import Pools, moved_bytes, prompt_pace, transfer_seconds
from ffplan.serving.room import memory_use, requests_with_room
from ffplan.studies.serve.links import ServeError, _move_link, _units_of, fleet_of
from ffplan.studies.serve.search import _plans_of, _served_plans
from ffplan.studies.serve.setup import PlanRequest, _Apart, serve_setup

if TYPE_CHECKING:
    from ffplan.catalog.engines import Engine
    from ffplan.catalog.models import Model
    from ffplan.catalog.store import Catalog
    from ffplan.results.serving import ServeTargets
    from ffplan.serving.requests import Requests
    from ffplan.serving.room import MemoryUse
    from ffplan.serving.step import Served
    from ffplan.studies.serve.links import Fleet
    from ffplan.studies.serve.setup import ServeSetup

_BUSY = np.linspace(0.3, 0.95, 27)
"""Candidate shares of time spent on prompts; the largest within the target is taken [1]."""
_SEQUENCES = 64
"""Numbers of sequences that decode of every plan [1]."""
_BEST = 8
"""Plans of each pool that are paired [1]."""
_MOST_COPIES = 48
"""Most copies of a pool in a unit that is sought [1]."""
_NEAR = 0.99
"""Part of the best pair's rate for which a smaller unit is taken [1]."""


def _request(request: PlanRequest, plan: PoolPlan) -> PlanRequest:
    return replace(
        request, tensor=plan.tensor, pipeline=plan.pipeline, expert=plan.expert, data=plan.data, chunk=request.chunk
    )


def _fleet_of_pool(fleet: Fleet, option: str, plan: PoolPlan) -> Fleet:
    """Return the accelerators of a pool: those of the fleet, or the design's others that it names."""
    if not plan.accelerator or id_of(plan.accelerator, [fleet.accelerator.id]) == fleet.accelerator.id:
        return fleet
    if fleet.design is None:
        raise ServeError(f"{option} {plan}: unlike accelerators are joined by a fabric; name a design with both")
    try:
        return fleet_of(fleet.design, accelerator=plan.accelerator)
    except ServeError as error:
        raise ServeError(f"{option} {plan}{str(error).removeprefix('--accelerator')}") from None


def _apart_setup(
    catalog: Catalog,
    model: Model,
    engine: Engine,
    fleet: Fleet,
    request: PlanRequest,
    *,
    requests: Requests,
    pools: tuple[PoolPlan, PoolPlan],
) -> ServeSetup:
    """Return units of a pool that computes prompts and a pool that decodes.

    Args:
        catalog: where libraries are.
        model: the model.
        engine: the engine.
        fleet: the accelerators of pools that name none.
        request: precisions and chunk of both.
        requests: the requests.
        pools: copies and plans of both pools.

    Raises:
        ServeError: if a plan is impossible, or a unit takes more accelerators than there are.
    """
    parts = tuple((pool.gpus // pool.copies, pool.copies) for pool in pools)
    fleets = (_fleet_of_pool(fleet, "--prefill", pools[0]), _fleet_of_pool(fleet, "--decode", pools[1]))
    if not _units_of(fleets, parts):
        size = plural(pools[0].gpus + pools[1].gpus, "accelerator")
        what = f"--prefill {pools[0]} and --decode {pools[1]} take {size}"
        there = dict.fromkeys(f"{each.gpus:,} {each.accelerator.id}" for each in fleets)
        straddle = pools[0].gpus + pools[1].gpus <= fleet.gpus and fleets[0] == fleets[1]
        why = f" in domains of {fleet.domain}, where no copy lies in two that one holds" if straddle else ""
        raise ServeError(f"{what}, and there are {' and '.join(there)}{why}", infeasible=True)

    def copy(option: str, on: Fleet, plan: PoolPlan, held: Requests) -> ServeSetup:
        try:
            return serve_setup(catalog, model, engine, on, request=_request(request, plan), requests=held)
        except ServeError as error:
            raise ServeError(f"{option} {plan}: {error}", infeasible=error.infeasible) from None

    prefill = copy("--prefill", fleets[0], pools[0], requests.prompts_alone())
    decode = copy("--decode", fleets[1], pools[1], requests)
    link = _move_link(fleets, catalog, parts)
    unit = Pools(
        prefill=prefill.served,
        decode=decode.served,
        prefills=pools[0].copies,
        decodes=pools[1].copies,
        rate=link.rate,
    )
    _, received = moved_bytes(unit, requests.computed)
    transfer = ServeTransfer(
        bytes=float(received) * float(decode.served.deployment.tensor * decode.served.deployment.pipeline),
        seconds=float(transfer_seconds(unit, requests)),
        gbyte_s=link.rate / 1e9,
        fabric_share=link.share,
        link=link.link,
    )
    return replace(decode, apart=_Apart(prefill=prefill, pools=unit, transfer=transfer))


@record
class _PoolSide:
    """Plans of a pool with the requests a second that a copy takes."""

    plans: list[ServePlan]
    rates: Floats

    def best(self, precision: str, chunk: int) -> list[tuple[ServePlan, float]]:
        """Return the plans of a precision and a chunk with most requests a second of an accelerator."""
        rows = [
            (plan, float(rate))
            for plan, rate in zip(self.plans, self.rates, strict=True)
            if rate > 0 and (plan.precision, plan.chunk) == (precision, chunk)
        ]
        return sorted(rows, key=lambda row: -row[1] / row[0].gpus)[:_BEST]


@record
class _FoundPools:
    """Pools that serve most."""

    prefill: PoolPlan
    decode: PoolPlan
    request: PlanRequest
    """Precision and chunk of both."""
    rate: float
    """Requests a second of all units [1/s]."""
    units: int
    """Units on the accelerators [1]."""
    plans: int
    """Plans that were tried [1]."""


def _best_pools(
    catalog: Catalog,
    model: Model,
    engine: Engine,
    fleet: Fleet,
    request: PlanRequest,
    *,
    requests: Requests,
    targets: ServeTargets | None,
) -> _FoundPools:
    """Return the pools that serve most requests a second within mean latencies.

    Args:
        catalog: where libraries are.
        model: the model.
        engine: the engine.
        fleet: the accelerators.
        request: precisions and chunk of both.
        requests: the requests.
        targets: limits on mean latencies.

    Raises:
        ServeError: if no pair of plans has room, or meets the targets.

    Equation:
        the pair of plans and copies n_p, n_d with the largest min(n_p X_p, n_d X_d) x units, where X_p and X_d are
        requests a second of a copy within the targets

    Source:
        Zhong et al., DistServe, arXiv 2401.09670, algorithm 1: each pool is planned alone, and its copies balanced.
    """
    shape = model.transformer
    if shape is None:
        raise ServeError(f"--model: {model.id} is no transformer")
    plans = [plan for plan in _plans_of(shape, engine, fleet, request) if plan.gpus < fleet.gpus]
    if not plans:
        raise ServeError(f"no two plans of {model.id} split over {fleet.gpus:,} accelerators", infeasible=True)
    served, chunk = _served_plans(catalog, model, engine, fleet, plans)
    load = replace(requests, chunk=chunk)
    use = memory_use(served, engine)
    prefill = _PoolSide(plans, _prompts_within(served, use, load, targets))
    decode = _PoolSide(plans, _answers_within(served, use, load, targets))
    candidates = []
    for precision, tokens in dict.fromkeys((plan.precision, plan.chunk) for plan in plans):
        pair = _balanced(prefill.best(precision, tokens), decode.best(precision, tokens), fleet)
        if pair is not None:
            variant = replace(request, precision=precision, chunk=tokens)
            candidates.append(
                _FoundPools(
                    prefill=pair.prefill,
                    decode=pair.decode,
                    request=variant,
                    rate=pair.rate,
                    units=pair.units,
                    plans=2 * len(plans),
                )
            )
    if not candidates:
        raise ServeError(
            f"no pools of {model.id} on {fleet.gpus:,} accelerators meet the targets, or have room", infeasible=True
        )
    return max(candidates, key=lambda pools: pools.rate)


def _prompts_within(served: Served, use: MemoryUse, load: Requests, targets: ServeTargets | None) -> Floats:
    """Return the prompts that a copy of each plan computes within the target [1/s]; 0 if none."""
    limit = targets.ttft_s if targets and targets.ttft_s is not None else np.inf
    most, seconds = prompt_pace(served, load, _BUSY[:, None])
    room = np.asarray(requests_with_room(use, served.shape, load.prompts_alone()))
    busy = np.where((np.asarray(seconds) <= limit) & (room >= 1), _BUSY[:, None], 0.0).max(axis=0)
    return np.asarray(busy * most * served.deployment.data)


def _answers_within(served: Served, use: MemoryUse, load: Requests, targets: ServeTargets | None) -> Floats:
    """Return the requests a second that a copy of each plan decodes within the target [1/s]; 0 if none."""
    limit = targets.tpot_s if targets and targets.tpot_s is not None else np.inf
    room = np.asarray(requests_with_room(use, served.shape, load))
    sequences = np.maximum(np.geomspace(0.01, 1, _SEQUENCES)[:, None] * room, 1.0)
    token = np.asarray(token_seconds(middle_step(served, load, sequences), load))
    rates = sequences * served.deployment.data / (np.maximum(float(load.output) - 1, 1e-6) * token)
    return np.asarray(np.where((token <= limit) & (room >= 1), rates, 0.0).max(axis=0))


@record
class _Pair:
    """Copies of two plans that make a unit."""

    prefill: PoolPlan
    decode: PoolPlan
    units: int
    """Units on the accelerators [1]."""
    rate: float
    """Requests a second of all of them [1/s]."""

    @property
    def size(self) -> int:
        return self.prefill.gpus + self.decode.gpus


def _balanced(
    prefills: list[tuple[ServePlan, float]], decodes: list[tuple[ServePlan, float]], fleet: Fleet
) -> _Pair | None:
    """Return the smallest unit of pools that serves most on some accelerators; None if none fits."""
    rows = [pair for one, other in product(prefills, decodes) if (pair := _copies_of(one, other, fleet)) is not None]
    if not rows:
        return None
    top = max(pair.rate for pair in rows)
    return max((pair for pair in rows if pair.rate >= _NEAR * top), key=lambda pair: (-pair.size, pair.rate))


def _copies_of(prefill: tuple[ServePlan, float], decode: tuple[ServePlan, float], fleet: Fleet) -> _Pair | None:
    """Return the smallest unit of two plans that serves most; None if none fits.

    Accelerators bound the units of every pair of counts; those in reach of the best are placed.
    """
    (one, pace), (other, tokens) = prefill, decode
    counts, ground = np.arange(1, _MOST_COPIES + 1), fleet.ground
    sizes = counts[:, None] * one.gpus + counts[None, :] * other.gpus
    most = np.minimum(
        copies_that_fit(((one.gpus, 1),), ground) // counts[:, None],
        copies_that_fit(((other.gpus, 1),), ground) // counts[None, :],
    )
    each = np.minimum(counts[:, None] * pace, counts[None, :] * tokens)
    bound = each * np.minimum(most, fleet.gpus // sizes)
    placed = dict[int, _Pair]()

    def pair_at(place: int) -> _Pair:
        if place not in placed:
            row, column = divmod(place, len(counts))
            pools = PoolPlan.of(one, int(counts[row])), PoolPlan.of(other, int(counts[column]))
            units = copies_that_fit(tuple((pool.gpus // pool.copies, pool.copies) for pool in pools), ground)
            placed[place] = _Pair(*pools, units, float(each[row, column]) * units)
        return placed[place]

    best = 0.0
    for place in np.argsort(-bound, axis=None, kind="stable"):
        if bound.flat[place] <= best:
            break
        best = max(best, pair_at(int(place)).rate)
    if best <= 0:
        return None
    near = np.flatnonzero(bound >= _NEAR * best)
    ordered = near[np.argsort(sizes.ravel()[near], kind="stable")]
    return next(pair for place in ordered if (pair := pair_at(int(place))).rate >= _NEAR * best)
