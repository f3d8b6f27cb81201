"""The basis of a training run: request, workload and machine of a design, and the report made of rows."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from typing import TYPE_CHECKING

from ffplan.base.errors import did_you_mean
from ffplan.base.formatting import GIB, plural
from ffplan.base.record import record
from ffplan.base.version import __version__
from ffplan.catalog.library import Library
from ffplan.catalog.models import Model, Transformer
from ffplan.catalog.parts import Accelerator, Server, memory_bytes
from ffplan.design.training import PRESETS, PlanFields
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.run import Band
from ffplan.results.training import Refused, Skipped, TrainReport, TrainRow
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.basis.provenance import files_read
from ffplan.studies.train.assumptions import _drives_assumption, _fsdp_assumption, _training_assumptions
from ffplan.studies.train.cluster import _reducer_of, cluster_of
from ffplan.studies.train.nearest_accelerator import (
    DENSE,
    ESTIMATED,
    EXPERTS,
    FP8,
    IMAGES,
    KIN,
    LONG,
    LONG_SEQUENCE,
    SIBLING,
    UNFITTED,
    _ErrorBand,
    _widest,
    fitted,
    power_ratio,
    same_chip,
    same_energy,
    with_nearest_constants,
)
from ffplan.studies.train.software import Software, software_of
from ffplan.training.constraints import WORDS, RefusedError
from ffplan.training.data_parallel import DRIVES_REMEDY, NO_DRIVES
from ffplan.training.exchange import dispatcher_fault, sms_fault
from ffplan.training.group_collectives import Cluster
from ffplan.training.model_flops import shape_of
from ffplan.training.parallel_plan import parallel_plans
from ffplan.training.train_run import TrainRun

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.training.memory_margins import MemoryMargins

_EXPERT_FIELDS = ("expert_tensor", "imbalance", "routing", "dispatcher", "dispatch_dtype", "dispatch_sms")
"""Fields of a plan that mean nothing to a model without experts."""


@record
class TrainRequest:
    """The model to train, and its plan."""

    model: Model
    plan: PlanFields
    gpus: tuple[int, ...]
    """Numbers of accelerators."""
    memory: float | None = None
    """Device memory [byte]; the accelerator's less what driver and libraries take, if omitted."""
    fixed: frozenset[str] = frozenset()
    """Fields of the plan that a search keeps."""
    settled: bool = False
    """True if the recipes of the plan's stack gave fields that the plan leaves out."""
    system: Cluster | None = None
    """The machine, where another request on the same design and with the same library for gradients has made it."""
    machines: dict[str, Cluster] | None = None
    """Machines of the design by library for gradients, kept from one request to the next."""


@record
class TrainSetup:
    """Workload and machine, without the plan."""

    shape: Transformer
    part: Accelerator
    limit: float
    """Device memory that a rank may fill [byte]."""
    host_limit: float
    """Host memory, or room on the node's drives, that a rank may fill [byte]."""
    run: TrainRun


_MOST_KNOWN = 2000
"""Times of collectives that a machine that is kept may hold before it is made anew [1]."""
_HOST_SHARE = 0.8
"""Part of the host memory, or of the drives, that may hold what is offloaded [1]; the rest is left to others."""


def host_room(design: ResolvedDesign, plan: PlanFields, gpus: int) -> float:
    """Return the host memory that a rank may fill, or what it may of the node's drives where the plan offloads to them
    [byte]; without limit where the catalogue lacks the size of host memory.

    Args:
        gpus: accelerators of the job; the ones on a node share its memory [1].

    Raises:
        RefusedError: if the plan offloads to drives whose rates the catalogue lacks.
    """
    node = design.compute
    per_node = max(1, min(node.accelerators_per_node, gpus))
    if plan.offload_to == "drives":
        drives = node.server.drives if isinstance(node.server, Server) else None
        if drives is None or drives.gbyte_s is None:
            raise RefusedError(
                f"`offload_to: drives`: {NO_DRIVES.format(node.server.id)}; {DRIVES_REMEDY}",
                infeasible=False,
                fields=("offload_to",),
            )
        return _HOST_SHARE * drives.count.value * drives.capacity.value / per_node
    held = memory_bytes(node.server)
    return float("inf") if held is None else _HOST_SHARE * held / per_node


def check_available(design: ResolvedDesign, count: int) -> None:
    """Refuse more accelerators than the design has; raise `RefusedError` if there are too few."""
    most = most_gpus(design)
    if count > most:
        raise RefusedError(
            f"--gpus {count:,}: one job can span {plural(most, 'accelerator')} of this design", infeasible=True
        )


