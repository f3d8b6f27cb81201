"""`ffplan cabling`."""

from __future__ import annotations

from ffplan.base.errors import InputError
from ffplan.cli.common import CatalogOption, DesignArgument, FormatOption, OutputOption, ReportFormat
from ffplan.cli.wired import emit, wired_design


def cabling(
    file: DesignArgument,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Place nodes and switches on the floor of the design, and choose every cable; CSV lists them one by one."""
    from ffplan.interop.cables import cabling as lay
    from ffplan.report.fabric import cabling_blocks

    wired = wired_design(file, catalog)
    if wired.design.spec.floor is None:
        raise InputError(
            wired.design.document.finding(
                "design-floor", (), "the design has no `floor`, so that cables have no lengths",
                "add a `floor` and the `rack_units` of the nodes",
            )
        )  # fmt: skip
    report = lay(wired.design, wired.fabric, wired.names)
    head = f"{report.design}: cabling"
    emit(report, list(report.cables), head, lambda: cabling_blocks(report), form, output)
