"""`ffplan operate`: goodput, storage and jobs of a cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from ffplan.base.errors import InputError, UsageError, lacking
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.job import DrawsOption, JobGpusOption, JobModelOption, _requested_job
from ffplan.cli.loading import MOST, _parsed, _read_text, _resolved_design, choice, choices
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption, ProfileOption, SeedOption
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras
from ffplan.cli.progress import Progress

if TYPE_CHECKING:
    from ffplan.catalog.reliability import JobMix
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.reliability.scheduler import JobTable
    from ffplan.results.reliability import GoodputReport, SimulationReport
    from ffplan.studies.goodput.goodput import GoodputStudy
    from ffplan.studies.goodput.simulation import FabricLosses

LONG_S = 10.0
"""Shortest simulation time that is announced [s]."""
MOST_ENDPOINTS = 600_000
"""Largest fabric, in endpoints, for which losses are simulated [1]."""
DAYS = 365.0
"""Default length of a simulated run of a job [day]."""
DRAWS = 2_000
"""Default number of draws of the uncertain inputs [1]."""
DEFAULT_LOAD, DEFAULT_DAYS = 1.1, 3.0
"""Default load [1], and days of a simulated run of all jobs."""
LEAST_S = 60.0
"""Shortest time that a job keeps its nodes [s]."""
MOST_BYTES = 256 * 2**20
"""Largest file of jobs [byte]."""


def _needs_simpy(what: str) -> None:
    try:
        import simpy  # noqa: F401
    except ImportError:
        raise UsageError(lacking(f"ffplan {what}", "SimPy", "simpy")) from None


def _announce(what: str, seconds: float) -> None:
    if seconds > LONG_S:
        long = f"{seconds / 60:.0f} minutes" if seconds > 2 * 60 else f"{seconds:.0f} seconds"
        typer.echo(f"ffplan {what} takes about {long}; Ctrl-C keeps the runs done so far", err=True)


def _with_options(
    design: ResolvedDesign, interval: str | None, checkpoints: str | None, restart: str | None, spares: int | None
) -> ResolvedDesign:
    from ffplan.design.reliability_schema import Checkpointing, Reliability, Restart
    from ffplan.inputs.dimensions import DURATION
    from ffplan.inputs.quantities import parse_quantity

    changes: dict[str, object] = {}
    if interval is not None:
        changes["checkpoint_interval"] = _parsed(
            lambda: parse_quantity(interval, DURATION), "--interval", "operate goodput"
        )
        if not changes["checkpoint_interval"]:
            raise UsageError(f"ffplan operate goodput: --interval {interval}: it must be above 0")
    if checkpoints is not None:
        changes["checkpoints"] = choice(checkpoints, get_args(Checkpointing), "--checkpoints")
    if restart is not None:
        changes["restart"] = choice(restart, get_args(Restart), "--restart")
    if spares is not None:
        changes["spare_nodes"] = spares
    if not changes:
        return design
    if spares is not None and design.ownership is not None:  # one number: the option's
        design = replace(design, ownership=design.ownership.model_copy(update={"spare_nodes": None}))
    return replace(design, reliability=(design.reliability or Reliability.model_construct()).model_copy(update=changes))


def _losses(design: ResolvedDesign) -> FabricLosses | None:
    """Return the effect of single losses on the fabric; None for a very large one, or other than a tree."""
    from ffplan.studies.fabric.cabling import wire_design
    from ffplan.studies.goodput.simulation import fabric_losses

    wired = wire_design(design)
    if not wired.fabric.trees or len(wired.fabric.network.endpoints) > MOST_ENDPOINTS:
        return None
    progress = Progress("losses of the fabric")
    try:
        return fabric_losses(wired, progress.step)
    finally:
        progress.end()


def _simulated(study: GoodputStudy, days: float, runs: int, seed: int) -> SimulationReport:
    from ffplan.studies.goodput.simulation import SimulationRequest, expected_seconds, simulate

    request = SimulationRequest(days, runs, seed)
    _needs_simpy("operate goodput: --simulate")
    _announce("operate goodput: the simulation", expected_seconds(study.job, study.inputs, request))
    progress = Progress("simulated runs")
    losses = _losses(study.basis.design)
    try:
        return simulate(study.job, study.inputs, study.basis.hazards, request, losses=losses, step=progress.step)
    finally:
        progress.end()


def goodput(
    file: DesignArgument,
    model: JobModelOption = None,
    gpus: JobGpusOption = None,
    interval: Annotated[
        str | None,
        typer.Option("--interval", metavar="TIME", help="Work between two checkpoints; the best if omitted."),
    ] = None,
    checkpoints: Annotated[
        str | None,
        typer.Option("--checkpoints", metavar="KIND", help="asynchronous, synchronous or in-memory."),
    ] = None,
    restart: Annotated[
        str | None, typer.Option("--restart", metavar="KIND", help="requeue, reschedule or standby.")
    ] = None,
    spares: Annotated[
        int | None, typer.Option("--spares", min=0, max=MOST, help="Nodes bought to replace lost ones.")
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Simulate the job too, event by event; needs SimPy.")
    ] = False,
    days: Annotated[float, typer.Option("--days", min=1, max=36_500, help="Days of a simulated run.")] = DAYS,
    runs: Annotated[int, typer.Option("--runs", min=1, max=10_000, help="Simulated runs.")] = 10,
    draws: DrawsOption = None,
    seed: SeedOption = 0,
    profile: ProfileOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Estimate a job's goodput after failures, checkpoints and restarts, and list remedies."""
    if not simulate and (days != DAYS or runs != 10):
        raise UsageError("ffplan operate goodput: --days and --runs have an effect with --simulate only")
    from ffplan.report.goodput import goodput_document
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.goodput.goodput import study_goodput

    design, parts = _resolved_design(file, catalog, profile)
    design = _with_options(design, interval, checkpoints, restart, spares)
    job = _requested_job("operate goodput", design, parts, model, gpus)
    if job is None:
        raise UsageError("ffplan operate goodput: no job: name --model, or give the design a `workload`")
    try:
        study = study_goodput(design, parts, job, CostRequest(draws=DRAWS if draws is None else draws, seed=seed))
    except InputError as error:
        finding = error.findings[0]
        if interval is None or finding.rule != "design-reliability":
            raise
        raise UsageError(
            f"ffplan operate goodput: --interval {interval}: {finding.message}; {finding.remedy}"
        ) from None
    report: GoodputReport = study.report
    if simulate:
        report = replace(report, simulation=_simulated(study, days, runs, seed))
    emit(_with_extras(goodput_document(report), form, [file], catalog, "goodput"), form, output)


