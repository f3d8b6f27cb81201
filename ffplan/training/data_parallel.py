"""Time of data parallelism in a step: gradients, parameters, optimizer; ZeRO 3 overlaps them unit by unit.

A unit is one layer or several. Embeddings are the root: gathered before anything can run, scattered after everything.
Every unit is freed after its forward pass and gathered again for the backward one. One communicator carries gathers and
scatters in the order of issue, gathers one unit ahead.

Sources:
    [1] Rajbhandari et al., "ZeRO", SC'20, arXiv 1910.02054 (gathers and scatters).
    [2] Zhao et al., "PyTorch FSDP", arXiv 2304.11277, and torch 1.12.1, fully_sharded_data_parallel.py, with
        BACKWARD_PRE: all units but the root are freed, one process group, the next unit is gathered as computing of one
        begins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Number, maximum, minimum
from ffplan.base.record import record
from ffplan.node.resources import host_shares
from ffplan.training import overlap
from ffplan.training.group_collectives import _by_machine, _group_time, _hidden_fraction
from ffplan.training.memory import _rank_parameters
from ffplan.training.overlap import _with_overlap_cost
from ffplan.training.parallel_plan import _units_of
from ffplan.training.train_run import _expert_strides, _pace_fraction, inner_stride, placement_of

if TYPE_CHECKING:
    from ffplan.training.group_collectives import Cluster
    from ffplan.training.microbatch import _MicroBatch
    from ffplan.training.train_run import TrainRun


@record
class _UnitCollectives:
    """Collectives of some parameters over the ranks that shard them [s]."""

    gather: Number
    """Of parameters."""
    scatter: Number
    """Of gradients."""
    across: Number
    """Reducing gradients between replicas of a shard, once a step."""

    def plus(self, more: _UnitCollectives) -> _UnitCollectives:
        """Return the sum of two."""
        return _UnitCollectives(self.gather + more.gather, self.scatter + more.scatter, self.across + more.across)


@record
class _ExposedCollectives:
    """Exposed time of data parallelism's collectives in a step [s]."""

    gradients: Number
    gathers: Number
    """All-gathers of parameters."""


def _forward_wait(gather: Number, computing: Number, units: Number) -> Number:
    """Return the exposed time of parameter gathers in a forward pass [s].

    Args:
        gather: gathering a unit g [s].
        computing: time of all units w [s].
        units: units U [1].

    Equation:
        g + (U - 1) max(0, g - w / U)

    Source:
        [2]. The gather of the first unit is exposed; the next is gathered while a unit computes.
    """
    return gather + (units - 1) * maximum(0.0, gather - computing / units)


def _backward_wait(gather: Number, scatter: Number, computing: Number, units: Number) -> Number:
    """Return the exposed time of parameter gathers and gradient scatters in a backward pass [s].

    Args:
        gather: gathering a unit g [s].
        scatter: scattering a unit's gradients s [s].
        computing: time of all units w = U b [s].
        units: units U [1].

    Equation:
        g + max(b, g) + (U - 2) max(b, g + s) + max(b, s) + s - U b; g + s for one unit

    Source:
        [2]. The gather of the first unit is exposed. Then, unit by unit, computing overlaps the gradients of the unit
        before and the parameters of the next. A test compares it with a simulation of the events.
    """
    unit = computing / units
    # the first unit computes beside a gather only, the last beside a scatter only, the others beside both
    between = maximum(0.0, gather - unit) + maximum(0.0, scatter - unit)
    between = between + (units - 2) * maximum(0.0, gather + scatter - unit)
    return gather + (units > 1) * between + scatter


def _unit_collectives(run: TrainRun, weights: Number, ranks: Number, stride: Number) -> _UnitCollectives:
    """Return the collectives of `weights` parameters over the ranks that shard them."""
    p, sharder = run.plans, run.system.sharder
    fully = np.asarray(p.zero) == 3
    plain = _collectives(run, run.system, weights, ranks, stride)
    if sharder is None or not fully.any():
        return plain
    # plans with and without ZeRO 3 share the arrays; only the former use the sharder's NICs
    fewer = _collectives(run, sharder, weights, ranks, stride)
    return _UnitCollectives(
        gather=np.where(fully, fewer.gather, plain.gather),
        scatter=np.where(fully, fewer.scatter, plain.scatter),
        across=np.where(fully, fewer.across, plain.across),
    )


