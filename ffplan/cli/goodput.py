"""`ffplan operate goodput`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from ffplan.base.errors import InputError, UsageError
from ffplan.cli.cost_options import DrawsOption
from ffplan.cli.formats import FormatOption, ReportFormat
from ffplan.cli.job import JobGpusOption, JobModelOption, _requested_job
from ffplan.cli.loading import _parsed, _resolved_design, choice
from ffplan.cli.options import CatalogOption, DesignArgument, OutputOption, ProfileOption, SeedOption
from ffplan.cli.output import emit
from ffplan.cli.page import _with_extras
from ffplan.cli.progress import Progress
from ffplan.cli.series import MOST
from ffplan.cli.simulated import _announce, _needs_simpy

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.reliability import GoodputReport, SimulationReport
    from ffplan.studies.goodput.goodput import GoodputStudy
    from ffplan.studies.goodput.simulation import FabricLosses

MOST_ENDPOINTS = 600_000
"""Largest fabric, in endpoints, for which losses are simulated [1]."""
DAYS = 365.0
DRAWS = 2_000
"""Default number of draws of the uncertain inputs [1]."""


def _with_options(
    design: ResolvedDesign, interval: str | None, checkpoints: str | None, restart: str | None, spares: int | None
) -> ResolvedDesign:
    """Return the design with the options on its reliability.

    Raises:
        UsageError: if an option is invalid.
    """
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
    from ffplan.studies.fabric.wired import wire_design
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
    """Return simulated runs of the job.

    Args:
        days: length of a run [day].
        runs: number of runs [1].

    Raises:
        UsageError: without SimPy.
    """
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
    from ffplan.studies.cost.request import CostRequest
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
