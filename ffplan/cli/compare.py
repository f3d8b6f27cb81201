"""`ffplan compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import InputError, UsageError
from ffplan.base.record import record
from ffplan.catalog.named import part_of
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import examined_design, resolved_design
from ffplan.cli.options import CatalogOption, DesignsArgument, OutputOption, complete_part
from ffplan.cli.output import Progress, emit
from ffplan.cli.series import MOST

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
    from ffplan.results.comparison import TrainingComparison
    from ffplan.results.design import Assessment


def _examine_all(files: list[str], catalogs: list[str] | None) -> tuple[Assessment, ...]:
    """Assess every design, so that the faults of all are reported together."""
    assessments: list[Assessment] = []
    faults: list[Finding] = []
    for file in files:
        try:
            assessments.append(examined_design(file, catalogs))
        except InputError as error:
            faults.extend(error.findings)
    if faults:
        raise InputError(*faults)
    return tuple(assessments)


@record
class JobOptions:
    """The training job of the command line."""

    model: str
    batch: int | None
    gpus: int | None
    plan: str | None
    search: bool


def _training(
    files: list[str], catalogs: list[str] | None, designs: tuple[Assessment, ...], baseline: int, job: JobOptions
) -> TrainingComparison:
    """Return the job on every design.

    Raises:
        UsageError: where the batch is missing, or there is no such model.
    """
    from ffplan.catalog.models import Model
    from ffplan.design.plan_file import read_plan
    from ffplan.studies.compare import comparable
    from ffplan.studies.compare_training import compare_training
    from ffplan.studies.job_layout import most_gpus

    if job.batch is None:
        raise UsageError("ffplan compare: --model needs --batch, the sequences of a step")
    resolved = [resolved_design(file, catalogs) for file in files]
    candidates = [(design, parts, found) for (design, parts), found in zip(resolved, designs, strict=True)]
    part = part_of(resolved[0][1], Model, job.model, "ffplan compare: --model")
    most = min(most_gpus(design) for design, _ in resolved)
    if part.transformer is None:
        raise UsageError(f"ffplan compare: --model {part.id}: a search needs a transformer; `ffplan train` times it")
    if job.gpus is not None and job.gpus > most:
        raise UsageError(f"ffplan compare: --gpus {job.gpus:,}: one job can span {most:,} on every design")
    progress = Progress(f"searching plans of {part.id}")
    found = compare_training(
        candidates,
        baseline,
        part,
        read_plan(job.plan, {"batch": job.batch}),
        job.gpus or most,
        comparable=comparable(designs),
        searching=job.search or job.plan is None,
        step=progress.step,
    )
    progress.end()
    return found


def compare(
    files: DesignsArgument,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            "-b",
            metavar="NAME",
            help="Design that ratios refer to; the first if omitted.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="ID",
            help="Train this model on every design, each with its fastest plan: tokens/s, MFU, capital.",
            autocompletion=complete_part("model"),
        ),
    ] = None,
    batch: Annotated[
        int | None, typer.Option("--batch", min=1, max=MOST, help="Sequences of a step, needed with --model.")
    ] = None,
    gpus: Annotated[
        int | None,
        typer.Option("--gpus", min=1, max=MOST, help="Accelerators of the job; the most that all can span."),
    ] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="FILE", help="A training plan that every design runs.")
    ] = None,
    search: Annotated[
        bool,
        typer.Option("--search", help="Search the fastest plan of every design, as without --plan; its fields stay."),
    ] = False,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Compare designs in adjacent columns, with ratios to a baseline."""
    if len(files) < 2:
        raise UsageError("ffplan compare: name at least two designs")
    from ffplan.report.compare import compare_document
    from ffplan.studies import compare as study

    designs = _examine_all(files, catalog)
    labels = study.labels_of(designs)
    base = study.baseline_of(designs, labels, files, baseline)
    training = None
    if model is not None:
        training = _training(
            files, catalog, designs, base, JobOptions(model=model, batch=batch, gpus=gpus, plan=plan, search=search)
        )
    elif batch or gpus or plan or search:
        raise UsageError("ffplan compare: --batch, --gpus, --plan and --search have an effect with --model only")
    comparison = study.compare(designs, labels, base, training)
    emit(compare_document(comparison), form, output)
