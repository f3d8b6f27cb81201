"""A job with its fastest plan, its failures, and the time that they cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.catalog.models import Model
from ffplan.cost.draws import sample
from ffplan.cost.inputs import Input
from ffplan.cost.sensitivity import likely
from ffplan.design.training import Workload
from ffplan.fabric.sizing.plan import zones_of
from ffplan.node.resources import host_copies
from ffplan.reliability.hazards import OF_NODES, domain_nodes, job_units
from ffplan.reliability.job import JobOutcome, job_outcome
from ffplan.reliability.job_case import JobCase
from ffplan.reliability.storage import with_nics
from ffplan.results.training import TrainReport
from ffplan.studies.basis.job_layout import most_gpus, node_of
from ffplan.studies.operate.goodput_basis import GoodputBasis, _spares_of, _storage_inputs, goodput_basis
from ffplan.studies.operate.reliability import _reliability_inputs
from ffplan.studies.train.default_job import _JobError, image_job, workload_gpus, workload_report
from ffplan.training.accelerator_rates import UncalibratedError
from ffplan.training.constraints import RefusedError
from ffplan.training.conv_layers import gradient_bytes
from ffplan.training.conv_step import STATE_BYTES
from ffplan.training.model_flops import parameters

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.train.default_job import TimedJob

DRAWS = 2_000
"""Draws behind the goodput that a cost takes [1]."""
_ROUNDED_UP = 1.006
"""What a number that is written with three digits is raised by, so that it is never below [1]."""
_ENDS = (0.05, 0.95)
"""Quantiles that a cost takes as the ends of goodput [1]."""


@record
class GoodputJob:
    """A job as it is asked for."""

    model: Model
    gpus: int
    report: TrainReport | None
    """Its training; None if it could not be timed."""
    untimed: str | None


def model_parameters(model: Model) -> float:
    """Return the parameters of a model, by its shape or its layers [1]."""
    if model.transformer is None:
        return gradient_bytes(model.convolutions, 1.0)
    return float(parameters(model.transformer))


def replica_gpus(report: TrainReport | None) -> int:
    """Return the accelerators of a data-parallel replica of a job's plan; one if it could not be timed [1]."""
    if report is None:
        return 1
    plan = report.rows[0].plan
    return plan.tensor * plan.pipeline * plan.context


def is_replicated(model: Model) -> bool:
    """Return whether every rank of a model has its whole state: of a convolutional network, trained by data
    parallelism alone."""
    return model.transformer is None


def path_lost(design: ResolvedDesign, report: TrainReport | None) -> float:
    """Return the part of its rate that a job keeps while a NIC lacks one of its ports to several planes [1];
    all of it where a NIC has one port, whose loss stops the job.

    Args:
        report: the job's training; of one that is not timed, the port's part of the NIC's rate is taken, the most.
    """
    if design.stripes == 1:
        return 1.0
    known = report.rows[0].path_lost if report else None
    return 1 - 1 / design.stripes if known is None else known


