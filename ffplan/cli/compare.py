"""`ffplan compare`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ffplan.base.errors import InputError, UsageError
from ffplan.base.record import record
from ffplan.catalog.named import part_of
from ffplan.catalog.ownership import Effort
from ffplan.cli.compare_serve import _compare_served, _refuse_others, _ServedOutput
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.job import DrawsOption, TokensOption, YearsOption, _model_part, _shared_workload, _tokens_of
from ffplan.cli.loading import MOST, _resolved_design
from ffplan.cli.options import (
    CatalogOption,
    DesignsArgument,
    EffortOption,
    OutputOption,
    ProfileOption,
    SeedOption,
    _complete_part,
)
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras
from ffplan.cli.progress import Progress
from ffplan.cli.serve_options import (
    AtOption,
    CacheOption,
    DisaggregateOption,
    EachOption,
    EngineOption,
    FirstOption,
    OutputLengthOption,
    PrecisionOption,
    PromptOption,
    _ServedModel,
)
from ffplan.cli.train_options import StackOption
from ffplan.studies.cost.request import CostRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.base.errors import Finding
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.comparison import Comparison, MoneyComparison, TrainingComparison
    from ffplan.results.design import Assessment

BaselineOption = Annotated[
    str | None,
    typer.Option("--baseline", "-b", metavar="NAME", help="Design that ratios refer to; the first if omitted."),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="ID",
        help="Train this model on every design, each with its fastest plan: tokens/s, MFU, capital; or --serve it.",
        autocompletion=_complete_part("model"),
    ),
]
BatchOption = Annotated[
    int | None, typer.Option("--batch", min=1, max=MOST, help="Sequences of a step, needed with --model.")
]
GpusOption = Annotated[
    int | None,
    typer.Option("--gpus", min=1, max=MOST, help="Accelerators of the job; if omitted, as many as all can span."),
]
PlanOption = Annotated[
    str | None, typer.Option("--plan", metavar="FILE", help="A training plan that every design runs.")
]
SearchOption = Annotated[
    bool,
    typer.Option("--search", help="Search the fastest plan of every design, as without --plan; its fields stay."),
]
ServeOption = Annotated[
    bool, typer.Option("--serve", help="Serve the model on every design, each with its best plan within the targets.")
]


T = TypeVar("T")


def _each(files: list[str], read: Callable[[str], T]) -> tuple[T, ...]:
    """Read every design, to report the faults of all together."""
    results: list[T] = []
    faults: list[Finding] = []
    for file in files:
        try:
            results.append(read(file))
        except InputError as error:
            faults.extend(error.findings)
    if faults:
        raise InputError(*faults)
    return tuple(results)


@record
class _JobOptions:
    """The training job in options."""

    model: str | None
    """Id of the model; None for the designs' job."""
    batch: int | None
    gpus: int | None
    plan: str | None
    stack: str | None
    search: bool
    tokens: float | None
    money: CostRequest
    profile: str | None = None
    """Reliability profile in place of the designs' own."""
    effort: Effort | None = None
    """How well the run is tuned, in place of the designs' own."""


def _training(
    files: list[str],
    catalogs: list[str] | None,
    designs: tuple[Assessment, ...],
    labels: tuple[str, ...],
    baseline: int,
    job: _JobOptions,
) -> tuple[TrainingComparison, MoneyComparison | None]:
    """Return the training job on every design, with costs if tokens are given.

    Raises:
        UsageError: if the batch is missing, or the model is unknown.
    """
    from ffplan.catalog.launch.read import LaunchSize
    from ffplan.catalog.stacks import SoftwareStack
    from ffplan.cli.train_options import _told_plan
    from ffplan.studies.basis.job_layout import most_gpus
    from ffplan.studies.basis.provenance import files_of
    from ffplan.studies.compare.compare import comparable
    from ffplan.studies.compare.money import FRACTIONS, compare_money
    from ffplan.studies.compare.training import batches_of, compare_training
    from ffplan.studies.train.default_job import JobReports, with_default_batch

    if job.model is not None and job.batch is None and job.tokens is None:
        raise UsageError("ffplan compare: --model needs --batch, the sequences of a step")
    resolved = [_resolved_design(file, catalogs, job.profile, job.effort) for file in files]
    fields: dict[str, Any] = {}
    if job.model is None:
        job, fields = _stated(job, [design for design, _ in resolved])
    assert job.model is not None
    part = _model_part(resolved[0][1], job.model, "compare")
    most = min(most_gpus(design) for design, _ in resolved)
    if part.transformer is None:
        raise UsageError(f"ffplan compare: --model {part.id}: a search needs a transformer; `ffplan train` times it")
    if job.gpus is not None and job.gpus > most:
        raise UsageError(f"ffplan compare: --gpus {job.gpus:,}: one job can span {most:,} on every design")
    gpus = job.gpus or most
    plan_fields = fields | {name: value for name, value in (("batch", job.batch), ("stack", job.stack)) if value}
    _, told = _told_plan(job.plan, plan_fields, "compare", LaunchSize(job.gpus, gpus, plan_fields))
    plan = with_default_batch(told, part, gpus)
    assert plan.batch is not None
    if plan.stack is not None:
        part_of(resolved[0][1], SoftwareStack, plan.stack, f"ffplan compare: {'--stack' if job.stack else '--plan'}")
    progress = Progress(f"searching plans of {part.id}")
    searching = job.search
    batches = batches_of(plan.batch)
    sizes = len({most_gpus(design) for design, _ in resolved} - {gpus})
    total = len(files) * (len(batches) + sizes + (len(FRACTIONS) if job.tokens is not None else 0))
    step = partial(progress.another, total)
    reports = JobReports(resolved, part, plan, searching=searching, step=step)
    comparison = compare_training(designs, labels, baseline, reports, plan.batch, gpus, comparable=comparable(designs))
    money = None
    if job.tokens is not None:
        job_fields = (gpus, plan.batch, job.tokens)
        money = compare_money(reports, labels, baseline, batches, job_fields, job.money)
        comparison = replace(comparison, catalog=files_of(parts for _, parts in resolved))
    progress.end()
    return comparison, money


