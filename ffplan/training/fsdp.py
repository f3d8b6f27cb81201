"""ZeRO 3: unit by unit, parameter gathers and gradient scatters overlap with the computing of other units.

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

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Number, maximum
from ffplan.base.record import record
from ffplan.training.group_collectives import _group_time
from ffplan.training.memory import _rank_parameters
from ffplan.training.overlap import _with_overlap_cost
from ffplan.training.parallel_plan import _units_of
from ffplan.training.train_run import _pace_fraction, inner_stride, placement_of

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
        unit = unit.plus(_unit_collectives(run, layers * parts.experts, p.expert_data, stride * p.expert))
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
