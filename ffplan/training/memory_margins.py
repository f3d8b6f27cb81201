"""Device memory of the fullest stage, with a runtime's memory beyond its tensors; takes floats and arrays.

Sources:
    [1] Korthikanti et al., arXiv 2205.05198, section 4 (layers of the first and last stage).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.training.memory import stage_bytes
from ffplan.training.parallel_plan import layers_of, stage_layers

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.base.array_math import Number
    from ffplan.catalog.models import Transformer
    from ffplan.training.axes import ParallelPlans
    from ffplan.training.memory import _StageBytes


def fullest_candidates(shape: Transformer, plans: ParallelPlans) -> dict[str, Number]:
    """Return the candidates for the fullest stage, by name.

    The first keeps most micro-batches, and the second where the first has a layer less; the last has the output layer;
    where the first layers have no experts, the stage
    on which they end, or the next one, may outweigh both. Those behind it keep less.
    """
    last = np.asarray(plans.pipeline) - 1.0
    stages: dict[str, Number] = {"first": 0.0 * last, "last": last}
    full, _ = layers_of(shape.layers, plans)
    first = stage_layers(shape.layers, plans, 0.0)
    if np.any(first < full):
        stages["second"] = np.minimum(1.0, last)
    if shape.experts is not None and shape.experts.dense_layers:
        # a first stage with a layer less moves the boundary up by one
        ends = (shape.experts.dense_layers + full - first) / full
        stages["mixed"] = np.minimum(np.floor(ends), last)
        stages["next"] = np.minimum(np.ceil(ends), last)
    return stages


def largest(shape: Transformer, plans: ParallelPlans, *sizes: Callable[[_StageBytes], Number]) -> tuple[Number, ...]:
    """Return the largest of the stages that may be the fullest, by each of some sizes of theirs [byte]."""
    most: list[Number] = [0.0] * len(sizes)
    for stage in fullest_candidates(shape, plans).values():
        parts = stage_bytes(shape, plans, stage)
        most = [np.maximum(before, size(parts)) for before, size in zip(most, sizes, strict=True)]
    return tuple(most)


def peak_bytes(shape: Transformer, plans: ParallelPlans) -> Number:
    """Return the memory of the fullest stage [byte].

    Equation:
        max over the first and the last stage, and those where layers with experts begin

    Source:
        [1] section 4.2.3: the first keeps most micro-batches; experts and the output layer can outweigh them.
    """
    return largest(shape, plans, lambda parts: parts.total)[0]


def host_bytes(shape: Transformer, plans: ParallelPlans) -> Number:
    """Return the host memory of a rank, on the stage that offloads most [byte].

    Equation:
        max over the stages of `peak_bytes`: optimizer o N and weights 2 N, as sharded, and layers on the host x kept x
        micro-batches in flight

    Source:
        Definition; buffers of the framework, and gradients on their way, are left out.
    """
    return largest(shape, plans, lambda parts: parts.host)[0]


@record
class MemoryMargins:
    """Device memory of a runtime beyond the tensors that are counted here."""

    runtime: str
    """Catalogue id of the runtime."""
    device: float
    """Memory of driver, libraries and fragments, lost to tensors [byte]."""
    reserved: tuple[float, float] | None
    """Extra reserve of the runtime's allocator, as a fraction of them, at least and at most [1]; None if unknown."""
    temporary: float
    """Adam's temporary memory for each parameter of its shard [byte]; 0 if unknown."""
    counted_over: float
    """Excess of published runs of the stack over their room, as a fraction of it, at most [1]."""


UNKNOWN_MARGINS = MemoryMargins(runtime="", device=0.0, reserved=None, temporary=0.0, counted_over=0.0)
"""Margins of runs that are timed and not judged."""


def temporary_of(states: Number, plans: ParallelPlans, margins: MemoryMargins) -> Number:
    """Return the optimizer's temporary memory on a stage [byte].

    Args:
        states: states of the optimizer on the device O [byte].
        plans: the plans: o bytes of states a parameter.
        margins: t bytes of each parameter of a shard.

    Equation:
        t O / o

    Source:
        Adam's temporary of a model of 6.74 billion parameters, ZeRO 2 on eight ranks: 3.14 GiB, 4 bytes of a parameter.
    """
    return margins.temporary * states / plans.optimizer_bytes


def _peak_and_temporary(shape: Transformer, plans: ParallelPlans, margins: MemoryMargins) -> tuple[Number, Number]:
    """Return `peak_bytes`, and the most of `temporary_of` over the stages, from one evaluation of them [byte]."""
    peak, temporary = largest(
        shape, plans, lambda parts: parts.total, lambda parts: temporary_of(parts.optimizer, plans, margins)
    )
    return peak, temporary


def worst_of(allocated: Number, temporary: Number, margins: MemoryMargins) -> Number:
    """Return the memory that a runtime may reach [byte].

    Args:
        allocated: memory of tensors M [byte].
        temporary: temporary memory of the optimizer t [byte].
        margins: margins of the runtime: a fraction r reserved beyond the allocation, at most.

    Equation:
        (1 + r) M + t

    Source:
        Definition: blocks that activations leave stay reserved, in pieces that may have no room for a larger tensor.
    """
    reserved = margins.reserved[1] if margins.reserved else 0.0
    return (1.0 + reserved) * allocated + temporary
