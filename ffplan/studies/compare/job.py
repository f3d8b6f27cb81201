"""The training job of a comparison: the designs' own or another, timed and priced on every design."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import listed, number
from ffplan.base.record import record
from ffplan.catalog.models import Model
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.basis.provenance import files_of
from ffplan.studies.compare.compare import _comparable
from ffplan.studies.compare.money import FRACTIONS, _compare_money
from ffplan.studies.compare.training import _batches_of, _compare_training
from ffplan.studies.train.default_job import (
    JobReports,
    _JobError,
    own_workload,
    same_job,
    with_default_batch,
    workload_fields,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import PlanFields, Workload
    from ffplan.results.comparison import MoneyComparison, TrainingComparison
    from ffplan.results.design import Assessment
    from ffplan.studies.cost.ledger import CostRequest


@record
class ComparedJob:
    """One training job on every design."""

    model: str
    """Id of the model."""
    fields: dict[str, Any]
    """Fields of its plan that are stated, its batch with them."""
    gpus: int | None
    """Accelerators [1]; as many as all designs can span if None."""
    searching: bool
    """Find the fastest plan of each; otherwise the plan is taken as it is."""
    tokens: float | None
    """Tokens to train on [1]; without them the run has no cost."""


def own_job(
    designs: Sequence[ResolvedDesign], labels: Sequence[str], tokens: float | None = None
) -> tuple[ComparedJob | None, str]:
    """Return the job that designs state, and what to say of it; None without one.

    Args:
        labels: label of each design.
        tokens: tokens to train on [1], with which designs without a workload run the others'.

    Raises:
        InputError: if a workload gives its batch twice.
        _JobError: with tokens, if no design states a job, or two state different jobs.
    """
    workload, said = _shared(designs, labels) if tokens is None else (own_workload(designs)[1], "")
    if workload is None:
        return None, said
    first = next(design for design in designs if design.workload is not None)
    job = ComparedJob(
        model=workload.model,
        fields=workload_fields(first, workload),
        gpus=workload.gpus,
        searching=workload.plan is None or workload.search,
        tokens=workload.tokens if tokens is None else tokens,
    )
    return job, said


def _shared(designs: Sequence[ResolvedDesign], labels: Sequence[str]) -> tuple[Workload | None, str]:
    """Return the workload that every design states, with tokens of the first that has any, and what to say of it."""
    stated = [design.workload for design in designs]
    jobs = [workload for workload in stated if workload is not None]
    if not jobs:
        return None, ""
    if len(jobs) < len(stated):
        without = listed(label for label, workload in zip(labels, stated, strict=True) if workload is None)
        return None, f"no `workload` in {without}; --tokens T trains the others' on all"
    first = jobs[0]
    if any(not same_job(job, first) for job in jobs):
        models = dict.fromkeys(job.model for job in jobs)
        what = f" ({listed(models)})" if len(models) > 1 else ""
        return None, f"the `workload` of the designs differs{what}; --model ID names one"
    said = f"their `workload`: {first.model}"
    tokens = list(dict.fromkeys(job.tokens for job in jobs if job.tokens is not None))
    if tokens:
        said += f" on {number(tokens[0] / 1e12, 3)} T tokens"
    if len(tokens) > 1:
        said += f"; others state {listed(f'{number(most / 1e12, 3)} T' for most in tokens[1:])}"
    return first.model_copy(update={"tokens": tokens[0] if tokens else None}), said


def compare_job(
    resolved: Sequence[tuple[ResolvedDesign, Catalog]],
    assessments: tuple[Assessment, ...],
    labelled: tuple[tuple[str, ...], int],
    job: ComparedJob,
    plan_on: Callable[[int], PlanFields],
    *,
    money: CostRequest,
    step: Callable[[int], None] | None = None,
) -> tuple[TrainingComparison, MoneyComparison | None]:
    """Return a job on every design, with its cost if it has tokens.

    Args:
        resolved: the designs, each with its parts.
        labelled: label of each, and the position of the one that ratios refer to.
        plan_on: returns the plan on a number of accelerators; without a batch it has one near the usual step.
        money: draws, seed and years.
        step: called after each search with the number of all.

    Raises:
        InputError: if the ownership of a design is wrong.
        _JobError: if the model is no transformer, or the job is too large.
        UsageError: if the designs report in several currencies.
    """
    labels, baseline = labelled
    most = [most_gpus(design) for design, _ in resolved]
    model = resolved[0][1].entry(job.model).part
    if not isinstance(model, Model) or model.transformer is None:
        raise _JobError(f"{job.model}: a search needs a transformer; `ffplan train` times it", "model")
    if job.gpus is not None and job.gpus > min(most):
        raise _JobError(f"{job.gpus:,}: one job can span {min(most):,} on every design", "gpus")
    gpus = min(most) if job.gpus is None else job.gpus
    plan = with_default_batch(plan_on(gpus), model, gpus)
    assert plan.batch is not None
    batches = _batches_of(plan.batch)
    each = len(batches) + (len(FRACTIONS) if job.tokens is not None else 0) + len(set(most) - {gpus})
    told = None if step is None else partial(step, len(resolved) * each)
    reports = JobReports(list(resolved), model, plan, searching=job.searching, step=told)
    training = _compare_training(
        assessments, labels, baseline, reports, plan.batch, gpus, comparable=_comparable(assessments)
    )
    if job.tokens is None:
        return training, None
    costs = _compare_money(reports, labels, baseline, batches, (gpus, plan.batch, job.tokens), money)
    return replace(training, catalog=files_of(parts for _, parts in resolved)), costs
