"""`ffplan compare`: designs side by side, at a training job or serving a model."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar, cast

import typer

from ffplan.base.errors import EXIT_FINDINGS, InputError, UsageError
from ffplan.base.record import record
from ffplan.catalog.named import part_of
from ffplan.catalog.ownership import Effort
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.job import DrawsOption, TokensOption, YearsOption, _model_part, _tokens_of
from ffplan.cli.loading import MOST, _resolved_design
from ffplan.cli.options import (
    CatalogOption,
    DesignsArgument,
    EffortOption,
    OutputOption,
    ProfileOption,
    SeedOption,
    _given_options,
    _part_option,
)
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras
from ffplan.cli.progress import Progress
from ffplan.cli.serve_options import (
    SERVING,
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
from ffplan.studies.cost.ledger import CostRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.base.errors import Finding
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.training import PlanFields
    from ffplan.results.comparison import Comparison, ComparisonOptions
    from ffplan.results.design import Assessment
    from ffplan.studies.compare.training import ComparedJob
    from ffplan.studies.serve.answer import ServeQuestion

BaselineOption = Annotated[
    str | None,
    typer.Option("--baseline", "-b", metavar="NAME", help="Design that ratios refer to; the first if omitted."),
]
ModelOption = Annotated[
    str | None,
    _part_option(
        "model",
        "Train this model on every design, each with its fastest plan: tokens/s, MFU, capital; or --serve it.",
        "--model",
    ),
]
BatchOption = Annotated[
    int | None,
    typer.Option(
        "--batch", min=1, max=MOST, help="Sequences of a step; with --tokens about 4 million tokens if omitted."
    ),
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


def _job(
    resolved: Sequence[tuple[ResolvedDesign, Catalog]], labels: tuple[str, ...], asked: ComparisonOptions
) -> tuple[ComparedJob | None, str]:
    """Return the job that options ask for, or the designs' own, and what to say of that one; None without one."""
    from ffplan.studies.compare.training import ComparedJob, own_job
    from ffplan.studies.train.default_job import answered

    if asked.model is None:
        designs = [design for design, _ in resolved]
        return answered("ffplan compare", lambda: own_job(designs, labels, asked.tokens), "--")
    if asked.batch is None and asked.tokens is None:
        raise UsageError("ffplan compare: --model needs --batch, the sequences of a step")
    model = _model_part(resolved[0][1], asked.model, "compare").id
    job = ComparedJob(
        model=model,
        fields={name: value for name, value in (("batch", asked.batch), ("stack", asked.stack)) if value},
        gpus=asked.gpus,
        searching=asked.search or asked.plan is None,
        tokens=asked.tokens,
    )
    return job, ""


def _plan_on(job: ComparedJob, asked: ComparisonOptions, parts: Catalog, gpus: int) -> PlanFields:
    from ffplan.catalog.launch.read import LaunchSize
    from ffplan.catalog.stacks import SoftwareStack
    from ffplan.cli.train_options import _told_plan

    plan = _told_plan(asked.plan, job.fields, "compare", LaunchSize(job.gpus, gpus, job.fields))[1]
    if plan.stack is not None:
        option = "--stack" if asked.stack else "--plan"
        part_of(parts, SoftwareStack, plan.stack, f"ffplan compare: {option}")
    return plan


def _refuse_without_model(model: str | None, options: object) -> None:
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
    at: AtOption = None,
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
    from ffplan.base.outcomes import DRAWS
    from ffplan.report.compare import compare_document
    from ffplan.results.comparison import ComparisonOptions
    from ffplan.studies.basis.provenance import design_info
    from ffplan.studies.compare import compare as study

    if serve:
        served = _ServedModel((isl, osl), (ttft, tpot, at), (engine, precision, kv), disaggregate)
        resolved = _each(files, lambda file: _resolved_design(file, catalog, profile))
        labels, base = study.labelled([design_info(design) for design, _ in resolved], files, baseline)
        _compare_served(resolved, labels, base, (model, served), _ServedOutput(files, form, output, catalog=catalog))
        return
    _refuse_without_model(model, batch or gpus or plan or stack or search)
    asked = ComparisonOptions(
        model=model,
        batch=batch,
        gpus=gpus,
        plan=plan,
        search=search,
        stack=stack,
        tokens=None if tokens is None else _tokens_of(tokens, "compare"),
        years=years,
        effort=effort,
        draws=DRAWS if draws is None else draws,
        seed=seed,
        profile=profile,
    )
    read = _read_all(files, catalog, asked)
    labels, base = study.labelled([assessment.design for _, _, assessment in read], files, baseline)
    comparison = _compared(read, labels, base, asked)
    emit(_with_extras(compare_document(comparison), form, files, catalog, "comparison"), form, output)


