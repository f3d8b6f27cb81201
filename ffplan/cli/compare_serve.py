"""`ffplan compare --serve`: a model served on several designs."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.base.record import record
from ffplan.cli.formats import ReportFormat
from ffplan.cli.loading import resolved_design
from ffplan.cli.models import model_part
from ffplan.cli.options import given_options
from ffplan.cli.output import emit
from ffplan.cli.page import with_extras
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.studies.serve.answer import ServeQuestion

_WHO = "ffplan compare"
_SERVING = ("isl", "osl", "ttft", "tpot", "at", "engine", "precision", "kv")
_TRAINING = ("batch", "gpus", "plan", "search", "stack", "tokens", "years", "draws", "seed")


@record
class ServedModel:
    """What every design serves, as written."""

    lengths: tuple[int, int]
    """Tokens of a prompt and of an answer."""
    targets: tuple[str | None, str | None, str]
    """Most time to the first token and of each further one, and their statistic."""
    plan: tuple[str, str | None, str | None]
    """Engine, and precision of weights and of keys and values."""


@record
class ServedOutput:
    """Where the report goes."""

    form: ReportFormat
    file: str | None
    _: KW_ONLY
    catalog: list[str] | None


def refuse_others(context: typer.Context, *, serve: bool) -> None:
    """Refuse options of training beside --serve, and of serving without it.

    Raises:
        UsageError: with the first.
    """
    given = [name for name in (_TRAINING if serve else _SERVING) if name in given_options(context)]
    if given and serve:
        raise UsageError(f"{_WHO}: --{given[0]} has an effect on training only; leave it out, or --serve")
    if given:
        raise UsageError(f"{_WHO}: --{given[0]} has an effect with --serve only")


def compare_served(
    files: list[str],
    labels: tuple[str, ...],
    baseline: int,
    asked: tuple[str | None, ServedModel],
    output: ServedOutput,
) -> None:
    """Print how designs serve a model; exit with 1 where none does within the targets.

    Args:
        files: the designs.
        labels: their names, each once.
        baseline: place of the design that ratios refer to.
        asked: name of the model, and what is asked of it.
        output: where the report goes.

    Raises:
        UsageError: without a model, or if a value is wrong.
    """
    from ffplan.report.compare_serve import serve_comparison_document
    from ffplan.studies.fleet.compare import compare_served as study

    model, load = asked
    if model is None:
        raise UsageError(f"{_WHO}: --serve needs a --model")
    designs = [resolved_design(file, output.catalog) for file in files]
    progress = Progress(f"serving {model}")
    report = study(
        [(design, parts, _question(parts, model, load)) for design, parts in designs],
        labels,
        baseline,
        lambda label: progress.now(label),
    )
    progress.end()
    document = with_extras(serve_comparison_document(report), output.form, files, output.catalog, "serve-comparison")
    emit(document, output.form, output.file)
    if not any(side.meets for side in report.sides):
        raise typer.Exit(EXIT_FINDINGS)


def _question(parts: Catalog, model: str, load: ServedModel) -> ServeQuestion:
    """Return what is asked of a design.

    Raises:
        UsageError: if a value is wrong.
    """
    from ffplan.cli.serve import seconds_of
    from ffplan.serving.load import Requests
    from ffplan.studies.serve.answer import ServeQuestion, refuse_precisions
    from ffplan.studies.serve.links import ServeError
    from ffplan.studies.serve.loads import Load
    from ffplan.studies.serve.serve import ServeTask, targets_of
    from ffplan.studies.serve.setup import PlanRequest, default_precision, engine_of

    (isl, osl), (ttft, tpot, at), (software, precision, kv) = load.lengths, load.targets, load.plan
    part = model_part(parts, model, "compare")
    request = PlanRequest(precision=precision or default_precision(part), kv=kv)
    try:
        refuse_precisions(request)
        engine = engine_of(parts, software)
        targets = targets_of(seconds_of(ttft, "--ttft", _WHO), seconds_of(tpot, "--tpot", _WHO), at)
    except ServeError as error:
        raise UsageError(f"{_WHO}: {error}") from None
    task = ServeTask(load=Load(requests=Requests(prompt=isl, output=osl)), targets=targets)
    return ServeQuestion(model=part, engine=engine, request=request, task=task, search=True)
