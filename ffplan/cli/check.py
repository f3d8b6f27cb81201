"""`ffplan check`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, EXIT_INVALID, EXIT_OK, Finding, Severity
from ffplan.base.formatting import plural
from ffplan.base.visible import visible
from ffplan.cli.checked_files import checked, yaml_files
from ffplan.cli.options import CatalogOption, OutputOption, complete_design
from ffplan.cli.output import write

FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Design files, names of shipped designs, catalogue files, or folders of them.",
        autocompletion=complete_design,
    ),
]


class CheckFormat(StrEnum):
    """Formats of findings."""

    TEXT = "text"
    JSON = "json"


def _summary(words: list[str], findings: list[Finding]) -> str:
    """Return how many files of each kind were checked, and how many findings of each severity there are."""
    counts = [
        f"{number} {severity}{'s' if number != 1 and severity != Severity.INFO else ''}"
        for severity in reversed(Severity)
        if (number := sum(found.severity is severity for found in findings))
    ]
    files = [plural(words.count(word), word) for word in dict.fromkeys(["design", *words]) if word in words]
    return f"{', '.join(files)} checked: {', '.join(counts) or 'nothing found'}"


def check(
    files: FilesArgument,
    form: Annotated[CheckFormat, typer.Option("--format", "-f", help="Format of the findings.")] = CheckFormat.TEXT,
    fail_on: Annotated[
        Severity, typer.Option("--fail-on", help="Least severity that makes the exit code 1.")
    ] = Severity.ERROR,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Check designs for CI: schema, references, ports, divisibility, declared limits.

    A folder stands for every YAML file below it. A file with `kind:` is checked as a part of the catalogue, as measured
    cases or as a training plan.

    Exit code 0 when fine, 1 with findings at or above --fail-on, 2 when a file cannot be assessed.
    """
    files = yaml_files(files)
    results = [checked(file, catalog or ()) for file in files]
    whole = all(result.whole for result in results)
    findings = sorted({item for result in results for item in result.findings}, key=lambda item: item.sort_key)
    if form is CheckFormat.JSON:
        from ffplan.check.run import findings_report
        from ffplan.report.formats.json import to_json

        write(to_json(findings_report(files, findings)), output)
    else:
        summary = _summary([result.word for result in results], findings)
        write(visible("".join(f"{item}\n" for item in [*findings, summary])), output)
    failed = any(item.severity.rank >= fail_on.rank for item in findings)
    raise typer.Exit(EXIT_INVALID if not whole else EXIT_FINDINGS if failed else EXIT_OK)
