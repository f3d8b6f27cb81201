"""A convolutional network on a design: steps of data parallelism in parts, memory, and refused plans."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import gib
from ffplan.base.record import record
from ffplan.catalog.models import Convolution
from ffplan.training.accelerator_rates import AcceleratorRates
from ffplan.training.axes import ParallelPlans
from ffplan.training.constraints import CANNOT, RefusedError, multiples
from ffplan.training.conv_layers import (
    CAST_BYTES,
    SGD_BYTES,
    _behind_bytes,
    _buckets,
    _conv_kept_bytes,
    _convolution_times,
    _queue_end,
    gradient_bytes,
)
from ffplan.training.group_collectives import Cluster, _group_time, _hidden_fraction, _place_group
from ffplan.training.memory_margins import UNKNOWN_MARGINS, MemoryMargins
from ffplan.training.overlap import _with_overlap_cost
from ffplan.training.part_kinds import PARTS

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Number
    from ffplan.catalog.models import Model
    from ffplan.design.training import PlanFields

TAKEN = (
    "micro_batch",
    "batch",
    "data",
    "precision",
    "gradient_bytes",
    "grad_dtype",
    "grad_reduce_dtype",
    "bucket_mib",
    "reducer",
    "kind",
)
"""Fields of a plan that a convolutional network takes."""
NEUTRAL = {"zero": 0, "sequence": 1}
"""Values without effect for the other fields, if they differ from the defaults."""
BESIDE = {"gradients", "parameters"}
"""Overlaps that a plan may name; there are no parameters to gather."""
WEIGHT, MOMENTUM = 4.0, 4.0
"""Bytes of a weight and of its momentum; GEMMs at 16 bits also need a copy of 2 bytes."""
STATE_BYTES = WEIGHT + MOMENTUM
"""Bytes of a parameter in a checkpoint: its weight and its momentum [byte]."""
KERNELS = 3
"""GEMMs of a convolution: one forward, two backward."""


@record
class ConvRun:
    """A convolutional network on a machine; numbers of the plans may be arrays."""

    layers: tuple[Convolution, ...]
    plans: ParallelPlans
    speeds: AcceleratorRates
    system: Cluster
    gradient: float
    """Bytes of a gradient as reduced [byte]."""
    bucket: float
    """Size from which a bucket of gradients is full [byte]."""
    kept: float = 4.0
    """Bytes of a gradient as kept [byte]."""
    margins: MemoryMargins = UNKNOWN_MARGINS
    """What its runtime takes of device memory beyond tensors."""


def data_parallel_only(model: Model) -> str:
    """Return the plans that a convolutional network supports, in words."""
    return f"`{model.id}` is a convolutional network, which takes data parallelism alone"


def conv_plan(model: Model, plan: PlanFields, gpus: int) -> PlanFields:
    """Return a plan with its batch and micro-batch for `gpus` accelerators.

    Raises:
        RefusedError: for other parallelism than data parallelism, or a batch that does not divide.
    """
    fields = plan.model_fields_set
    for name in sorted(fields - set(TAKEN)):
        value, plain = getattr(plan, name), NEUTRAL.get(name, type(plan).model_fields[name].default)
        if value != plain and not (name == "overlap" and set(value) <= BESIDE):
            shown = f"[{', '.join(value)}]" if isinstance(value, tuple) else value
            raise RefusedError(
                f"`{name}: {shown}`: {data_parallel_only(model)}; leave it out", infeasible=False, fields=(name,)
            )
    if plan.data not in (None, gpus):
        raise RefusedError(
            f"{plan.data:,} data-parallel ranks on {gpus:,} accelerators; leave them out",
            infeasible=False,
            fields=("data",),
        )
    if plan.batch is None and "micro_batch" not in fields:
        raise RefusedError(
            "no batch: give --micro-batch, the images per rank, or --batch, the images of all ranks", infeasible=False
        )
    batch = plan.batch or plan.micro_batch * gpus
    micro = plan.micro_batch if "micro_batch" in fields else max(1, batch // gpus)
    if batch % (micro * gpus):
        near = multiples(batch, micro * gpus)
        message = (
            f"a batch of {batch:,} is not a whole number of micro-batches of {micro} for {gpus:,} data-parallel ranks"
        )
        raise RefusedError(f"{message}; take {near}", infeasible=False, fields=("micro_batch", "batch"))
    return plan.model_copy(update={"batch": batch, "micro_batch": micro, "zero": 0, "data": gpus, "sequence": 1})


def _reduced(run: ConvRun, behind: list[Number]) -> Number:
    """Return the exposed time of gradient reduction, bucket by bucket during the backward pass [s]."""
    gpus, cut = np.asarray(run.plans.gpus, dtype=float), _buckets(run.layers, run.gradient, run.bucket)
    placement = _place_group(run.system, gpus, gpus, 1.0)
    sizes = np.array([size for size, _ in cut]).reshape(-1, *(1 for _ in gpus.shape))
    times = list(_group_time(run.system, "allreduce", placement, sizes + 0 * gpus, reducing=True))
    if "gradients" not in run.plans.overlap:
        whole: Number = sum(times)
        return whole
    ready = [sum(behind[position:]) for _, position in cut]
    exposed = np.maximum(_queue_end(ready, times) - sum(behind), 0.0)
    return _with_overlap_cost(exposed, sum(times), _hidden_fraction(run.system, placement, run.speeds.overlap))


def conv_step_parts(run: ConvRun) -> dict[str, Floats]:
    """Return the parts of a step [s], by the names of `part_kinds.PARTS`; their sum is the step.

    Gradients are reduced during the backward pass of the last micro-batch, bucket by bucket.
    """
    p, rates, width = run.plans, run.speeds, run.plans.width
    zero = 0.0 * np.asarray(p.gpus, dtype=float)
    products, moved = zero, zero
    behind: list[Number] = []  # the backward pass of every layer, from the first on
    for layer in run.layers:
        numbers = p.micro * layer.outputs * layer.size**2
        ahead, inputs, weights = _convolution_times(layer, p.micro, rates, width)
        more, less = (moves * numbers / rates.memory for moves in _behind_bytes(layer, width))
        products, moved = products + layer.count * (ahead + inputs + weights), moved + layer.count * (more + less)
        behind += [inputs + weights + less + (KERNELS - 1) * rates.kernel] * layer.count
    _, unneeded, _ = _convolution_times(run.layers[0], p.micro, rates, width)  # the gradient of the image
    # nothing is behind the image: its gradient is not computed
    products, behind[0] = products - unneeded, behind[0] - unneeded - rates.kernel
    gradients = _reduced(run, behind)
    m, parameters = p.micro_batches, gradient_bytes(run.layers, 1.0)
    # GEMMs at 16 bits work on a copy, cast anew for every micro-batch
    casts = CAST_BYTES * parameters / rates.memory if width < WEIGHT else 0.0
    parts = dict.fromkeys(PARTS, zero) | {
        "products": m * products,
        "memory": m * (moved + casts),
        "gradients": gradients + zero,
        # one less: the gradient of the image is not computed
        "kernels": m * (KERNELS * len(behind) - 1) * rates.kernel + zero,
        "optimizer": (SGD_BYTES + 2 * run.kept) * parameters / rates.stream + zero,
    }
    return {name: np.asarray(parts[name], dtype=float) for name in PARTS}


def conv_memory(run: ConvRun, micro: Number) -> dict[str, Number]:
    """Return the memory of a rank [byte]: weights, gradients, optimizer, activations, and buckets as working memory.

    Args:
        micro: images of a micro-batch [1].
    """
    parameters, width = gradient_bytes(run.layers, 1.0), run.plans.width
    copy = 0.0 if width == WEIGHT else width
    return {
        "weights": (WEIGHT + copy) * parameters,
        "gradients": run.kept * parameters,
        "optimizer": MOMENTUM * parameters,
        "activations": micro * _conv_kept_bytes(run.layers, width),
        "working": run.gradient * parameters,
    }


def check_memory(run: ConvRun, limit: float) -> None:
    """Refuse a plan that does not fit into device memory.

    Args:
        limit: device memory [byte].

    Raises:
        RefusedError: for a plan that does not fit; names the number of images that would.
    """
    # memory grows linearly with the images, so two points give the line
    need, fixed = (float(sum(conv_memory(run, micro).values())) for micro in (run.plans.micro, 0.0))
    if need <= limit:
        return
    most = max(0, int((limit - fixed) / (need - fixed) * run.plans.micro))
    remedy = f"take at most {most:,} images a rank" if most else "no micro-batch fits"
    message = f"it needs {gib(need)} a rank of {gib(limit)}, {gib(need - limit)} too much; {remedy}"
    raise RefusedError(message, infeasible=True, lead=f"{CANNOT}: ")


def without_host(speeds: AcceleratorRates) -> AcceleratorRates:
    """Return rates without the launch times of the host, which were fitted on layers of transformers."""
    return replace(speeds, launch=0.0, launch_parallel=0.0, launch_step=0.0)
