"""`ffplan model reproduce`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.base.files import is_regular
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _examined_design, _read_text
from ffplan.cli.options import CatalogOption, OutputOption
from ffplan.cli.output import emit

MOST_BYTES = 16 * 2**20
"""Largest report read [byte]."""


def _design_of(report: str, file: str) -> str:
    """Return the design of a report: a regular file, or a shipped one.

    Raises:
        UsageError: if it is neither; the report chooses the path, so pipes and devices are never opened.
    """
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
    from ffplan.report.accuracy import reproduction_document
    from ffplan.studies.explain import reproduce as study

    try:
        saved = study.read_report(_read_text(report, MOST_BYTES))
    except study.NoReportError as error:
        line, column = error.place
        raise UsageError(f"ffplan model reproduce: {report}:{line}:{column}: {error}") from None
    reproduction = study.reproduce(saved, report, lambda file: _examined_design(_design_of(report, file), catalog))
    emit(reproduction_document(reproduction), form, output)
    if reproduction.differences:
        raise typer.Exit(EXIT_FINDINGS)
