"""The default job of a design: its workload, a batch for a plan without one, and the fastest plan."""

from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import TYPE_CHECKING, Any, TypeVar

from ffplan.base.errors import InputError, UsageError
from ffplan.base.record import record
from ffplan.catalog.models import Model
from ffplan.cost.account import RunJob
from ffplan.design.plan_file import PlanFieldsError, with_preset
from ffplan.design.training import PlanFields
from ffplan.results.training import TrainReport
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.train.cluster import cluster_of
from ffplan.studies.train.diagnosis import TOKENS
from ffplan.studies.train.plan_search import search
from ffplan.studies.train.setup import TrainRequest
from ffplan.studies.train.train import _conv_run, train
from ffplan.training.accelerator_rates import UncalibratedError
from ffplan.training.constraints import RefusedError
from ffplan.training.conv_step import conv_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.base.errors import Finding
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import Workload
    from ffplan.training.group_collectives import Cluster

T = TypeVar("T")


class _JobError(Exception):
    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


def answered(door: str, answer: Callable[[], T], dashes: str = "") -> T:
    """Return an answer for a job, refused in the words of the door that asked.

    Args:
        door: what asks, for messages, such as `ffplan compare`.
        dashes: what the door writes before the name of a field.

    Raises:
        UsageError: if the job cannot be asked for.
    """
    try:
        return answer()
    except _JobError as error:
        raise UsageError(f"{door}: {f'{dashes}{error.field} ' if error.field else ''}{error}") from None


def with_default_batch(plan: PlanFields, model: Model, gpus: int) -> PlanFields:
    """Return a plan with its batch, or a default one."""
    if plan.batch is not None or model.transformer is None:
        return plan
    length = plan.sequence or model.transformer.sequence
    return plan.model_copy(update={"batch": max(1, round(TOKENS / length / gpus)) * gpus})


def job_report(
    design: ResolvedDesign,
    catalog: Catalog,
    model: Model,
    plan: PlanFields,
    gpus: int,
    *,
    searching: bool,
    gains: bool = True,
    sure: bool = True,
    system: Cluster | None = None,
) -> TrainReport:
    """Return a job with its fastest plan, or the one given.

    Args:
        plan: fields that stay as they are; its batch is given.
        searching: find the fastest plan; otherwise the plan is taken as it is.
        sure: where a search ends at the edge of memory, find the fastest plan that fits beyond doubt.
        system: the design's machine, where another job on it with the same library for gradients has made it.

    Raises:
        RefusedError: if it cannot run.
        UncalibratedError: if the accelerators have no training constants.
    """
    fixed = frozenset(plan.model_fields_set)
    request = TrainRequest(model=model, plan=plan, gpus=(gpus,), fixed=fixed, system=system)
    if searching:
        return search(design, catalog, request, 1, gains=gains, sure=sure)
    return train(design, catalog, request, gains=gains)


def image_job(design: ResolvedDesign, catalog: Catalog, model: Model, gpus: int) -> TrainReport:
    """Return a convolutional network with the largest power of two of images a rank that fits.

    Raises:
        RefusedError: if no image fits, or the accelerators cannot run it.
        UncalibratedError: if they have no training constants.
    """
    request = TrainRequest(model=model, plan=PlanFields(), gpus=(gpus,))
    _, run, limit = _conv_run(design, catalog, request)
    fixed, first = (sum(float(size) for size in conv_memory(run, images).values()) for images in (0.0, 1.0))
    micro = 2 ** int(log2(max((limit - fixed) / (first - fixed), 1.0)))
    plan = request.plan.model_copy(update={"micro_batch": micro})
    plan.model_fields_set.add("micro_batch")
    return train(design, catalog, replace(request, plan=plan, system=run.system), gains=False)


@record
class TimedJob:
    """A job with its step time."""

    report: TrainReport
    job: RunJob
    model: str