def _collectives(run: TrainRun, system: Cluster, weights: Number, ranks: Number, stride: Number) -> _UnitCollectives:
    """Return the collectives of `unit_collectives` on one view of the machine."""
    p = run.plans
    shared = np.minimum(np.where(np.asarray(p.shard) > 0, p.shard, ranks), ranks)
    placement, outer = placement_of(run, shared, stride), placement_of(run, ranks / shared, stride * shared)
    return _UnitCollectives(
        _group_time(system, "all-gather", placement, p.width * weights),
        _group_time(system, "reduce-scatter", placement, p.wire_bytes * weights),
        # replicas of a shard reduce only the part that each rank holds
        _group_time(system, "allreduce", outer, p.wire_bytes * weights / shared),
    )


def _pieces(run: TrainRun, count: Number) -> tuple[Number, Number]:
    """Return the pieces of a chunk that ZeRO 3 gathers separately, units or tensors of a layer, and their layers.

    DeepSpeed of 2021 gathers each tensor by a separate call, one ahead of the tensors that compute.
    """
    calls = run.speeds.sharding_calls
    return (count / run.plans.chunks * calls, 1.0 / calls) if calls else _units_of(count, run.plans)


def _fsdp_exposed(run: TrainRun, micro: _MicroBatch, count: Number, extra: Number) -> _ExposedCollectives:
    """Return the exposed time of the collectives of ZeRO 3 in a step."""
    p, parts = run.plans, _rank_parameters(run.shape, run.plans, _pace_fraction(run.shape, run.plans))
    stride, (units, layers) = inner_stride(p), _pieces(run, count)
    unit = _unit_collectives(run, layers * parts.layer, p.reducing, stride)
    if run.shape.experts is not None:
        unit = unit.plus(_unit_collectives(run, layers * parts.experts, p.expert_data, _expert_strides(p)[1]))
    root, v, m = _unit_collectives(run, extra, p.reducing, stride), p.chunks, p.micro_batches
    ahead, behind, share = count * micro.ahead / v, count * micro.behind / v, run.hiding
    hide_gathers, hide_gradients = "parameters" in p.overlap, "gradients" in p.overlap
    gathers = units * unit.gather
    forward = root.gather + v * gathers
    if hide_gathers:
        waiting = root.gather + v * _forward_wait(unit.gather, ahead, units)
        forward = _with_overlap_cost(waiting, forward, share)

    def backward(scatter: Number, at_end: Number) -> tuple[Number, Number]:
        """Return the times that gathers and scatters add to the backward pass of a micro-batch."""
        hidden = (unit.gather if hide_gathers else 0.0, scatter if hide_gradients else 0.0)
        carried = units * (hidden[0] + hidden[1])
        added = v * _with_overlap_cost(_backward_wait(*hidden, behind, units), carried, share)
        # one communicator carries both: what is exposed is shared out by the time that each takes
        mine = added * units * hidden[0] / np.maximum(carried, 1e-30)
        others = added - mine if hide_gradients else v * units * scatter
        return (mine if hide_gathers else v * gathers), others + at_end

    again, scatters = backward(unit.scatter, root.scatter)
    last, scatters_last = backward(unit.scatter + unit.across, root.scatter + root.across)
    # replicas reduce in the last micro-batch only
    return _ExposedCollectives((m - 1) * scatters + scatters_last, m * forward + (m - 1) * again + last)


NO_DRIVES = "the catalogue has no drives of `{}` with their rates"
"""Why states cannot be offloaded to drives; the id of the server is filled in."""
DRIVES_REMEDY = "give `drives` in a part of your own, or leave it out"
"""What would let them."""


def _group(run: TrainRun, weights: Number, ranks: Number, stride: Number) -> _UnitCollectives:
    """Return the collectives over `ranks` that hold the same `weights` of a stage, once a step; HFReduce may reduce."""
    p, system, zero = run.plans, run.system, np.asarray(run.plans.zero)
    unit = _unit_collectives(run, weights, ranks, stride)
    size = p.wire_bytes * weights
    reduce = _group_time(system, "allreduce", placement_of(run, ranks, stride), size, reducing=True)
    direct = not system.scatters
    scatter = np.where(zero > 0, reduce if direct else unit.scatter, reduce)
    return replace(unit, scatter=scatter, across=np.where((zero > 0) & (not direct), unit.across, 0.0))


def _data_parallel_exposed(run: TrainRun, micro: _MicroBatch, count: Number, extra: Number) -> _ExposedCollectives:
    """Return the exposed time of gradient reduction and parameter all-gather [s]."""
    fully = np.asarray(run.plans.zero) == 3
    if fully.all():
        return _fsdp_exposed(run, micro, count, extra)
    plain = _reduced(run, micro, count, extra)
    if not fully.any():
        return plain
    third = _fsdp_exposed(run, micro, count, extra)
    return _ExposedCollectives(
        np.where(fully, third.gradients, plain.gradients), np.where(fully, third.gathers, plain.gathers)
    )


