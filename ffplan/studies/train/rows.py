"""Rows of a training report, of transformers and of convolutional networks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.formatting import GIB, gib, percent
from ffplan.base.record import record
from ffplan.results.run import PlanRow, StepPart
from ffplan.results.training import Gain, StageMemory, TrainRow
from ffplan.studies.train.cluster import _plan_rooflines
from ffplan.training.axes import AXES, NUMBERS, RECOMPUTE
from ffplan.training.conv_layers import image_flops
from ffplan.training.conv_step import ConvRun, conv_memory, conv_step_parts
from ffplan.training.memory import PARTS as MEMORY_PARTS
from ffplan.training.memory import plan_bytes
from ffplan.training.memory_margins import fullest_candidates, temporary_of, worst_of
from ffplan.training.mfu import achieved, step_flops
from ffplan.training.parallel_plan import layers_of, stage_layers
from ffplan.training.part_kinds import PARTS
from ffplan.training.sensitivity import RESOURCES, faster, merged_runs, without_path
from ffplan.training.step import step_parts, step_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ffplan.base.array_math import Floats
    from ffplan.training.axes import ParallelPlans
    from ffplan.training.group_collectives import Cluster
    from ffplan.training.memory_margins import MemoryMargins
    from ffplan.training.train_run import TrainRun


_FITS, EDGE = "fits", "edge"
"""Verdicts on plans that are not refused."""


def _memory_fields(
    margins: MemoryMargins, limit: float, allocated: float, worst: float, temporary: float
) -> dict[str, Any]:
    """Judge what tensors have on the fullest stage, what the runtime may go up to, and Adam's transient, in bytes."""
    low, high = ((1.0 + share) * allocated / GIB for share in margins.reserved or (0.0, 0.0))
    edge = max(worst, allocated) > limit
    return {
        "memory_verdict": EDGE if edge else _FITS,
        "memory_words": _edge_words(margins, limit, allocated, temporary) if edge else None,
        "reserved_low_gib": low if margins.reserved else None,
        "reserved_high_gib": high if margins.reserved else None,
        "transient_gib": temporary / GIB,
    }


def _edge_words(margins: MemoryMargins, limit: float, allocated: float, temporary: float) -> str:
    if allocated > limit:
        return (
            f"tensors are counted at {gib(allocated)}, {gib(allocated - limit)} more than the {gib(limit)} there are; "
            f"a published run of this stack, which did fit, is counted up to {percent(margins.counted_over)} over"
        )
    text = f"tensors take {gib(allocated)} of {gib(limit)}"
    if margins.reserved:
        low, high = (gib((1.0 + share) * allocated) for share in margins.reserved)
        text += f"; the allocator of {margins.runtime} was seen to reserve {low} to {high} for as much"
    return text + (f", and Adam takes {gib(temporary)} for a moment" if temporary else "")


MORE = 1.1
"""Speed-up of a resource, to find its gain [1]."""
_SHOWN = 16


def _plan_row(sequence: float, plans: ParallelPlans, system: Cluster) -> PlanRow:
    """Return a plan as printed, for sequences of a length.

    ZeRO 3 scatters gradients, which HFReduce cannot: the library of all other collectives does.
    """
    p, reducer = plans, system.library.id if plans.zero == 3 else system.reducer_name
    sizes = {axis.field: int(getattr(p, axis.array)) for axis in AXES}
    return PlanRow(
        **sizes,
        gpus=int(p.gpus),
        batch=int(p.batch),
        micro_batches=int(p.micro_batches),
        sequence=int(sequence),
        sequence_parallel=bool(p.sequence_parallel) and bool(p.tensor > 1),
        zero=int(p.zero),
        shard=int(p.shard) or int(p.reducing),
        unit_layers=int(p.unit_layers),
        recompute=RECOMPUTE[int(p.recompute)],
        precision=p.precision,
        schedule="interleaved" if p.chunks > 1 else p.schedule,
        overlap=tuple(sorted(p.overlap)),
        order=p.order,
        gradient_bytes=int(p.gradient_bytes),
        reduced_bytes=int(p.wire_bytes),
        optimizer_bytes=int(p.optimizer_bytes),
        weights_copy=bool(p.zero >= 3) and not p.casts,
        mtp_layers=int(p.mtp_layers),
        routing="in-turn" if p.in_turn else "random",
        recompute_parts=tuple(sorted(p.again)),
        attention="fused" if p.fused_attention else "unfused",
        elementwise="eager" if p.eager else "fused",
        offload=p.offload,
        offload_to="drives" if p.on_drives else "memory",
        offload_layers=int(p.offload_layers),
        reducer=reducer,
    )