Read = tuple["ResolvedDesign", "Catalog", "Assessment"]


def _read_all(files: list[str], catalogs: list[str] | None, asked: ComparisonOptions) -> tuple[Read, ...]:
    """Return every design with its parts, assessed as options ask."""
    from ffplan.check.run import examine

    money = CostRequest(draws=asked.draws, seed=asked.seed)

    def read(file: str) -> Read:
        design, parts = _resolved_design(file, catalogs, asked.profile, cast("Effort | None", asked.effort))
        return design, parts, examine(design, parts, money=money)

    return _each(files, read)


def _compared(read: tuple[Read, ...], labels: tuple[str, ...], baseline: int, asked: ComparisonOptions) -> Comparison:
    """Return the comparison of designs that options ask for."""
    from ffplan.studies.compare import compare as study
    from ffplan.studies.compare.training import compare_job
    from ffplan.studies.train.default_job import answered

    resolved = [(design, parts) for design, parts, _ in read]
    assessments = tuple(assessment for _, _, assessment in read)
    job, said = _job(resolved, labels, asked)
    if (job is None or job.tokens is None) and (asked.years is not None or asked.effort):
        raise UsageError("ffplan compare: --years and --effort have an effect with --tokens only")
    if job is None:
        return study.compare(assessments, labels, baseline, asked, workload=said)
    progress = Progress(f"searching plans of {job.model}")
    plan_on = partial(_plan_on, job, asked, resolved[0][1])
    money = CostRequest(draws=asked.draws, seed=asked.seed, years=asked.years)
    training, costs = answered(
        "ffplan compare",
        lambda: compare_job(
            resolved, assessments, (labels, baseline), job, plan_on, money=money, step=progress.another
        ),
        "--",
    )
    progress.end()
    return study.compare(assessments, labels, baseline, asked, training=training, money=costs, workload=said)


_WHO = "ffplan compare"
_TRAINING = ("batch", "gpus", "plan", "search", "stack", "tokens", "years", "draws", "seed", "effort")


@record
class _ServedOutput:
    files: list[str]
    """The designs."""
    form: ReportFormat
    file: str | None
    _: KW_ONLY
    catalog: list[str] | None


def _refuse_others(context: typer.Context, *, serve: bool) -> None:
    given = [name for name in (_TRAINING if serve else SERVING) if name in _given_options(context)]
    if given and serve:
        raise UsageError(f"{_WHO}: --{given[0]} has an effect on training only; leave it out, or --serve")
    if given:
        raise UsageError(f"{_WHO}: --{given[0]} has an effect with --serve only")


def _compare_served(
    designs: Sequence[tuple[ResolvedDesign, Catalog]],
    labels: tuple[str, ...],
    baseline: int,
    asked: tuple[str | None, _ServedModel],
    output: _ServedOutput,
) -> None:
    """Print how designs serve a model; exit with 1 if none meets the targets."""
    from ffplan.report.serve import serve_comparison_document
    from ffplan.studies.fleet.compare import compare_served as study

    model, load = asked
    if model is None:
        raise UsageError(f"{_WHO}: --serve needs a --model")
    progress = Progress(f"serving {model}")
    sides = []
    for (design, parts), label in zip(designs, labels, strict=True):
        question = _question(parts, model, load)
        sides.append((label, design, parts, question))
        if load.apart:
            apart = replace(question, search=False, disaggregate=True)
            sides.append((f"{label}, pools", design, parts, apart))
    report = study(sides, labels[baseline], progress.now)
    progress.end()
    document = _with_extras(
        serve_comparison_document(report), output.form, output.files, output.catalog, "serve-comparison"
    )
    emit(document, output.form, output.file)
    if not any(side.meets for side in report.sides):
        raise typer.Exit(EXIT_FINDINGS)


def _question(parts: Catalog, model: str, load: _ServedModel) -> ServeQuestion:
    from ffplan.serving.requests import Requests
    from ffplan.studies.serve.answer import ServeQuestion
    from ffplan.studies.serve.loads import Load
    from ffplan.studies.serve.serve import ServeTask
    from ffplan.studies.serve.setup import PlanRequest, default_precision

    (isl, osl), (_, precision, kv) = load.lengths, load.plan
    part = _model_part(parts, model, "compare")
    engine, targets = load.engine_and_targets(parts, _WHO)
    request = PlanRequest(precision=precision or default_precision(part), kv=kv)
    task = ServeTask(load=Load(requests=Requests(prompt=isl, output=osl)), targets=targets)
    return ServeQuestion(model=part, engine=engine, request=request, task=task, search=True)
