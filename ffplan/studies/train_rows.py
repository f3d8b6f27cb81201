"""Rows of `ffplan train`: a plan's step in parts, its memory stage by stage, what binds it and what would help."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.formatting import GIB
from ffplan.results.training import Gain, PlanRow, StageMemory, StepPart, TrainRow
from ffplan.studies.plan_rooflines import rooflines
from ffplan.training.memory import footprint, peak_bytes, telling_stages
from ffplan.training.mfu import achieved, step_flops
from ffplan.training.parallel_plan import NUMBERS, RECOMPUTE, layers_of
from ffplan.training.sensitivity import RESOURCES, faster
from ffplan.training.step import PARTS, step_parts, step_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ffplan.base.arrays import Floats
    from ffplan.training.conv_step import ImageRun
    from ffplan.training.group_collectives import System
    from ffplan.training.microbatch import Run
    from ffplan.training.model_shape import Shape
    from ffplan.training.parallel_plan import Plans

LABELS = {
    "products": "matrix products", "attention": "attention", "memory": "element-wise operations",
    "kernels": "small kernels", "recompute": "computed again", "output": "output layer and loss",
    "tensor": "tensor parallelism", "context": "context parallelism", "experts": "tokens to experts",
    "launches": "waiting for the host", "sends": "between stages", "bubble": "pipeline bubble",
    "parameters": "gathering parameters", "gradients": "reducing gradients", "optimizer": "optimiser",
    "offload": "optimiser on the host",
}  # fmt: skip
"""Parts of a step for people."""
MORE = 1.1
"""How much faster a resource is made to ask what it would buy."""
SHOWN = 16
"""Most stages whose memory is listed one by one."""


def plan_row(sequence: float, plans: Plans, system: System) -> PlanRow:
    """Return a plan as it is printed, for sequences of a length.

    ZeRO 3 scatters gradients, which HFReduce cannot: the library of all other collectives does.
    """
    p, reducer = plans, system.library.id if plans.zero == 3 else system.reducer_name
    whole = {
        name: int(getattr(p, name))
        for name in ("gpus", "tensor", "context", "expert", "expert_tensor", "pipeline", "chunks", "data")
    }
    return PlanRow(
        **whole, micro_batch=int(p.micro), batch=int(p.batch), micro_batches=int(p.micro_batches),
        sequence=int(sequence), sequence_parallel=bool(p.sequence_parallel) and p.tensor > 1, zero=int(p.zero),
        shard=int(p.shard) or int(p.reducing), unit_layers=int(p.unit_layers), recompute=RECOMPUTE[int(p.recompute)],
        precision=p.precision, schedule="interleaved" if p.chunks > 1 else p.schedule,
        overlap=tuple(sorted(p.overlap)), order=p.order, gradient_bytes=int(p.gradient_bytes),
        attention="fused" if p.fused_attention else "unfused", elementwise="eager" if p.eager else "fused",
        offload=p.offload, reducer=reducer,
    )  # fmt: skip


def stages_of(shape: Shape, plans: Plans) -> tuple[StageMemory, ...]:
    """Return the memory of every stage; where there are many, of the first, second, last and fullest."""
    count = int(plans.pipeline)
    telling = {0, 1, count - 1} | {int(at) for at in telling_stages(shape, plans).values()}
    numbers = list(range(count)) if count <= SHOWN else sorted(telling)
    full, last = layers_of(shape.layers, plans)
    found = []
    for stage in numbers:
        parts = footprint(shape, plans, float(stage))
        sizes = [
            float(np.max(getattr(parts, name))) / GIB
            for name in ("weights", "gradients", "optimizer", "activations", "logits", "working", "total")
        ]
        held = last if stage == count - 1 and count > 1 else full
        found.append(StageMemory(stage, int(held), *sizes))
    return tuple(found)


def relevant(run: Run | ImageRun) -> list[str]:
    """Return the resources that can matter to a run."""
    host, plans = run.system.host, run.plans
    reduces = run.system.reducer.method == "hfreduce"
    matters = {
        "host": run.speeds.launch + run.speeds.launch_step > 0, "nvlink": host.switched or bool(host.pairs),
        "nic": bool(host.nics), "pcie": not host.switched or reduces or plans.offload != "none",
        "host_memory": reduces or plans.offload != "none", "uplinks": run.system.crossed is not None,
    }  # fmt: skip
    return [name for name in RESOURCES if matters.get(name, True)]


def stacked(plans: Sequence[Plans]) -> Plans:
    """Return plans of plain numbers as one of arrays."""
    columns: dict[str, Any] = {name: np.array([getattr(item, name) for item in plans]) for name in NUMBERS}
    return replace(plans[0], **columns)


def gains_at(seconds: Floats, after: Mapping[str, Any], at: int) -> tuple[Gain, ...]:
    """Return what each resource would buy one plan, the most first."""
    found = [
        Gain(name, RESOURCES[name], max(0.0, float(seconds[at] / np.broadcast_to(value, seconds.shape)[at]) - 1.0))
        for name, value in after.items()
    ]
    return tuple(sorted(found, key=lambda gain: -gain.faster))


def parts_at(parts: dict[str, float], seconds: float) -> tuple[StepPart, ...]:
    """Return the parts of one step, the largest first."""
    listed = sorted((name for name in PARTS if parts[name] > 0), key=lambda name: -parts[name])
    return tuple(StepPart(name, LABELS[name], parts[name], parts[name] / seconds) for name in listed)


def train_rows(
    run: Run, plans: Sequence[Plans], limit: float, asked: Sequence[int], *, compared: bool
) -> list[TrainRow]:
    """Return plans with their time and memory.

    Args:
        run: workload and machine.
        plans: the plans, of plain numbers.
        limit: device memory [byte].
        asked: accelerators asked for, of each.
        compared: say of each why it lost against the first.
    """
    many = replace(run, plans=stacked(plans))
    parts = {name: np.broadcast_to(value, (len(plans),)) for name, value in step_parts(many).items()}
    seconds = np.asarray(step_time(parts))
    after = {name: step_time(step_parts(faster(many, name, MORE))) for name in relevant(run)}
    rows: list[TrainRow] = []
    for at, item in enumerate(plans):
        mine = {name: float(value[at]) for name, value in parts.items()}
        bought = gains_at(seconds, after, at)
        first = rows[0] if rows else None
        row = _row(replace(run, plans=item), mine, float(seconds[at]), bought, limit, asked[at], first)
        rows.append(replace(row, lost=why_lost(rows[0], row)) if compared and rows else row)
    return rows


def _row(
    run: Run, parts: dict[str, float], seconds: float, bought: tuple[Gain, ...], limit: float, asked: int,
    first: TrainRow | None,
) -> TrainRow:  # fmt: skip
    shape = run.shape
    most = layers_of(shape.layers, run.plans)[0] / run.plans.chunks  # a unit is no larger than a chunk
    p = replace(run.plans, unit_layers=min(run.plans.unit_layers, float(most)))
    tokens = p.batch * shape.sequence / seconds
    each = tokens / p.gpus
    model = float(achieved(step_flops(shape, p, "model"), seconds, p.gpus))
    causal = float(achieved(step_flops(shape, p, "causal"), seconds, p.gpus))
    hardware = float(achieved(step_flops(shape, p, "hardware"), seconds, p.gpus))
    return TrainRow(
        plan_row(shape.sequence, p, run.system),
        asked - int(p.gpus), seconds, tokens, each, model / 1e12, model / run.speeds.peak,
        causal / run.speeds.peak, hardware / run.speeds.peak, each / (first.tokens_s_gpu if first else each),
        parts_at(parts, seconds),
        bought[0].resource, bought[0].label, bought, rooflines(run), float(np.max(peak_bytes(shape, p))) / GIB,
        limit / GIB, stages_of(shape, p), None,
    )  # fmt: skip


def why_lost(best: TrainRow, other: TrainRow) -> str:
    """Return why a plan lost against the best: the parts that cost it most."""
    mine = {part.name: part.seconds for part in other.parts}
    theirs = {part.name: part.seconds for part in best.parts}
    more = {name: mine.get(name, 0.0) - theirs.get(name, 0.0) for name in LABELS}
    slower = other.step_s - best.step_s
    worst = sorted((name for name in more if more[name] > 0), key=lambda name: -more[name])[:2]
    if slower <= 0 or not worst:
        return "as fast"
    words = [f"{LABELS[name]} +{_seconds(more[name])}" for name in worst]
    return f"+{slower / best.step_s:.1%}: {', '.join(words)}"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.0f} ms"
