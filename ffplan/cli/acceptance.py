"""`ffplan fabric accept`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import EXIT_FINDINGS, UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.job import JobGpusOption, JobModelOption, _requested_job
from ffplan.cli.loading import _parsed, _read_output, _resolved_design
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption, ProfileOption
from ffplan.cli.output import _refuse_target, emit, write
from ffplan.cli.page import _with_extras
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.interop.logs.measured import CollectiveHints
    from ffplan.results.acceptance import Measured, Unread

MOST_BYTES = 64 * 2**20
"""Largest log that is read [byte]."""


def _said(operation: str | None, ranks: int | None, files: list[str]) -> CollectiveHints:
    from ffplan.interop.logs.measured import CollectiveHints
    from ffplan.interop.logs.nccl_operations import OPERATIONS, operation_named

    given = [name for name, value in (("--op", operation), ("--ranks", ranks)) if value is not None]
    if given and not files:
        raise UsageError(f"ffplan fabric accept: {given[0]} has an effect with --measured only")
    known = None if operation is None else operation_named(operation.removesuffix("_perf"))
    if operation is not None and known is None:
        names = ", ".join(OPERATIONS.values())
        raise UsageError(f"ffplan fabric accept: --op {operation}: unknown operation; known are {names}")
    return CollectiveHints(known, ranks or 0)


def _read(files: list[str], said: CollectiveHints) -> tuple[tuple[Measured, ...], tuple[Unread, ...]]:
    from ffplan.interop.logs.read import read_log

    measured_values: list[Measured] = []
    unread: list[Unread] = []
    progress = Progress("logs")
    try:
        for number, file in enumerate(files):
            progress.step(number, len(files), file)
            measured_values += read_log(_read_output(file, MOST_BYTES), file, said, unread)
    finally:
        progress.end()
    return tuple(measured_values), tuple(unread)


UNUSUAL = "of other accelerators, or of ranks that do not fill nodes one after the other"
"""Reason why a measurement cannot be saved as a case."""


def acceptance(
    file: DesignArgument,
    measured: Annotated[
        list[str] | None,
        typer.Option(
            "--measured",
            metavar="FILE",
            help="A log of nccl-tests, OSU, perftest, nvbandwidth, DCGM, fio, IOR, MLPerf Storage, STREAM, nvidia-smi "
            "or ibdiagnet, or the sheet filled in. May be repeated.",
        ),
    ] = None,
    operation: Annotated[
        str | None,
        typer.Option("--op", metavar="NAME", help="Operation of a log that does not say it: all-gather."),
    ] = None,
    ranks: Annotated[
        int | None, typer.Option("--ranks", metavar="N", min=2, help="Ranks of a log that does not say it.")
    ] = None,
    tolerance: Annotated[
        str, typer.Option("--tolerance", metavar="PERCENT", help="How far a rate may lie below the expected.")
    ] = "10 %",
    save: Annotated[
        str | None,
        typer.Option("--save", metavar="FILE", help="Write measured collectives as cases for `accuracy`, `calibrate`."),
    ] = None,
    date: Annotated[
        str | None, typer.Option("--date", metavar="DAY", help="Day of the measurement, for --save: 2026-11-22.")
    ] = None,
    model: JobModelOption = None,
    gpus: JobGpusOption = None,
    profile: ProfileOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Print expected measurements of each delivered node and the fabric, and judge measured ones.

    Exit code 1 if a measured value fails, or a part of a log could not be read.
    """
    from ffplan.inputs.quantities import parse_share
    from ffplan.report.operate import acceptance_document
    from ffplan.studies.operate.acceptance import study_acceptance

    part = _parsed(lambda: parse_share(tolerance), "--tolerance", "fabric accept")
    if part >= 1:
        raise UsageError(f"ffplan fabric accept: --tolerance {tolerance}: it must be below 100 %")
    if save is not None:
        if not measured:
            raise UsageError("ffplan fabric accept: --save has an effect with --measured only")
        if date is None:
            raise UsageError("ffplan fabric accept: --save needs --date, the day of the measurement")
        _refuse_target(save, "--save")
    elif date is not None:
        raise UsageError("ffplan fabric accept: --date has an effect with --save only")
    said = _said(operation, ranks, measured or [])
    design, parts = _resolved_design(file, catalog, profile)
    if not design.accelerators:
        raise UsageError(f"ffplan fabric accept: `{design.spec.name}` has no accelerators")
    values, unread = _read(measured or [], said)
    job = _requested_job("fabric accept", design, parts, model, gpus)
    report = study_acceptance(design, parts, part, values, job.report if job else None, unread)
    if save is not None and date is not None:
        _save(values, design, save, date)
    emit(_with_extras(acceptance_document(report), form, [file], catalog, "acceptance"), form, output)
    if unread or any(row.verdict == "fail" for row in report.judged):
        raise typer.Exit(EXIT_FINDINGS)


def _save(values: tuple[Measured, ...], design: ResolvedDesign, file: str, date: str) -> None:
    import re
    from datetime import date as day
    from pathlib import Path

    from ffplan.base.formatting import plural
    from ffplan.interop.logs.read import cases_text
    from ffplan.studies.basis.job_layout import fills_nodes, node_of

    host = node_of(design)
    typical = tuple(value for value in values if not value.gpus or (value.nodes and fills_nodes(value, host)))
    if len(typical) < len(values):
        count = plural(len(values) - len(typical), "value")
        print(f"ffplan fabric accept: --save leaves {count} out, {UNUSUAL}", file=sys.stderr)
    try:
        known = re.fullmatch(r"[0-9]{4}(-[0-9]{2}){0,2}", date) and day.fromisoformat(f"{date}-01-01"[:10])
    except ValueError:
        known = None
    if not known:
        raise UsageError(f"ffplan fabric accept: --date {date}: write a day such as 2026-11-22")
    name = re.sub(r"[^a-z0-9.+-]+", "-", Path(file).stem.lower()).strip("-") or "measured"
    text = cases_text(typical, design.compute.server.id, name, date)
    if text is None:
        raise UsageError("ffplan fabric accept: --save: no collective was measured that is right and fills nodes")
    write(text, file, option="--save")
