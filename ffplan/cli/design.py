"""`ffplan design`."""

from __future__ import annotations

from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import examined_design
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption, ProfileOption
from ffplan.cli.output import emit
from ffplan.cli.page import with_extras


def design(
    file: DesignArgument,
    profile: ProfileOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Assess one design: fabric, bounds on communication, power and cost."""
    from ffplan.report.design import design_document

    document = design_document(examined_design(file, catalog, profile))
    emit(with_extras(document, form, [file], catalog, "assessment"), form, output)
