"""`ffplan sweep`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ffplan.base.errors import EXIT_FINDINGS, EXIT_STOPPED, UsageError
from ffplan.base.files import is_file
from ffplan.base.processes import heard
from ffplan.base.record import record
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.options import (
    CatalogOption,
    OutputOption,
    SeedOption,
    _by_comma,
    _complete_design_or_fleet,
    _complete_varied,
)
from ffplan.cli.output import emit
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.cli.sweep_file import _PointsTarget
    from ffplan.studies.choose.sweep import Sweep, SweepQuery
    from ffplan.studies.choose.sweep_rows import Kept
    from ffplan.studies.choose.sweep_run import SweepJob, Total

FEW_CHUNKS = 4
"""Most chunks for which one process is faster than several [1]."""

SweptArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A design or fleet file, or the name of a shipped one.",
        autocompletion=_complete_design_or_fleet,
    ),
]
VaryOption = Annotated[
    list[str],
    typer.Option(
        "--vary",
        metavar="PATH=VALUES",
        help="What differs: `fabric.switch=qm9700,sn5600`, `nodes[0].count=64..1024:64` (in steps), `64..4096*2` (by a "
        "factor), `site.pue=1.1..1.4#7` (seven values). May be repeated.",
        autocompletion=_complete_varied,
    ),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="PATH",
        help="Numbers that `design`, `cost`, `train`, `serve` or `operate goodput` prints, such as run.days; with "
        "commas or repeated.",
        callback=_by_comma,
    ),
]
ParetoOption = Annotated[
    str | None,
    typer.Option("--pareto", metavar="M:min,...", help="Metrics of the front, each with min or max."),
]
PointsOption = Annotated[
    str | None,
    typer.Option("--points", metavar="FILE", help="Write every point to FILE.csv, .jsonl or .parquet, chunk by chunk."),
]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, max=1024, help="Processes; all cores if omitted.")
]
TLS = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
"""Dask's names of TLS files."""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _directions(text: str | None) -> dict[str, str]:
    directions: dict[str, str] = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        name, _, way = part.strip().rpartition(":")
        if way not in ("min", "max") or not name:
            raise UsageError(f"ffplan sweep: --pareto {part.strip()}: write METRIC:min or METRIC:max")
        directions[name] = way
    if text is not None and len(directions) < 2:
        raise UsageError("ffplan sweep: --pareto: a front takes two metrics or more: `cost.total:min,accelerators:max`")
    return directions


def _security(tls: str | None) -> dict[str, str]:
    """Return files of TLS from `ca=FILE,cert=FILE,key=FILE`."""
    files: dict[str, str] = {"require_encryption": "true"} if tls else {}
    for part in (tls or "").split(","):
        name, _, file = part.partition("=")
        if tls and (name not in TLS or not file):
            raise UsageError(f"ffplan sweep: --tls {part}: write ca=FILE,cert=FILE,key=FILE")
        if tls and not is_file(file):
            raise UsageError(f"ffplan sweep: --tls {part}: the file {file} does not exist")
        if tls:
            files[TLS[name]] = file
    if tls and len(files) <= len(TLS):
        raise UsageError(f"ffplan sweep: --tls {tls}: Dask takes all three: ca=FILE,cert=FILE,key=FILE")
    return files


@record
class _Where:
    jobs: int
    cluster: str | None
    security: dict[str, str]


def _chunks(job: SweepJob, sweep: Sweep, first: int, where: _Where) -> Iterator[Kept]:
    from ffplan.studies.choose import sweep_run

    left = sweep.chunks - first
    if where.cluster is not None:
        how: Any = {"address": where.cluster, "security": where.security, "workers": where.jobs}
        from ffplan.studies.choose.sweep_run import on_cluster

        return on_cluster(job, sweep, first, **how)
    if where.jobs == 1 or left <= FEW_CHUNKS:
        return sweep_run.here(job, sweep, first)
    return sweep_run.on_cores(job, sweep, first, min(where.jobs, left))


def _swept(
    query: SweepQuery, directions: dict[str, str], points: str | None, where: _Where, *, resume: bool
) -> tuple[Sweep, Total, bool]:
    from ffplan.cli.sweep_file import _form_of, _PointsFile, _PointsFolder
    from ffplan.studies.choose.sweep_rows import grid_axes, header
    from ffplan.studies.choose.sweep_run import SweepJob, Total, job_key

    sweep, target = query.sweep(), None
    total = Total(directions, grid_axes(query.points, sweep.names, directions))
    job = SweepJob(query, job_key(query, directions), _form_of(points), directions)
    if points is not None:
        start = header(sweep, sweep.names, job.form or "")
        target = _PointsFolder(points, job.key) if job.form == "parquet" else _PointsFile(points, job.key, start)
        target.start(total, resume=resume)
    stopped = _run(_chunks(job, sweep, total.chunks, where), sweep, total, target)
    if target is not None and not stopped:
        target.finish()
    return sweep, total, stopped


