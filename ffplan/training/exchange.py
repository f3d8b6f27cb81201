"""Exchanges of tokens with experts in a training step, by the dispatcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.collectives.expert_dispatch import Gate, copied, copying_fault, forwarding_fault
from ffplan.training import layer, overlap
from ffplan.training.group_collectives import _group_time
from ffplan.training.parallel_plan import _strides
from ffplan.training.recompute import _fraction_again
from ffplan.training.train_run import _expert_strides, _pace_fraction, placement_of

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.training.group_collectives import GroupPlacement
    from ffplan.training.train_run import TrainRun

_FORWARDING = ("deepep", "hybrid")
"""Dispatchers that send a token to a node once, and on to its ranks over the scale-up links."""


def dispatcher_fault(run: TrainRun) -> str | None:
    """Return the reason why a run cannot have its dispatcher, or None."""
    by = layer._dispatcher_of(run.plans, run.speeds)
    if run.shape.experts is None or by not in _FORWARDING:
        return None
    fault = forwarding_fault(run.system.host)
    return f"{by}: {fault}" if fault else None


def sms_fault(run: TrainRun) -> str | None:
    """Return the reason why a plan's multiprocessors for the dispatcher have no effect, or None."""
    sms, by = run.plans.dispatch_sms, layer._dispatcher_of(run.plans, run.speeds)
    if not sms:
        return None
    if run.shape.experts is None:
        return "`dispatch_sms` of a model without experts"
    if by not in _FORWARDING:
        return f"`dispatch_sms` belongs to deepep and hybrid, the dispatcher is {by}"
    if fault := copying_fault(run.system.host, sms):
        return f"`dispatch_sms`: {fault}"
    if by == "hybrid" and "experts" not in run.plans.overlap:
        return "`dispatch_sms` of HybridEP is the cost of a hidden exchange, and none is hidden"
    return None


def _exchange_time(run: TrainRun, computing: Number) -> Number:
    """Return the exposed time of bringing tokens to experts and back in a layer [s].

    A rank sends the tokens that it holds under sequence parallelism; ranks that split an expert gather them. Two
    exchanges of four lead to experts, forward the tokens and backward their gradients. All-gather brings every token
    of the group to each of its ranks, and a reduce-scatter adds up the results of their experts.
    """
    p, shape = run.plans, run.shape
    if shape.experts is None:
        return 0.0
    full = (_fraction_again(shape, p, "up") > 0) * 1.0  # an exchange is whole
    pair = _gathered(run) if layer._dispatcher_of(p, run.speeds) == "allgather" else _sent(run)
    # forward, backward, and once more for experts that run again
    both: Number = _pace_fraction(shape, p) * (2 + full) * pair
    if "experts" not in p.overlap:
        return both
    share = overlap._exchange_cost(run.hiding, p.dispatch_sms, run.speeds.units)
    # four pieces: to the experts and back, forward and backward
    return overlap._exposed(both, computing, 4, share)


def _sent(run: TrainRun) -> Number:
    """Return the time of sending a rank's tokens to experts and their results back, once [s]."""
    p, shape, system = run.plans, run.shape, run.system
    rows = p.width * layer._expert_rows(shape, p) * shape.hidden
    placement = placement_of(run, p.expert, _expert_strides(p)[0])
    share = rows / p.expert_tensor
    fewer = p.dispatch_bytes / p.width
    there, home = _one_way(run, "dispatch", placement, fewer * share), _one_way(run, "combine", placement, share)
    if p.dispatch_sms > 0:
        # a message of one byte has the latency alone
        call = _one_way(run, "dispatch", placement, 0.0 * share + 1.0)
        moved = np.where(np.asarray(p.expert) > 1, share * _copying_time(run, placement.nodes), 0.0)
        # multiprocessors copy while the network carries: the slower of both counts
        there, home = np.maximum(there, call + fewer * moved), np.maximum(home, call + moved)
    group = placement_of(run, p.expert_tensor, _strides(p)["tensor"])
    # ranks that split an expert need all of its tokens, and add up their parts of the results
    joined = _group_time(system, "all-gather", group, rows) + _group_time(system, "reduce-scatter", group, rows)
    both: Number = there + home + joined
    return both


def _one_way(run: TrainRun, operation: str, placement: GroupPlacement, copies: Number) -> Number:
    """Return the time of a rank's tokens to their experts or back [s]; `copies` [byte]."""
    gate = _gate(run)
    if gate is None:
        return _group_time(run.system, "all-to-all", placement, copies)
    return _group_time(run.system, operation, placement, copies / gate.top_k, gate=gate)


def _gathered(run: TrainRun) -> Number:
    """Return the time of gathering the tokens of all ranks that share a layer's experts, and of adding up results [s].

    The ranks lie side by side, as in the default order of axes.
    """
    p, system = run.plans, run.system
    whole = p.gathered(run.shape.sequence) * run.shape.hidden
    group = placement_of(run, p.expert * p.expert_tensor, _strides(p)["tensor"])
    there = _group_time(system, "all-gather", group, p.dispatch_bytes * whole)
    return there + _group_time(system, "reduce-scatter", group, p.width * whole)


def _gate(run: TrainRun) -> Gate | None:
    """Return how tokens find experts, where a token goes to a node once; None where every copy goes by itself."""
    experts = run.shape.experts
    assert experts is not None
    if layer._dispatcher_of(run.plans, run.speeds) not in _FORWARDING:
        return None
    groups = experts.groups or 1
    return Gate(
        experts=experts.routed,
        top_k=experts.top_k,
        groups=groups,
        most=experts.top_groups or groups,
        in_turn=run.plans.in_turn,
    )


def _copying_time(run: TrainRun, nodes: Number) -> Number:
    """Return the time of DeepEP's multiprocessors to copy tokens, a byte over all copies.

    Args:
        run: workload, plans and machine: k of E experts on e ranks.
        nodes: nodes, or scale-up domains, that the experts of a layer spread over N [1].

    Returns:
        Time [s/byte]; 0 for other dispatchers, and for a plan without a number of multiprocessors.

    Equation:
        (m (N - 1) / N + 2 g) / (k s c): m nodes and g ranks that a token meets, s multiprocessors of c each

    Source:
        `expert_dispatch.copied`; c of NVIDIA/nccl, src/graph/tuning.cc, most of a channel.
    """
    gate, rates = _gate(run), run.system.host.rates
    sms = run.plans.dispatch_sms
    by = layer._dispatcher_of(run.plans, run.speeds)
    if gate is None or by != "deepep" or not sms or rates is None or rates.channel is None:
        return 0.0
    domains = np.maximum(np.asarray(nodes, dtype=float), 1.0)
    away = gate.met(domains) * (domains - 1) / domains
    copies = copied(away, gate.met(np.asarray(run.plans.expert, dtype=float)), sms)
    return copies / gate.top_k / (rates.channel.value * 1e9)
