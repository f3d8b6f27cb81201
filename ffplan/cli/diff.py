"""`ffplan diff` and `ffplan model reproduce`: a design or a saved report, and what changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.base.files import is_file, is_regular
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.job import TokensOption
from ffplan.cli.loading import MOST, _read_text
from ffplan.cli.options import CatalogOption, OutputOption, _complete_design, _part_option
from ffplan.cli.output import emit
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from ffplan.cli.versions import _Assessor
    from ffplan.results.comparison import Comparison, ComparisonOptions
    from ffplan.results.design import Assessment
    from ffplan.studies.explain.reproduce import Version


def _versions(before: str, after: str, assessor: _Assessor) -> tuple[Version, Version]:
    from ffplan.cli.versions import _design_document, _revision_document, _revisions, _saved_version

    names = (before, after)
    if not is_file(before) and (documents := _revisions(before)) is not None:
        start, end = documents
        later = _design_document(after) if end is None else _revision_document(after, end)
        return assessor.version(_revision_document(after, start)), assessor.version(later)
    if before == after == "-":
        raise UsageError("ffplan diff: standard input holds one design; name a file for the other")
    first, second = (
        _saved_version(name, "diff") if name.lower().endswith(".json") else assessor.version(_design_document(name))
        for name in names
    )
    return first, second


def diff(
    before: Annotated[
        str,
        typer.Argument(
            metavar="BEFORE",
            help="A design, `-`, a report saved as JSON, or revisions of git such as main..HEAD.",
            autocompletion=_complete_design,
        ),
    ],
    after: Annotated[
        str,
        typer.Argument(
            metavar="AFTER",
            help="A design, `-` or a saved report; with revisions, the design's file.",
            autocompletion=_complete_design,
        ),
    ],
    model: Annotated[
        str | None, _part_option("model", "Train this model on both; the designs' `workload` if omitted.", "--model")
    ] = None,
    tokens: TokensOption = None,
    batch: Annotated[
        int | None, typer.Option("--batch", min=1, max=MOST, help="Sequences of a step; about 4 million tokens.")
    ] = None,
    gpus: Annotated[
        int | None, typer.Option("--gpus", min=1, max=MOST, help="Accelerators of the job; the most it can span.")
    ] = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Compare two versions of a design: changes, and the effect of each on switches, cost, power and speed.

    Both versions use the current parts. `ffplan fabric audit` compares a design with the fabric as built.
    """
    from ffplan.catalog.store import Catalog
    from ffplan.cli.job import _own_tokens, _workload_of
    from ffplan.cli.versions import _Assessor
    from ffplan.inputs.document import parse_document
    from ffplan.report.explain import difference_document
    from ffplan.studies.explain.reproduce import difference

    parts = Catalog(catalog or ())
    workload = _workload_of("diff", parts, model, tokens, batch, gpus)
    assessor = _Assessor(parts, workload, _own_tokens("diff", model, tokens))
    old, new = _versions(before, after, assessor)
    if assessor.tokens is not None and not any(version.figures["step"][0] for version in (old, new)):
        raise UsageError("ffplan diff: --tokens goes with --model, or with a `workload` of a design")
    progress = Progress("changes")
    report = difference(old, new, lambda raw: assessor.figures(parse_document(raw, new.info.file)), progress.step)
    progress.end()
    emit(difference_document(report), form, output)


MOST_BYTES = 16 * 2**20
"""Largest report read [byte]."""


def _design_of(report: str, file: str) -> str:
    """The report chooses the path, so pipes and devices are never opened."""
    from ffplan.inputs.design_files import shipped_designs, shipped_label
    from ffplan.inputs.quantities import printable

    if is_regular(file):
        return file
    shipped = next((name for name in shipped_designs() if shipped_label(name) == file), None)
    if shipped is not None:
        return shipped
    raise UsageError(
        f"ffplan model reproduce: {report}: `design.file` is `{printable(file)}`, and there is no such file"
    )


def reproduce(
    report: Annotated[str, typer.Argument(metavar="REPORT", help="JSON that `ffplan design` or `compare` saved.")],
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Recompute a saved report, and explain differences: version, design or catalogue.

    Exit code 1 if values differ.
    """
    from ffplan.cli.compare import _compared, _read_all
    from ffplan.cli.design import _assessed
    from ffplan.report.accuracy import reproduction_document
    from ffplan.studies.compare.compare import compare
    from ffplan.studies.explain.reproduce import NoReportError, read_report
    from ffplan.studies.explain.saved_report import reproduce as study

    def examine(file: str, profile: str | None, levels: bool) -> Assessment:
        return _assessed(_design_of(report, file), catalog, profile, levels=levels)

    def compared(
        files: tuple[str, ...], labels: tuple[str, ...], baseline: int, asked: ComparisonOptions, job: bool
    ) -> Comparison:
        read = _read_all([_design_of(report, file) for file in files], catalog, asked)
        if job:
            return _compared(read, labels, baseline, asked)
        return compare(tuple(assessment for _, _, assessment in read), labels, baseline, asked)

    try:
        reproduction = study(read_report(_read_text(report, MOST_BYTES)), report, examine, compared)
    except NoReportError as error:
        line, column = error.place
        raise UsageError(f"ffplan model reproduce: {report}:{line}:{column}: {error}") from None
    emit(reproduction_document(reproduction), form, output)
    if reproduction.differences:
        raise typer.Exit(EXIT_FINDINGS)