def _stated(job: _JobOptions, designs: list[ResolvedDesign]) -> tuple[_JobOptions, dict[str, Any]]:
    """Return the designs' job with the requested tokens, and the fields of its plan.

    Raises:
        InputError: if a workload gives its batch twice.
        UsageError: if no design states a job, or two state different jobs.
    """
    from ffplan.cli.job import _own_workload
    from ffplan.studies.train.default_job import workload_fields

    design, workload = _own_workload("compare", designs)
    searching = workload.plan is None or workload.search
    stated = replace(job, model=workload.model, gpus=workload.gpus, search=searching)
    return stated, workload_fields(design, workload)


def _refuse_without_model(model: str | None, options: object) -> None:
    """Refuse options of a job without a model.

    Raises:
        UsageError: if any is given.
    """
    if model is None and options:
        message = "--batch, --gpus, --plan, --stack and --search have an effect with --model only"
        raise UsageError(f"ffplan compare: {message}")


def compare(
    context: typer.Context,
    files: DesignsArgument,
    baseline: BaselineOption = None,
    model: ModelOption = None,
    batch: BatchOption = None,
    gpus: GpusOption = None,
    plan: PlanOption = None,
    search: SearchOption = False,
    serve: ServeOption = False,
    isl: PromptOption = 1024,
    osl: OutputLengthOption = 1024,
    ttft: FirstOption = None,
    tpot: EachOption = None,
    at: AtOption = "p99",
    engine: EngineOption = "vllm",
    precision: PrecisionOption = None,
    kv: CacheOption = None,
    disaggregate: DisaggregateOption = False,
    stack: StackOption = None,
    tokens: TokensOption = None,
    years: YearsOption = None,
    draws: DrawsOption = None,
    seed: SeedOption = 0,
    profile: ProfileOption = None,
    effort: EffortOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Compare designs in adjacent columns, with ratios to a baseline; or how they serve a model."""
    if len(files) < 2:
        raise UsageError("ffplan compare: name at least two designs")
    _refuse_others(context, serve=serve)
    from ffplan.report.compare import compare_document
    from ffplan.studies.basis.provenance import design_info
    from ffplan.studies.compare import compare as study
    from ffplan.studies.cost.request import DRAWS

    if serve:
        asked = _ServedModel((isl, osl), (ttft, tpot, at), (engine, precision, kv), disaggregate)
        resolved = _each(files, lambda file: _resolved_design(file, catalog, profile))
        labels, base = study.labelled([design_info(design) for design, _ in resolved], files, baseline)
        _compare_served(resolved, labels, base, (model, asked), _ServedOutput(files, form, output, catalog=catalog))
        return
    money = CostRequest(draws=DRAWS if draws is None else draws, seed=seed, years=years)
    read = _each(files, lambda file: _read(file, catalog, profile, money))
    labels, base = study.labelled([assessment.design for _, assessment in read], files, baseline)
    _refuse_without_model(model, batch or gpus or plan or stack or search)
    job = _JobOptions(
        model=model,
        batch=batch,
        gpus=gpus,
        plan=plan,
        stack=stack,
        search=search or plan is None,
        tokens=None if tokens is None else _tokens_of(tokens, "compare"),
        money=money,
        profile=profile,
        effort=effort,
    )
    comparison = _compared(files, catalog, read, (labels, base), job)
    emit(_with_extras(compare_document(comparison), form, files, catalog, "comparison"), form, output)


def _compared(
    files: list[str],
    catalogs: list[str] | None,
    read: tuple[tuple[ResolvedDesign, Assessment], ...],
    labelled: tuple[tuple[str, ...], int],
    job: _JobOptions,
) -> Comparison:
    """Return designs side by side with a job on all of them: the one asked for, or their own.

    Args:
        read: the designs with their assessments.
        labelled: their labels, and the position of the baseline.

    Raises:
        UsageError: if the job cannot run, or options have no effect.
    """
    from ffplan.studies.compare import compare as study

    (labels, base), designs = labelled, tuple(assessment for _, assessment in read)
    asked, said = job.model is not None or job.tokens is not None, ""
    if not asked:
        workload, said = _shared_workload([design for design, _ in read], labels)
        job = replace(job, tokens=workload.tokens if workload else None)
    if job.tokens is None and (job.money.years is not None or job.effort):
        raise UsageError("ffplan compare: --years and --effort have an effect with --tokens only")
    training, money = None, None
    if asked or workload is not None:
        training, money = _training(files, catalogs, designs, labels, base, job)
    return study.compare(designs, labels, base, training=training, money=money, workload=said)


def _read(
    file: str, catalogs: list[str] | None, profile: str | None, money: CostRequest
) -> tuple[ResolvedDesign, Assessment]:
    """Return a design with its assessment."""
    from ffplan.check.run import examine

    design, parts = _resolved_design(file, catalogs, profile)
    return design, examine(design, parts, money=replace(money, years=None))