def _short_of_a_step(report: TrainReport, tokens: float) -> str | None:
    """State that a run has fewer tokens than one step; None if it has enough."""
    row = report.rows[0]
    step = round(row.tokens_s * row.step_s)
    return None if tokens >= step else f"{tokens:,.0f} are fewer than the {step:,} of one step; a run has many steps"


def timed_job(report: TrainReport, gpus: int, tokens: float) -> TimedJob:
    """Return a job from the report of its training.

    Args:
        report: the first row is the plan.

    Raises:
        UsageError: if they do not fill a step.
    """
    row = report.rows[0]
    if why := _short_of_a_step(report, tokens):
        raise UsageError(f"ffplan: tokens: {why}")
    job = RunJob(gpus=gpus, tokens=tokens, tokens_s=row.tokens_s, tflops_gpu=row.tflops_gpu * row.plan.gpus / gpus)
    return TimedJob(report, job, report.model)


def timed_on(
    design: ResolvedDesign,
    catalog: Catalog,
    model: Model,
    plan: PlanFields,
    gpus: int | None,
    tokens: float,
    *,
    searching: bool,
    sure: bool = True,
    system: Cluster | None = None,
) -> TimedJob:
    """Return a job on a design with its step time, by default with the default batch on the most accelerators.

    Args:
        plan: fields that stay as they are.
        searching: find the fastest plan; otherwise the plan is taken as it is.
        sure, system: as `job_report` has them.

    Raises:
        RefusedError: if it cannot run.
        UncalibratedError: if the accelerators have no training constants.
    """
    gpus = gpus or most_gpus(design)
    plan = with_default_batch(plan, model, gpus)
    report = job_report(design, catalog, model, plan, gpus, searching=searching, gains=False, sure=sure, system=system)
    return timed_job(report, gpus, tokens)


class JobReports:
    """The reports of one model on several designs, each searched once."""

    def __init__(
        self,
        designs: list[tuple[ResolvedDesign, Catalog]],
        model: Model,
        plan: PlanFields,
        *,
        searching: bool,
        step: Callable[[], None] | None = None,
    ) -> None:
        self.designs, self.model, self.plan, self.searching, self.step = designs, model, plan, searching, step
        self._machines: dict[int, Cluster | None] = {}
        self._found: dict[tuple[int, int, int], TrainReport | RefusedError | UncalibratedError] = {}

    def _machine(self, index: int) -> Cluster | None:
        """Return the machine of a design; one for all of its jobs, so that they share what is known of its collectives.

        None if it has no accelerators, which the first job says.
        """
        if index not in self._machines:
            design, catalog = self.designs[index]
            cluster = cluster_of(design, catalog, self.plan.reducer) if design.compute.accelerator is not None else None
            self._machines[index] = cluster
        return self._machines[index]

    def of(
        self, index: int, gpus: int, batch: int, *, sure: bool = False
    ) -> TrainReport | RefusedError | UncalibratedError:
        """Return a job on one design, or the reason why it cannot run.

        Args:
            sure: as `job_report` has it; a job that is already known stays as it is.
        """
        key = (index, gpus, batch)
        if key not in self._found:
            design, catalog = self.designs[index]
            plan = self.plan.model_copy(update={"batch": batch})
            try:
                self._found[key] = job_report(
                    design,
                    catalog,
                    self.model,
                    plan,
                    gpus,
                    searching=self.searching,
                    gains=False,
                    sure=sure,
                    system=self._machine(index),
                )
            except (RefusedError, UncalibratedError) as error:
                self._found[key] = error
            if self.step is not None:
                self.step()
        return self._found[key]


def _fault(design: ResolvedDesign, path: tuple[str | int, ...], message: str, remedy: str) -> Finding:
    return design.document.finding("design-workload", ("workload", *path), message, remedy)


def with_tokens(design: ResolvedDesign, tokens: float | None) -> ResolvedDesign:
    """Return a design whose workload has other tokens; unchanged without a workload or tokens."""
    if tokens is None or design.workload is None:
        return design
    return replace(design, workload=design.workload.model_copy(update={"tokens": tokens}))


