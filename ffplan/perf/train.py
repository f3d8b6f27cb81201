"""The step time of many plans at once, part by part; the parts sum to the step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ffplan.perf import layer as layers
from ffplan.perf import step
from ffplan.perf.layer import Work
from ffplan.perf.pipeline import bubble, dualpipe_bubble
from ffplan.perf.plans import Plans, layers_of, placed, strides
from ffplan.perf.shapes import widths
from ffplan.perf.speeds import Speeds
from ffplan.perf.talk import System, group_time, send_time
from ffplan.perf.weights import held
from ffplan.perf.workload import Shape, mixed_share
from ffplan.record import record

PARTS = (
    "products", "attention", "memory", "kernels", "recompute", "output", "tensor", "context", "experts", "launches",
    "sends", "bubble", "parameters", "gradients", "optimizer", "offload",
)  # fmt: skip
"""Parts of a step, in the order in which they are told."""


FOLDED = ("zb-v", "v-half", "v-min")
"""Schedules in which every stage holds two chunks, folded: a micro-batch passes it twice each way."""


@record
class Run:
    """A workload on a machine under plans."""

    shape: Shape
    plans: Plans
    speeds: Speeds
    system: System


def place(run: Run, size: Any, inside: Any) -> tuple[Any, Any]:
    """Return ranks on each node, and nodes, of groups of a run; `inside` are the ranks between neighbours [1]."""
    domain = np.minimum(run.system.domain, run.plans.gpus)
    return placed(size, inside, domain, aligned=run.system.host.domain_nodes > 1)


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


def _backward(forward: Work, *, fused: bool) -> Work:
    """Return the backward pass: twice the operations; fused attention also computes its scores again."""
    return Work(
        forward.products_back, 0.0, (2.5 if fused else 2.0) * forward.attention,
        layers.SCORE_BACK / layers.SCORE_BYTES * forward.scores, forward.back, 0.0, 2 * forward.kernels,
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
    each, nodes = place(run, p.tensor, strides(p)["tensor"])
    size = p.width * p.micro * run.shape.sequence / p.context * run.shape.hidden
    full = (p.recompute == 2) * 1.0
    reduce = group_time(system, "allreduce", each, nodes, size)
    gather = group_time(system, "all-gather", each, nodes, size)
    scatter = group_time(system, "reduce-scatter", each, nodes, size)
    split = p.sequence_parallel * 1.0
    pairs = 4 + 2 * full  # two forward, two backward, two more with full recomputation, which also gathers inputs anew
    whole = (1 - split) * pairs * reduce + split * (pairs * (gather + scatter) + 2 * (1 - full) * gather)
    if "tensor" not in p.overlap:
        return whole
    return step.exposed(whole, (3 + full) * forward.products, p.tensor)


def _context(run: Run, forward: Work) -> Any:
    """Return what passing keys and values around takes in a layer that attention does not hide [s]."""
    p, width = run.plans, widths(run.shape)
    each, nodes = place(run, p.context, strides(p)["context"])
    keys = p.width * p.micro * run.shape.sequence * (width.key + width.value) / p.tensor
    gather = group_time(run.system, "all-gather", each, nodes, keys)
    back = 2.5 if p.fused_attention else 2.0
    ahead = step.exposed(gather, forward.attention, p.context)
    again = (np.asarray(p.recompute) > 0) * 1.0
    return (1 + again) * ahead + step.exposed(2 * gather, back * forward.attention, p.context)


def _inner_stride(plans: Plans) -> Any:
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
    inside = np.where(split, _inner_stride(p), strides(p)["tensor"])
    each, nodes = place(run, p.expert, inside)
    rows = p.width * layers.expert_rows(shape, p) * shape.hidden
    there = group_time(system, "all-to-all", each, nodes, rows / p.expert_tensor)
    group = place(run, p.expert_tensor, strides(p)["tensor"])
    joined = group_time(system, "all-gather", *group, rows) + group_time(system, "reduce-scatter", *group, rows)
    both = pace_share(shape, p) * (4 + 2 * full) * (there + 0.5 * joined)
    return step.exposed(both, total(forward) + total(back), 4) if "experts" in p.overlap else both


def passes(run: Run) -> Passes:
    """Return a micro-batch in the mean layer, part by part."""
    forward = _mean_layer(run)
    back = _backward(forward, fused=run.plans.fused_attention)
    return Passes(
        forward, back, _again(forward, run.plans.recompute), _tensor(run, forward), _context(run, forward),
        _experts(run, forward, back),
    )  # fmt: skip


def _bubble(run: Run, stage: Any, each: Passes, count: Any) -> Any:
    """Return the idle time of the pipeline over its ideal time."""
    p = run.plans
    if p.schedule == "dualpipe":
        weights = count * 0.5 * total(each.back)
        whole = dualpipe_bubble(p.pipeline, count * each.behind, weights, stage)
        return np.where(p.pipeline > 1, np.maximum(whole, 0.0), 0.0) / (p.micro_batches * stage)
    plain = bubble(p.schedule, p.pipeline, p.micro_batches)
    return plain / p.chunks


def _sends(run: Run) -> Any:
    """Return the time in which a micro-batch passes from a stage to the next, one way [s]."""
    p, system = run.plans, run.system
    size = p.width * p.micro * run.shape.sequence / p.context * run.shape.hidden
    each, _ = place(run, p.pipeline, strides(p)["pipeline"])
    shared = p.tensor if p.scatter_gather else np.where(np.asarray(p.sequence_parallel) > 0, p.tensor, 1)
    inside, nodes = place(run, p.tensor, strides(p)["tensor"])
    gather = group_time(system, "all-gather", inside, nodes, size)
    joined = gather * (1 - p.sequence_parallel) * (1.0 if p.scatter_gather else 0.0)
    twice = 2.0 if p.schedule in FOLDED else 1.0
    return twice * (p.pipeline > 1) * (send_time(system, size / shared, each >= p.pipeline) + joined)


@record
class Reduced:
    """Collectives of data parallelism in a step [s]."""

    gradients: Any
    gathers: Any
    """Parameters, brought together for computing."""


@record
class Group:
    """Collectives of data parallelism over one kind of parameters [s]."""

    once: Any
    """Gradients, reduced once a step or, under ZeRO 2, for every micro-batch."""
    across: Any
    """Gradients between replicas of a shard."""
    gather: Any
    """Parameters, gathered once a step."""
    layer_gather: Any
    """All layers gathered one by one, for a micro-batch, one way."""
    layer_scatter: Any
    """All layers' gradients scattered one by one."""

    def plus(self, other: Group) -> Group:
        """Return the sum of two."""
        names = ("once", "across", "gather", "layer_gather", "layer_scatter")
        return Group(*(getattr(self, name) + getattr(other, name) for name in names))


