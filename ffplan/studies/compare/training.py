"""The training job of a comparison, timed and priced on every design: speed, MFU, purchase per token a second."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import listed, number
from ffplan.base.record import record
from ffplan.catalog.models import Model
from ffplan.results.comparison import JobSide, JobSize, OwnSize, TrainingComparison
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.basis.provenance import files_of
from ffplan.studies.compare.compare import _comparable
from ffplan.studies.compare.money import FRACTIONS, _compare_money
from ffplan.studies.train.default_job import (
    JobReports,
    _JobError,
    own_workload,
    same_job,
    with_default_batch,
    workload_fields,
)
from ffplan.training.accelerator_rates import UncalibratedError
from ffplan.training.constraints import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import PlanFields, Workload
    from ffplan.results.comparison import MoneyComparison
    from ffplan.results.design import Assessment
    from ffplan.results.training import TrainReport
    from ffplan.studies.cost.ledger import CostRequest

_PURCHASE, _PLANNED = "purchase", "planned parts"
"""What capital is."""
_STEPS = (0.25, 1.0, 4.0)
"""Batches that are compared, as multiples of the one asked for."""


@record
class _Capital:
    """What the accelerators of each design cost."""

    basis: str
    each: tuple[float | None, ...]
    """Cost of an accelerator on every design [currency]; None if it is partial or missing."""
    currency: str | None
    comparable: bool
    """Costs are in one currency, over one scope, without gaps."""


def _capital(assessments: Sequence[Assessment], *, comparable: bool) -> _Capital:
    """Return the purchase of an accelerator, or its share of the planned parts where a purchase has gaps.

    Args:
        comparable: their planned parts are priced in one currency, over one scope, without gaps.
    """
    sites = [
        assessment.site for assessment in assessments if assessment.site is not None and not assessment.site.left_out
    ]
    bought = tuple(site.per_accelerator for site in sites)
    currencies = {site.currency for site in sites}
    if len(sites) == len(assessments) and None not in bought and len(currencies) == 1:
        return _Capital(_PURCHASE, bought, currencies.pop(), comparable=True)
    costs = [assessment.cost for assessment in assessments]
    priced = {cost.currency for cost in costs if cost}
    per_accelerator = tuple(cost.per_accelerator if cost and not cost.missing else None for cost in costs)
    return _Capital(_PLANNED, per_accelerator, priced.pop() if len(priced) == 1 else None, comparable=comparable)


def _side(report: TrainReport | RefusedError | UncalibratedError, capital: float | None, gpus: int) -> JobSide:
    """Return a job on one design with accelerators of a cost each; one that cannot run carries the reason."""
    if isinstance(report, RefusedError | UncalibratedError):
        return JobSide(
            plan=None,
            step_s=None,
            tokens_s=None,
            tokens_s_gpu=None,
            mfu=None,
            memory_words=None,
            capital_per_token_s=None,
            capital_ratio=None,
            speed_ratio=None,
            estimated_from=None,
            error_band=None,
            refused=str(report),
            parts=(),
        )
    row = report.rows[0]
    return JobSide(
        plan=row.plan,
        step_s=row.step_s,
        tokens_s=row.tokens_s,
        tokens_s_gpu=row.tokens_s / gpus,
        mfu=row.mfu,
        memory_words=row.memory_words,
        capital_per_token_s=capital * gpus / row.tokens_s if capital is not None else None,
        capital_ratio=None,
        speed_ratio=None,
        estimated_from=report.estimated_from,
        error_band=report.error_band,
        refused=None,
        parts=row.parts,
    )


def _against(side: JobSide, base: JobSide, *, comparable: bool) -> JobSide:
    """Return a side with its ratios to the baseline."""
    from dataclasses import replace

    speed = side.tokens_s / base.tokens_s if side.tokens_s and base.tokens_s else None
    both = comparable and side.capital_per_token_s and base.capital_per_token_s
    capital = side.capital_per_token_s / base.capital_per_token_s if both else None  # type: ignore[operator]
    return replace(side, speed_ratio=speed, capital_ratio=capital)


def _batches_of(batch: int) -> list[int]:
    """Return the batches that are compared, around one [1]."""
    return list(dict.fromkeys(max(1, round(batch * factor)) for factor in _STEPS))


def size_basis(most: Sequence[int], labels: Sequence[str], gpus: int) -> str:
    """Return why a job that is compared has a number of accelerators, and which designs could give it more.

    Args:
        most: largest job of each design [1].
        labels: label of each design.
        gpus: accelerators of the job [1].
    """
    if gpus < min(most):
        return f"The job has {gpus:,} accelerators, as asked for."
    larger = [f"`{label}` could give {count:,}" for label, count in zip(labels, most, strict=True) if count > gpus]
    if not larger:
        return f"The job has {gpus:,} accelerators, the largest job that fits on each design."
    least = next(label for label, count in zip(labels, most, strict=True) if count == gpus)
    return f"The job has {gpus:,} accelerators, the largest job on `{least}`; {listed(larger)}."


def _own_size(reports: JobReports, index: int, batch: int) -> OwnSize:
    """Return the job on all accelerators of a design."""
    most = most_gpus(reports.designs[index][0])
    report = reports.of(index, most, batch)
    return OwnSize(most, None if isinstance(report, Exception) else report.rows[0].tokens_s)


def _compare_training(
    assessments: Sequence[Assessment],
    labels: Sequence[str],
    baseline: int,
    reports: JobReports,
    batch: int,
    gpus: int,
    *,
    comparable: bool,
) -> TrainingComparison:
    """Return one job on every design, at three batches, and on all accelerators of each.

    Args:
        labels: label of each design.
        baseline: position of the design that ratios refer to.
        reports: the job on every design, by accelerators and batch.
        batch: the batch asked for [1].
        gpus: accelerators of the job [1].
        comparable: their planned parts are priced in one currency, over one scope, without gaps.
    """
    capital = _capital(assessments, comparable=comparable)
    sizes: list[JobSize] = []
    for size in _batches_of(batch):
        sides = [
            _side(reports.of(index, gpus, size, sure=size == batch), price, gpus)  # the size that headlines are of
            for index, price in enumerate(capital.each)
        ]
        against = tuple(_against(side, sides[baseline], comparable=capital.comparable) for side in sides)
        sizes.append(JobSize(batch=size, sides=against))
    own_sizes = tuple(_own_size(reports, index, batch) for index in range(len(assessments)))
    return TrainingComparison(
        model=reports.model.id,
        gpus=gpus,
        size_basis=size_basis([size_report.gpus for size_report in own_sizes], labels, gpus),
        own_sizes=own_sizes,
        batch=batch,
        capital_basis=capital.basis,
        currency=capital.currency,
        sizes=tuple(sizes),
        catalog=files_of(catalog for _, catalog in reports.designs),
    )


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
