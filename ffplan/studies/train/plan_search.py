"""The best plans of a model on a design."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.results.run import SurePlan
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.train.diagnosis import _batch_words, _batched, _near_batch, _relaxations, _with_fields
from ffplan.studies.train.rows import EDGE, _train_rows
from ffplan.studies.train.setup import (
    TrainRequest,
    TrainSetup,
    _setup_assumptions,
    _train_report,
    check_available,
    train_setup,
)
from ffplan.studies.train.software import GRADIENTS
from ffplan.training.axes import AXES, COLLECTIVES, OPTIONS, RECOMPUTE, ParallelPlans
from ffplan.training.constraints import WORDS, RefusedError
from ffplan.training.conv_step import data_parallel_only
from ffplan.training.model_flops import parameters
from ffplan.training.search_space import (
    SMALLER_MOMENTS,
    EvaluatedSpace,
    Refinement,
    evaluate_space,
    fastest,
    search_space,
)

if TYPE_CHECKING:
    from ffplan.catalog.models import Transformer
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.training import TrainReport, TrainRow


def _refinement(request: TrainRequest) -> Refinement:
    moments = not request.fixed & {"main_params", "optimizer_dtype", "preset"}
    return Refinement(
        units="unit_layers" not in request.fixed,
        reduced=not request.fixed & GRADIENTS and not request.plan.reduces_whole,
        moments=moments and request.plan.optimizer_dtype == "fp32",
    )


def _fixed(request: TrainRequest) -> dict[str, Any]:
    fields: dict[str, Any] = {
        axis.array: getattr(request.plan, axis.field) or 0
        for axis in AXES
        if axis.values is not None and axis.field in request.fixed
    }
    for name in OPTIONS:
        if name in request.fixed and name != "gradient_bytes":
            value = getattr(request.plan, name)
            fields[name] = RECOMPUTE.index(value) if name == "recompute" else int(value)
    if request.fixed & GRADIENTS:
        fields["gradient_bytes"] = request.plan.kept_bytes
    if request.plan.schedule != "1f1b":
        fields["chunks"] = 1
    return fields


def _evaluated(setup: TrainSetup, request: TrainRequest, count: int) -> EvaluatedSpace:
    space = search_space(setup.shape, count, setup.run.system.domain, _fixed(request))
    plans = setup.run.plans
    if not request.fixed & GRADIENTS:  # reduced as kept, whatever that is
        plans = replace(plans, reduced_bytes=0.0)
    if _refinement(request).moments:  # a plan can run if it can with the smallest states
        plans = replace(plans, optimizer_bytes=plans.optimizer_bytes - SMALLER_MOMENTS)
    if request.plan.reduces_whole:  # ZeRO 3 needs a scatter
        space = space.without("zero", 3)
    return evaluate_space(
        replace(setup.run, plans=plans),
        space,
        count,
        setup.limit,
        request.plan.data if "data" in request.fixed else None,
        host_limit=setup.host_limit,
    )


def _enough(design: ResolvedDesign, setup: TrainSetup, request: TrainRequest, count: int, without: str = "") -> str:
    """Return how many accelerators would do; a search tries plans on fewer than it has too."""
    most = most_gpus(design)
    if count >= most:
        return "this design has no more"
    while count < most:
        count = min(2 * count, most)
        if _evaluated(setup, request, count).feasible:
            return f"{plural(count, 'accelerator')} would do{without}"
    return f"more, up to the {most:,} of this design, do not help{without}"


def _hopeless(design: ResolvedDesign, setup: TrainSetup, request: TrainRequest, evaluated_space: EvaluatedSpace) -> str:
    count, (_, *options) = request.gpus[0], _relaxations(setup.run.plans)
    lead = f"none of {evaluated_space.candidates:,} plans can run"
    for fields in options:
        if _evaluated(_with_fields(setup, **fields), request, count).feasible:
            stated = " and ".join(f"`{name}: {getattr(request.plan, name)}`" for name in fields)
            return f"{lead} with {stated}; leave {'it' if len(fields) == 1 else 'both'} out"
    free = options[-1] if options else {}
    also = f" without {' and '.join(f'`{name}`' for name in free)}" if free else ""
    most = sorted(evaluated_space.refused.items(), key=lambda refusal: -refusal[1])[:3]
    reasons = "; ".join(f"{number:,}: {WORDS[name]}" for name, number in most)
    enough = _enough(design, _with_fields(setup, **free), request, count, also)
    return f"{lead} on {plural(count, 'accelerator')} ({reasons}); {enough}"


def _no_batch(design: ResolvedDesign, catalog: Catalog, request: TrainRequest, transformer: Transformer) -> str:
    count = request.gpus[0]
    setup = train_setup(design, catalog, replace(request, plan=_batched(request.plan, 1)), transformer)
    for batch in (_near_batch(setup, count), count):
        if _evaluated(_with_fields(setup, batch=float(batch)), request, count).feasible:
            return _batch_words(batch, request.gpus, search=True)
    return _batch_words(None, request.gpus)


def _as_found(request: TrainRequest, plan: ParallelPlans) -> TrainRequest:
    if request.fixed & GRADIENTS:
        return request
    low = bool(plan.wire_bytes < plan.gradient_bytes)
    changes = {"gradient_bytes": int(plan.gradient_bytes), "grad_reduce_dtype": "bf16" if low else None}
    if _refinement(request).moments and plan.optimizer_bytes < request.plan.optimizer_bytes:
        changes["optimizer_dtype"] = "bf16"
    return replace(request, plan=request.plan.model_copy(update=changes))


_OFFLOADED = "No plan holds the optimizer's states on the accelerators: host memory does; `offload: none` refuses that."


@record
class _Tried:
    request: TrainRequest
    setup: TrainSetup
    space: EvaluatedSpace
    winners: list[ParallelPlans]
    """The best plans of all options and refinements, the fastest first."""


def _refined(
    request: TrainRequest, setup: TrainSetup, space: EvaluatedSpace, top: int, *, sure: bool = False
) -> list[ParallelPlans]:
    refinement = _refinement(request)
    if setup.run.speeds.sharding_calls:  # tensors are gathered one by one, whatever the unit
        refinement = replace(refinement, units=False)
    return fastest(setup.run, space, setup.limit, refinement, top, setup.host_limit, sure=sure)


def _sure(tried: _Tried, first: TrainRow) -> SurePlan | None:
    if first.memory_verdict != EDGE:
        return None
    setup = tried.setup
    plans = _refined(tried.request, setup, tried.space, 1, sure=True)
    if not plans:
        return None
    (row,) = _train_rows(setup.run, plans, setup.limit, [first.plan.gpus], compared=False, gains=False)
    return SurePlan(row.plan, row.step_s, row.step_s / first.step_s - 1.0, row.memory_gib)


def _tried(
    design: ResolvedDesign, catalog: Catalog, request: TrainRequest, transformer: Transformer, top: int
) -> _Tried:
    setup = train_setup(design, catalog, request, transformer)
    space = _evaluated(setup, request, request.gpus[0])
    return _Tried(request, setup, space, _refined(request, setup, space, top))


def _offloaded(design: ResolvedDesign, catalog: Catalog, plain: _Tried, transformer: Transformer, top: int) -> _Tried:
    request, setup = plain.request, plain.setup

    def refused(more: str) -> RefusedError:
        return RefusedError(_hopeless(design, setup, request, plain.space) + more, infeasible=True)

    if "offload" in request.fixed or request.plan.offload != "none":
        raise refused("")
    per_node, room = design.compute.accelerators_per_node, setup.host_limit
    held = float(parameters(setup.shape)) * request.plan.optimizer_bytes
    if held > room * request.gpus[0]:
        enough = plural(ceil(held / room / per_node) * per_node, "accelerator") if room else "no number of accelerators"
        raise refused(f"; it takes {enough} to hold the states of the optimizer in host memory")
    plan = request.plan.model_copy(update={"offload": "optimizer"})
    offloaded = replace(request, plan=plan, fixed=request.fixed | {"offload"})
    tried = _tried(design, catalog, offloaded, transformer, top)
    if not tried.winners:
        raise refused(f"; with `offload: optimizer` {_enough(design, tried.setup, request, request.gpus[0])}")
    return tried


def search(
    design: ResolvedDesign, catalog: Catalog, request: TrainRequest, top: int, *, gains: bool = True, sure: bool = True
) -> TrainReport:
    """Return the best plans on a number of accelerators.

    Args:
        request: model, fixed fields of the plan, and one number of accelerators.
        sure: where the first plan is at the edge of memory, find the fastest that fits beyond doubt.

    Raises:
        RefusedError: if no plan can run; says why most cannot.
        UncalibratedError: if the accelerators have no training constants.
    """
    check_available(design, request.gpus[0])
    transformer = request.model.transformer
    if transformer is None:
        raise RefusedError(f"{data_parallel_only(request.model)}; leave out --search", infeasible=False)
    if request.plan.batch is None:
        raise RefusedError(_no_batch(design, catalog, request, transformer), infeasible=False)
    if "overlap" not in request.fixed:  # hide everything that can be
        request = replace(request, plan=request.plan.model_copy(update={"overlap": COLLECTIVES}))
    tried, count = _tried(design, catalog, request, transformer, top), request.gpus[0]
    moved: tuple[str, ...] = ()
    if not tried.winners:
        tried, moved = _offloaded(design, catalog, tried, transformer, top), (_OFFLOADED,)
    request, setup, space, winners = tried.request, tried.setup, tried.space, tried.winners
    rows = _train_rows(setup.run, winners, setup.limit, [count] * len(winners), compared=True, gains=gains)
    feasible = space.candidates - sum(space.refused.values())
    counts = (space.candidates, int(space.code.size), feasible, space.refused)
    size = float(parameters(setup.shape))
    kept = request.plan.schedule
    known = "1f1b, plain or interleaved" if kept == "1f1b" else kept
    assumptions = (
        *moved,
        *_setup_assumptions(setup, _as_found(request, winners[0])),
        f"The search kept to the schedule {known}; --schedule tries another.",
        *(() if request.fixed & GRADIENTS else ("It tried gradients of 4 and of 2 bytes; --grad-dtype keeps one.",)),
        *(("It tried moments of 2 bytes; --optimizer-dtype fp32 keeps 4.",) if _refinement(request).moments else ()),
        *(() if "overlap" in request.fixed else ("It hides every collective that can be; --overlap names fewer.",)),
    )
    report = _train_report(
        design, catalog, request, setup.part, size=size, rows=rows, assumptions=assumptions, counts=counts
    )
    return replace(report, sure=_sure(tried, rows[0]) if sure else None)
