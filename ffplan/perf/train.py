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


@record
class Run:
    """A workload on a machine under plans."""

    shape: Shape
    plans: Plans
    speeds: Speeds
    system: System


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


def _mean_layer(run: Run) -> Work:
    """Return the mean layer of the stages that set the pace: those behind the first, where few layers have experts."""
    dense = layers.dense_layer(run.shape, run.plans, run.speeds)
    if run.shape.experts is None:
        return dense
    share = mixed_share(run.shape, run.plans.pipeline)
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
    each, nodes = placed(p.tensor, strides(p)["tensor"], system.domain)
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
    each, nodes = placed(p.context, strides(p)["context"], run.system.domain)
    keys = p.width * p.micro * run.shape.sequence * (width.key + width.value) / p.tensor
    gather = group_time(run.system, "all-gather", each, nodes, keys)
    back = 2.5 if p.fused_attention else 2.0
    ahead = step.exposed(gather, forward.attention, p.context)
    return ahead + step.exposed(2 * gather, back * forward.attention, p.context)


def _experts(run: Run, forward: Work, back: Work) -> Any:
    """Return what bringing tokens to experts and back takes in a layer that nothing hides [s]."""
    p, shape = run.plans, run.shape
    if shape.experts is None:
        return 0.0
    each, nodes = placed(p.expert, p.expert_tensor, run.system.domain)
    size = p.width * layers.expert_rows(shape, p) * shape.hidden
    share = mixed_share(shape, p.pipeline)
    both = 4 * share * group_time(run.system, "all-to-all", each, nodes, size)
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
    each, _ = placed(p.pipeline, strides(p)["pipeline"], system.domain)
    shared = p.tensor if p.scatter_gather else 1
    inside, nodes = placed(p.tensor, strides(p)["tensor"], system.domain)
    gather = group_time(system, "all-gather", inside, nodes, size)
    joined = gather * (1 - p.sequence_parallel) * (1.0 if p.scatter_gather else 0.0)
    return (p.pipeline > 1) * (send_time(system, size / shared, each >= p.pipeline) + joined)


@record
class Reduced:
    """Collectives of data parallelism in a step [s]."""

    gradients: Any
    gathers: Any
    """Parameters, brought together for computing."""


def _reduced(run: Run, each: Passes, count: Any, extra: Any) -> Reduced:
    """Return what reducing gradients and gathering parameters takes that nothing hides [s]."""
    p, _system, parts = run.plans, run.system, held(run.shape, run.plans)
    at = strides(p)
    stride = np.where(np.asarray(p.context) > 1, at["context"], at["data"])
    shared = np.where(np.asarray(p.shard) > 0, p.shard, p.reducing)
    groups = [(parts.layer, extra, p.reducing, shared, stride)]
    if run.shape.experts is not None:
        groups.append((parts.experts, 0.0, p.expert_data, p.expert_data, p.expert * p.expert_tensor))
    found = [_group(run, *group, each, count) for group in groups]
    gradients, gathers = sum(item.gradients for item in found), sum(item.gathers for item in found)
    return Reduced(gradients, gathers)


def _group(
    run: Run, weights: Any, extra: Any, ranks: Any, shared: Any, stride: Any, each: Passes, count: Any
) -> Reduced:
    """Return the collectives over one kind of parameters; `extra` of them belong to no layer."""
    p, system = run.plans, run.system
    whole, spread = placed(ranks, stride, system.domain), placed(shared, stride, system.domain)
    outer = placed(ranks / shared, stride * shared, system.domain)
    held_here, zero = weights * count + extra, np.asarray(p.zero)
    pieces = count + (np.asarray(extra) > 0)

    def time(operation: str, group: tuple[Any, Any], size: Any, *, reducing: bool = False) -> Any:
        return group_time(system, operation, *group, size, reducing=reducing)

    size = p.gradient_bytes * held_here
    reduce = time("allreduce", whole, size, reducing=True)
    hfreduce = system.reducer.method == "hfreduce"
    scatter = reduce if hfreduce else time("reduce-scatter", spread, size)
    across = 0.0 if hfreduce else time("allreduce", outer, size / shared)
    gather = time("all-gather", spread, p.width * held_here)
    again = np.where(zero == 2, p.micro_batches, 1.0)  # ZeRO 2 keeps no gradients but its own: it reduces every time
    once_gradients = np.where(zero > 0, scatter, reduce)
    once_gathers = np.where((zero > 0) & (zero < 3), gather, 0.0)
    forward, back = count * each.ahead, count * each.behind
    if "gradients" in p.overlap:
        once_gradients = step.exposed(once_gradients, back, pieces)
    once_gradients = again * once_gradients + np.where(zero > 0, across, 0.0)
    if "parameters" in p.overlap:
        once_gathers = step.exposed(once_gathers, forward, pieces)
    # ZeRO 3: every micro-batch gathers each layer forward and backward, and reduces its gradients
    layer_gather = pieces * time("all-gather", spread, p.width * held_here / pieces)
    layer_scatter = pieces * time("reduce-scatter", spread, size / pieces)
    ahead, behind = layer_gather, layer_gather + layer_scatter
    if "parameters" in p.overlap:
        ahead = step.exposed(layer_gather, forward, pieces)
        behind = step.exposed(layer_gather + layer_scatter, back, pieces)
    share = layer_scatter / np.maximum(layer_gather + layer_scatter, 1e-30)
    m, fully = p.micro_batches, zero == 3
    return Reduced(
        np.where(fully, m * behind * share + across, once_gradients),
        np.where(fully, m * (ahead + behind * (1 - share)), once_gathers),
    )


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
    p, parts = run.plans, held(run.shape, run.plans)
    zero = np.asarray(p.zero) > 0
    shared = np.where(np.asarray(p.shard) > 0, p.shard, p.reducing)
    plain, experts = np.where(zero, shared, 1.0), np.where(zero, p.expert_data, 1.0)
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
    _, idle = step.pipeline_time(stage + wait, np.maximum(regular, full * launch), m, _bubble(run, stage, each, full))
    send = _sends(run)
    steady = 0.0 if "pipeline" in p.overlap else 2.0 * p.chunks * send
    embedding = held(run.shape, p).embedding
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
