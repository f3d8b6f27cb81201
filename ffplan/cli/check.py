"""`ffplan check`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, EXIT_INVALID, EXIT_OK, Finding, InputError, Severity
from ffplan.cli.loading import examined_design
from ffplan.cli.options import CatalogOption, DesignsArgument, OutputOption
from ffplan.cli.output import write


class CheckFormat(StrEnum):
    """Formats of findings."""

    TEXT = "text"
    JSON = "json"


def _check(file: str, catalogs: list[str] | None) -> tuple[tuple[Finding, ...], bool]:
    """Return the findings on one design, and whether it could be assessed."""
    try:
        return examined_design(file, catalogs, all_scales=False).findings, True
    except InputError as error:
        return error.findings, False


def _summary(files: list[str], findings: list[Finding]) -> str:
    counts = [
        f"{number} {severity}{'s' if number != 1 and severity != Severity.INFO else ''}"
        for severity in reversed(Severity)
        if (number := sum(found.severity is severity for found in findings))
    ]
    designs = f"{len(files)} design{'s' if len(files) != 1 else ''}"
    return f"{designs} checked: {', '.join(counts) or 'nothing found'}"


def check(
    files: DesignsArgument,
    form: Annotated[CheckFormat, typer.Option("--format", "-f", help="Format of the findings.")] = CheckFormat.TEXT,
    fail_on: Annotated[
        Severity, typer.Option("--fail-on", help="Least severity that makes the exit code 1.")
    ] = Severity.ERROR,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Check designs for CI: schema, references, ports, divisibility, declared limits.

    Exit code 0 when fine, 1 with findings at or above --fail-on, 2 when a design cannot be assessed.
    """
    findings: list[Finding] = []
    whole = True
    for file in files:
        found, assessed = _check(file, catalog)
        findings.extend(found)
        whole = whole and assessed
    findings = sorted(set(findings), key=lambda item: item.sort_key)
    if form is CheckFormat.JSON:
        from ffplan.check.run import findings_report
        from ffplan.report.formats.json import to_json

        write(to_json(findings_report(files, findings)), output)
    else:
        write("".join(f"{item}\n" for item in [*findings, _summary(files, findings)]), output)
    failed = any(item.severity.rank >= fail_on.rank for item in findings)
    raise typer.Exit(EXIT_INVALID if not whole else EXIT_FINDINGS if failed else EXIT_OK)
