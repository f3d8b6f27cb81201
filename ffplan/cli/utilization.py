"""`ffplan operate jobs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.loading import _parsed, _read_text, _resolved_design, choices
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption, SeedOption
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras
from ffplan.cli.progress import Progress
from ffplan.cli.simulated import _announce

if TYPE_CHECKING:
    from ffplan.catalog.reliability import JobMix
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.reliability.scheduler import JobTable

DEFAULT_LOAD, DEFAULT_DAYS = 1.1, 3.0
"""Default load [1] and days."""
LEAST_DAYS = 0.01
"""Shortest simulated time of a CSV [day]."""
LEAST_S = 60.0
"""Shortest time that a job keeps its nodes [s]."""
MOST_BYTES = 256 * 2**20
"""Largest file of jobs [byte]."""


def _seconds(text: str, option: str) -> float:
    """Return a time given on the command line [s]."""
    from ffplan.inputs.dimensions import DURATION
    from ffplan.inputs.quantities import parse_quantity

    return _parsed(lambda: parse_quantity(text, DURATION), option, "operate jobs")


def _jobs(design: ResolvedDesign, parts: Catalog, jobs: str) -> tuple[JobMix | None, JobTable | None]:
    """Return a job mix of the catalogue, or the jobs of a CSV."""
    from ffplan.catalog.named import part_of
    from ffplan.catalog.reliability import JobMix
    from ffplan.reliability.scheduler import JobTable
    from ffplan.studies.operate.utilization import largest_job

    if not jobs.lower().endswith(".csv"):
        return part_of(parts, JobMix, jobs, "ffplan operate jobs: --jobs"), None
    from ffplan.interop.workloads import read_jobs

    return None, JobTable(*read_jobs(_read_text(jobs, MOST_BYTES), jobs, largest_job(design)))


def _days(table: JobTable | None) -> float:
    """Return the days to simulate: enough for all jobs of a CSV in sequence, or the default."""
    if table is None:
        return DEFAULT_DAYS
    last = float(table.arrival_s[-1]) + float(table.run_s.max()) * 2
    return max(LEAST_DAYS, last / 86_400.0)


def _policies(policy: str, options: dict[str, str]) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return the policies, and times by option [s].

    Raises:
        UsageError: if an option is invalid.
    """
    from ffplan.reliability.scheduler import POLICIES

    policies = tuple(dict.fromkeys(choices(policy, POLICIES, "--policy")))
    times = {name: _seconds(text, name) for name, text in options.items()}
    if times["--quantum"] < LEAST_S:
        text = options["--quantum"]
        raise UsageError(f"ffplan operate jobs: --quantum {text}: it must be at least {LEAST_S:.0f} s")
    return policies, times


def utilization(
    file: DesignArgument,
    jobs: Annotated[
        str,
        typer.Option("--jobs", metavar="ID|FILE", help="A job mix, or a CSV with the columns arrival_s, gpus, run_s."),
    ] = "kalos",
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAMES", help="fifo, backfill, time-sharing, joined by commas.")
    ] = "time-sharing,fifo",
    load: Annotated[
        float | None,
        typer.Option(
            "--load", min=0.01, max=3, help="Work that arrives over what the cluster can do, of a mix; 1.1 if none."
        ),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option("--days", min=0.1, max=3650, help="Days of a simulated run; 3, or the CSV's, if omitted."),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="Simulated runs.")] = 3,
    quantum: Annotated[
        str, typer.Option("--quantum", metavar="TIME", help="Time that a job keeps its nodes at least.")
    ] = "2 h",
    save: Annotated[str, typer.Option("--save-time", metavar="TIME", help="Time to save a job and leave.")] = "10 s",
    resume: Annotated[str, typer.Option("--load-time", metavar="TIME", help="Time to load it and go on.")] = "60 s",
    seed: SeedOption = 0,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Simulate how jobs share a cluster: utilisation, waits by size, fragmentation, and what zones cost."""
    from ffplan.report.operate import utilization_document
    from ffplan.studies.operate.utilization import UtilizationRequest, expected_seconds, study_utilization

    policies, times = _policies(policy, {"--quantum": quantum, "--save-time": save, "--load-time": resume})
    design, parts = _resolved_design(file, catalog)
    if not design.accelerators:
        raise UsageError(f"ffplan operate jobs: `{design.spec.name}` has no accelerators")
    mix, table = _jobs(design, parts, jobs)
    if table is not None and load is not None:
        raise UsageError("ffplan operate jobs: --load has an effect on a job mix only; a CSV brings its own")
    request = UtilizationRequest(
        mix=mix,
        table=table,
        name=jobs,
        policies=policies,
        load=DEFAULT_LOAD if load is None else load,
        days=_days(table) if days is None else days,
        runs=1 if table is not None else runs,
        seed=seed,
        quantum_s=times["--quantum"],
        save_s=times["--save-time"],
        load_s=times["--load-time"],
    )
    _announce("operate jobs: this", expected_seconds(design, request))
    progress = Progress("simulated runs")
    try:
        report = study_utilization(design, parts, request, progress.step)
    finally:
        progress.end()
    emit(_with_extras(utilization_document(report), form, [file], catalog, "utilization"), form, output)