def _group(run: Run, weights: Any, pieces: Any, ranks: Any, stride: Any) -> Group:
    """Return the collectives over `ranks` that hold the same `weights` of a stage, in so many pieces."""
    p, system = run.plans, run.system
    shared = np.minimum(np.where(np.asarray(p.shard) > 0, p.shard, ranks), ranks)
    whole, spread = place(run, ranks, stride), place(run, shared, stride)
    outer = place(run, ranks / shared, stride * shared)
    size, held_bytes, zero = p.gradient_bytes * weights, p.width * weights, np.asarray(p.zero)
    reduce = group_time(system, "allreduce", *whole, size, reducing=True)
    direct = system.reducer.method == "hfreduce"  # it has allreduce alone
    scatter = reduce if direct else group_time(system, "reduce-scatter", *spread, size)
    across = group_time(system, "allreduce", *outer, size / shared)
    return Group(
        np.where(zero > 0, scatter, reduce), np.where((zero == 3) | ((zero > 0) & (not direct)), across, 0.0),
        group_time(system, "all-gather", *spread, held_bytes),
        pieces * group_time(system, "all-gather", *spread, held_bytes / pieces),
        pieces * group_time(system, "reduce-scatter", *spread, size / pieces),
    )  # fmt: skip


def _reduced(run: Run, each: Passes, count: Any, extra: Any) -> Reduced:
    """Return what reducing gradients and gathering parameters takes that nothing hides [s].

    Everything that runs beside the same computing is summed before it is compared with it.
    """
    p, parts = run.plans, held(run.shape, run.plans, pace_share(run.shape, run.plans))
    stride, pieces, zero = _inner_stride(p), count + (np.asarray(extra) > 0), np.asarray(p.zero)
    found = _group(run, parts.layer * count + extra, pieces, p.reducing, stride)
    if run.shape.experts is not None:
        found = found.plus(_group(run, parts.experts * count, count, p.expert_data, stride * p.expert))
    forward, back, m = count * each.ahead, count * each.behind, p.micro_batches
    hide_gradients, hide_parameters = "gradients" in p.overlap, "parameters" in p.overlap
    again = np.where(zero == 2, m, 1.0)  # ZeRO 2 keeps no gradients but its own: it reduces every time
    once, across, gather = found.once, found.across, np.where((zero > 0) & (zero < 3), found.gather, 0.0)
    ahead, behind, scatter = found.layer_gather, found.layer_gather, found.layer_scatter
    if hide_gradients:
        once, scatter = step.exposed(once, back, pieces), step.exposed(scatter, back, pieces)
        across = step.exposed(across, back, pieces)
    if hide_parameters:
        gather, ahead = step.exposed(gather, forward, pieces), step.exposed(ahead, forward, pieces)
        behind = step.exposed(behind, back, pieces)
    if hide_gradients and hide_parameters:
        both = found.layer_gather + found.layer_scatter
        left = step.exposed(both, back, pieces) / np.maximum(both, 1e-30)
        behind, scatter = left * found.layer_gather, left * found.layer_scatter
    fully = zero == 3
    return Reduced(np.where(fully, m * scatter, again * once) + across, np.where(fully, m * (ahead + behind), gather))


