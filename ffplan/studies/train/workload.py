"""The workload of a design: the job that the cluster is bought for, with its fastest plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError
from ffplan.catalog.models import Model
from ffplan.design.plan_file import PlanFieldsError, with_preset
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.train.usual_job import TimedJob, job_report, short_of_a_step, timed_job, with_usual_batch

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import PlanFields
    from ffplan.design.workload_schema import Workload
    from ffplan.results.training import TrainReport


def _fault(design: ResolvedDesign, path: tuple[str | int, ...], message: str, remedy: str) -> Finding:
    return design.document.finding("design-workload", ("workload", *path), message, remedy)


def with_tokens(design: ResolvedDesign, tokens: float | None) -> ResolvedDesign:
    """Return a design whose workload has other tokens; the design itself where it has none, or no tokens are given.

    Args:
        tokens: tokens to train on [1].
    """
    if tokens is None or design.workload is None:
        return design
    return replace(design, workload=design.workload.model_copy(update={"tokens": tokens}))


def workload_fields(design: ResolvedDesign, workload: Workload) -> dict[str, Any]:
    """Return the fields of a plan that a workload gives, its batch with them.

    Args:
        design: the design, for messages.

    Raises:
        InputError: where it gives the batch twice.
    """
    given = workload.plan
    fields = {} if given is None else {name: getattr(given, name) for name in given.model_fields_set}
    if "batch" in fields and workload.batch is not None:
        message = "the batch is given twice"
        raise InputError(_fault(design, ("plan", "batch"), message, "keep `workload.batch`"))
    if workload.batch is not None:
        fields["batch"] = workload.batch
    return fields


def _plan(design: ResolvedDesign, workload: Workload) -> PlanFields:
    """Return the fields of the plan that the design gives, with those of its preset.

    Raises:
        InputError: where they do not go together.
    """
    try:
        return with_preset(workload_fields(design, workload))
    except PlanFieldsError as error:
        message, _, remedy = error.fault.partition("; ")
        raise InputError(_fault(design, ("plan", error.field), message, remedy)) from None


def workload_gpus(design: ResolvedDesign, workload: Workload) -> int:
    """Return the accelerators of the workload [1].

    Raises:
        InputError: where one job cannot span so many.
    """
    most = most_gpus(design)
    if workload.gpus is not None and workload.gpus > most:
        message = f"a job on {workload.gpus:,} accelerators; one job can span {most:,} of this design"
        raise InputError(_fault(design, ("gpus",), message, f"write {most:,} or fewer, or leave it out"))
    return workload.gpus or most


def workload_report(design: ResolvedDesign, catalog: Catalog, workload: Workload, *, gains: bool = True) -> TrainReport:
    """Return the workload with its fastest plan, or the one that the design gives.

    Args:
        workload: what the design says of it.
        gains: find what limits the plan.

    Raises:
        InputError: where the model is none, the job is too large, its tokens do not fill a step, or its plan
            contradicts itself.
        RefusedError: where it cannot run.
        UncalibratedError: where the accelerators have no training constants.
    """
    model = catalog.get(Model, workload.model, design.document, ("workload", "model"))
    if model.transformer is None:
        message = f"`{model.id}` is no transformer, and a workload is counted in tokens"
        raise InputError(_fault(design, ("model",), message, "name a transformer; see `ffplan catalog list models`"))
    gpus = workload_gpus(design, workload)
    plan = with_usual_batch(_plan(design, workload), model, gpus)
    searching = workload.plan is None or workload.search
    report = job_report(design, catalog, model, plan, gpus, searching=searching, gains=gains, sure=gains)
    if workload.tokens is not None and (why := short_of_a_step(report, workload.tokens)):
        raise InputError(_fault(design, ("tokens",), why, "write tokens with their unit, such as `2T`"))
    return report


def timed_workload(design: ResolvedDesign, catalog: Catalog, workload: Workload) -> TimedJob:
    """Return the workload with its step time, as a job over its tokens.

    Args:
        workload: what the design says of it, tokens included.

    Raises:
        InputError: as `workload_report` does.
        RefusedError: where it cannot run.
        UncalibratedError: where the accelerators have no training constants.
    """
    assert workload.tokens is not None
    report = workload_report(design, catalog, workload)
    return timed_job(report, workload_gpus(design, workload), workload.tokens)
