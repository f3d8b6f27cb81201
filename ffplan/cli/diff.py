"""`ffplan diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.common import CatalogOption, DesignArgument, FormatOption, OutputOption, ReportFormat, read_text
from ffplan.cli.wired import emit, wired_design

if TYPE_CHECKING:
    from ffplan.interop.asbuilt import AsBuilt
    from ffplan.results.fabric import DiffReport


def _rows(report: DiffReport) -> list[dict[str, str]]:
    """Return one row for each difference."""
    rows = [{"kind": "absent", "port": name, "designed": "", "found": ""} for name in report.absent]
    rows += [{"kind": "unknown", "port": name, "designed": "", "found": ""} for name in report.unknown]
    rows += [{"kind": "missing", "port": a, "designed": b, "found": ""} for a, b in report.missing]
    rows += [{"kind": "extra", "port": a, "designed": "", "found": b} for a, b in report.extra]
    return rows + [
        {"kind": "miswired", "port": item.port, "designed": item.designed, "found": item.found}
        for item in report.miswired
    ]


def _same_fabric(built: AsBuilt, known: set[str], file: str) -> None:
    """Refuse a fabric none of whose devices the design knows."""
    if not known & set(built.devices):
        some = next(iter(built.devices))
        raise UsageError(
            f"ffplan diff: {file}: no device of this file is in the design, such as `{some}`; ffplan names devices as "
            f"`{min(known)}` does: set the node descriptions to these names, or rename them in the file"
        )


def diff(
    file: DesignArgument,
    as_built: Annotated[str, typer.Argument(metavar="AS_BUILT", help="Output of ibnetdiscover.")],
    plane: Annotated[int | None, typer.Option("--plane", min=1, help="Only this plane, counted from 1.")] = None,
    zone: Annotated[int | None, typer.Option("--zone", min=1, help="Only this zone, counted from 1.")] = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Compare the fabric as built with the design: missing, extra and miswired links.

    Exit code 1 where they differ.
    """
    from ffplan.interop.asbuilt import compare, designed, read_ibnetdiscover
    from ffplan.interop.ibsim import subnet
    from ffplan.report.fabric import diff_blocks
    from ffplan.results.design import SCHEMA_VERSION

    wired = wired_design(file, catalog)
    network = wired.fabric.network
    inside = subnet(network, None if plane is None else plane - 1, None if zone is None else zone - 1)
    if not inside.any():
        raise UsageError("ffplan diff: the fabric has no such plane or zone")
    built = read_ibnetdiscover(read_text(as_built), as_built)
    wanted = designed(network, wired.names, inside)
    _same_fabric(built, {name for name, _ in wanted}, as_built)
    report = compare(wanted, built, wired.design.spec.name, SCHEMA_VERSION)
    rows = _rows(report)
    head = f"{report.design}: {report.same:,} links as designed, {len(rows):,} differences"
    emit(report, rows, head, lambda: diff_blocks(rows), form, output)
    if rows:
        raise typer.Exit(EXIT_FINDINGS)