def storage(
    file: DesignArgument,
    model: JobModelOption = None,
    gpus: JobGpusOption = None,
    images: Annotated[
        float | None,
        typer.Option(
            "--images",
            metavar="RATE",
            min=1,
            max=1e12,
            help="Images a second read by all jobs, one file each; the rate of a convolutional --model if omitted.",
        ),
    ] = None,
    profile: ProfileOption = None,
    form: FormatOption = ReportFormat.TABLE,
    output: OutputOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Size the storage of a design: capacity, rates and what binds them, checkpoints, data, and guidance."""
    from ffplan.report.operate import storage_document
    from ffplan.studies.operate.storage import NoStorageError, study_storage

    design, parts = _resolved_design(file, catalog, profile)
    job = _requested_job("operate storage", design, parts, model, gpus)
    try:
        report = study_storage(design, parts, job, images)
    except NoStorageError as error:
        raise UsageError(f"ffplan operate storage: {error}; add a group with `role: storage`") from None
    emit(_with_extras(storage_document(report), form, [file], catalog, "storage"), form, output)


def _seconds(text: str, option: str) -> float:
    from ffplan.inputs.dimensions import DURATION
    from ffplan.inputs.quantities import parse_quantity

    return _parsed(lambda: parse_quantity(text, DURATION), option, "operate jobs")


def _jobs(design: ResolvedDesign, parts: Catalog, jobs: str) -> tuple[JobMix | None, JobTable | None]:
    from ffplan.catalog.named import part_of
    from ffplan.catalog.reliability import JobMix
    from ffplan.reliability.scheduler import JobTable
    from ffplan.studies.basis.job_layout import most_gpus

    named = "/" in jobs or "\\" in jobs or jobs.lower().endswith(".csv")
    if not named and (parts.locate(jobs) is not None or not Path(jobs).is_file()):
        return part_of(parts, JobMix, jobs, "ffplan operate jobs: --jobs"), None
    from ffplan.interop.workloads import read_jobs

    return None, JobTable(*read_jobs(_read_text(jobs, MOST_BYTES), jobs, most_gpus(design)))


def _days(table: JobTable | None) -> float:
    """Return the days to count: of a CSV, until its last job would end if none waited; else the default."""
    return DEFAULT_DAYS if table is None else float((table.arrival_s + table.run_s).max()) / 86_400.0


def _policies(policy: str, options: dict[str, str]) -> tuple[tuple[str, ...], dict[str, float]]:
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
        typer.Option(
            "--jobs", metavar="ID|FILE", help="A job mix, or a file of CSV with the columns arrival_s, gpus, run_s."
        ),
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
        drain=table is not None and days is None,
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
