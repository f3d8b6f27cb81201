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


def _labels(designs: tuple[Assessment, ...]) -> tuple[str, ...]:
    """Return what each design is called: its name, or its file where two have one name."""
    names = [design.design.name for design in designs]
    if len(set(names)) < len(names):
        names = [design.design.file for design in designs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise UsageError(f"ffplan compare: `{repeated[0]}` is named twice")
    return tuple(names)


def _baseline(designs: tuple[Assessment, ...], labels: tuple[str, ...], files: list[str], wanted: str | None) -> int:
    """Return the position of the baseline."""
    if wanted is None:
        return 0
    for position, design in enumerate(designs):
        if wanted in (labels[position], design.design.file, files[position]):
            return position
    from ffplan.inputs.suggest import did_you_mean

    raise UsageError(
        f"ffplan compare: --baseline `{wanted}` is not among the designs; {did_you_mean(wanted, labels, what='design')}"
    )


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
    """Lay designs side by side, with ratios to a baseline."""
    if len(files) < 2:
        raise UsageError("ffplan compare: name at least two designs")
    from ffplan.report.compare import compare_document
    from ffplan.studies import compare as study

    designs = _examine_all(files, catalog)
    labels = _labels(designs)
    comparison = study.compare(designs, labels, _baseline(designs, labels, files, baseline))
    emit(compare_document(comparison), form, output)