@record
class _Memory:
    allocated: float
    """What tensors have on the fullest stage [byte]."""
    temporary: float
    """Most transient memory of the optimizer [byte]."""
    host: float
    """Most host memory of a rank [byte]."""
    stages: tuple[StageMemory, ...]
    """Every stage; of many, the first, second, last and fullest."""


def _memory(run: TrainRun) -> _Memory:
    shape, plan = run.shape, run.plans
    count = int(plan.pipeline)
    fullest = {int(stage_number) for stage_number in fullest_candidates(shape, plan).values()}
    numbers = list(range(count)) if count <= _SHOWN else sorted({0, 1, count - 1} | fullest)
    parts = plan_bytes(shape, plan, numbers)
    held = np.asarray(stage_layers(shape.layers, plan, np.array(numbers, dtype=float)))
    sizes = {f"{name}_gib": (parts[name] / GIB).tolist() for name in (*MEMORY_PARTS, "total")}
    columns = [numbers.index(stage_number) for stage_number in fullest]
    return _Memory(
        allocated=float(parts["total"][columns].max()),
        temporary=float(np.max(temporary_of(parts["optimizer"][columns], plan, run.margins))),
        host=float(parts["host"][columns].max()),
        stages=tuple(
            StageMemory(
                stage=stage,
                layers=int(held[stage_number]),
                **{name: size[stage_number] for name, size in sizes.items()},
            )
            for stage_number, stage in enumerate(numbers)
        ),
    )


def _relevant(run: TrainRun | ConvRun) -> list[str]:
    host, plans = run.system.host, run.plans
    reduces = run.system.reducer.method == "hfreduce"
    swaps = plans.offload != "none" or bool(np.any(np.asarray(plans.offload_layers) > 0))
    matters = {
        "host": run.speeds.launch + run.speeds.launch_step > 0,
        "nvlink": host.joined or bool(host.pairs),
        "nic": bool(host.nics),
        "pcie": not host.joined or reduces or swaps,
        "host_memory": reduces or swaps,
        "drives": plans.on_drives,
        "uplinks": run.system.crossed is not None,
    }
    return [name for name in RESOURCES if matters.get(name, True)]


def stacked(plans: Sequence[ParallelPlans]) -> ParallelPlans:
    """Return plans of plain numbers as one of arrays."""
    columns: dict[str, Any] = {name: np.array([getattr(plan, name) for plan in plans]) for name in NUMBERS}
    return replace(plans[0], **columns)


def _gains_at(seconds: Floats, after: Mapping[str, Any], index: int) -> tuple[Gain, ...]:
    gains = [
        Gain(
            name, RESOURCES[name], max(0.0, float(seconds[index] / np.broadcast_to(value, seconds.shape)[index]) - 1.0)
        )
        for name, value in after.items()
    ]
    return tuple(sorted(gains, key=lambda gain: -gain.faster))


def _parts_at(parts: dict[str, float], seconds: float) -> tuple[StepPart, ...]:
    listed = sorted((name for name in PARTS if parts[name] > 0), key=lambda name: -parts[name])
    return tuple(StepPart(name, PARTS[name].label, parts[name], parts[name] / seconds) for name in listed)


def one_plan(run: TrainRun) -> TrainRun:
    """Return a run of one plan, of plain numbers, whose units are no larger than a chunk."""
    most = layers_of(run.shape.layers, run.plans)[0] / run.plans.chunks
    return replace(run, plans=replace(run.plans, unit_layers=min(run.plans.unit_layers, float(most))))