def _host_rates(run: Run) -> tuple[float, float]:
    """Return what a rank moves to its host while all do, and its share of host memory bandwidth [byte/s]."""
    host = run.system.host
    memory = host.memory_gbyte_s[1] / max(1, len(host.gpus)) * 1e9
    link = (host.pcie[1] if host.pcie else float("inf")) * 1e9
    for port in host.ports:
        if port.gpus and port.limits is not None:
            link = min(link, port.limits.one_way.value / len(port.gpus) * 1e9)
    return min(link, memory), memory


def _optimizer(run: Run, count: Any, extra: Any) -> tuple[Any, Any]:
    """Return the times of the optimiser, on the accelerator and on the host [s]."""
    p, parts = run.plans, held(run.shape, run.plans, pace_share(run.shape, run.plans))
    zero, shard = np.asarray(p.zero) > 0, np.where(np.asarray(p.shard) > 0, p.shard, p.reducing)
    plain, experts = np.where(zero, shard, 1.0), np.where(zero, np.minimum(shard, p.expert_data), 1.0)
    mine = (parts.layer * count + extra) / plain + parts.experts * count / experts
    if p.offload == "none":
        return step.optimizer_time(mine, 1.0, run.speeds.memory), 0.0
    link, memory = _host_rates(run)
    time = step.offload_time(mine, 1.0, p.gradient_bytes, link, memory)
    if p.offload == "parameters":
        time = time + 2 * p.micro_batches * p.width * mine / link
    return 0.0 * time, time


def step_parts(run: Run) -> dict[str, Any]:
    """Return the parts of a step of every plan [s], by the names of `PARTS`; their sum is the step.

    Args:
        run: workload, plans and machine.

    Raises:
        ValueError: where a library lacks a collective that the plans need.
    """
    p, at, each = run.plans, run.speeds, passes(run)
    output = layers.output_layer(run.shape, p, at)
    full, last = layers_of(run.shape.layers, p)
    regular = full * each.whole
    ends = last * each.whole + total(output)
    single = np.asarray(p.pipeline) <= 1
    ends = np.where(single, regular + total(output), ends)
    slowest = ends >= regular
    count, with_output = np.where(slowest & ~single, last, full), slowest | single
    m = p.micro_batches
    stage = count * each.whole + with_output * total(output)
    launch = at.launch + at.launch_parallel * (np.asarray(p.tensor) > 1)
    wait = step.waiting(stage, count, launch, at.launch_step)
    _, idle = step.pipeline_time(
        stage + wait,
        np.maximum(regular, full * launch),
        m,
        _bubble(run, stage, each, full),
    )
    send = _sends(run)
    steady = 0.0 if "pipeline" in p.overlap else 2.0 * p.chunks * send
    embedding = held(run.shape, p, 0.0).embedding
    extra = embedding * np.where(single & (not run.shape.tied), 2.0, 1.0)
    reduced = _reduced(run, each, full, extra)
    update, offload = _optimizer(run, full, extra)
    both = each.forward.plus(each.back)
    parts = {
        "products": m * count * both.products, "attention": m * count * both.attention,
        "memory": m * count * (both.scores + both.moved), "kernels": m * count * both.kernels,
        "recompute": m * count * total(each.again), "output": m * with_output * total(output),
        "tensor": m * count * each.tensor, "context": m * count * each.context, "experts": m * count * each.experts,
        "launches": m * wait, "sends": m * steady + 2 * (p.pipeline - 1) * send, "bubble": idle,
        "parameters": reduced.gathers, "gradients": reduced.gradients, "optimizer": update, "offload": offload,
    }  # fmt: skip
    return {name: np.asarray(parts[name], dtype=float) for name in PARTS}


def step_time(parts: dict[str, Any]) -> Any:
    """Return the time of a step [s]: the sum of its parts."""
    whole: Any = 0.0
    for name in PARTS:
        whole = whole + parts[name]
    return whole