def _reduced(run: TrainRun, micro: _MicroBatch, count: Number, extra: Number) -> _ExposedCollectives:
    """Return the exposed time for plans below ZeRO 3.

    Collectives that overlap the same computing are summed before they are compared with it.
    """
    p, parts = run.plans, _rank_parameters(run.shape, run.plans, _pace_fraction(run.shape, run.plans))
    stride, pieces, zero = inner_stride(p), count + (np.asarray(extra) > 0), np.asarray(p.zero)
    group = _group(run, parts.layer * count + extra, p.reducing, stride)
    if run.shape.experts is not None:
        group = group.plus(_group(run, parts.experts * count, p.expert_data, _expert_strides(p)[1]))
    forward, back, m = count * micro.ahead, count * micro.behind, p.micro_batches
    again = np.where(zero == 2, m, 1.0)  # ZeRO 2 keeps no gradients but its own: it reduces every time
    once, across = group.scatter, group.across
    gather: Number = np.where(zero > 0, group.gather, 0.0)
    share = run.hiding
    if "gradients" in p.overlap:
        reducing = _hidden_fraction(run.system, placement_of(run, p.reducing, stride), run.speeds.overlap)
        once, across = overlap._exposed(once, back, pieces, reducing), overlap._exposed(across, back, pieces, share)
    if "parameters" in p.overlap:
        gather = overlap._exposed(gather, forward, pieces, share)
    return _ExposedCollectives(again * once + across, gather)


def _running(run: TrainRun) -> Number:
    return np.minimum(max(1, len(run.system.host.gpus)), run.plans.gpus)


def _host_rates(run: TrainRun) -> tuple[Number, Number]:
    """Return the rate of a rank to its host while all ranks send, and its host memory bandwidth [byte/s]."""
    running = _running(run)
    if run.system.rows:
        link = _by_machine(run.system, lambda machine: minimum(*host_shares(machine.host, running).values()))
        return link * 1e9, _by_machine(
            run.system, lambda machine: host_shares(machine.host, running)["host memory"]
        ) * 1e9
    shares = host_shares(run.system.host, running)
    return minimum(*shares.values()) * 1e9, shares["host memory"] * 1e9


def _drive_rates(run: TrainRun) -> tuple[Number, Number]:
    """Return the rates at which a rank reads and writes the drives of its node while all ranks on it do [byte/s]."""
    if run.system.rows:
        read, write = (
            _by_machine(run.system, lambda machine, way=way: _drive_rates(replace(run, system=machine))[way])  # type: ignore[misc]
            for way in (0, 1)
        )
        return read, write
    host = run.system.host
    rates = host.drives.gbyte_s if host.drives else None
    if rates is None:
        raise ValueError(NO_DRIVES.format(host.id))
    ranks = _running(run)
    # the drives belong to the node: its ranks share them
    return rates[0] / ranks * 1e9, rates[1] / ranks * 1e9


def optimizer(run: TrainRun, count: Number, extra: Number) -> tuple[Number, Number]:
    """Return the times of the optimizer, on the accelerator and on the host [s]."""
    p, parts = run.plans, _rank_parameters(run.shape, run.plans, _pace_fraction(run.shape, run.plans))
    zero = np.asarray(p.zero) > 0
    plain, experts = np.where(zero, p.sharing, 1.0), np.where(zero, p.sharing_experts, 1.0)
    mine = (parts.layer * count + extra) / plain + parts.experts * count / experts
    states = p.optimizer_bytes + (4.0 if p.precision == "tf32" else 0.0)  # weights at 32 bits move like a copy
    if p.offload == "none":
        return overlap.optimizer_time(mine, 1.0, run.speeds.stream, states), 0.0
    link, memory = _host_rates(run)
    time = overlap.host_optimizer_time(mine, 1.0, p.wire_bytes, link, memory)
    # with the optimizer alone on the host, the weights stay on the device
    weights = p.width if p.offload == "parameters" else 0.0
    if p.on_drives:  # states pass through host memory in pieces, read, updated and written side by side
        read, write = _drive_rates(run)
        time = np.maximum(time, overlap._drive_time(states * mine, read, write) + weights * mine / write)
        # weights go to the device for the forward and for the backward pass
        time = time + 2 * p.micro_batches * weights * mine / np.minimum(link, read)
    else:
        time = time + 2 * p.micro_batches * weights * mine / link
    return 0.0 * time, time
