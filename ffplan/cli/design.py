"""`ffplan design`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.cli.common import (
    CatalogOption,
    DesignArgument,
    FormatOption,
    OutputOption,
    ReportFormat,
    examine_design,
    to_terminal,
    write,
)

if TYPE_CHECKING:
    from ffplan.results.design import Assessment


def _text(assessment: Assessment, form: ReportFormat, *, terminal: bool) -> str:
    if form is ReportFormat.JSON:
        from ffplan.report.plain import to_json

        return to_json(assessment)
    if form is ReportFormat.CSV:
        from ffplan.report.plain import to_csv

        return to_csv(assessment)
    from ffplan.report.sections import sections

    parts = sections(assessment)
    if form is ReportFormat.MARKDOWN:
        from ffplan.report.markdown import assessment_markdown

        return assessment_markdown(assessment, parts)
    from ffplan.report.text import assessment_text

    return assessment_text(assessment, parts, terminal=terminal)


def design(
    file: DesignArgument,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Assess one design: fabric, bounds on communication, power and cost."""
    assessment = examine_design(file, catalog)
    write(_text(assessment, form, terminal=to_terminal(output)), output)