def _run(chunks: Iterator[Kept], sweep: Sweep, total: Total, target: _PointsTarget | None) -> bool:
    progress, began, before = Progress("sweep"), time.monotonic(), total.points
    try:
        for part in chunks:
            total.take(part)
            if target is not None:
                target.add(part.data, total)
            rate = (total.points - before) / max(time.monotonic() - began, 1e-6)
            left = (sweep.points.count - total.points) / rate if rate else 0.0
            progress.step(total.points, sweep.points.count, f"points, {rate:,.0f} a second, {left:,.0f} s left")
    except KeyboardInterrupt:
        heard()
        return True
    finally:
        progress.end()
        if target is not None:
            target.say(total)
    return False


def sweep(
    file: SweptArgument,
    vary: VaryOption,
    metric: MetricOption = None,
    pareto: ParetoOption = None,
    zipped: Annotated[bool, typer.Option("--zip", help="Pair the values of axes of one length.")] = False,
    sample: Annotated[
        int | None,
        typer.Option("--sample", min=2, max=10_000_000, help="Points of a Latin hypercube, in place of all."),
    ] = None,
    seed: SeedOption = 0,
    points: PointsOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the interrupted FILE of --points.")] = False,
    jobs: JobsOption = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="A Dask scheduler, tcp://HOST:8786, or `local`."),
    ] = None,
    tls: Annotated[
        str | None, typer.Option("--tls", metavar="FILES", help="ca=FILE,cert=FILE,key=FILE for tls:// schedulers.")
    ] = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Vary a design, or a fleet, along any paths: counts, parts, prices, demand; figures of each point, and the best.

    Exit code 1 if no point can be built.
    """
    from ffplan.cli.page import _with_extras
    from ffplan.inputs.design_files import find_design_or_fleet
    from ffplan.inputs.document import read_bytes
    from ffplan.report.choose import sweep_document
    from ffplan.studies.choose.sweep import DesignSweep
    from ffplan.studies.choose.sweep_axes import Points, axis
    from ffplan.studies.choose.sweep_run import sweep_report
    from ffplan.studies.fleet.query import sweep_query

    directions, security = _directions(pareto), _security(tls)
    if resume and points is None:
        raise UsageError("ffplan sweep: --resume continues a file: give --points FILE")
    if tls is not None and not (cluster or "").startswith("tls://"):
        raise UsageError("ffplan sweep: --tls is for a scheduler by TLS: give --cluster tls://HOST:8786")
    if points is not None and output is not None and os.path.realpath(points) == os.path.realpath(output):
        raise UsageError(f"ffplan sweep: --points and --output are both {points}; name two files")
    try:
        spanned = Points(tuple(axis(text) for text in vary), zipped=zipped, sample=sample, seed=seed)
        path, name = find_design_or_fleet(file)
        metrics = tuple(dict.fromkeys([*(metric or ()), *directions]))
        text = read_bytes(path, name).decode("utf-8-sig", "replace")
        folders = tuple(str(Path(folder).absolute()) for folder in catalog or ())  # workers stand elsewhere
        query = sweep_query(text, name, overlays=folders, points=spanned, metrics=metrics)
        where = _Where(jobs=jobs or _cores(), cluster=cluster, security=security)
        varied, total, stopped = _swept(query, directions, points, where, resume=resume)
    except UsageError as error:
        fault = str(error).removeprefix("ffplan sweep: ").removeprefix("ffplan: ")
        raise UsageError(f"ffplan sweep: {fault}") from None
    document = sweep_document(sweep_report(varied, varied.info, total, stopped=stopped))
    drawn = [file] if isinstance(varied, DesignSweep) else []
    emit(_with_extras(document, form, drawn, catalog, "sweep"), form, output)
    if stopped:
        hint = f"`--resume` continues {points}" if points else "with --points FILE, `--resume` can continue"
        typer.echo(f"ffplan sweep: stopped after {total.points:,} of {spanned.count:,} points; {hint}", err=True)
        raise typer.Exit(EXIT_STOPPED)
    if not total.built:
        raise typer.Exit(EXIT_FINDINGS)