def _machine(design: ResolvedDesign, catalog: Catalog, request: TrainRequest) -> Cluster:
    """Return the machine of a design, kept where the request says so; its libraries count as read."""
    if request.machines is None:
        return cluster_of(design, catalog, request.plan.reducer)
    name = _reducer_of(design, request.plan.reducer)
    machine = request.machines.get(name)
    if machine is None or len(machine.known) > _MOST_KNOWN:
        machine = request.machines[name] = cluster_of(design, catalog, request.plan.reducer)
    for library in (machine.library, machine.reducer, machine.dispatcher):
        if library is not None:
            catalog.get(Library, library.id, design.document, ())
    return machine


def _cluster_for(design: ResolvedDesign, catalog: Catalog, request: TrainRequest) -> tuple[Accelerator, Cluster]:
    part = design.compute.accelerator
    if part is None:
        raise RefusedError(f"`{design.compute.server.id}` has no accelerators", infeasible=False)
    part, _ = with_nearest_constants(part, catalog)
    system = request.system or _machine(design, catalog, request)
    if system.nvlink and not (system.host.pairs or system.host.joined):
        raise RefusedError(
            f"`hfreduce-nvlink` needs NVLink between GPUs; `{system.host.id}` has none",
            infeasible=False,
            fields=("reducer",),
        )
    return part, system


def _software_for(design: ResolvedDesign, catalog: Catalog, part: Accelerator, plan: PlanFields) -> Software:
    if plan.stack is not None and plan.stack not in (known := catalog.ids_of("stack")):
        near = did_you_mean(plan.stack, known, what="stack")
        raise RefusedError(f"no software stack `{plan.stack}`; {near}", infeasible=False, fields=("stack",))
    return software_of(catalog, part, plan.stack, design.document)


def _memory_for(request: TrainRequest, part: Accelerator, software: Software) -> tuple[float, MemoryMargins]:
    """Return the device memory that tensors may fill [byte], and what the runtime takes beyond them.

    A limit that the request gives is kept to; runs were published on cards, and never say what they would not exceed.
    """
    if request.memory is None:
        return software.room(part), software.margins
    return request.memory, replace(software.margins, counted_over=0.0)


def settled(design: ResolvedDesign, catalog: Catalog, request: TrainRequest) -> TrainRequest:
    """Return a request whose plan is completed by the recipes of its stack.

    Raises:
        RefusedError: if it names a stack that does not exist.
    """
    part = design.compute.accelerator
    if part is None or request.plan.stack is None:
        return request
    plan = _software_for(design, catalog, part, request.plan).settled(request.plan)
    return request if plan is request.plan else replace(request, plan=plan, settled=True)


def _refuse_expert_fields(plan: PlanFields) -> None:
    preset, fields = PRESETS.get(plan.preset or "", {}), type(plan).model_fields
    without = {"expert_tensor": (None, plan.tensor)}
    for name in _EXPERT_FIELDS:
        value = getattr(plan, name)
        if value not in (*without.get(name, ()), fields[name].default, preset.get(name)):
            message = f"{name} {value} of a model without experts; leave it out"
            raise RefusedError(message, infeasible=False, fields=(name,))


def train_setup(
    design: ResolvedDesign, catalog: Catalog, request: TrainRequest, transformer: Transformer
) -> TrainSetup:
    """Return workload and machine.

    Raises:
        RefusedError: if no batch is given, or the machine cannot run the plan.
        UncalibratedError: if the accelerators have no training constants.
    """
    plan = request.plan
    if plan.batch is None:
        raise RefusedError("no batch: give --batch, the sequences of a step over all ranks", infeasible=False)
    if "bucket_mib" in plan.model_fields_set:
        raise RefusedError(
            "`bucket_mib` is of convolutional networks; leave it out", infeasible=False, fields=("bucket_mib",)
        )
    if transformer.experts is None:
        _refuse_expert_fields(plan)
    if (plan.zero == 3 or plan.offload == "parameters") and plan.reduces_whole:
        raise RefusedError(
            f"{plan.reducer} has no scatter, which ZeRO 3 needs; leave out `reducer`",
            infeasible=False,
            fields=("reducer",),
        )
    part, system = _cluster_for(design, catalog, request)
    software = _software_for(design, catalog, part, plan)
    limit, margins = _memory_for(request, part, software)
    replaced = {"sequence": plan.sequence} if plan.sequence else {}
    run = TrainRun(
        shape_of(transformer, **replaced),
        parallel_plans(plan, 1.0),
        software.rates(part, plan),
        software.machine(system),
        margins=margins,
    )
    if fault := dispatcher_fault(run):
        by = "" if plan.dispatcher else f"stack {run.speeds.stack}: "
        remedy = "write `dispatcher: alltoall` in a plan"
        raise RefusedError(f"{by}{fault}; {remedy}", infeasible=False, fields=("dispatcher",))
    if fault := sms_fault(run):
        raise RefusedError(f"{fault}; leave it out", infeasible=False, fields=("dispatch_sms",))
    return TrainSetup(
        shape=run.shape, part=part, limit=limit, host_limit=host_room(design, plan, max(request.gpus)), run=run
    )


