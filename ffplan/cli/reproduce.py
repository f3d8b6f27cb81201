"""`ffplan reproduce`."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import examined_design, read_text
from ffplan.cli.options import CatalogOption, OutputOption
from ffplan.cli.output import emit

MOST_BYTES = 16 * 2**20
"""Largest report read [byte]."""


def reproduce(
    report: Annotated[str, typer.Argument(metavar="REPORT", help="JSON that `ffplan design` or `compare` saved.")],
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Make a saved report again, and say what differs and why: version, design or catalogue.

    Exit code 1 where values differ.
    """
    from ffplan.report.reproduction import reproduction_document
    from ffplan.studies import reproduce as study

    try:
        saved = study.read_report(read_text(report, MOST_BYTES))
    except study.NoReportError as error:
        raise UsageError(f"ffplan reproduce: {report}: {error}") from None
    found = study.reproduce(saved, report, lambda file: examined_design(file, catalog))
    emit(reproduction_document(found), form, output)
    if found.differences:
        raise typer.Exit(EXIT_FINDINGS)
