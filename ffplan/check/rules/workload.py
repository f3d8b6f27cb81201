"""Rules on the workload, and on the storage that saves its checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import number, percent, plural, span
from ffplan.check.rule import Breach, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.check.rule import Examined
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.studies.operate.goodput_job import JobRecovery


_EXPOSED = 0.25
"""Fraction of a step above which the exchange between experts is exposed."""


@rule(
    "expert-exchange-exposed",
    title="The exchange between experts takes much of a step",
    why="Expert parallelism sends every token over the fabric twice a layer; accelerators that share a NIC wait.",
    example="nodes: [{server: fire-flyer-2-node, ...}]  # 8 GPUs, 1 NIC\nworkload: {model: deepseek-v3}",
    good="nodes: [{server: fire-flyer-2-node, ...}]\nworkload: {model: llama3-8b}  # dense",
    fix="More NIC bandwidth for each accelerator, a larger scale-up domain, or a dense model.",
    severity=Severity.WARNING,
)
def _expert_exchange_exposed(examined: Examined) -> Iterator[Breach]:
    timed = examined.timed
    if timed is None:
        return
    row = timed.rows[0]
    share = next((part.share for part in row.parts if part.name == "experts"), 0.0)
    if share > _EXPOSED:
        group = examined.design.compute
        nics = f"{plural(group.accelerators_per_node, 'accelerator')} share {plural(len(group.fabric_nics), 'NIC')}"
        yield Breach(
            path=("workload", "model"),
            message=f"{percent(share)} of a step of `{timed.model}` is its exchange between experts; in a node, {nics}",
            remedy="give each accelerator more of a NIC, or a larger scale-up domain, or keep experts in the node",
        )


@rule(
    "memory-at-edge",
    title="The plan of the workload may run out of device memory",
    why="A runtime reserves more than tensors take, and the optimizer has temporaries; a run dies at the sum.",
    example="workload: {model: llama3-8b, batch: 1024, gpus: 64, plan: {tensor: 2, micro_batch: 2}}",
    good="workload: {model: llama3-8b, batch: 1024, gpus: 64, plan: {tensor: 2, micro_batch: 1}}",
    fix="More recomputation or sharding, a smaller micro-batch, or accelerators with more memory.",
    severity=Severity.WARNING,
)
def _memory_at_edge(examined: Examined) -> Iterator[Breach]:
    timed = examined.timed
    if timed is None:
        return
    warning = timed.rows[0].memory_words
    if warning is not None:
        yield Breach(
            path=("workload", "model"),
            message=f"the plan of `{timed.model}` may run out of device memory: {warning}",
            remedy="recompute or shard more, take a smaller micro-batch, or measure the plan before you rely on it",
        )


@rule(
    "run-outlives-hardware",
    title="The run of the workload takes longer than its hardware, or a rent of a term, is paid for",
    why="A run's cost is its share of hardware that lives as long; beyond it the hardware is bought or rented again.",
    example="workload: {model: llama3-70b, gpus: 64, tokens: 15T}\nownership: {life: 2 years}",
    good="workload: {model: llama3-70b, gpus: 1024, tokens: 15T}\nownership: {life: 2 years}",
    fix="More accelerators, fewer tokens, or a longer life or term.",
    severity=Severity.WARNING,
)
def _run_outlives_hardware(examined: Examined) -> Iterator[Breach]:
    run = examined.run
    if run is not None and run.outlives is not None:
        yield Breach(
            path=("workload", "tokens"),
            message=f"the run of `{run.model}` takes {run.outlives}",
            remedy="give it more accelerators or fewer tokens, or plan a longer life or term",
        )


def _storage_group(design: ResolvedDesign) -> int | None:
    return next((position for position, group in enumerate(design.spec.nodes) if group.role == "storage"), None)


def _faster_saves(binds: str, times: float) -> str:
    from ffplan.reliability.storage import OF_SERVICE

    if binds in OF_SERVICE:
        return (
            "more servers do not help: name a file system whose measured rates are higher (`service.file_system`), or "
            "accept fewer checkpoints; `ffplan operate storage` has the rates"
        )
    return f"plan {times:.2g} times the storage, or accept fewer checkpoints; `ffplan operate storage` has the rates"


def _kept_without_room(examined: Examined, recovery: JobRecovery) -> Iterator[Breach]:
    from ffplan.studies.operate.storage_jobs import kept_checkpoints

    storage, kept = recovery.basis.storage, kept_checkpoints(recovery.basis)
    if storage is None or kept is None:
        return
    room = storage.usable_bytes / float(recovery.outcome.checkpoint_bytes)
    if kept <= room:
        return
    section = examined.design.reliability
    path = ("reliability", "checkpoints_kept") if section is not None and section.checkpoints_kept else ("workload",)
    yield Breach(
        path=path,
        message=f"the storage has room for {number(room, 3)} checkpoints of the workload, and {number(kept)} are kept",
        remedy="plan more storage, or keep fewer: `reliability.checkpoints_kept`",
    )


@rule(
    "storage-below-checkpoint",
    title="Storage saves checkpoints more slowly than they should follow each other, or cannot hold those kept",
    why="A save must end before the next begins: slow storage makes every failure cost more work.",
    example="nodes: [..., {role: storage, server: nvme-16x15tb-2x200g, count: 1}]\nworkload: {model: deepseek-v3}",
    good="nodes: [..., {role: storage, server: nvme-16x15tb-2x200g, count: 32}]\nworkload: {model: deepseek-v3}",
    fix="Plan more storage servers, or faster NICs in them.",
    severity=Severity.WARNING,
)
def _storage_below_checkpoint(examined: Examined) -> Iterator[Breach]:
    recovery = examined.recovery
    if recovery is None or recovery.basis.storage is None:
        return
    from ffplan.reliability.checkpoint import optimum

    storage, outcome = recovery.basis.storage, recovery.outcome
    interval, save = float(optimum(outcome.save_s, outcome.mtbf_s)), float(outcome.persist_s)
    yield from _kept_without_room(examined, recovery)
    if save <= interval:
        return
    group = _storage_group(examined.design)
    servers = "the storage" if storage.planned else "the storage that the ownership profile sizes"
    yield Breach(
        path=("workload",) if group is None else ("nodes", group),
        message=f"{servers} saves a checkpoint of the workload in {span(save)}, bound by {outcome.persist_binds}; "
        f"every {span(interval)} would be best",
        remedy=_faster_saves(outcome.persist_binds, save / interval),
    )


@rule(
    "storage-below-guidance",
    title="The planned storage is below the vendor's least guidance for as many accelerators",
    why="NVIDIA's SuperPOD guidance has three tiers of storage; below the least, data that misses caches starves jobs.",
    example="nodes: [..., {role: storage, server: nvme-16x15tb-2x200g, count: 1}]",
    good="nodes: [..., {role: storage, server: nvme-16x15tb-2x200g, count: 32}]",
    fix="Plan more storage servers, or accept it if the data set fits into the nodes' caches.",
    severity=Severity.INFO,
)
def _storage_below_guidance(examined: Examined) -> Iterator[Breach]:
    design, storage = examined.design, examined.storage
    if storage is None or not design.accelerators:
        return
    from ffplan.studies.operate.reliability import profile_of

    tiers = tuple(profile_of(design, examined.catalog.fork()).storage_tiers.values())
    if not tiers:
        return
    least = tiers[0]
    scale = design.accelerators / least.accelerators.value
    read, write = least.read.value * scale, least.write.value * scale
    if storage.read_gbyte_s >= read and storage.write_gbyte_s >= write:
        return
    group = _storage_group(design)
    assert group is not None  # the design plans storage
    yield Breach(
        path=("nodes", group),
        message=f"the storage reads {number(storage.read_gbyte_s, 3)} and writes {number(storage.write_gbyte_s, 3)} "
        f"GB/s; guidance for {design.accelerators:,} accelerators is {number(read, 3)} and {number(write, 3)} in the "
        f"tier `{least.label}` ({least.use})",
        remedy="plan more storage servers, or accept it for data that fits into caches; `ffplan operate "
        "storage` has every tier",
    )


@rule(
    "workload-refused",
    title="The workload cannot run on the design",
    why="The design is bought for a job that does not fit its memory, or whose plan is not possible.",
    example="workload: {model: llama3-405b, gpus: 8}",
    good="workload: {model: llama3-405b, gpus: 512}",
    fix="Follow the message; `ffplan train --search` lists why plans are refused.",
)
def _workload_refused(examined: Examined) -> Iterator[Breach]:
    job = examined.job
    if job is None:
        return
    from ffplan.results.training import TrainReport

    if not isinstance(job, TrainReport):
        yield Breach(
            path=("workload",),
            message=f"the workload has no step time: {job}",
            remedy=getattr(job, "remedy", "")
            or "change the plan, the batch or the accelerators; `ffplan train` says more",
            key=True,
        )


@rule(
    "serving-refused",
    title="The load under `serving` cannot be served",
    why="The design is bought for a load that its copies cannot carry, or whose plan is not possible.",
    example="serving: {model: llama3.1-405b, rate: 100000/s}",
    good="serving: {model: llama3.1-70b, rate: 1/s}",
    fix="Follow the message; `ffplan serve --search` lists other plans.",
)
def _serving_refused(examined: Examined) -> Iterator[Breach]:
    if examined.design.serving is None:
        return
    row, why = examined.served
    if row is None:
        remedy = "change the rate, the plan or the accelerators; `ffplan serve` says more"
        yield Breach(path=("serving",), message=why, remedy=remedy, key=True)
