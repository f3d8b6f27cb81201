"""A micro-batch in one layer, forward and backward: computing, recomputation, exposed collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Number
from ffplan.base.record import record
from ffplan.training import layer, overlap
from ffplan.training.accelerator_rates import AcceleratorRates
from ffplan.training.axes import ParallelPlans
from ffplan.training.group_collectives import Cluster, GroupPlacement, group_time, place_group
from ffplan.training.layer import LayerTimes
from ffplan.training.memory_traffic import score_bytes
from ffplan.training.model_flops import attention_widths
from ffplan.training.model_shape import ModelShape, moe_fraction
from ffplan.training.parallel_plan import layers_of, strides
from ffplan.training.recomputed import parts_again

if TYPE_CHECKING:
    from collections.abc import Callable


@record
class TrainRun:
    """A workload on a machine under plans."""

    shape: ModelShape
    plans: ParallelPlans
    speeds: AcceleratorRates
    system: Cluster


def placement_of(run: TrainRun, size: Number, inside: Number) -> GroupPlacement:
    """Return the placement of groups of a run; `inside` are the ranks between neighbours [1]."""
    return place_group(run.system, run.plans.gpus, size, inside)


@record
class MicroBatch:
    """A micro-batch in one layer [s]."""

    forward: LayerTimes
    back: LayerTimes
    again: LayerTimes
    """Activation recomputation."""
    exposed: dict[str, Number]
    """Exposed time of collectives, by the names of `COLLECTIVES`."""

    @property
    def ahead(self) -> Number:
        """Computing forward."""
        return pass_time(self.forward)

    @property
    def behind(self) -> Number:
        """Computing backward, with recomputation."""
        return pass_time(self.back) + pass_time(self.again)

    @property
    def whole(self) -> Number:
        """All of it."""
        return sum(self.exposed.values(), self.ahead + self.behind)


def pass_time(work: LayerTimes) -> Number:
    """Return the sum of all times of one pass [s]."""
    return work.products + work.attention + work.scores + work.moved + work.kernels


def pace_fraction(shape: ModelShape, plans: ParallelPlans) -> Number:
    """Return the fraction of layers with experts on the slowest stages, those behind the dense layers."""
    full, _ = layers_of(shape.layers, plans)
    return moe_fraction(shape, plans.pipeline, full)


def _mean_layer(run: TrainRun) -> LayerTimes:
    """Return the mean layer of the slowest stages: those behind the first, where few layers have experts."""
    dense = layer.dense_layer(run.shape, run.plans, run.speeds)
    if run.shape.experts is None:
        return dense
    share = pace_fraction(run.shape, run.plans)
    mixed = layer.expert_layer(run.shape, run.plans, run.speeds)
    return dense.scaled(1 - share).plus(mixed.scaled(share))


def _backward(forward: LayerTimes, plans: ParallelPlans) -> LayerTimes:
    """Return the backward pass: twice the operations; fused attention also computes its scores again."""
    return LayerTimes(
        products=forward.products_back,
        products_back=0.0,
        attention=(2.5 if plans.fused_attention else 2.0) * forward.attention,
        scores=score_bytes(plans, back=True) / score_bytes(plans) * forward.scores,
        moved=forward.back,
        back=0.0,
        kernels=2 * forward.kernels,
    )


def _again(forward: LayerTimes, recompute: Number) -> LayerTimes:
    """Return the recomputed part of a layer: zero, the core of attention, or all."""
    full, core = (recompute == 2) * 1.0, (recompute > 0) * 1.0
    return LayerTimes(
        products=full * forward.products,
        products_back=0.0,
        attention=core * forward.attention,
        scores=core * forward.scores,
        moved=full * forward.moved,
        back=0.0,
        kernels=full * forward.kernels,
    )


def _tensor(run: TrainRun, forward: LayerTimes, _: LayerTimes) -> Number:
    """Return the exposed time of tensor parallelism's collectives in a layer [s]."""
    p, system = run.plans, run.system
    placement = placement_of(run, p.tensor, strides(p)["tensor"])
    size = p.width * p.tokens(run.shape.sequence) * run.shape.hidden
    full = (p.recompute == 2) * 1.0
    reduce = group_time(system, "allreduce", placement, size)
    gather = group_time(system, "all-gather", placement, size)
    scatter = group_time(system, "reduce-scatter", placement, size)
    split = p.sequence_parallel * 1.0
    pairs = 4 + 2 * full  # two forward, two backward, two more with full recomputation, which also gathers inputs anew
    whole: Number = (1 - split) * pairs * reduce + split * (pairs * (gather + scatter) + 2 * (1 - full) * gather)
    if "tensor" not in p.overlap:
        return whole
    return overlap.exposed(whole, (3 + full) * forward.products, p.tensor, run.speeds.overlap)


