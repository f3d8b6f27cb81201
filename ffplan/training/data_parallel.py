"""Time of data parallelism in a step: gradient reduction, parameter all-gather, optimizer on accelerator or host."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import minimum
from ffplan.node.host_copies import host_shares
from ffplan.training import overlap
from ffplan.training.fsdp import _ExposedCollectives, _fsdp_exposed, _unit_collectives, _UnitCollectives
from ffplan.training.group_collectives import _by_machine, _group_time, _hidden_fraction
from ffplan.training.memory import _rank_parameters
from ffplan.training.train_run import _pace_fraction, inner_stride, placement_of

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.training.microbatch import _MicroBatch
    from ffplan.training.train_run import TrainRun

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
        group = group.plus(_group(run, parts.experts * count, p.expert_data, stride * p.expert))
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
    zero, shard = np.asarray(p.zero) > 0, p.sharing
    plain, experts = np.where(zero, shard, 1.0), np.where(zero, np.minimum(shard, p.expert_data), 1.0)
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
