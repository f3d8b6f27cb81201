"""What failures, checkpoints and restarts leave of a job on a design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan import __version__
from ffplan.base.record import record
from ffplan.cost.inputs import Input
from ffplan.cost.sensitivity import likely, tornado
from ffplan.reliability.job import JobCase, job_outcome
from ffplan.reliability.spare_count import enough
from ffplan.results import reliability as out
from ffplan.results.design import SCHEMA_VERSION, DesignInfo, ToolInfo
from ffplan.studies.asked import Asked
from ffplan.studies.cost import accounted, band, input_rows, ledger_for, swing_row
from ffplan.studies.design_assumptions import announced, recalled_figures
from ffplan.studies.files_read import files_read
from ffplan.studies.goodput_basis import GoodputBasis, goodput_basis
from ffplan.studies.goodput_job import (
    GoodputJob,
    drawn_outcome,
    job_inputs,
    job_on,
    model_parameters,
    refuse_interval,
    replica_gpus,
)
from ffplan.studies.goodput_parts import (
    DAY,
    HOUR,
    checkpoint_report,
    hazard_rows,
    interval_rows,
    lever_rows,
    size_rows,
)
from ffplan.studies.goodput_words import goodput_assumptions, goodput_headline
from ffplan.studies.workload import workload_gpus, workload_report

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.models import Model
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.design.workload_schema import Workload
    from ffplan.reliability.job import JobOutcome


def _year_cost(design: ResolvedDesign, catalog: Catalog, gpus: int) -> tuple[float | None, str | None]:
    """Return what a job's accelerators cost a year [currency], with the currency; None of a design without costs."""
    asked = Asked(draws=0, seed=0, years=None)
    ledger = ledger_for(design, catalog, asked)
    if not ledger.costed:
        return None, None
    found = accounted(ledger, ledger.inputs, None, asked)
    return float(found.year.year) * gpus / design.accelerators, ledger.owned.currency


def _reliability(
    basis: GoodputBasis,
    asked: GoodputJob,
    job: JobCase,
    inputs: tuple[Input, ...],
    *,
    outcomes: tuple[JobOutcome, JobOutcome],
    year: float | None,
    currency: str | None,
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
        interruptions_per_day=band(DAY / one.mtbf_s, DAY / many.mtbf_s),
        checkpoint=checkpoint_report(job, one),
        restart_s=band(one.restart_s, many.restart_s),
        interval_s=float(one.interval_s),
        intervals=interval_rows(job, inputs, float(hazards.profile.usual_interval.value)),
        ettr=band(one.ettr, many.ettr),
        goodput=band(one.goodput, many.goodput),
        lost=out.Lost(
            checkpoints=float(one.parts["checkpoints"]),
            lost_work=float(one.parts["lost_work"]),
            restarts=float(one.parts["restarts"]),
            missing_nodes=1 - float(one.kept),
        ),
        nodes_in_repair=float(one.in_repair),
        spares=job.spares,
        short_chance=float(one.short.chance),
        spares_for_99=enough(float(one.in_repair), 0.99),
        silent_per_year=found,
        silent_undetected_per_year=found * (1 - share) / share,
        tokens_s=rate,
        tokens_s_kept=None if rate is None else rate * float(one.goodput),
        currency=currency,
        levers=lever_rows(basis, job, inputs, one, year),
    )


@record
class GoodputStudy:
    """A report with the job and its inputs, which a simulation takes."""

    report: out.GoodputReport
    basis: GoodputBasis
    job: JobCase
    inputs: tuple[Input, ...]


def goodput_job(design: ResolvedDesign, catalog: Catalog, model: Model, workload: Workload) -> GoodputJob:
    """Return a job with its fastest plan, or without where it cannot be timed.

    Args:
        design: the design.
        catalog: its parts.
        model: a transformer.
        workload: the job; the most accelerators where it names none.

    Raises:
        InputError: where the job is too large, or its plan contradicts itself.
    """
    from ffplan.training.accelerator_rates import UncalibratedError
    from ffplan.training.constraints import RefusedError

    gpus = workload_gpus(design, workload)
    try:
        return GoodputJob(model, gpus, workload_report(design, catalog, workload), None)
    except (RefusedError, UncalibratedError) as error:
        return GoodputJob(model, gpus, None, str(error))


def study_goodput(design: ResolvedDesign, catalog: Catalog, asked: GoodputJob, money: Asked) -> GoodputStudy:
    """Return what failures leave of a job.

    Args:
        design: the design.
        catalog: its parts.
        asked: the job.
        money: draws and seed.

    Raises:
        InputError: where the fabric cannot hold the design, or its ownership or reliability is wrong.
    """
    basis = goodput_basis(design, catalog)
    replica = replica_gpus(asked.report.rows[0].plan) if asked.report else 1
    job = job_on(basis, asked.gpus, model_parameters(asked.model), replica)
    inputs = job_inputs(basis, asked.gpus)
    refuse_interval(design, job, inputs)
    outcomes = drawn_outcome(job, inputs, money.draws, money.seed)

    def metric(v: dict[str, Number]) -> Number:
        return job_outcome(job, v).goodput

    year, currency = _year_cost(design, catalog, asked.gpus)
    reliability = _reliability(basis, asked, job, inputs, outcomes=outcomes, year=year, currency=currency)
    report = out.GoodputReport(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        design=DesignInfo(
            name=design.spec.name,
            description=design.spec.description,
            file=design.document.file,
            sha256=design.document.sha256,
        ),
        catalog=files_read(catalog),
        headline=goodput_headline(reliability),
        reliability=reliability,
        sizes=size_rows(basis, job, replica, money.draws, money.seed),
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
    if kind in ("rate", "stops", "removes"):
        return bool(job.units.get(name))
    return item.name not in ("reschedule", "standby") or item.name == job.restart