def job_on(
    basis: GoodputBasis,
    gpus: int,
    parameters: float,
    replica: int = 1,
    *,
    replicated: bool = False,
    path_lost: float = 1.0,
) -> JobCase:
    """Return a job on a design.

    Args:
        gpus: accelerators of the job; more than it has take its parts in proportion [1].
        replica: accelerators of a data-parallel replica [1].
        replicated: every rank has the whole state, weights and momentum: a convolutional network.
        path_lost: part of its rate that it keeps while a NIC lacks one of its paths [1].
    """
    design, section = basis.design, basis.hazards.section
    per_node = design.compute.accelerators_per_node
    nodes = -(-gpus // per_node)
    units = job_units(design, basis.fabric, nodes)
    zones = design.spec.fabric.zones
    part = float(zones_of(design, min(nodes, design.compute.group.count))) / zones if zones > 1 else 1.0
    storage = basis.storage
    # storage on a separate network stands in no zone of the fabric
    part = 1.0 if design.side_by_side or storage is None or not storage.on_fabric else part
    copies = host_copies(node_of(design))
    domain = domain_nodes(design)
    return JobCase(
        gpus=gpus,
        nodes=nodes,
        units={rate.name: float(units.counts[rate.hazard.unit]) for rate in basis.hazards.rates},
        of_nodes=frozenset(rate.name for rate in basis.hazards.rates if rate.hazard.unit in OF_NODES),
        spreads=frozenset(rate.name for rate in basis.hazards.rates if rate.hazard.spreads),
        survives=frozenset(rate.name for rate in basis.hazards.rates if rate.hazard.unit in units.survives),
        parameters=parameters,
        copy_gbyte_s=float(copies.shared) * per_node if copies else None,
        clients_gbyte_s=nodes * storage.client_gbyte_s if storage else 0.0,
        # NICs in other zones are out of the job's reach
        read_gbyte_s=with_nics(storage.read, part) if storage else {},
        write_gbyte_s=with_nics(storage.write, part) if storage else {},
        spares=_spares_of(basis, nodes),
        replica_nodes=max(1.0, replica / per_node),
        # a job on one node has no other for its copies
        checkpoints="asynchronous" if section.checkpoints == "in-memory" and nodes < 2 else section.checkpoints,
        restart=section.restart,
        shrinks=section.short_of_nodes == "shrink",
        interval=section.checkpoint_interval,
        drains=frozenset(basis.hazards.drains),
        domain_nodes=domain,
        state_bytes=STATE_BYTES if replicated else None,
        replicated=replicated,
        path_lost=path_lost,
        swaps=domain > 1 and basis.hazards.profile.tray_swap is not None,
    )


def _job_inputs(basis: GoodputBasis, gpus: int) -> tuple[Input, ...]:
    accelerator = basis.design.compute.accelerator
    return (
        *_reliability_inputs(basis.hazards, accelerator.id if accelerator else None, gpus),
        *_storage_inputs(basis),
    )


def _refuse_interval(design: ResolvedDesign, job: JobCase, inputs: tuple[Input, ...]) -> None:
    if job.interval is None:
        return
    outcome = job_outcome(replace(job, interval=None), likely(inputs))
    least = float(outcome.save_s if job.checkpoints == "synchronous" else outcome.behind_s)
    if job.interval >= least:
        return
    message = f"checkpoints every {job.interval:.4g} s, where a save takes {least:.4g} s"
    remedy = f"write {least * _ROUNDED_UP:.3g} s or more, or leave it out: the best is found"
    path = ("reliability", "checkpoint_interval")
    raise InputError(design.document.finding("design-reliability", path, message, remedy))


@record
class JobRecovery:
    """A job with what failures and checkpoints leave of it, at likely inputs."""

    basis: GoodputBasis
    job: JobCase
    inputs: tuple[Input, ...]
    outcome: JobOutcome


def recovery(basis: GoodputBasis, job: JobCase) -> JobRecovery:
    """Return a job at its likely inputs."""
    inputs = _job_inputs(basis, int(job.gpus))
    return JobRecovery(basis, job, inputs, job_outcome(job, likely(inputs)))


def job_recovery(
    design: ResolvedDesign,
    catalog: Catalog,
    gpus: int,
    parameters: float,
    report: TrainReport | None,
    *,
    replicated: bool = False,
) -> JobRecovery:
    """Return a job's outcome after failures and checkpoints.

    Args:
        report: its training, whose first row is its plan; None if it could not be timed, and a replica is taken
            to be one node.
        replicated: every rank has the whole state.

    Raises:
        InputError: if the fabric cannot hold the design, or its ownership or reliability is wrong.
    """
    basis = goodput_basis(design, catalog)
    left = path_lost(design, report)
    job = job_on(basis, gpus, parameters, replica_gpus(report), replicated=replicated, path_lost=left)
    recovered = recovery(basis, job)
    _refuse_interval(design, recovered.job, recovered.inputs)
    return recovered


def timed_recovery(design: ResolvedDesign, catalog: Catalog, report: TrainReport, gpus: int) -> JobRecovery:
    """Return a timed job's outcome, whose first row is its plan, as `job_recovery` does."""
    return job_recovery(design, catalog, gpus, report.parameters, report)


def drawn_outcome(recovered: JobRecovery, draws: int, seed: int) -> JobOutcome:
    """Return a job's outcome over draws, at the interval of the likely one; the likely one without draws.

    Args:
        recovered: the job at its likely inputs.
    """
    if not draws:
        return recovered.outcome
    kept = replace(recovered.job, interval=float(recovered.outcome.interval_s))
    return job_outcome(kept, sample(recovered.inputs, draws, seed))


def _ends(recovered: JobRecovery) -> tuple[float, float]:
    import numpy as np

    low, high = np.quantile(drawn_outcome(recovered, DRAWS, 0).goodput, _ENDS)
    return float(low), float(high)


def effective_input(
    design: ResolvedDesign, catalog: Catalog, timed: TimedJob, stated: Input, *, drawn: bool = True
) -> Input:
    """Return the effective training time of a job as an input of its cost: what the design states, or its goodput.

    Args:
        drawn: find its range; without, it is as wide as a point.

    Raises:
        InputError: if the reliability of the design is wrong.
    """
    if stated.status == "given" or not design.accelerators:
        return stated
    recovered = timed_recovery(design, catalog, timed.report, timed.job.gpus)
    value = float(recovered.outcome.goodput)
    low, high = _ends(recovered) if drawn else (value, value)
    return replace(
        stated,
        key=f"{stated.key}@{design.spec.name}",
        label=f"{stated.label} of {design.spec.name}",
        likely=value,
        low=min(low, value),
        high=max(high, value),
        distribution="normal",
        source=f"`ffplan operate goodput`, with `{recovered.basis.hazards.profile.id}`",
        status="D",
        date=None,
    )


def goodput_job(design: ResolvedDesign, catalog: Catalog, model: str | None, gpus: int | None) -> GoodputJob | None:
    """Return a job with its fastest plan, without a plan if it cannot be timed; None without a job.

    Args:
        model: catalogue id of a model; None for the design's workload.
        gpus: accelerators [1]; the workload's, or the largest job's, if None.

    Raises:
        InputError: if the workload's plan contradicts itself, or it is too large.
        _JobError: if the model is none, the design has no accelerators, or the job is too large.
        KeyError: if the model is unknown.
    """
    work = design.workload
    if model is not None:
        work = Workload.model_construct(model=model, tokens=None, batch=None, gpus=gpus, plan=None, search=False)
    if work is None:
        return None
    part = catalog.entry(work.model).part
    if not isinstance(part, Model):
        raise _JobError(f"{work.model}: it is no model", "model")
    most = most_gpus(design)
    if not most:
        raise _JobError(f"`{design.spec.name}` has no accelerators")
    if gpus is not None and not 0 < gpus <= most:
        raise _JobError(f"{gpus:,}: one job can span {most:,} of this design", "gpus")
    work = work.model_copy(update={"gpus": gpus or work.gpus})
    count = workload_gpus(design, work)
    try:
        if part.transformer is None:
            return GoodputJob(part, count, image_job(design, catalog, part, count), None)
        return GoodputJob(part, count, workload_report(design, catalog, work, gains=False), None)
    except (RefusedError, UncalibratedError) as error:
        return GoodputJob(part, count, None, str(error))