def _context(run: TrainRun, forward: LayerTimes, _: LayerTimes) -> Number:
    """Return the exposed time of passing keys and values around in a layer [s]."""
    p, width = run.plans, attention_widths(run.shape)
    placement = placement_of(run, p.context, strides(p)["context"])
    keys = p.width * p.micro * run.shape.sequence * (width.key + width.value) / p.tensor
    gather = group_time(run.system, "all-gather", placement, keys)
    passes = 2.5 if p.fused_attention else 2.0
    share = run.speeds.overlap
    ahead = overlap.exposed(gather, forward.attention, p.context, share)
    again = (np.asarray(p.recompute) > 0) * 1.0
    return (1 + again) * ahead + overlap.exposed(2 * gather, passes * forward.attention, p.context, share)


def inner_stride(plans: ParallelPlans) -> Number:
    """Return the ranks between neighbours of the group over data and context parallelism [1]."""
    at = strides(plans)
    both = np.minimum(at["context"], at["data"])
    return np.where(np.asarray(plans.context) > 1, both, at["data"])


def _experts(run: TrainRun, forward: LayerTimes, back: LayerTimes) -> Number:
    """Return the exposed time of bringing tokens to experts and back in a layer [s].

    A rank sends the tokens that it holds under sequence parallelism; ranks that split an expert gather them.
    """
    p, shape, system = run.plans, run.shape, run.system
    if shape.experts is None:
        return 0.0
    split, full = np.asarray(p.expert_tensor) > 1, (np.asarray(p.recompute) == 2) * 1.0
    inside = np.where(split, inner_stride(p), strides(p)["tensor"])
    rows = p.width * layer.expert_rows(shape, p) * shape.hidden
    there = group_time(system, "all-to-all", placement_of(run, p.expert, inside), rows / p.expert_tensor)
    group = placement_of(run, p.expert_tensor, strides(p)["tensor"])
    joined = group_time(system, "all-gather", group, rows) + group_time(system, "reduce-scatter", group, rows)
    both: Number = pace_fraction(shape, p) * (4 + 2 * full) * (there + 0.5 * joined)
    if "experts" not in p.overlap:
        return both
    return overlap.exposed(both, pass_time(forward) + pass_time(back), 4, run.speeds.overlap)


COLLECTIVES: dict[str, tuple[str, Callable[[TrainRun, LayerTimes, LayerTimes], Number]]] = {
    "tensor": ("tensor parallelism", _tensor),
    "context": ("context parallelism", _context),
    "experts": ("tokens to experts", _experts),
}
"""Label and exposed time of each axis's collectives in a layer, forward and backward."""


def micro_batch(run: TrainRun) -> MicroBatch:
    """Return a micro-batch in the mean layer, part by part."""
    forward = _mean_layer(run)
    back = _backward(forward, run.plans)
    exposed = {name: time(run, forward, back) for name, (_, time) in COLLECTIVES.items()}
    again = _again(forward, run.plans.recompute)
    if run.plans.again:
        again = again.plus(parts_again(run.shape, run.plans, run.speeds, pace_fraction(run.shape, run.plans)))
    return MicroBatch(forward, back, again, exposed)