def same_job(job: Workload, other: Workload) -> bool:
    """Return whether two workloads are one job, tokens aside."""
    return job.model_copy(update={"tokens": other.tokens}) == other


def own_workload(designs: Sequence[ResolvedDesign]) -> tuple[ResolvedDesign, Workload]:
    """Return the one workload among some designs, and the first design with it; tokens aside, all state the same.

    Raises:
        _JobError: if no design has a workload, or two have different jobs.
    """
    stated = [(design, design.workload) for design in designs if design.workload is not None]
    if not stated:
        where = "the design" if len(designs) == 1 else "a design"
        raise _JobError(f"no model, and no `workload` in {where}: name a model, or add a workload")
    for design, further in stated[1:]:
        if not same_job(further, stated[0][1]):
            names = f"{stated[0][0].document.file} and {design.document.file}"
            raise _JobError(f"{names} have different workloads; name a model and its options")
    return stated[0]


def workload_fields(design: ResolvedDesign, workload: Workload) -> dict[str, Any]:
    """Return the fields of a plan that a workload gives, its batch with them.

    Raises:
        InputError: if it gives the batch twice.
    """
    plan = workload.plan
    fields = {} if plan is None else {name: getattr(plan, name) for name in plan.model_fields_set}
    if "batch" in fields and workload.batch is not None:
        message = "the batch is given twice"
        raise InputError(_fault(design, ("plan", "batch"), message, "keep `workload.batch`"))
    if workload.batch is not None:
        fields["batch"] = workload.batch
    return fields


def _plan(design: ResolvedDesign, workload: Workload) -> PlanFields:
    try:
        return with_preset(workload_fields(design, workload))
    except PlanFieldsError as error:
        message, _, remedy = error.fault.partition("; ")
        raise InputError(_fault(design, ("plan", error.field), message, remedy)) from None


def workload_gpus(design: ResolvedDesign, workload: Workload) -> int:
    """Return the accelerators of the workload [1].

    Raises:
        InputError: if the workload is larger than the largest job.
    """
    most = most_gpus(design)
    if workload.gpus is not None and workload.gpus > most:
        message = f"a job on {workload.gpus:,} accelerators; one job can span {most:,} of this design"
        raise InputError(_fault(design, ("gpus",), message, f"write {most:,} or fewer, or leave it out"))
    return workload.gpus or most


def workload_report(design: ResolvedDesign, catalog: Catalog, workload: Workload, *, gains: bool = True) -> TrainReport:
    """Return the workload with its fastest plan, or the one that the design gives.

    Raises:
        InputError: if the model is none, the job is too large, its tokens do not fill a step, or its plan
            contradicts itself.
        RefusedError: if it cannot run.
        UncalibratedError: if the accelerators have no training constants.
    """
    model = catalog.get(Model, workload.model, design.document, ("workload", "model"))
    if model.transformer is None:
        message = f"`{model.id}` is no transformer, and a workload is counted in tokens"
        raise InputError(_fault(design, ("model",), message, "name a transformer; see `ffplan catalog list models`"))
    gpus = workload_gpus(design, workload)
    plan = with_default_batch(_plan(design, workload), model, gpus)
    searching = workload.plan is None or workload.search
    report = job_report(design, catalog, model, plan, gpus, searching=searching, gains=gains, sure=gains)
    if workload.tokens is not None and (why := _short_of_a_step(report, workload.tokens)):
        raise InputError(_fault(design, ("tokens",), why, "write tokens with their unit, such as `2T`"))
    return report


def timed_workload(design: ResolvedDesign, catalog: Catalog, workload: Workload) -> TimedJob:
    """Return the workload with its step time, as a job over its tokens.

    Args:
        workload: what the design says of it, tokens included.

    Raises:
        InputError: as `workload_report` does.
        RefusedError: if it cannot run.
        UncalibratedError: if the accelerators have no training constants.
    """
    assert workload.tokens is not None
    report = workload_report(design, catalog, workload)
    return timed_job(report, workload_gpus(design, workload), workload.tokens)
