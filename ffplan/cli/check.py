"""`ffplan check`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, EXIT_INVALID, EXIT_OK, Severity
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


if TYPE_CHECKING:

    class CheckFormat(StrEnum):
        """Formats of findings, as `check.formats` lists them."""

        TEXT = "text"
else:
    from ffplan.check.formats import FORMATS

    CheckFormat = StrEnum("CheckFormat", {name.upper(): name for name in FORMATS})


class FailOn(StrEnum):
    """Least severity that makes the exit code 1."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    NEVER = "never"


def check(
    files: FilesArgument,
    form: Annotated[CheckFormat, typer.Option("--format", "-f", help="Format of the findings.")] = CheckFormat.TEXT,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Least severity that makes the exit code 1.")
    ] = FailOn.ERROR,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Check designs for CI: schema, references, ports, divisibility, declared limits.

    A folder stands for every YAML file below it. A file with `kind:` is checked as a part of the catalogue, as measured
    cases or as a training plan.

    sarif, junit, github, gitlab and markdown are for pipelines and code hosts.

    Exit code 0 when fine, 1 with findings at or above --fail-on, 2 when a file cannot be assessed.
    """
    from ffplan.check.formats import render
    from ffplan.check.formats.checked import Checked

    files = yaml_files(files)
    results = [checked(file, catalog or ()) for file in files]
    whole = all(result.whole for result in results)
    findings = sorted({item for result in results for item in result.findings}, key=lambda item: item.sort_key)
    report = Checked(files=tuple(files), words=tuple(result.word for result in results), findings=tuple(findings))
    write(render(report, form.value), output)
    least = None if fail_on is FailOn.NEVER else Severity(fail_on.value).rank
    failed = least is not None and any(item.severity.rank >= least for item in findings)
    raise typer.Exit(EXIT_INVALID if not whole else EXIT_FINDINGS if failed else EXIT_OK)
