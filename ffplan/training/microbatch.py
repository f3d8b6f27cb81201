"""A micro-batch in one layer, forward and backward: computing, recomputation, exposed collectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Number
from ffplan.base.record import record
from ffplan.collectives.expert_dispatch import expected_hits, neighbours_reached
from ffplan.training import layer, overlap
from ffplan.training.accelerator_rates import AcceleratorRates
from ffplan.training.axes import ParallelPlans
from ffplan.training.group_collectives import Cluster, GroupPlacement, group_time, overlap_cost, place_group
from ffplan.training.layer import LayerTimes
from ffplan.training.memory_traffic import score_bytes
from ffplan.training.model_flops import attention_widths
from ffplan.training.model_shape import ModelShape, attention_out, moe_fraction
from ffplan.training.parallel_plan import layers_of, strides
from ffplan.training.recompute import fraction_again
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

    @property
    def hiding(self) -> float:
        """Fraction of a hidden collective's time by which computing slows down [1]."""
        return overlap_cost(self.system, self.speeds.overlap)


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
        products_again=0.0,
        attention=forward.attention_back,
        attention_back=0.0,
        scores=score_bytes(plans, back=True) / score_bytes(plans) * forward.scores,
        moved=forward.back,
        back=0.0,
        kernels=2 * forward.kernels,
    )


def _again(shape: ModelShape, plans: ParallelPlans, forward: LayerTimes) -> LayerTimes:
    """Return the recomputed part of a layer, operator by operator; small kernels in proportion to GEMMs."""
    core, moved = (fraction_again(shape, plans, name) for name in ("attention", "moved"))
    return LayerTimes(
        products=forward.products_again,
        products_back=0.0,
        products_again=0.0,
        attention=core * forward.attention,
        attention_back=0.0,
        scores=core * forward.scores,
        moved=moved * forward.moved,
        back=0.0,
        kernels=forward.products_again / forward.products * forward.kernels,
    )


def _tensor(run: TrainRun, forward: LayerTimes, _: LayerTimes) -> Number:
    """Return the exposed time of tensor parallelism's collectives in a layer [s].

    Products at FP8 gather operands that are cast already, one byte a number (Transformer Engine and torchao, recalled);
    sums of parts stay at 16 bits.
    """
    p, system = run.plans, run.system
    placement = placement_of(run, p.tensor, strides(p)["tensor"])
    numbers = p.tokens(run.shape.sequence) * run.shape.hidden
    size = p.width * numbers
    out, down = (fraction_again(run.shape, p, name) for name in ("out", "down"))
    reduce = group_time(system, "allreduce", placement, size)
    gather = group_time(system, "all-gather", placement, p.operand_width * numbers)
    scatter = group_time(system, "reduce-scatter", placement, size)
    split = p.sequence_parallel * 1.0
    # two forward, two backward, those of GEMMs that run again; inputs are gathered anew for the backward pass, once for
    # weight gradients and for GEMMs that run again
    pairs = 4 + out + down
    whole: Number = (1 - split) * pairs * reduce + split * (6 * gather + pairs * scatter)
    if "tensor" not in p.overlap:
        return whole
    return overlap.exposed(whole, 3 * forward.products + forward.products_again, p.tensor, run.hiding)


def _context(run: TrainRun, forward: LayerTimes, _: LayerTimes) -> Number:
    """Return the exposed time of passing keys and values around in a layer [s], or of exchanging heads."""
    p, width = run.plans, attention_widths(run.shape, run.plans.tensor)
    placement = placement_of(run, p.context, strides(p)["context"])
    if p.by_heads:  # queries, keys and values there, the result back; their gradients the other way
        token = p.width * p.tokens(run.shape.sequence) / p.tensor
        around = width.query + width.key + width.value
        sizes = (token * around, token * attention_out(run.shape))
        once: Number = sum(group_time(run.system, "all-to-all", placement, size) for size in sizes)
        return (2 + fraction_again(run.shape, p, "attention")) * once
    keys = p.width * p.micro * run.shape.sequence * (width.key + width.value) / p.tensor
    gather = group_time(run.system, "all-gather", placement, keys)
    share = run.hiding
    ahead = overlap.exposed(gather, forward.attention, p.context, share)
    again = fraction_again(run.shape, p, "attention")
    return (1 + again) * ahead + overlap.exposed(2 * gather, forward.attention_back, p.context, share)


