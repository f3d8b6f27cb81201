"""`ffplan train`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.base.record import record
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.job import TokensOption, _model_part, _tokens_of
from ffplan.cli.loading import _parsed, _resolved_design, series
from ffplan.cli.options import CatalogOption, DesignArgument, EffortOption, OutputOption
from ffplan.cli.output import _refuse_target, emit, write
from ffplan.cli.page import _with_extras
from ffplan.cli.train_options import (
    MOST_ROWS,
    TOP,
    AttentionOption,
    BatchOption,
    ChartOption,
    GpusOption,
    GradDtypeOption,
    GradReduceDtypeOption,
    MainParamsOption,
    MemoryOption,
    ModelOption,
    OptimizerDtypeOption,
    OverlapOption,
    PlanOption,
    PrecisionOption,
    PresetOption,
    RecomputeOption,
    ReducerOption,
    SaveOption,
    ScheduleOption,
    SearchOption,
    SequenceOption,
    SpOption,
    StackOption,
    TopOption,
    ZeroOption,
    _option_name,
    _overlap_names,
    _plan_text,
    _told_plan,
    _with_axes,
)
from ffplan.training.axes import AXES

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.launch.read import LaunchSize
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import PlanFields
    from ffplan.inputs.document import Document
    from ffplan.results.training import TrainReport, TrainRow
    from ffplan.studies.train.setup import TrainRequest


def _report(
    read: tuple[ResolvedDesign, Catalog],
    model: str,
    request: Callable[..., TrainRequest],
    *,
    top: int | None,
    plan: tuple[Document | None, set[str]],
) -> TrainReport:
    from ffplan.design.plan_file import refuse_fields
    from ffplan.studies.basis.job_layout import most_gpus
    from ffplan.studies.train.plan_search import search
    from ffplan.studies.train.train import train
    from ffplan.training.accelerator_rates import UncalibratedError
    from ffplan.training.constraints import RefusedError

    design, parts = read
    job_request = request(model=_model_part(parts, model, "train"))
    if not job_request.gpus:
        job_request = replace(job_request, gpus=(most_gpus(design),))
    try:
        return train(design, parts, job_request) if top is None else search(design, parts, job_request, top)
    except UncalibratedError as error:
        raise UsageError(f"ffplan train: {error}; {error.remedy}") from None
    except RefusedError as error:
        if not error.infeasible:
            refuse_fields(*plan, error.fields, str(error))
            raise UsageError(f"ffplan train: {error}") from None
        typer.echo(f"ffplan train: {error}", err=True)
        raise typer.Exit(EXIT_FINDINGS) from None


@record
class _JobRequest:
    model: str
    plan: Any
    """Plan fields."""
    gpus: list[str] | None
    tokens: float | None
    search: bool
    """Whether to search the fastest plan."""


def _own_job(design: ResolvedDesign, parts: Catalog, document: Document | None, job: _JobRequest) -> _JobRequest:
    """Return the design's job, overridden by the command line."""
    from ffplan.catalog.models import Model
    from ffplan.cli.job import _own_workload
    from ffplan.design.plan_file import plan_of
    from ffplan.studies.train.default_job import with_default_batch, workload_fields, workload_gpus

    workload = _own_workload("train", design)
    stated = workload_fields(design, workload) if document is None else {"batch": workload.batch}
    options = {name: getattr(job.plan, name) for name in job.plan.model_fields_set}
    plan = plan_of(None, {name: value for name, value in (stated | options).items() if value is not None})
    part = parts.get(Model, workload.model, design.document, ("workload", "model"))
    tokens = job.tokens or workload.tokens
    return _JobRequest(
        model=workload.model,
        plan=with_default_batch(plan, part, workload_gpus(design, workload)),
        gpus=job.gpus or ([str(workload.gpus)] if workload.gpus else None),
        tokens=tokens,
        search=job.search or (document is None and (workload.plan is None or workload.search)),
    )


STRUCTURE = frozenset({*(axis.field for axis in AXES), "zero", "recompute", "schedule", "sequence_parallel", "preset"})
"""Fields that define a distinct plan."""


def _as_cost(design: ResolvedDesign, parts: Catalog, document: Document | None, job: _JobRequest) -> _JobRequest:
    """Return a job with tokens as in `ffplan cost`: default batch, and the fastest plan unless given."""
    from ffplan.studies.basis.job_layout import most_gpus
    from ffplan.studies.train.default_job import with_default_batch

    numbers = _numbers(job.gpus, search=False)
    part = _model_part(parts, job.model, "train")
    if job.tokens is None or part.transformer is None or len(numbers) > 1:
        return job
    gpus = numbers[0] if numbers else most_gpus(design)
    free = document is None and not job.plan.model_fields_set & STRUCTURE
    return replace(job, plan=with_default_batch(job.plan, part, gpus), search=job.search or free)


def _as_run(read: tuple[ResolvedDesign, Catalog], report: TrainReport, tokens: float | None) -> TrainReport:
    if tokens is None:
        return report
    from ffplan.studies.cost.cost import study_run
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.train.default_job import timed_job

    if report.unit != "tokens":
        raise UsageError(f"ffplan train: --tokens: {report.model} is trained on {report.unit}")
    row = report.rows[0]
    timed = timed_job(report, row.plan.gpus + row.idle, tokens)
    return replace(report, run=study_run(*read, CostRequest(), timed))