def _basis(part: Accelerator, precision: str, near: Accelerator | None) -> str:
    rates = part.training
    assert rates is not None
    if near is not None:
        measured = ", scaled by the best measured GEMMs of both" if part.gemm else ""
        if part.power and near.power and power_ratio(part, near, "16") is not None:
            kind = "chip" if same_chip(part, near) else "process"
            measured = f" of its {kind}, at {part.power.value:g} W against {near.power.value:g}"
        text = f"estimated: efficiencies of {near.id}, the nearest calibrated relative{measured}, "
        return text + "at its own peak and bandwidth"
    basis, reached = f"{rates.set}: {part.sources[rates.matrix.source].title}", rates.reached(precision)
    if reached is not None and reached.source != rates.matrix.source:
        basis += f"; products at {precision} derived from {part.sources[reached.source].title}"
    return basis


def _model_band(model: Model, plan: PlanFields) -> _ErrorBand:
    shape = model.transformer
    if shape is None:
        return IMAGES
    kinds = [EXPERTS if shape.experts is not None else DENSE]
    if (plan.sequence or shape.sequence) >= LONG_SEQUENCE:
        kinds.append(LONG)
    if plan.precision == "fp8":
        kinds.append(FP8)
    return _widest(*kinds)


def _band(accelerator: Accelerator, near: Accelerator | None, kind: _ErrorBand, *, by_fit: bool) -> _ErrorBand:
    """Return the error of times for a class of runs: the wider of the model's and the accelerator's.

    The class counts, not the options: a named stack may be another release, and narrows nothing.
    """
    if not by_fit:
        return _widest(kind, UNFITTED)
    if near is None:
        return kind
    kin = KIN if same_energy(accelerator, near) else ESTIMATED
    return _widest(kind, SIBLING if same_chip(accelerator, near) else kin)


def _refused(reasons: dict[str, int]) -> tuple[Refused, ...]:
    return tuple(
        Refused(name, WORDS[name], count) for name, count in sorted(reasons.items(), key=lambda refusal: -refusal[1])
    )


def _train_report(
    design: ResolvedDesign,
    catalog: Catalog,
    request: TrainRequest,
    part: Accelerator,
    *,
    size: float,
    rows: list[TrainRow],
    assumptions: tuple[str, ...],
    counts: tuple[int, int, int, dict[str, int]] = (0, 0, 0, {}),
    skipped: tuple[Skipped, ...] = (),
) -> TrainReport:
    """Return the report; counts are a search's plans, timed ones, feasible ones, and refused ones by reason."""
    accelerator = design.compute.accelerator
    assert accelerator is not None
    relative = with_nearest_constants(accelerator, catalog)[1]
    software = _software_for(design, catalog, part, request.plan)
    near = catalog.entry(relative).part if relative is not None else None
    assert near is None or isinstance(near, Accelerator)
    kind = _model_band(request.model, request.plan)
    band = _band(accelerator, near, kind, by_fit=fitted(near or accelerator, catalog))
    speeds, step = software.rates(part, request.plan), rows[0].step_s
    curve = speeds.curve if request.plan.attention != "unfused" else None
    return TrainReport(
        schema_version=SCHEMA_VERSION,
        tool_version=__version__,
        design=design.spec.name,
        design_file=design.document.file,
        design_sha256=design.document.sha256,
        catalog=files_read(catalog),
        model=request.model.id,
        parameters=size,
        unit="images" if request.model.transformer is None else "tokens",
        accelerator=part.id,
        stack=software.stack.id if software.stack else None,
        stack_named=request.plan.stack is not None,
        attention_kernel=curve.kernel if curve is not None and request.model.transformer is not None else None,
        calibration=_basis(part, request.plan.precision, near),
        estimated_from=relative,
        error_band=band.band,
        error_within=band.within,
        run=None,
        error_basis=f"{band.runs} {band.basis}",
        step=Band(step, step * exp(-band.band), step, step * exp(band.band)),  # a factor, as in the draws of a cost
        searched=counts[0],
        timed=counts[1],
        feasible=counts[2],
        refused=_refused(counts[3]),
        rows=tuple(rows),
        sure=None,
        skipped=skipped,
        assumptions=(
            *assumptions,
            *_fsdp_assumption(rows, speeds.sharding_calls),
            *_drives_assumption(rows, design.compute.accelerators_per_node),
        ),
    )


def _setup_assumptions(setup: TrainSetup, request: TrainRequest) -> tuple[str, ...]:
    sentences = _training_assumptions(setup.run, request.plan, given=request.memory is not None)
    if request.settled:
        sentences += (
            f"The recipes of `{request.plan.stack}` give the widths of gradients, which the plan leaves out.",
        )
    there = setup.part.memory.value
    if setup.limit > there:
        sentences += (
            f"The limit of {setup.limit / GIB:.0f} GiB is more than the {there / GIB:.0f} GiB that the card has.",
        )
    return sentences
