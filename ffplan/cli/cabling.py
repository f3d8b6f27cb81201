"""`ffplan fabric cables`."""

from __future__ import annotations

from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _wired_design
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption
from ffplan.cli.output import emit


def cabling(
    file: DesignArgument,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Place nodes and switches on the design's floor, and choose every cable; CSV lists each cable."""
    from ffplan.report.fabric import cabling_document
    from ffplan.studies.fabric import cabling as study

    emit(cabling_document(study.cabling(_wired_design(file, catalog))), form, output)
