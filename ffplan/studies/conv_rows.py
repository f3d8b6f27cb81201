"""Rows of `ffplan train` for convolutional networks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import GIB
from ffplan.results.training import StageMemory, TrainRow
from ffplan.studies.diagnosis import RefusedError
from ffplan.studies.train_rows import MORE, gains_at, parts_at, plan_row, relevant, stacked
from ffplan.training.accelerator_rates import speeds
from ffplan.training.conv_layers import image_flops
from ffplan.training.conv_step import ImageRun, image_memory, image_parts, without_host
from ffplan.training.mfu import achieved
from ffplan.training.sensitivity import faster
from ffplan.training.step import step_time
from ffplan.training.written import plans_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.models import Model
    from ffplan.catalog.parts import Accelerator
    from ffplan.design.training import PlanFields
    from ffplan.training.group_collectives import System
    from ffplan.training.parallel_plan import Plans


def image_run(model: Model, plan: PlanFields, part: Accelerator, system: System) -> ImageRun:
    """Return a network on a machine, with the plan as it is written.

    Args:
        model: the network.
        plan: the plan.
        part: the accelerator.
        system: the machine.

    Raises:
        RefusedError: at 8 bits.
        UncalibratedError: where nothing is known of training on the accelerators.
    """
    if plan.precision == "fp8":
        raise RefusedError("fp8: nothing is known of convolutions at this precision; take bf16", infeasible=False)
    at = without_host(speeds(part, plan.precision))
    gradient, bucket = float(plan.gradient_bytes), plan.bucket_mib * 2.0**20
    return ImageRun(model.convolutions, plans_of(plan, 1.0), at, system, gradient, bucket)


def image_rows(run: ImageRun, plans: Sequence[Plans], limit: float) -> list[TrainRow]:
    """Return plans with their time and memory.

    Args:
        run: network and machine.
        plans: the plans, of plain numbers.
        limit: device memory [byte].
    """
    at = run.speeds
    many = replace(run, plans=stacked(plans))
    parts = image_parts(many)
    seconds = np.asarray(step_time(parts))
    after = {name: step_time(image_parts(faster(many, name, MORE))) for name in relevant(many)}
    rows: list[TrainRow] = []
    for row, item in enumerate(plans):
        one, time = replace(run, plans=item), float(seconds[row])
        each = item.batch / time / item.gpus
        rate = float(achieved(item.batch * image_flops(run.layers), time, item.gpus))
        bought = gains_at(seconds, after, row)
        memory = _memory(one)
        rows.append(
            TrainRow(
                plan_row(1.0, item, run.system), 0, time, item.batch / time, each, rate / 1e12,
                rate / at.peak, rate / at.peak, rate / at.peak, each / (rows[0].tokens_s_gpu if rows else each),
                parts_at({name: float(value[row]) for name, value in parts.items()}, time),
                bought[0].resource, bought[0].label, bought, (), memory.total_gib, limit / GIB, (memory,), None,
            )
        )  # fmt: skip
    return rows


def _memory(run: ImageRun) -> StageMemory:
    """Return the memory of a rank."""
    found = {name: float(value) / GIB for name, value in image_memory(run, run.plans.micro).items()}
    layers = sum(layer.count for layer in run.layers)
    return StageMemory(
        0, layers, found["weights"], found["gradients"], found["optimizer"], found["activations"], 0.0,
        found["working"],
        sum(found.values()),
    )  # fmt: skip