def pace(run: TrainRun, seconds: float) -> dict[str, Any]:
    """Return the figures of a row that follow from the time of a step."""
    shape, p, speeds = run.shape, run.plans, run.speeds
    tokens = float(p.batch * shape.sequence / seconds)
    model, causal, hardware = (
        float(achieved(step_flops(shape, p, kind), seconds, p.gpus)) for kind in ("model", "causal", "hardware")
    )
    return {
        "step_s": seconds,
        "tokens_s": tokens,
        "tokens_s_gpu": float(tokens / p.gpus),
        "tflops_gpu": model / 1e12,
        "mfu": model / speeds.peak,
        "peak_tflops": speeds.peak / 1e12,
        "mfu_16_bit": model / speeds.peak_16 if speeds.peak_16 else None,
        "mfu_causal": causal / speeds.peak,
        "hfu": hardware / speeds.peak,
    }


def _timed(runs: Sequence[TrainRun], plans: Sequence[ParallelPlans]) -> tuple[dict[str, Floats], list[Floats]]:
    """Return the parts of the steps of some plans on the first machine, and their times on every machine [s]."""
    if len(plans) == 1 and len(runs) > 1:  # one call for all machines
        whole = step_parts(merged_runs(runs, stacked(list(plans) * len(runs))))
        rows = {name: np.broadcast_to(value, (len(runs),)) for name, value in whole.items()}
        times = np.asarray(step_time(rows))
        return {name: value[:1] for name, value in rows.items()}, [
            times[index : index + 1] for index in range(len(runs))
        ]
    parts_by_run = [
        {name: np.broadcast_to(value, (len(plans),)) for name, value in step_parts(run).items()} for run in runs
    ]
    return parts_by_run[0], [np.asarray(step_time(parts)) for parts in parts_by_run]


def _train_rows(
    run: TrainRun,
    plans: Sequence[ParallelPlans],
    limit: float,
    gpus_asked: Sequence[int],
    *,
    compared: bool,
    gains: bool = True,
) -> list[TrainRow]:
    """Return plans with their time and memory; without `gains`, rows say nothing of what limits them."""
    many = replace(run, plans=stacked(plans))
    others = {name: faster(many, name, MORE) for name in (_relevant(run) if gains else [])}
    fewer = without_path(many)
    parts, times = _timed([many, *others.values(), *([] if fewer is None else [fewer])], plans)
    seconds, after = times[0], dict(zip(others, times[1:], strict=False))
    left = None if fewer is None else seconds / times[-1]
    rows: list[TrainRow] = []
    for index, plan in enumerate(plans):
        mine = {name: float(value[index]) for name, value in parts.items()}
        bought = _gains_at(seconds, after, index)
        first = rows[0] if rows else None
        row = _row(
            replace(run, plans=plan),
            mine,
            float(seconds[index]),
            bought,
            limit=limit,
            gpus_asked=gpus_asked[index],
            first=first,
            path_lost=None if left is None else float(left[index]),
        )
        rows.append(replace(row, lost=why_lost(rows[0], row)) if compared and rows else row)
    return rows


def _row(
    run: TrainRun,
    parts: dict[str, float],
    seconds: float,
    bought: tuple[Gain, ...],
    *,
    limit: float,
    gpus_asked: int,
    first: TrainRow | None,
    path_lost: float | None,
) -> TrainRow:
    capped = one_plan(run)
    shape, p, speeds = run.shape, capped.plans, pace(capped, seconds)
    memory = _memory(capped)
    worst = float(worst_of(memory.allocated, memory.temporary, run.margins))
    return TrainRow(
        plan=_plan_row(float(shape.sequence), p, run.system),
        idle=gpus_asked - int(p.gpus),
        **speeds,
        efficiency=speeds["tokens_s_gpu"] / (first.tokens_s_gpu if first else speeds["tokens_s_gpu"]),
        parts=_parts_at(parts, seconds),
        binding=bought[0].resource if bought else "",
        binding_label=bought[0].label if bought else "",
        gains=bought,
        rooflines=_plan_rooflines(run),
        path_lost=path_lost,
        memory_gib=memory.allocated / GIB,
        **_memory_fields(run.margins, limit, memory.allocated, worst, memory.temporary),
        offloaded_gib=memory.host / GIB,
        limit_gib=limit / GIB,
        stages=memory.stages,
        lost=None,
    )


