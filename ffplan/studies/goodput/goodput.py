"""Goodput of a job on a design after failures, checkpoints and restarts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ffplan.base.record import record
from ffplan.base.version import __version__
from ffplan.cost.inputs import Input
from ffplan.cost.sensitivity import likely, tornado
from ffplan.reliability.checkpoint import daly, young
from ffplan.reliability.hazards import DAY_S, job_units, sized_rate
from ffplan.reliability.job import hazard_rates, job_outcome
from ffplan.reliability.job_case import JobCase
from ffplan.reliability.spare_count import enough
from ffplan.results import reliability as out
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.result import ToolInfo
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.basis.provenance import announced, design_info, files_read, recalled_figures
from ffplan.studies.cost.cost import band
from ffplan.studies.cost.parts import input_rows, swing_row
from ffplan.studies.goodput.levers import _job_money, _lever_rows
from ffplan.studies.goodput.words import _goodput_assumptions, _goodput_headline
from ffplan.studies.operate.goodput_basis import GoodputBasis
from ffplan.studies.operate.goodput_job import (
    GoodputJob,
    drawn_outcome,
    is_replicated,
    job_on,
    job_recovery,
    model_parameters,
    recovery,
    replica_gpus,
)

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.reliability.job import JobOutcome
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.goodput.levers import _JobMoney
    from ffplan.studies.operate.goodput_job import JobRecovery

_HOUR = 3_600.0
_SIZES = (512, 2_048, 8_192, 16_384, 32_768, 65_536, 100_000)
"""Accelerators at which goodput is shown beside the job's own [1]."""


def _hazard_rows(
    basis: GoodputBasis, job: JobCase, outcome: JobOutcome, v: dict[str, Number]
) -> tuple[out.HazardRow, ...]:
    survives = job_units(basis.design, basis.fabric, job.nodes).survives
    total = float(sum(outcome.by_hazard.values()))
    rates = hazard_rates(job, v)
    rows = []
    for hazard in basis.hazards.rates:
        if not job.units[hazard.name]:
            continue
        rate = sized_rate(hazard, job.gpus)
        per_year, base = float(outcome.by_hazard[rate.name]), rate.rate.per_year
        factor = float(rates[rate.name]) / base if base else 1.0
        rows.append(
            out.HazardRow(
                hazard=rate.name,
                label=rate.hazard.label,
                unit=rate.hazard.unit,
                units=job.units[rate.name],
                per_unit_year=base * factor,
                low=rate.rate.ends[0] * factor,
                high=rate.rate.ends[1] * factor,
                events=rate.rate.events,
                exposure_years=rate.rate.exposure_years,
                basis=rate.rate.basis,
                interruptions_per_day=per_year * DAY_S,
                share=per_year / total,
                survives=survives.get(rate.hazard.unit),
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.share))


def _beside_mtbf_hours(basis: GoodputBasis, job: JobCase) -> float | None:
    """Return the mean time between interruptions of a job by a second profile [h]; None without one."""
    if basis.beside is None:
        return None
    second_basis = replace(basis, hazards=basis.beside, beside=None)
    job_there = job_on(second_basis, int(job.gpus), job.parameters, replicated=job.replicated, path_lost=job.path_lost)
    return float(recovery(second_basis, job_there).outcome.mtbf_s) / _HOUR


