"""A micro-batch in one layer, both ways: computing, what is computed again, collectives that nothing hides."""

from __future__ import annotations

from typing import Any

import numpy as np

from ffplan.base.record import record
from ffplan.training import layer as layers
from ffplan.training import overlap as step
from ffplan.training.accelerator_rates import Speeds
from ffplan.training.group_collectives import Spot, System, group_time, spot_of
from ffplan.training.layer import Work
from ffplan.training.memory_traffic import score_bytes
from ffplan.training.model_flops import widths
from ffplan.training.model_shape import Shape, mixed_share
from ffplan.training.parallel_plan import Plans, layers_of, strides


@record
class Run:
    """A workload on a machine under plans."""

    shape: Shape
    plans: Plans
    speeds: Speeds
    system: System


def place(run: Run, size: Any, inside: Any) -> Spot:
    """Return where groups of a run lie; `inside` are the ranks between neighbours [1]."""
    return spot_of(run.system, run.plans.gpus, size, inside)


@record
class Passes:
    """A micro-batch in one layer [s]."""

    forward: Work
    back: Work
    again: Work
    """What is computed again."""
    tensor: Any
    """Collectives of tensor parallelism that nothing hides."""
    context: Any
    """The same of context parallelism."""
    experts: Any
    """Tokens to experts and back that nothing hides."""

    @property
    def ahead(self) -> Any:
        """Computing forward."""
        return total(self.forward)

    @property
    def behind(self) -> Any:
        """Computing backward, with what is computed again."""
        return total(self.back) + total(self.again)

    @property
    def whole(self) -> Any:
        """All of it."""
        return self.ahead + self.behind + self.tensor + self.context + self.experts


def total(work: Work) -> Any:
    """Return the sum of all times of one pass [s]."""
    return work.products + work.attention + work.scores + work.moved + work.kernels


def pace_share(shape: Shape, plans: Plans) -> Any:
    """Return the share of layers with experts on the stages that set the pace, behind those without any."""
    full, _ = layers_of(shape.layers, plans)
    return mixed_share(shape, plans.pipeline, full)


def _mean_layer(run: Run) -> Work:
    """Return the mean layer of the stages that set the pace: those behind the first, where few layers have experts."""
    dense = layers.dense_layer(run.shape, run.plans, run.speeds)
    if run.shape.experts is None:
        return dense
    share = pace_share(run.shape, run.plans)
    mixed = layers.expert_layer(run.shape, run.plans, run.speeds)
    return dense.scaled(1 - share).plus(mixed.scaled(share))


def _backward(forward: Work, plans: Plans) -> Work:
    """Return the backward pass: twice the operations; fused attention also computes its scores again."""
    return Work(
        forward.products_back, 0.0, (2.5 if plans.fused_attention else 2.0) * forward.attention,
        score_bytes(plans, back=True) / score_bytes(plans) * forward.scores, forward.back, 0.0, 2 * forward.kernels,
    )  # fmt: skip


def _again(forward: Work, recompute: Any) -> Work:
    """Return what is computed again: nothing, the core of attention, or all."""
    full, core = (recompute == 2) * 1.0, (recompute > 0) * 1.0
    return Work(
        full * forward.products, 0.0, core * forward.attention, core * forward.scores, full * forward.moved, 0.0,
        full * forward.kernels,
    )  # fmt: skip


def _tensor(run: Run, forward: Work) -> Any:
    """Return the collectives of tensor parallelism in a layer that nothing hides [s]."""
    p, system = run.plans, run.system
    spot = place(run, p.tensor, strides(p)["tensor"])
    size = p.width * p.tokens(run.shape.sequence) * run.shape.hidden
    full = (p.recompute == 2) * 1.0
    reduce = group_time(system, "allreduce", spot, size)
    gather = group_time(system, "all-gather", spot, size)
    scatter = group_time(system, "reduce-scatter", spot, size)
    split = p.sequence_parallel * 1.0
    pairs = 4 + 2 * full  # two forward, two backward, two more with full recomputation, which also gathers inputs anew
    whole = (1 - split) * pairs * reduce + split * (pairs * (gather + scatter) + 2 * (1 - full) * gather)
    if "tensor" not in p.overlap:
        return whole
    return step.exposed(whole, (3 + full) * forward.products, p.tensor, run.speeds.overlap)


def _context(run: Run, forward: Work) -> Any:
    """Return what passing keys and values around takes in a layer that attention does not hide [s]."""
    p, width = run.plans, widths(run.shape)
    spot = place(run, p.context, strides(p)["context"])
    keys = p.width * p.micro * run.shape.sequence * (width.key + width.value) / p.tensor
    gather = group_time(run.system, "all-gather", spot, keys)
    back = 2.5 if p.fused_attention else 2.0
    share = run.speeds.overlap
    ahead = step.exposed(gather, forward.attention, p.context, share)
    again = (np.asarray(p.recompute) > 0) * 1.0
    return (1 + again) * ahead + step.exposed(2 * gather, back * forward.attention, p.context, share)


def inner_stride(plans: Plans) -> Any:
    """Return the ranks between neighbours of the group over data and context parallelism [1]."""
    at = strides(plans)
    both = np.minimum(at["context"], at["data"])
    return np.where(np.asarray(plans.context) > 1, both, at["data"])


def _experts(run: Run, forward: Work, back: Work) -> Any:
    """Return what bringing tokens to experts and back takes in a layer that nothing hides [s].

    A rank sends the tokens that it holds under sequence parallelism; ranks that split an expert gather them.
    """
    p, shape, system = run.plans, run.shape, run.system
    if shape.experts is None:
        return 0.0
    split, full = np.asarray(p.expert_tensor) > 1, (np.asarray(p.recompute) == 2) * 1.0
    inside = np.where(split, inner_stride(p), strides(p)["tensor"])
    rows = p.width * layers.expert_rows(shape, p) * shape.hidden
    there = group_time(system, "all-to-all", place(run, p.expert, inside), rows / p.expert_tensor)
    group = place(run, p.expert_tensor, strides(p)["tensor"])
    joined = group_time(system, "all-gather", group, rows) + group_time(system, "reduce-scatter", group, rows)
    both = pace_share(shape, p) * (4 + 2 * full) * (there + 0.5 * joined)
    if "experts" not in p.overlap:
        return both
    return step.exposed(both, total(forward) + total(back), 4, run.speeds.overlap)


def passes(run: Run) -> Passes:
    """Return a micro-batch in the mean layer, part by part."""
    forward = _mean_layer(run)
    back = _backward(forward, run.plans)
    return Passes(
        forward, back, _again(forward, run.plans.recompute), _tensor(run, forward), _context(run, forward),
        _experts(run, forward, back),
    )  # fmt: skip
