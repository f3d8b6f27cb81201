"""Training a model on a design: one plan over several numbers of accelerators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.design.training import LEAST_ZERO
from ffplan.results.training import Skipped, TrainReport
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.train.assumptions import _conv_assumptions
from ffplan.studies.train.diagnosis import (
    Job,
    _batch_for,
    _batch_words,
    _batched,
    _diagnose,
    _Diagnosis,
    _fixed_extras,
    _near_batch,
    _relaxations,
    _remedies,
    _remedy_words,
    _with_fields,
)
from ffplan.studies.train.plan_search import _evaluated
from ffplan.studies.train.rows import _conv_rows, _train_rows
from ffplan.studies.train.setup import (
    TrainRequest,
    TrainSetup,
    _cluster_for,
    _memory_for,
    _setup_assumptions,
    _software_for,
    _train_report,
    check_available,
    host_room,
    settled,
    train_setup,
)
from ffplan.studies.train.software import _stacks_of
from ffplan.training.axes import AXES, RECOMPUTE, ParallelPlans
from ffplan.training.constraints import CANNOT, FIELDS, ROOM, RefusedError
from ffplan.training.conv_layers import gradient_bytes
from ffplan.training.conv_step import ConvRun, check_memory, conv_plan, without_host
from ffplan.training.model_flops import parameters
from ffplan.training.parallel_plan import parallel_plans
from ffplan.training.search_space import evaluate_space, nearest, search_space, single

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ffplan.catalog.models import Transformer
    from ffplan.catalog.parts import Accelerator
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import PlanFields


def _conv_run(design: ResolvedDesign, catalog: Catalog, request: TrainRequest) -> tuple[Accelerator, ConvRun, float]:
    """Return accelerator, network on its machine, and the device memory that a rank may fill [byte]."""
    plan = request.plan
    part, system = _cluster_for(design, catalog, request)
    software = _software_for(design, catalog, part, plan)
    limit, margins = _memory_for(request, part, software)
    if plan.precision == "fp8":
        raise RefusedError(
            "fp8: convolutions at this precision are not modelled; take bf16",
            infeasible=False,
            fields=("precision",),
        )
    run = ConvRun(
        layers=request.model.convolutions,
        plans=parallel_plans(plan, 1.0),
        speeds=without_host(software.rates(part, plan)),
        system=system,
        gradient=float(plan.reduced_bytes),
        bucket=plan.bucket_mib * 2.0**20,
        kept=float(plan.kept_bytes),
        margins=replace(margins, temporary=0.0),  # Adam's, and SGD updates in place
    )
    return part, run, limit


def _images(design: ResolvedDesign, catalog: Catalog, request: TrainRequest) -> TrainReport:
    part, run, limit = _conv_run(design, catalog, request)

    def plan(count: int) -> ParallelPlans:
        check_available(design, count)
        parallel = parallel_plans(conv_plan(request.model, request.plan, count), float(count))
        check_memory(replace(run, plans=parallel), limit)
        return parallel

    plans, skipped = _tried(request.gpus, plan)
    rows = _conv_rows(run, list(plans.values()), limit)
    assumptions = _conv_assumptions(run, request.plan, given=request.memory is not None)
    size = gradient_bytes(run.layers, 1.0)
    return _train_report(design, catalog, request, part, size=size, rows=rows, assumptions=assumptions, skipped=skipped)


def train(design: ResolvedDesign, catalog: Catalog, request: TrainRequest, *, gains: bool = True) -> TrainReport:
    """Return one plan on several numbers of accelerators.

    Args:
        gains: find what limits the plan of a transformer.

    Raises:
        RefusedError: if it cannot run on one of them; says why and what would.
        UncalibratedError: if the accelerators have no training constants.
    """
    request, transformer = settled(design, catalog, request), request.model.transformer
    if transformer is None:
        return _images(design, catalog, request)
    if request.plan.batch is None:
        raise RefusedError(_no_batch(design, catalog, request, transformer), infeasible=False)
    setup = train_setup(design, catalog, request, transformer)

    def plan(count: int) -> ParallelPlans:
        check_available(design, count)
        parallel = parallel_plans(request.plan, float(count))
        here = replace(setup, host_limit=host_room(design, request.plan, count))
        wrong = fault_of(here, parallel)
        if wrong is not None:
            where = f" on {plural(count, 'accelerator')}" if len(request.gpus) > 1 else ""
            ways = (*_published(catalog, request, wrong), *_ways_out(design, here, request, parallel, wrong))
            words = "; ".join(text for text in (wrong.message, *ways) if text)
            raise RefusedError(
                words,
                infeasible=wrong.reason in ROOM,
                lead=f"{CANNOT}{where}: ",
                fields=FIELDS.get(wrong.reason, ()),
            )
        return parallel

    plans, skipped = _tried(request.gpus, plan)
    rows = _train_rows(setup.run, list(plans.values()), setup.limit, list(plans), compared=False, gains=gains)
    size = float(parameters(setup.shape))
    return _train_report(
        design,
        catalog,
        request,
        setup.part,
        size=size,
        rows=rows,
        assumptions=_setup_assumptions(setup, request),
        skipped=skipped,
    )


def fault_of(setup: TrainSetup, plans: ParallelPlans) -> _Diagnosis | None:
    """Return why a plan, of plain numbers, cannot run, or None."""
    return _diagnose(setup.shape, plans, setup.limit, setup.host_limit, over=setup.run.margins.counted_over)


def _no_batch(design: ResolvedDesign, catalog: Catalog, request: TrainRequest, transformer: Transformer) -> str:
    for count in request.gpus:
        check_available(design, count)
    setup = train_setup(design, catalog, replace(request, plan=_batched(request.plan, 1)), transformer)
    batch, count = _batch_for(setup, request.plan, request.gpus), request.gpus[0]
    text = _batch_words(batch, request.gpus)
    if batch is not None:
        return text
    guess = _near_batch(setup, count)
    plan = _batched(request.plan, guess)
    near = _nearest(_with_fields(setup, batch=float(guess)), plan, parallel_plans(plan, float(count)), count)
    return f"{text}; with --batch {guess}, {near}"


def _published(catalog: Catalog, request: TrainRequest, wrong: _Diagnosis) -> Iterator[str]:
    """Yield the stack whose published runs are counted as far over the memory of their cards as a refused plan."""
    if request.plan.stack is not None or request.memory is not None:
        return
    near = [stack.id for stack in _stacks_of(catalog) if stack.counted_over and stack.counted_over.value >= wrong.over]
    if wrong.reason == "memory" and near:
        yield f"a published run of `{near[0]}`, which did fit, is counted as far over: --stack {near[0]} times the plan"


def _ways_out(
    design: ResolvedDesign, setup: TrainSetup, request: TrainRequest, plans: ParallelPlans, wrong: _Diagnosis
) -> Iterator[str]:
    count = int(plans.gpus)
    job = Job(setup, request.plan, count, most_gpus(design))
    yield wrong.remedy if wrong.reason == "memory" else _remedy_words(_remedies(job, plans, wrong.reason))
    if len(request.gpus) == 1 and _evaluated(setup, request, count).feasible:
        yield "--search finds the fastest"
    yield _nearest(setup, request.plan, plans, count)


def _tried(
    counts: tuple[int, ...], plan: Callable[[int], ParallelPlans]
) -> tuple[dict[int, ParallelPlans], tuple[Skipped, ...]]:
    plans_by_size: dict[int, ParallelPlans] = {}
    refused: list[tuple[int, RefusedError]] = []
    for count in counts:
        try:
            plans_by_size[count] = plan(count)
        except RefusedError as error:
            refused.append((count, error))
    if not plans_by_size:
        raise refused[0][1]
    return plans_by_size, tuple(Skipped(count, error.why) for count, error in refused)


def _nearest(setup: TrainSetup, plan: PlanFields, requested: ParallelPlans, count: int) -> str:
    space = search_space(setup.shape, count, setup.run.system.domain, {})
    for left_out in _relaxations(requested):
        base = replace(requested, **left_out, reduced_bytes=0.0)
        evaluated = evaluate_space(
            replace(setup.run, plans=base), space, count, setup.limit, host_limit=setup.host_limit
        )
        index = nearest(evaluated, base)
        near = None if index is None else single(evaluated.plans, evaluated.code.shape, index)
        if near is None or any(near.zero < LEAST_ZERO[name] for name in _fixed_extras(near)):
            continue
        changes = [*(f"without `{name}`" for name in left_out), *_changed(plan, requested, near)]
        return f"the nearest plan that runs: {' '.join(changes)}"
    return f"no plan of this model, batch and memory runs on {plural(count, 'accelerator')}"


def _changed(plan: PlanFields, requested: ParallelPlans, near: ParallelPlans) -> list[str]:
    changes = [
        f"{axis.option} {int(getattr(near, axis.array))}"
        for axis in AXES
        if axis.values is not None
        and axis.named
        and (getattr(near, axis.array) > 1 or getattr(near, axis.array) != getattr(requested, axis.array))
    ]
    changes.append(f"--zero {int(near.zero)}")
    if near.recompute or requested.recompute:
        changes.append(f"--recompute {RECOMPUTE[int(near.recompute)]}")
    if near.tensor > 1 and not (near.sequence_parallel and plan.sequence_parallel):
        changes.append("--sp" if near.sequence_parallel else "--no-sp")
    if near.expert_tensor != near.tensor or plan.expert_tensor is not None:
        changes.append(f"--etp {int(near.expert_tensor)}")
    if near.gradient_bytes != requested.gradient_bytes:
        changes.append(f"--grad-dtype {'fp32' if near.gradient_bytes > 2 else 'bf16'}")
    if near.gpus != requested.gpus:
        changes.append(f"--gpus {int(near.gpus)}")
    if near.zero == 3 and plan.reduces_whole:
        changes.append("--reducer nccl")
    if plan.data is not None:
        changes.append(f"--dp {int(near.data)}")
    return changes
