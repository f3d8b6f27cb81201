"""Rows of `ffplan train` for convolutional networks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import GIB
from ffplan.results.training import StageMemory, TrainRow
from ffplan.studies.train.rows import MORE, _gains_at, _memory_fields, _parts_at, _plan_row, _relevant, stacked
from ffplan.training.constraints import RefusedError
from ffplan.training.conv_layers import image_flops
from ffplan.training.conv_step import ConvRun, conv_memory, conv_step_parts, without_host
from ffplan.training.memory_margins import worst_of
from ffplan.training.mfu import achieved
from ffplan.training.parallel_plan import parallel_plans
from ffplan.training.sensitivity import faster, without_path
from ffplan.training.step import step_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.models import Model
    from ffplan.catalog.parts import Accelerator
    from ffplan.design.training import PlanFields
    from ffplan.studies.train.software import Software
    from ffplan.training.axes import ParallelPlans
    from ffplan.training.group_collectives import Cluster
    from ffplan.training.memory_margins import MemoryMargins


def _conv_run(
    model: Model, plan: PlanFields, part: Accelerator, system: Cluster, software: Software, margins: MemoryMargins
) -> ConvRun:
    if plan.precision == "fp8":
        raise RefusedError(
            "fp8: convolutions at this precision are not modelled; take bf16",
            infeasible=False,
            fields=("precision",),
        )
    speeds = without_host(software.rates(part, plan))
    gradient, bucket = float(plan.reduced_bytes), plan.bucket_mib * 2.0**20
    return ConvRun(
        layers=model.convolutions,
        plans=parallel_plans(plan, 1.0),
        speeds=speeds,
        system=system,
        gradient=gradient,
        bucket=bucket,
        kept=float(plan.kept_bytes),
        margins=replace(margins, temporary=0.0),  # Adam's, and SGD updates in place
    )


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
        memory = _memory(run_of_plan)
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


def _memory(run: ConvRun) -> StageMemory:
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