def why_lost(best: TrainRow, row: TrainRow) -> str:
    """Return why a plan lost against the best: the parts that cost it most."""
    mine = {part.name: part.seconds for part in row.parts}
    theirs = {part.name: part.seconds for part in best.parts}
    more = {name: mine.get(name, 0.0) - theirs.get(name, 0.0) for name in PARTS}
    slower = row.step_s - best.step_s
    worst = sorted((name for name in more if more[name] > 0), key=lambda name: -more[name])[:2]
    if slower <= 0 or not worst:
        return "as fast"
    phrases = [f"{PARTS[name].label} +{_seconds(more[name])}" for name in worst]
    return f"+{slower / best.step_s:.1%}: {', '.join(phrases)}"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.0f} ms"


def _conv_rows(run: ConvRun, plans: Sequence[ParallelPlans], limit: float) -> list[TrainRow]:
    speeds = run.speeds
    many = replace(run, plans=stacked(plans))
    parts = conv_step_parts(many)
    seconds = np.asarray(step_time(parts))
    after = {name: step_time(conv_step_parts(faster(many, name, MORE))) for name in _relevant(many)}
    fewer = without_path(many)
    left = None if fewer is None else np.broadcast_to(seconds / step_time(conv_step_parts(fewer)), seconds.shape)
    rows: list[TrainRow] = []
    for row, plan in enumerate(plans):
        run_of_plan, time = replace(run, plans=plan), float(seconds[row])
        tokens = float(plan.batch / time)
        per_gpu = float(tokens / plan.gpus)
        rate = float(achieved(plan.batch * image_flops(run.layers), time, plan.gpus))
        bought = _gains_at(seconds, after, row)
        memory = _conv_memory(run_of_plan)
        allocated = memory.total_gib * GIB
        rows.append(
            TrainRow(
                plan=_plan_row(1.0, plan, run.system),
                idle=0,
                step_s=time,
                tokens_s=tokens,
                tokens_s_gpu=per_gpu,
                tflops_gpu=rate / 1e12,
                mfu=rate / speeds.peak,
                peak_tflops=speeds.peak / 1e12,
                mfu_16_bit=rate / speeds.peak_16 if speeds.peak_16 else None,
                mfu_causal=rate / speeds.peak,
                hfu=rate / speeds.peak,
                efficiency=per_gpu / (rows[0].tokens_s_gpu if rows else per_gpu),
                parts=_parts_at({name: float(value[row]) for name, value in parts.items()}, time),
                binding=bought[0].resource,
                binding_label=bought[0].label,
                gains=bought,
                rooflines=(),
                path_lost=None if left is None else float(left[row]),
                memory_gib=memory.total_gib,
                **_memory_fields(run.margins, limit, allocated, float(worst_of(allocated, 0.0, run.margins)), 0.0),
                offloaded_gib=0.0,
                limit_gib=limit / GIB,
                stages=(memory,),
                lost=None,
            )
        )
    return rows


def _conv_memory(run: ConvRun) -> StageMemory:
    parts = {name: float(value) / GIB for name, value in conv_memory(run, run.plans.micro).items()}
    layers = sum(layer.count for layer in run.layers)
    return StageMemory(
        stage=0,
        layers=layers,
        weights_gib=parts["weights"],
        gradients_gib=parts["gradients"],
        optimizer_gib=parts["optimizer"],
        activations_gib=parts["activations"],
        logits_gib=0.0,
        working_gib=parts["working"],
        total_gib=sum(parts.values()),
    )