def _domain_report(basis: GoodputBasis, job: JobCase, outcome: JobOutcome) -> out.DomainReport | None:
    """Return the scale-up domains of the job; None if one is a node or less."""
    if job.domain_nodes < 2:
        return None
    hazards, swap = basis.hazards, basis.hazards.profile.tray_swap
    rows = []
    for name, part in hazards.profile.domain_parts.items():
        low, high = (float(end) for end in part.repair.range)
        rate = hazards.drains.get(name)
        rows.append(
            out.DomainPartRow(
                part=name,
                label=part.label,
                repair_s=float(part.repair.value),
                repair_low_s=low,
                repair_high_s=high,
                per_year=float(rate.value) if rate is not None else None,
            )
        )
    return out.DomainReport(
        nodes=job.domain_nodes,
        accelerators=job.domain_nodes * basis.design.compute.accelerators_per_node,
        domains=-(-int(job.nodes) // job.domain_nodes),
        parts=tuple(rows),
        in_repair=float(outcome.domains_in_repair),
        spares=job.spares // job.domain_nodes,
        lacking=float(outcome.short.domains),
        swap_s=float(swap.value) if swap is not None and job.carries else None,
    )


def _checkpoint_report(job: JobCase, outcome: JobOutcome) -> out.CheckpointReport:
    save = float(outcome.persist_s)
    size = float(outcome.checkpoint_bytes)
    per_node = size / job.writers / save / 1e9 if save else 0.0
    client = job.clients_gbyte_s / job.nodes if job.nodes else 0.0
    return out.CheckpointReport(
        parameters=job.parameters,
        bytes=size,
        mode=job.checkpoints,
        stop_s=float(outcome.save_s),
        save_s=save,
        load_s=float(outcome.load_s),
        binds=outcome.persist_binds,
        node_gbyte_s=per_node,
        nic_share=per_node / client if client else 0.0,
        memory_restart_s=float(outcome.memory.restart_s) if outcome.memory else None,
        storage_every=float(outcome.memory.every) if outcome.memory else None,
    )


def _interval_rows(job: JobCase, inputs: tuple[Input, ...], usual: float) -> tuple[out.IntervalRow, ...]:
    """Return goodput by rule for the interval; an interval that a save outlasts counts as the save's own time."""
    v = likely(inputs)
    base = job_outcome(replace(job, interval=None), v)
    save, mtbf = base.save_s, base.mtbf_s
    rules: dict[str, Any] = {
        "usual": usual,
        "young": young(save, mtbf),
        "daly": daly(save, mtbf),
        "best": base.interval_s,
    }
    if job.interval is not None:
        rules = {"given": job.interval, **rules}
    rows = []
    for rule, interval in rules.items():
        outcome = job_outcome(replace(job, interval=float(interval)), v)
        feasible = float(interval) >= float(base.behind_s) * (1 - 1e-9)
        rows.append(out.IntervalRow(rule, float(interval), float(outcome.goodput), feasible))
    return tuple(rows)


def _size_rows(basis: GoodputBasis, job: JobCase, replica: int, draws: int, seed: int) -> tuple[out.SizeRow, ...]:
    most = most_gpus(basis.design)
    per_node = basis.design.compute.accelerators_per_node
    sizes = sorted({int(job.gpus), *(-(-size // per_node) * per_node for size in _SIZES)})
    rows = []
    for gpus in sizes:
        case = job_on(basis, gpus, job.parameters, replica, replicated=job.replicated, path_lost=job.path_lost)
        if gpus > most and basis.hazards.section.spare_nodes is None:  # a larger cluster buys spares for its own size
            case = replace(case, spares=round(basis.bought_spares * gpus / most))
        recovered = recovery(basis, case)
        outcome, many = recovered.outcome, drawn_outcome(recovered, draws, seed)
        rows.append(
            out.SizeRow(
                gpus=gpus,
                beyond=gpus > most,
                mtbf_hours=float(outcome.mtbf_s) / _HOUR,
                interval_s=float(outcome.interval_s),
                ettr=band(outcome.ettr, many.ettr),
                goodput=band(outcome.goodput, many.goodput),
            )
        )
    return tuple(rows)


def _reliability(
    recovered: JobRecovery, many: JobOutcome, timed_job: GoodputJob, money: _JobMoney | None
) -> out.ReliabilityReport:
    basis, job, inputs, outcome = recovered.basis, recovered.job, recovered.inputs, recovered.outcome
    hazards, short = basis.hazards, outcome.short
    rate = timed_job.report.rows[0].tokens_s if timed_job.report else None
    silent = hazards.silent.per_year * timed_job.gpus
    share = float(hazards.profile.silent.value)
    return out.ReliabilityReport(
        profile=hazards.profile.id,
        model=timed_job.model.id,
        gpus=timed_job.gpus,
        nodes=int(job.nodes),
        restart=job.restart,
        standby_free=float(outcome.standby_free) if job.restart == "standby" else None,
        short_of_nodes=hazards.section.short_of_nodes,
        hazards=_hazard_rows(basis, job, outcome, likely(inputs)),
        mtbf_hours=band(outcome.mtbf_s / _HOUR, many.mtbf_s / _HOUR),
        beside=basis.beside.profile.id if basis.beside else None,
        beside_mtbf_hours=_beside_mtbf_hours(basis, job),
        interruptions_per_day=band(DAY_S / outcome.mtbf_s, DAY_S / many.mtbf_s),
        checkpoint=_checkpoint_report(job, outcome),
        restart_s=band(outcome.restart_s, many.restart_s),
        interval_s=float(outcome.interval_s),
        intervals=_interval_rows(job, inputs, float(hazards.profile.usual_interval.value)),
        ettr=band(outcome.ettr, many.ettr),
        path_lost=job.path_lost if job.survives else None,
        stragglers=band(outcome.stragglers, many.stragglers),
        goodput=band(outcome.goodput, many.goodput),
        lost=out.Lost(
            checkpoints=float(outcome.parts["checkpoints"]),
            lost_work=float(outcome.parts["lost_work"]),
            restarts=float(outcome.parts["restarts"]),
            missing_nodes=1 - float(outcome.kept),
            lost_paths=float(outcome.slowed),
            stragglers=float(outcome.stragglers),
        ),
        nodes_in_repair=float(outcome.in_repair),
        spares=job.spares,
        domain=_domain_report(basis, job, outcome),
        # nodes of a job that waits do not fail meanwhile, so that fewer are in repair than of one that goes on
        short_chance=float(short.waiting if hazards.section.short_of_nodes == "wait" else short.chance),
        spares_for_99=enough(float(outcome.in_repair), 0.99),
        silent_per_year=silent,
        silent_undetected_per_year=silent * (1 - share) / share,
        unit=timed_job.report.unit if timed_job.report else ("images" if job.replicated else "tokens"),
        tokens_s=rate,
        tokens_s_kept=None if rate is None else rate * float(outcome.goodput),
        currency=money.currency if money else None,
        levers=_lever_rows(basis, job, inputs, outcome, money),
    )


@record
class GoodputStudy:
    """A report with the job and its inputs, which a simulation takes."""

    report: out.GoodputReport
    basis: GoodputBasis
    job: JobCase
    inputs: tuple[Input, ...]


def study_goodput(design: ResolvedDesign, catalog: Catalog, timed_job: GoodputJob, money: CostRequest) -> GoodputStudy:
    """Return the goodput of a job on a design.

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership or reliability is wrong.
    """
    parameters, replicated = model_parameters(timed_job.model), is_replicated(timed_job.model)
    recovered = job_recovery(design, catalog, timed_job.gpus, parameters, timed_job.report, replicated=replicated)
    basis, job, inputs = recovered.basis, recovered.job, recovered.inputs
    many = drawn_outcome(recovered, money.draws, money.seed)

    def metric(v: dict[str, Number]) -> Number:
        return job_outcome(job, v).goodput

    cost = _job_money(design, catalog, timed_job.gpus)
    reliability = _reliability(recovered, many, timed_job, cost)
    report = out.GoodputReport(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        design=design_info(design),
        catalog=files_read(catalog),
        headline=_goodput_headline(reliability),
        reliability=reliability,
        sizes=_size_rows(basis, job, replica_gpus(timed_job.report), money.draws, money.seed),
        tornado=tuple(swing_row(swing) for swing in tornado(metric, inputs) if swing.width),
        inputs=input_rows(tuple(entry for entry in inputs if _used(entry, job))),
        simulation=None,
        assumptions=(*_goodput_assumptions(basis, timed_job, job, recovered.outcome), *announced(catalog)),
        unverified=recalled_figures(catalog),
    )
    return GoodputStudy(report, basis, job, inputs)


def _used(entry: Input, job: JobCase) -> bool:
    kind, _, name = entry.name.partition(".")
    if kind == "path":
        return name in job.survives
    if kind in ("rate", "stops", "removes"):
        return bool(job.units.get(name)) and (kind == "rate" or name not in job.survives)
    if entry.name == "checkpoint_bytes":
        return job.state_bytes is None
    if entry.name == "tray_swap":
        return job.carries
    if entry.name == "standby":
        return job.restart == "standby" and job.spares > 0
    return entry.name != "reschedule" or entry.name == job.restart
