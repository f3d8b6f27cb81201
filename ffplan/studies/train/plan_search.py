"""The best plans of a model on a design."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.results.plan import SurePlan
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.train.diagnosis import relaxations
from ffplan.studies.train.remedies import batch_words, batched, near_batch, with_batch
from ffplan.studies.train.rows import EDGE, train_rows
from ffplan.studies.train.setup import (
    TrainRequest,
    TrainSetup,
    check_available,
    setup_assumptions,
    train_report,
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
    best,
    evaluate_space,
    fastest,
    search_space,
)

if TYPE_CHECKING:
    from ffplan.catalog.models import Transformer
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.training import TrainReport, TrainRow


def _refinement(asked: TrainRequest) -> Refinement:
    """Return what the best plans are tried with: what the request leaves open."""
    moments = not asked.fixed & {"main_params", "optimizer_dtype", "preset"}
    return Refinement(
        units="unit_layers" not in asked.fixed,
        reduced=not asked.fixed & GRADIENTS and not asked.plan.reduces_whole,
        moments=moments and asked.plan.optimizer_dtype == "fp32",
    )


def _hiding(asked: TrainRequest) -> TrainRequest:
    """Return the request with everything hidden that can be, unless it says what is."""
    if "overlap" in asked.fixed:
        return asked
    return replace(asked, plan=asked.plan.model_copy(update={"overlap": COLLECTIVES}))


def _fixed(asked: TrainRequest) -> dict[str, Any]:
    """Return the axes that a search keeps at one value."""
    found: dict[str, Any] = {
        axis.array: getattr(asked.plan, axis.field) or 0
        for axis in AXES
        if axis.values is not None and axis.field in asked.fixed
    }
    for name in OPTIONS:
        if name in asked.fixed and name != "gradient_bytes":
            value = getattr(asked.plan, name)
            found[name] = RECOMPUTE.index(value) if name == "recompute" else int(value)
    if asked.fixed & GRADIENTS:
        found["gradient_bytes"] = asked.plan.kept_bytes
    if asked.plan.schedule != "1f1b":
        found["chunks"] = 1
    return found


def evaluated(stand: TrainSetup, asked: TrainRequest, count: int) -> EvaluatedSpace:
    """Return the space of plans on `count` accelerators, evaluated."""
    space = search_space(stand.shape, count, stand.run.system.domain, _fixed(asked))
    plans = stand.run.plans
    if not asked.fixed & GRADIENTS:  # reduced as kept, whatever that is
        plans = replace(plans, reduced_bytes=0.0)
    if _refinement(asked).moments:  # a plan can run if it can with the smallest states
        plans = replace(plans, optimizer_bytes=plans.optimizer_bytes - SMALLER_MOMENTS)
    if asked.plan.reduces_whole:  # ZeRO 3 needs a scatter
        space = space.without("zero", 3)
    return evaluate_space(
        replace(stand.run, plans=plans),
        space,
        count,
        stand.limit,
        asked.plan.data if "data" in asked.fixed else None,
        host_limit=stand.host_limit,
    )


def _without(stand: TrainSetup, fields: dict[str, Any]) -> TrainSetup:
    """Return workload and machine with some fields of the plan replaced."""
    return replace(stand, run=replace(stand.run, plans=replace(stand.run.plans, **fields)))


def _enough(design: ResolvedDesign, stand: TrainSetup, asked: TrainRequest, count: int) -> str:
    """Return from how many accelerators a search finds a plan, trying twice as many again and again."""
    most = most_gpus(design)
    while count < most:
        count = min(2 * count, most)
        if best(evaluated(stand, asked, count).step, 1):
            return f"{plural(count, 'accelerator')} would do"
    return "no number of this design's accelerators would do"


def _hopeless(design: ResolvedDesign, stand: TrainSetup, asked: TrainRequest, found: EvaluatedSpace) -> str:
    """Return the reason why all plans of a space are refused, and the nearest plan that runs."""
    count, (_, *options) = asked.gpus[0], relaxations(stand.run.plans)
    lead = f"none of {found.candidates:,} plans can run"
    for fields in options:
        if best(evaluated(_without(stand, fields), asked, count).step, 1):
            given = " and ".join(f"`{name}: {getattr(asked.plan, name)}`" for name in fields)
            return f"{lead} with {given}; leave {'it' if len(fields) == 1 else 'both'} out"
    free = options[-1] if options else {}
    also = f" without {' and '.join(f'`{name}`' for name in free)}" if free else ""
    most = sorted(found.refused.items(), key=lambda item: -item[1])[:3]
    words = "; ".join(f"{number:,}: {WORDS[name]}" for name, number in most)
    enough = _enough(design, _without(stand, free), asked, count)
    return f"{lead} on {plural(count, 'accelerator')} ({words}); {enough}{also}"


def _no_batch(design: ResolvedDesign, catalog: Catalog, asked: TrainRequest, transformer: Transformer) -> str:
    """Return the message for a search without a batch, with one for which it finds a plan."""
    count = asked.gpus[0]
    stand = train_setup(design, catalog, replace(asked, plan=batched(asked.plan, 1)), transformer)
    for batch in (near_batch(stand, count), count):
        if best(evaluated(with_batch(stand, batch), asked, count).step, 1):
            return batch_words(batch, asked.gpus, search=True)
    return batch_words(None, asked.gpus)


def _as_found(asked: TrainRequest, plan: ParallelPlans) -> TrainRequest:
    """Return the request with the precision of gradients that the best plan has."""
    if asked.fixed & GRADIENTS:
        return asked
    low = bool(plan.wire_bytes < plan.gradient_bytes)
    changes = {"gradient_bytes": int(plan.gradient_bytes), "grad_reduce_dtype": "bf16" if low else None}
    if _refinement(asked).moments and plan.optimizer_bytes < asked.plan.optimizer_bytes:
        changes["optimizer_dtype"] = "bf16"
    return replace(asked, plan=asked.plan.model_copy(update=changes))


_OFFLOADED = "No plan holds the optimizer's states on the accelerators: host memory does; `offload: none` refuses that."
"""What a search that offloads by itself says of it."""


@record
class _Tried:
    """A space of plans that was searched."""

    asked: TrainRequest
    stand: TrainSetup
    found: EvaluatedSpace
    winners: list[ParallelPlans]
    """The best plans of all options and refinements, the fastest first."""


def _refined(
    asked: TrainRequest, stand: TrainSetup, space: EvaluatedSpace, top: int, *, sure: bool = False
) -> list[ParallelPlans]:
    """Return the best plans of a space over all refinements that a request leaves open."""
    refinement = _refinement(asked)
    if stand.run.speeds.sharding_calls:  # tensors are gathered one by one, whatever the unit
        refinement = replace(refinement, units=False)
    return fastest(stand.run, space, stand.limit, refinement, top, stand.host_limit, sure=sure)


def _sure(tried: _Tried, first: TrainRow) -> SurePlan | None:
    """Return the fastest plan that fits beyond doubt, where the first of a search is at the edge of memory."""
    if first.memory_verdict != EDGE:
        return None
    stand = tried.stand
    plans = _refined(tried.asked, stand, tried.found, 1, sure=True)
    if not plans:
        return None
    (row,) = train_rows(stand.run, plans, stand.limit, [first.plan.gpus], compared=False, gains=False)
    return SurePlan(row.plan, row.step_s, row.step_s / first.step_s - 1.0, row.memory_gib)


def _tried(design: ResolvedDesign, catalog: Catalog, asked: TrainRequest, transformer: Transformer, top: int) -> _Tried:
    """Return the best plans of a space; none where none can run."""
    stand = train_setup(design, catalog, asked, transformer)
    found = evaluated(stand, asked, asked.gpus[0])
    return _Tried(asked, stand, found, _refined(asked, stand, found, top))


def _offloaded(design: ResolvedDesign, catalog: Catalog, plain: _Tried, transformer: Transformer, top: int) -> _Tried:
    """Return the best plans with the optimizer's states in host memory, where no plan runs without.

    Raises:
        RefusedError: where the request says what is offloaded, host memory does not hold them, or none runs with them.
    """
    asked, stand = plain.asked, plain.stand

    def refused(more: str) -> RefusedError:
        return RefusedError(_hopeless(design, stand, asked, plain.found) + more, infeasible=True)

    if "offload" in asked.fixed or asked.plan.offload != "none":
        raise refused("")
    each, room = design.compute.accelerators_per_node, stand.host_limit
    held = float(parameters(stand.shape)) * asked.plan.optimizer_bytes
    if held > room * asked.gpus[0]:
        enough = plural(ceil(held / room / each) * each, "accelerator") if room else "no number of accelerators"
        raise refused(f"; it takes {enough} to hold the states of the optimizer in host memory")
    plan = asked.plan.model_copy(update={"offload": "optimizer"})
    wanted = replace(asked, plan=plan, fixed=asked.fixed | {"offload"})
    made = _tried(design, catalog, wanted, transformer, top)
    if not made.winners:
        raise refused(f"; with `offload: optimizer` {_enough(design, made.stand, asked, asked.gpus[0])}")
    return made


def search(
    design: ResolvedDesign, catalog: Catalog, asked: TrainRequest, top: int, *, gains: bool = True, sure: bool = True
) -> TrainReport:
    """Return the best plans on a number of accelerators.

    Args:
        asked: model, fixed fields of the plan, and one number of accelerators.
        top: how many plans.
        gains: find what limits each plan.
        sure: where the first plan is at the edge of memory, find the fastest that fits beyond doubt.

    Raises:
        RefusedError: where none can run; says why most cannot.
        UncalibratedError: where the accelerators have no training constants.
    """
    check_available(design, asked.gpus[0])
    transformer = asked.model.transformer
    if transformer is None:
        raise RefusedError(f"{data_parallel_only(asked.model)}; leave out --search", infeasible=False)
    if asked.plan.batch is None:
        raise RefusedError(_no_batch(design, catalog, asked, transformer), infeasible=False)
    asked = _hiding(asked)
    tried, count = _tried(design, catalog, asked, transformer, top), asked.gpus[0]
    moved: tuple[str, ...] = ()
    if not tried.winners:
        tried, moved = _offloaded(design, catalog, tried, transformer, top), (_OFFLOADED,)
    asked, stand, found, winners = tried.asked, tried.stand, tried.found, tried.winners
    rows = train_rows(stand.run, winners, stand.limit, [count] * len(winners), compared=True, gains=gains)
    feasible = found.candidates - sum(found.refused.values())
    counts = (found.candidates, int(found.step.size), feasible, found.refused)
    size = float(parameters(stand.shape))
    kept = asked.plan.schedule
    known = "1f1b, plain or interleaved" if kept == "1f1b" else kept
    assumptions = (
        *moved,
        *setup_assumptions(stand, _as_found(asked, winners[0])),
        f"The search kept to the schedule {known}; --schedule tries another.",
        *(() if asked.fixed & GRADIENTS else ("It tried gradients of 4 and of 2 bytes; --grad-dtype keeps one.",)),
        *(("It tried moments of 2 bytes; --optimizer-dtype fp32 keeps 4.",) if _refinement(asked).moments else ()),
        *(() if "overlap" in asked.fixed else ("It hides every collective that can be; --overlap names fewer.",)),
    )
    report = train_report(
        design, catalog, asked, stand.part, size=size, rows=rows, assumptions=assumptions, counts=counts
    )
    return replace(report, sure=_sure(tried, rows[0]) if sure else None)
