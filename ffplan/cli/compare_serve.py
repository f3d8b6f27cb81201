"""`ffplan compare --serve`: a model served on several designs."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.base.record import record
from ffplan.cli.formats import ReportFormat
from ffplan.cli.job import _model_part
from ffplan.cli.options import _given_options
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras
from ffplan.cli.progress import Progress
from ffplan.cli.serve_options import SERVING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.cli.serve_options import _ServedModel
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.serve.answer import ServeQuestion

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
    from ffplan.serving.load import Requests
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
