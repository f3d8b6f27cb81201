"""What failures, checkpoints and restarts leave of a job on a design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan import __version__
from ffplan.base.record import record
from ffplan.cost.inputs import Input
from ffplan.cost.sensitivity import likely, tornado
from ffplan.reliability.hazards import DAY_S
from ffplan.reliability.job import JobCase, job_outcome
from ffplan.reliability.spare_count import enough
from ffplan.results import reliability as out
from ffplan.results.design import SCHEMA_VERSION, ToolInfo
from ffplan.studies.basis.design_assumptions import announced, recalled_figures
from ffplan.studies.basis.design_info import design_info
from ffplan.studies.basis.files_read import files_read
from ffplan.studies.cost.cost import band, input_rows, swing_row
from ffplan.studies.goodput.goodput_levers import lever_rows
from ffplan.studies.goodput.goodput_money import job_money
from ffplan.studies.goodput.goodput_parts import (
    HOUR,
    beside_mtbf_hours,
    checkpoint_report,
    domain_report,
    hazard_rows,
    interval_rows,
    size_rows,
)
from ffplan.studies.goodput.goodput_words import goodput_assumptions, goodput_headline
from ffplan.studies.operate.goodput_basis import GoodputBasis
from ffplan.studies.operate.goodput_job import (
    GoodputJob,
    drawn_outcome,
    is_replicated,
    job_recovery,
    model_parameters,
    replica_gpus,
)

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.reliability.job import JobOutcome
    from ffplan.studies.cost.asked import Asked
    from ffplan.studies.goodput.goodput_money import JobMoney


def _reliability(
    basis: GoodputBasis,
    asked: GoodputJob,
    job: JobCase,
    inputs: tuple[Input, ...],
    *,
    outcomes: tuple[JobOutcome, JobOutcome],
    money: JobMoney | None,
) -> out.ReliabilityReport:
    one, many = outcomes
    hazards = basis.hazards
    rate = asked.report.rows[0].tokens_s if asked.report else None
    found = hazards.silent.per_year * asked.gpus
    share = float(hazards.profile.silent.value)
    return out.ReliabilityReport(
        profile=hazards.profile.id,
        model=asked.model.id,
        gpus=asked.gpus,
        nodes=int(job.nodes),
        restart=job.restart,
        short_of_nodes=hazards.section.short_of_nodes,
        hazards=hazard_rows(basis, job, one, likely(inputs)),
        mtbf_hours=band(one.mtbf_s / HOUR, many.mtbf_s / HOUR),
        beside=basis.beside.profile.id if basis.beside else None,
        beside_mtbf_hours=beside_mtbf_hours(basis, job),
        interruptions_per_day=band(DAY_S / one.mtbf_s, DAY_S / many.mtbf_s),
        checkpoint=checkpoint_report(job, one),
        restart_s=band(one.restart_s, many.restart_s),
        interval_s=float(one.interval_s),
        intervals=interval_rows(job, inputs, float(hazards.profile.usual_interval.value)),
        ettr=band(one.ettr, many.ettr),
        path_lost=job.path_lost if job.survives else None,
        stragglers=band(one.stragglers, many.stragglers),
        goodput=band(one.goodput, many.goodput),
        lost=out.Lost(
            checkpoints=float(one.parts["checkpoints"]),
            lost_work=float(one.parts["lost_work"]),
            restarts=float(one.parts["restarts"]),
            missing_nodes=1 - float(one.kept),
            lost_paths=float(one.slowed),
            stragglers=float(one.stragglers),
        ),
        nodes_in_repair=float(one.in_repair),
        spares=job.spares,
        domain=domain_report(basis, job, one),
        short_chance=float(one.short.chance),
        spares_for_99=enough(float(one.in_repair), 0.99),
        silent_per_year=found,
        silent_undetected_per_year=found * (1 - share) / share,
        unit=asked.report.unit if asked.report else ("images" if job.replicated else "tokens"),
        tokens_s=rate,
        tokens_s_kept=None if rate is None else rate * float(one.goodput),
        currency=money.currency if money else None,
        levers=lever_rows(basis, job, inputs, one, money),
    )


@record
class GoodputStudy:
    """A report with the job and its inputs, which a simulation takes."""

    report: out.GoodputReport
    basis: GoodputBasis
    job: JobCase
    inputs: tuple[Input, ...]


def study_goodput(design: ResolvedDesign, catalog: Catalog, asked: GoodputJob, money: Asked) -> GoodputStudy:
    """Return what failures leave of a job.

    Args:
        money: draws and seed.

    Raises:
        InputError: where the fabric cannot hold the design, or its ownership or reliability is wrong.
    """
    parameters, replicated = model_parameters(asked.model), is_replicated(asked.model)
    found = job_recovery(design, catalog, asked.gpus, parameters, asked.report, replicated=replicated)
    basis, job, inputs = found.basis, found.job, found.inputs
    outcomes = found.outcome, drawn_outcome(found, money.draws, money.seed)

    def metric(v: dict[str, Number]) -> Number:
        return job_outcome(job, v).goodput

    cost = job_money(design, catalog, asked.gpus)
    reliability = _reliability(basis, asked, job, inputs, outcomes=outcomes, money=cost)
    report = out.GoodputReport(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        design=design_info(design),
        catalog=files_read(catalog),
        headline=goodput_headline(reliability),
        reliability=reliability,
        sizes=size_rows(basis, job, replica_gpus(asked.report), money.draws, money.seed),
        tornado=tuple(swing_row(swing) for swing in tornado(metric, inputs) if swing.width),
        inputs=input_rows(tuple(item for item in inputs if _used(item, job))),
        simulation=None,
        assumptions=(*goodput_assumptions(basis, asked, job, outcomes[0]), *announced(catalog)),
        unverified=recalled_figures(catalog),
    )
    return GoodputStudy(report, basis, job, inputs)


def _used(item: Input, job: JobCase) -> bool:
    """Return whether the job has any of what an input is of."""
    kind, _, name = item.name.partition(".")
    if kind == "path":
        return name in job.survives
    if kind in ("rate", "stops", "removes"):
        return bool(job.units.get(name)) and (kind == "rate" or name not in job.survives)
    if item.name == "checkpoint_bytes":
        return job.state_bytes is None
    if item.name == "tray_swap":
        return job.swaps and 0 < job.spares < job.domain_nodes
    return item.name not in ("reschedule", "standby") or item.name == job.restart
