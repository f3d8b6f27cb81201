"""The same training job on several designs: speed, MFU, and what a token a second costs to buy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.results.comparison import JobSide, JobSize, TrainingComparison
from ffplan.studies.plan_search import search
from ffplan.studies.train import train
from ffplan.studies.train_setup import TrainRequest
from ffplan.training.accelerator_rates import UncalibratedError
from ffplan.training.constraints import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.models import Model
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import PlanFields
    from ffplan.results.design import Assessment

STEPS = (0.25, 1.0, 4.0)
"""Batches that are compared, as multiples of the one asked for."""

Candidate = tuple["ResolvedDesign", "Catalog", "Assessment"]
"""A design, its parts, and its assessment."""


def _side(candidate: Candidate, model: Model, plan: PlanFields, gpus: int, *, searching: bool) -> JobSide:
    """Return a job on one design, with its fastest plan or the one given; one that cannot run carries the reason."""
    design, catalog, assessment = candidate
    asked = TrainRequest(model=model, plan=plan, gpus=(gpus,), fixed=frozenset(plan.model_fields_set))
    try:
        report = search(design, catalog, asked, 1) if searching else train(design, catalog, asked)
        row = report.rows[0]
    except (RefusedError, UncalibratedError) as error:
        return JobSide(
            plan=None,
            step_s=None,
            tokens_s=None,
            tokens_s_gpu=None,
            mfu=None,
            capital_per_token_s=None,
            capital_ratio=None,
            speed_ratio=None,
            estimated_from=None,
            error_band=None,
            refused=str(error),
        )
    cost = assessment.cost
    each = cost.per_accelerator if cost and not cost.missing else None
    return JobSide(
        plan=row.plan,
        step_s=row.step_s,
        tokens_s=row.tokens_s,
        tokens_s_gpu=row.tokens_s / gpus,
        mfu=row.mfu,
        capital_per_token_s=each * gpus / row.tokens_s if each is not None else None,
        capital_ratio=None,
        speed_ratio=None,
        estimated_from=report.estimated_from,
        error_band=report.error_band,
        refused=None,
    )


def _against(side: JobSide, base: JobSide, *, comparable: bool) -> JobSide:
    """Return a side with its ratios to the baseline."""
    from dataclasses import replace

    speed = side.tokens_s / base.tokens_s if side.tokens_s and base.tokens_s else None
    both = comparable and side.capital_per_token_s and base.capital_per_token_s
    capital = side.capital_per_token_s / base.capital_per_token_s if both else None  # type: ignore[operator]
    return replace(side, speed_ratio=speed, capital_ratio=capital)


def compare_training(
    candidates: list[Candidate],
    baseline: int,
    model: Model,
    plan: PlanFields,
    gpus: int,
    *,
    comparable: bool,
    searching: bool = True,
    step: Callable[[int, int], None] | None = None,
) -> TrainingComparison:
    """Return one job on every design, at three batches.

    Args:
        candidates: the designs.
        baseline: position of the design that ratios refer to.
        model: the model to train.
        plan: fields that every side keeps; its batch is the one asked for.
        gpus: accelerators of the job [1].
        searching: find the fastest plan of every side; otherwise the plan is taken as it is.
        comparable: the designs are priced in one currency, over one scope, without gaps.
        step: told how many searches are done, of how many.
    """
    assert plan.batch is not None
    batches = list(dict.fromkeys(max(1, round(plan.batch * factor)) for factor in STEPS))
    sizes: list[JobSize] = []
    for batch in batches:
        asked, sides = plan.model_copy(update={"batch": batch}), []
        for candidate in candidates:
            sides.append(_side(candidate, model, asked, gpus, searching=searching))
            if step is not None:
                step(len(sizes) * len(candidates) + len(sides), len(batches) * len(candidates))
        base = sides[baseline]
        found = tuple(_against(side, base, comparable=comparable) for side in sides)
        sizes.append(JobSize(batch=batch, sides=found))
    costs = {candidate[2].cost.currency for candidate in candidates if candidate[2].cost}
    return TrainingComparison(
        model=model.id,
        gpus=gpus,
        batch=plan.batch,
        currency=next(iter(costs)) if len(costs) == 1 else None,
        sizes=tuple(sizes),
    )
