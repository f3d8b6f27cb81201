"""`ffplan check`."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, EXIT_INVALID, EXIT_OK, Severity, UsageError
from ffplan.base.files import is_file, is_folder
from ffplan.cli.options import CatalogOption, OutputOption, ProfileOption, _complete_design
from ffplan.cli.output import _terminal_width, write
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.base.errors import Finding
    from ffplan.check.formats import Checked
    from ffplan.cli.checked_files import _CheckedFile, _Task

FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Design files, names of shipped designs, catalogue files, or folders of them.",
        autocompletion=_complete_design,
    ),
]


if TYPE_CHECKING:

    class CheckFormat(StrEnum):
        """Formats of findings, as `check.formats` lists them."""

        TEXT = "text"
else:
    from ffplan.check.formats import FORMATS

    CheckFormat = StrEnum("CheckFormat", {name.upper(): name for name in FORMATS})

MOST_JOBS = 256


class _FailOn(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    NEVER = "never"


def _results(files: list[str], task: _Task, jobs: int) -> list[_CheckedFile]:
    from ffplan.cli.checked_files import _checked

    progress = Progress("checking")
    checked_files: list[_CheckedFile] = []
    if jobs == 1 or len(files) == 1:
        for number, file in enumerate(files):
            progress.step(number, len(files))
            checked_files.append(_checked(file, task))
    else:
        from ffplan.base.processes import worker_pool

        size = max(1, min(50, len(files) // (4 * jobs)))
        with worker_pool(min(jobs, len(files))) as pool:
            for result in pool.map(_checked, files, [task] * len(files), chunksize=size):
                progress.step(len(checked_files), len(files))
                checked_files.append(result)
    progress.end()
    return checked_files


def _unused(results: list[_CheckedFile], names: list[str], *, compared: bool) -> list[Finding]:
    """Return waivers that accept nothing; a policy's only if a named folder contains all files it covers.

    Args:
        compared: the designs were held against what they were; else nobody knows what waivers of `regression` accept.
    """
    from ffplan.check.waivers import settled_waivers, unused, weighed

    folders = [Path(name).absolute() for name in names if is_folder(name)]
    broken = [Path(result.file) for result in results if not result.whole]
    policies = {result.policy.file: result.policy for result in results}
    owners = policies | {waiver.file: result.policy for result in results for waiver in result.waivers}
    waivers = [waiver for result in results for waiver in result.waivers if waiver.rows]
    waivers += [waiver for policy in policies.values() for waiver in settled_waivers(policy, folders, broken)]
    known = [waiver for waiver in waivers if compared or waiver.rule != "regression"]
    idle = unused(known, [waiver for result in results for waiver in result.used])
    return [finding for left_over in idle for finding in weighed((left_over,), owners[left_over.file])]


def _mandatory(results: Iterable[_CheckedFile]) -> frozenset[str]:
    return frozenset(rule for result in results for rule in result.policy.fields.mandatory)


def check(
    files: FilesArgument,
    form: Annotated[CheckFormat, typer.Option("--format", "-f", help="Format of the findings.")] = CheckFormat.TEXT,
    fail_on: Annotated[
        _FailOn | None,
        typer.Option("--fail-on", help="Least severity that makes the exit code 1; error if omitted."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="FILE", help="The team's policy; the nearest ffplan.toml upwards if omitted."),
    ] = None,
    isolated: Annotated[bool, typer.Option("--isolated", help="No policy.")] = False,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="FILE", help="Findings known before; only new ones count."),
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write the findings of today to the baseline.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="REF", help="Fail where a design is worse than in this revision or report."),
    ] = None,
    today: Annotated[
        str | None, typer.Option("--today", metavar="DAY", help="Day for waivers and prices, such as 2027-03-31.")
    ] = None,
    profile: ProfileOption = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=MOST_JOBS, help="Processes.")] = 1,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Check designs for CI: schema, references, ports, divisibility, declared limits.

    A folder means every YAML file below it. A file with `kind:` is checked as a part of the catalogue, as measured
    cases or as a training plan.

    sarif, junit, github, gitlab and markdown are for pipelines and code hosts.

    Exit code 0 when fine, 1 with findings at or above --fail-on, 2 when a file cannot be assessed.
    """
    from ffplan.check.formats import render
    from ffplan.cli.checked_files import _Task, _yaml_files
    from ffplan.cli.loading import _day_of

    if update_baseline and baseline is None:
        raise UsageError("ffplan check: --update-baseline needs --baseline FILE")
    if isolated and policy is not None:
        raise UsageError("ffplan check: --isolated leaves no policy; drop it, or --policy")
    names, files = files, _yaml_files(files)
    day, folders = date.fromisoformat(_day_of(today, "ffplan check", "--today")), tuple(catalog or ())
    task = _Task(catalogs=folders, policy=policy, isolated=isolated, today=day, profile=profile, files=tuple(files))
    results = _results(files, task, jobs)
    whole = all(result.whole for result in results)
    if against is not None:
        from ffplan.cli.versions import _with_regressions

        results = _with_regressions(files, results, against, task)
    every = [finding for result in results for finding in result.findings] + _unused(
        results, names, compared=against is not None
    )
    report = _report(files, results, every)
    if baseline is not None:
        mandatory = _mandatory(results)
        report = _with_baseline(report, baseline, names, update=update_baseline, mandatory=mandatory)
    write(render(report, form.value, width=_terminal_width(output)), output)
    raise typer.Exit(EXIT_INVALID if not whole else _code(report.findings, fail_on, results))


def _report(files: list[str], results: list[_CheckedFile], findings: list[Finding]) -> Checked:
    from ffplan.check.formats import Checked

    return Checked(
        files=tuple(files),
        words=tuple(result.word for result in results),
        findings=tuple(sorted(set(findings), key=lambda finding: finding.sort_key)),
        waived=sum(result.waived for result in results),
        limits=sum(result.limits for result in results),
        held=sum(result.held for result in results),
        shipped=frozenset(result.file for result in results) - frozenset(files),
    )


def _with_baseline(report: Checked, file: str, names: list[str], *, update: bool, mandatory: frozenset[str]) -> Checked:
    """Return a report without a baseline's findings; the baseline is written first if requested."""
    from ffplan.check.waivers import against, others, read_baseline, write_baseline
    from ffplan.cli.loading import _read_text

    named = [*report.files, *(finding.file for finding in report.findings)]
    folders = [name for name in names if is_folder(name)]
    if update:
        kept = others(read_baseline(_read_text(file), file), named, folders) if is_file(file) else None
        write(write_baseline(report.findings, mandatory, kept), file, option="--baseline")
    whole = read_baseline(_read_text(file), file)
    comparison = against(report.findings, whole - others(whole, named, folders), mandatory)
    return replace(report, findings=comparison.new, known=comparison.known, fixed=comparison.fixed)


def _code(findings: Iterable[Finding], fail_on: _FailOn | None, results: list[_CheckedFile]) -> int:
    """Return the exit code: without --fail-on, the strictest policy of the files decides."""
    stated = [result.policy.fields.fail_on for result in results]
    levels = [_FailOn(word) for word in stated if word is not None]
    limits = [fail_on] if fail_on else levels + [_FailOn.ERROR] * any(word is None for word in stated)
    ranks = [Severity(limit.value).rank for limit in limits if limit is not _FailOn.NEVER]
    failed = bool(ranks) and any(finding.severity.rank >= min(ranks) for finding in findings)
    return EXIT_FINDINGS if failed else EXIT_OK
