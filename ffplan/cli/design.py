"""`ffplan design`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _examined_design, _resolved_design
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption, ProfileOption
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras

if TYPE_CHECKING:
    from ffplan.results.design import Assessment


def _assessed(file: str, catalogs: list[str] | None, profile: str | None, *, levels: bool) -> Assessment:
    """Return a design's assessment, with its levels of switches if asked for."""
    if not levels:
        return _examined_design(file, catalogs, profile)
    from ffplan.check.run import examine
    from ffplan.studies.train.cluster import level_rooflines

    design, catalog = _resolved_design(file, catalogs, profile)
    return replace(examine(design, catalog), levels=level_rooflines(design, catalog))


def design(
    file: DesignArgument,
    profile: ProfileOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
    rooflines: Annotated[
        bool,
        typer.Option(
            "--rooflines", help="Add the levels of switches with the batch from which computing binds at each."
        ),
    ] = False,
) -> None:
    """Assess one design: fabric, bounds on communication, power and cost."""
    from ffplan.report.design import design_document

    document = design_document(_assessed(file, catalog, profile, levels=rooflines))
    emit(_with_extras(document, form, [file], catalog, "assessment"), form, output)