def _refuse_options(save: str | None, top: int | None, *, effort: str | None, search: bool) -> None:
    if save is not None:
        _refuse_target(save, "--save")
    if top is not None and not search:
        raise UsageError("ffplan train: --top has no effect without --search")
    if effort is not None:
        raise UsageError("ffplan train: --effort has an effect on a run; give --tokens")


def _numbers(gpus: list[str] | None, *, search: bool) -> tuple[int, ...]:
    """Return the requested numbers of accelerators; an empty tuple for as many as one job can span."""
    if gpus is None:
        return ()
    numbers = tuple(int(number) for number in series(",".join(gpus), "ffplan train: --gpus", sizes=False))
    if search and len(numbers) > 1:
        raise UsageError("ffplan train: --search takes one number of accelerators")
    if len(numbers) > MOST_ROWS:
        raise UsageError(f"ffplan train: --gpus: more than {MOST_ROWS} numbers")
    return numbers


def _job_size(
    design: ResolvedDesign, gpus: list[str] | None, fields: dict[str, Any], *, search: bool, own: bool
) -> LaunchSize:
    """Return the sizes that fill the batch of another program's plan; a design's own job takes its workload's."""
    from ffplan.catalog.launch.read import LaunchSize
    from ffplan.studies.basis.job_layout import most_gpus

    numbers = _numbers(gpus, search=search)
    if len(numbers) > 1:
        return LaunchSize(fields=fields)
    if own and design.workload is not None and design.workload.batch is not None:
        fields = {"batch": design.workload.batch, **fields}
    return LaunchSize(numbers[0] if numbers else None, most_gpus(design), fields)


def _save(fields: PlanFields, row: TrainRow, save: str) -> None:
    write(_plan_text(fields, row.plan), save, option="--save")
    if row.idle:
        typer.echo(f"ffplan train: {save} leaves {row.idle:,} idle: run it with --gpus {row.plan.gpus}", err=True)


def _finish(report: TrainReport, fields: PlanFields, save: str | None) -> None:
    if save is not None:
        _save(fields, report.rows[0], save)
    if report.skipped:
        raise typer.Exit(EXIT_FINDINGS)


PLAIN = ("batch", "sequence", "zero", "recompute", "precision", "schedule", "reducer", "preset", "stack", "attention")
MORE = ("grad_dtype", "grad_reduce_dtype", "optimizer_dtype", "main_params", "sequence_parallel")
"""Plan fields passed unchanged from options."""


@_with_axes
def train(
    file: DesignArgument,
    model: ModelOption = None,
    plan: PlanOption = None,
    gpus: GpusOption = None,
    *,
    sp: SpOption = None,
    batch: BatchOption = None,
    sequence: SequenceOption = None,
    zero: ZeroOption = None,
    recompute: RecomputeOption = None,
    precision: PrecisionOption = None,
    schedule: ScheduleOption = None,
    reducer: ReducerOption = None,
    overlap: OverlapOption = None,
    preset: PresetOption = None,
    stack: StackOption = None,
    attention: AttentionOption = None,
    grad_dtype: GradDtypeOption = None,
    grad_reduce_dtype: GradReduceDtypeOption = None,
    optimizer_dtype: OptimizerDtypeOption = None,
    main_params: MainParamsOption = None,
    search: SearchOption = False,
    top: TopOption = None,
    memory: MemoryOption = None,
    save: SaveOption = None,
    tokens: TokensOption = None,
    effort: EffortOption = None,
    chart: ChartOption = False,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
    **axes: int | None,
) -> None:
    """Time training on a design: seconds per step and their parts, memory, limiting resource; or search plans.

    With --tokens, batch and plan default to a usual batch and the fastest plan, as in `ffplan cost`.
    Exit code 1 if a plan does not fit the machine, or runs on only some of the numbers of accelerators.
    """
    from ffplan.inputs.dimensions import DATA
    from ffplan.inputs.quantities import parse_quantity
    from ffplan.report.train import train_document
    from ffplan.studies.train.setup import TrainRequest

    plain = (batch, sequence, zero, recompute, precision, schedule, reducer, preset, stack, attention)
    options = {
        **{axis.field: axes[_option_name(axis)] for axis in AXES},
        **dict(zip(PLAIN, plain, strict=True)),
        **dict(zip(MORE, (grad_dtype, grad_reduce_dtype, optimizer_dtype, main_params, sp), strict=True)),
        "overlap": _overlap_names(overlap),
    }
    fields = {name: value for name, value in options.items() if value is not None}
    limit = _parsed(lambda: parse_quantity(memory, DATA), "--memory") if memory else None
    read = _resolved_design(file, catalog, effort=effort)
    size = _job_size(read[0], gpus, fields, search=search, own=model is None)
    document, plan_fields = _told_plan(plan, fields, "train", size)
    wished = None if tokens is None else _tokens_of(tokens, "train")
    job = _JobRequest(model=model or "", plan=plan_fields, gpus=gpus or None, tokens=wished, search=search)
    job = _as_cost(*read, document, job) if model else _own_job(*read, document, job)
    _refuse_options(save, top, effort=effort if job.tokens is None else None, search=job.search)
    numbers, fixed = _numbers(job.gpus, search=job.search), frozenset(job.plan.model_fields_set)
    request = partial(TrainRequest, plan=job.plan, gpus=numbers, memory=limit, fixed=fixed)
    report = _report(read, job.model, request, top=(top or TOP) if job.search else None, plan=(document, set(fields)))
    page = train_document(report := _as_run(read, report, job.tokens), chart=chart)
    emit(_with_extras(page, form, [file], catalog, "train"), form, output)
    _finish(report, job.plan, save)
