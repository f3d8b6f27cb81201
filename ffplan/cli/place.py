"""`ffplan fabric place`."""

from __future__ import annotations

from ffplan.base.errors import UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _wired_design, choice, message_size
from ffplan.cli.options import (
    CatalogOption,
    DesignArgument,
    NodesOption,
    OrderOption,
    OutputOption,
    SeedOption,
    SizeOption,
)
from ffplan.cli.output import emit


def place(
    file: DesignArgument,
    order: OrderOption = "aligned",
    nodes: NodesOption = None,
    size: SizeOption = None,
    seed: SeedOption = 0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Order a job's nodes into ranks, with one pair of nodes across zones, and show the cost of other orders."""
    from ffplan.fabric.routing.job_loads import ORDERS, StudyError
    from ffplan.report.fabric import placement_document
    from ffplan.studies.fabric import route as study

    choice(order, ORDERS, "--order")
    wired = _wired_design(file, catalog)
    try:
        report = study.place(wired, order, nodes, message_size(wired.design, size), seed)
    except StudyError as error:
        raise UsageError(f"ffplan fabric place: {error}") from None
    emit(placement_document(report), form, output)
