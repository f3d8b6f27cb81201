"""`ffplan audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import read_text, wired_design
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption
from ffplan.cli.output import emit

if TYPE_CHECKING:
    from ffplan.interop.asbuilt import AsBuilt


def _same_fabric(built: AsBuilt, known: set[str], file: str) -> None:
    """Refuse a fabric that shares no device with the design."""
    found = [device.name for device in built.devices]
    if known.isdisjoint(found):
        some = found[0]
        raise UsageError(
            f"ffplan audit: {file}: no device of this file is in the design, such as `{some}`; ffplan names devices as "
            f"`{min(known)}` does: set the node descriptions to these names, or rename them in the file"
        )


def audit(
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
    from ffplan.interop.asbuilt import MOST_BYTES, read_ibnetdiscover
    from ffplan.interop.ibsim import subnet
    from ffplan.interop.wiring_diff import compare, designed
    from ffplan.report.fabric import audit_document, differences
    from ffplan.results.design import SCHEMA_VERSION

    wired = wired_design(file, catalog)
    network = wired.fabric.network
    inside = subnet(network, None if plane is None else plane - 1, None if zone is None else zone - 1)
    if not inside.any():
        raise UsageError("ffplan audit: the fabric has no such plane or zone")
    built = read_ibnetdiscover(read_text(as_built, MOST_BYTES), as_built)
    wanted = designed(network, wired.names, inside)
    _same_fabric(built, set(wanted.names), as_built)
    report = compare(wanted, built, wired.design.spec.name, SCHEMA_VERSION)
    emit(audit_document(report), form, output)
    if differences(report):
        raise typer.Exit(EXIT_FINDINGS)