def inner_stride(plans: ParallelPlans) -> Number:
    """Return the ranks between neighbours of the group over data and context parallelism [1]."""
    at = strides(plans)
    both = np.minimum(at["context"], at["data"])
    return np.where(np.asarray(plans.context) > 1, both, at["data"])


def _experts(run: TrainRun, forward: LayerTimes, back: LayerTimes) -> Number:
    """Return the exposed time of bringing tokens to experts and back in a layer [s].

    A rank sends the tokens that it holds under sequence parallelism; ranks that split an expert gather them. Two
    exchanges of four lead to experts, forward the tokens and backward their gradients. All-gather brings every token
    of the group to each of its ranks, and a reduce-scatter adds up what their experts made of it.
    """
    p, shape = run.plans, run.shape
    if shape.experts is None:
        return 0.0
    full = (fraction_again(shape, p, "up") > 0) * 1.0  # an exchange is whole
    pair = _gathered(run) if layer.dispatcher_of(p, run.speeds) == "allgather" else _sent(run)
    both: Number = pace_fraction(shape, p) * (2 + full) * pair
    if "experts" not in p.overlap:
        return both
    return overlap.exposed(both, pass_time(forward) + pass_time(back), 4, run.hiding)


def _sent(run: TrainRun) -> Number:
    """Return the time of sending a rank's tokens to experts and their results back, once [s]."""
    p, shape, system = run.plans, run.shape, run.system
    inside = np.where(np.asarray(p.expert_tensor) > 1, inner_stride(p), strides(p)["tensor"])
    rows = p.width * layer.expert_rows(shape, p) * shape.hidden
    placement = placement_of(run, p.expert, inside)
    sent = rows / p.expert_tensor * network_copies(run, placement.nodes)
    there, home = (
        group_time(system, "all-to-all", placement, part * sent) for part in (p.dispatch_bytes / p.width, 1.0)
    )
    group = placement_of(run, p.expert_tensor, strides(p)["tensor"])
    joined = group_time(system, "all-gather", group, rows) + group_time(system, "reduce-scatter", group, rows)
    both: Number = there + home + joined
    return both


def _gathered(run: TrainRun) -> Number:
    """Return the time of gathering the tokens of all ranks that share a layer's experts, and of adding up results [s].

    The ranks lie side by side, as in the default order of axes.
    """
    p, system = run.plans, run.system
    whole = p.gathered(run.shape.sequence) * run.shape.hidden
    group = placement_of(run, p.expert * p.expert_tensor, strides(p)["tensor"])
    there = group_time(system, "all-gather", group, p.dispatch_bytes * whole)
    return there + group_time(system, "reduce-scatter", group, p.width * whole)


def network_copies(run: TrainRun, nodes: Number) -> Number:
    """Return the copies of a token that cross the network over the experts that it goes to.

    Args:
        run: workload, plans and machine: k of E experts, limited to g' of g groups.
        nodes: nodes, or scale-up domains, that the experts of a layer spread over N [1].

    Returns:
        Fraction [1]; 1 where every copy goes by itself, or within one node.

    Equation:
        M / k, M = n (1 - C(E' - E / N, k) / C(E', k)) expected nodes, n = ceil(N g' / g) that a token may reach with
        E' = n E / N experts; `neighbours_reached` where experts take turns, at most N, whatever the groups

    Source:
        deepseek-ai/DeepEP README: a token crosses the network once for each node, and NVLink forwards it.
    """
    experts = run.shape.experts
    assert experts is not None
    if layer.dispatcher_of(run.plans, run.speeds) not in ("deepep", "hybrid"):
        return 1.0
    domains = np.maximum(np.asarray(nodes, dtype=float), 1.0)
    limit = (experts.top_groups or 1) / (experts.groups or 1) if experts.top_groups else 1.0
    reached = np.ceil(domains * limit)
    each = experts.routed / domains
    if run.plans.in_turn:
        met = np.minimum(neighbours_reached(each, experts.top_k), domains)
    else:
        met = expected_hits(reached, reached * each, each, experts.top_k)
    return np.where(domains > 1, met / experts.top_k, 1.0)


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
    again = _again(run.shape, run.plans, forward)
    if run.plans.again:
        again = again.plus(parts_again(run.shape, run.plans, run.speeds, pace_fraction(run.shape, run.plans)))
    return MicroBatch(forward, back, again, exposed)
