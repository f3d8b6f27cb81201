"""`ffplan compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import InputError, UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import examined_design
from ffplan.cli.options import CatalogOption, DesignsArgument, OutputOption
from ffplan.cli.output import emit

if TYPE_CHECKING:
    from ffplan.base.errors import Finding
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
    comparison = study.compare(designs, labels, study.baseline_of(designs, labels, files, baseline))
    emit(compare_document(comparison), form, output)
