"""The step time of many plans at once, part by part; the parts sum to the step. Idle time of pipeline schedules.

Sources:
    [1] Narayanan et al., arXiv 2104.04473, section 2.2 (1F1B, interleaving).
    [2] Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, and its repository.
    [3] deepseek-ai/DualPipe, table of bubbles.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from ffplan.node.resources import resources
from ffplan.training import layer, overlap
from ffplan.training.axes import FOLDED
from ffplan.training.data_parallel import _data_parallel_exposed, _host_rates, optimizer
from ffplan.training.group_collectives import Cluster, GroupPlacement, _by_machine, _first, _group_time
from ffplan.training.kept_activations import policy_kept_bytes
from ffplan.training.memory import _end_parameters, _rank_parameters
from ffplan.training.microbatch import _MicroBatch, _pass_time, micro_batch
from ffplan.training.parallel_plan import _strides, layers_of, stage_layers
from ffplan.training.part_kinds import PARTS
from ffplan.training.train_run import TrainRun, _pace_fraction, placement_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ffplan.base.array_math import Bools, Floats, Number

SHARES = {"1f1b": 1.0, "zb-h1": 1 / 3, "zb-2p": 0.0, "zb-v": 0.0, "v-half": 1 / 2, "v-min": 2 / 3}


def bubble(schedule: str, stages: Number, micro_batches: Number, chunks: Number = 1) -> Number:
    """Return the idle time of a pipeline over its ideal time [1].

    Args:
        schedule: 1f1b, interleaved, zb-h1, zb-2p, zb-v, v-half or v-min.
        stages: pipeline stages p [1].
        micro_batches: micro-batches of a rank m [1].
        chunks: chunks of each stage v, for interleaving [1].

    Equation:
        (p - 1) / m for GPipe and 1F1B, (p - 1) / (v m) interleaved; a third, none, none, a half, two thirds of
        1F1B's for ZB-H1, ZB-2P, ZB-V, V-Half, V-Min

    Source:
        [1]; [2].
    """
    plain = (stages - 1) / micro_batches
    if schedule == "interleaved":
        return plain / chunks
    return plain * SHARES[schedule]


def _dualpipe_bubble(stages: Number, backward: Number, weights: Number, both: Number) -> Number:
    """Return the idle time of DualPipe [s].

    Args:
        stages: pipeline stages p [1].
        backward: time of a full backward chunk B [s].
        weights: time of its part for weights W [s].
        both: time of a forward and a backward chunk that overlap F&B [s].

    Equation:
        (p / 2 - 1) (F&B + B - 3 W)

    Source:
        [3].
    """
    return (stages / 2 - 1) * (both + backward - 3 * weights)


def _bubble(run: TrainRun, stage: Number, micro: _MicroBatch, count: Number) -> Number:
    """Return the idle time of the pipeline over its ideal time."""
    p = run.plans
    if p.schedule == "dualpipe":
        # half of the backward pass is for weights, the other half for inputs
        weights = count * 0.5 * _pass_time(micro.back)
        whole = _dualpipe_bubble(p.pipeline, count * micro.behind, weights, stage)
        return np.where(p.pipeline > 1, np.maximum(whole, 0.0), 0.0) / (p.micro_batches * stage)
    plain = bubble(p.schedule, p.pipeline, p.micro_batches)
    # one formula for all: chunks are 1 but for interleaving
    return plain / p.chunks


def _sends(run: TrainRun) -> Number:
    """Return the time of sending a micro-batch to the next stage, one way [s]."""
    p, system = run.plans, run.system
    size = p.width * p.tokens(run.shape.sequence) * run.shape.hidden
    shared = p.tensor if p.scatter_gather else np.where(np.asarray(p.sequence_parallel) > 0, p.tensor, 1)
    gather = _group_time(system, "all-gather", placement_of(run, p.tensor, _strides(p)["tensor"]), size)
    joined = gather * (1 - p.sequence_parallel) * (1.0 if p.scatter_gather else 0.0)
    # a folded schedule passes every stage twice
    twice = 2.0 if p.schedule in FOLDED else 1.0
    placement = placement_of(run, p.pipeline, _strides(p)["pipeline"])
    return twice * (p.pipeline > 1) * (_send_time(system, size / shared, p.pipeline, placement) + joined)


def _point_to_point(run: TrainRun, send: Number) -> tuple[Number, Number]:
    """Return the point-to-point time of a micro-batch on a stage at an end, and on one in the middle [s].

    Activations and gradients pass a stage boundary at the same time. With v chunks, the stages at the ends have
    2 v - 1 boundaries, the others 2 v; of two stages both are ends. Hidden transfers slow computing by a fraction of
    their time.
    """
    p = run.plans
    cost = run.hiding if "pipeline" in p.overlap else 1.0
    at_end = (2.0 * p.chunks - 1.0) * cost * send
    return at_end, np.where(np.asarray(p.pipeline) > 2, 2.0 * p.chunks * cost * send, at_end)


def swap_time(run: TrainRun, micro: _MicroBatch, count: Number) -> Number:
    """Return the time that moving activations to the host and back adds to a micro-batch on a stage [s].

    Args:
        run: workload, plans and machine: n layers of a stage are moved.
        micro: a micro-batch in one layer [s].
        count: layers of the stage L [1].

    Equation:
        exposed(c, L f) + exposed(c, L b), c = n kept / link, f and b computing forward and backward; the last piece is
        hidden too where n < L

    Source:
        Derived: copies to the host overlap the layers that follow, copies back the preceding ones, as
        Transformer Engine's activation offloading does; links as for `host_optimizer_time`.
    """
    if not np.any(run.plans.offload_layers):
        return 0.0
    moved = np.minimum(run.plans.offload_layers, count)
    link, _ = _host_rates(run)
    kept = policy_kept_bytes(run.shape, run.plans, _pace_fraction(run.shape, run.plans))
    # with layers left on the device even the last copy hides behind them: as if cut endlessly fine
    copy, pieces = moved * kept / link, np.where(moved < count, np.inf, moved)
    return sum(overlap._exposed(copy, count * beside, pieces) for beside in (micro.ahead, micro.behind))


def _both_ends(run: TrainRun, last: Number) -> Number:
    """Return the layers of a rank under DualPipe, which is an end of one direction and the beginning of the other."""
    return 0.5 * (last + stage_layers(run.shape.layers, run.plans, 0.0))


def _outer(run: TrainRun) -> Bools:
    """Return where no rank lies between the ends of a pipeline."""
    outer: Bools = np.asarray(run.plans.pipeline) <= (2 if run.plans.schedule == "dualpipe" else 1)
    return outer


def _least_time(run: TrainRun) -> Number:
    """Return a time below which no step of a plan comes, whatever its data parallelism and its optimizer take [s].

    Equation:
        m t (n + b full), t of a micro-batch in one layer, n the layers of a full stage, b the bubble's share; n those
        of the last stage where no rank lies between the ends

    Source:
        Derived from `step_parts`: the slowest stage takes no less than a full one where ranks lie between the ends,
        and the other parts are 0 or more.
    """
    p = run.plans
    full, last = layers_of(run.shape.layers, p)
    share: Number = 0.0
    if p.schedule == "dualpipe":  # its bubble may be negative by formula
        last = _both_ends(run, last)
    else:
        share = bubble(p.schedule, p.pipeline, p.micro_batches) / p.chunks
    layers: Number = np.where(_outer(run), last, full) + share * full
    return p.micro_batches * micro_batch(run).whole * layers


def step_parts(run: TrainRun) -> dict[str, Floats]:
    """Return the parts of a step of every plan [s], by the names of `PARTS`; their sum is the step.

    Raises:
        ValueError: if a library lacks a collective that the plans need.
    """
    p, rates, micro = run.plans, run.speeds, micro_batch(run)
    output = layer.output_passes(run.shape, p, rates)
    full, last = layers_of(run.shape.layers, p)
    most, single, part = np.maximum(full, last), np.asarray(p.pipeline) <= 1, 1.0
    send = _sends(run)
    at_end, between = _point_to_point(run, send)
    if p.schedule == "dualpipe":  # a rank is an end of one direction and the beginning of the other
        last, part = _both_ends(run, last), 0.5
    regular, ends = full * micro.whole, last * micro.whole + part * _pass_time(output)
    outer = _outer(run)
    # the slower stage sets the pace: an end with the output layer, or a full stage with one more boundary
    slowest = outer | (ends + at_end >= regular + between)
    count, with_output = np.where(slowest, last, full), part * slowest
    m = p.micro_batches
    stage = count * micro.whole + with_output * _pass_time(output)
    copies, projections = _end_parameters(run.shape, p, single, np.asarray(p.pipeline) > 0)
    extra = copies * _rank_parameters(run.shape, p, 0.0).embedding + projections
    shared = _data_parallel_exposed(run, micro, most, extra)
    swaps = swap_time(run, micro, count)
    # under ZeRO 3 every micro-batch waits for collectives, and the host launches meanwhile
    waited = np.where(np.asarray(p.zero) == 3, (shared.gathers + shared.gradients) / m, 0.0) + swaps
    launch = rates.launch + rates.launch_parallel * (np.asarray(p.tensor) > 1)
    wait = overlap.launch_wait(stage + waited, count, launch, rates.launch_step)
    # the bubble is made of the other stages' time, and a stage is never faster than its launches
    others, share = np.maximum(regular + waited, full * launch), _bubble(run, stage, micro, full)
    idle = overlap._bubble_time(others, m, share)
    steady = np.where(slowest, at_end, between)
    update, offload = optimizer(run, most, extra)
    both = micro.forward.plus(micro.back)
    parts = {
        "products": m * count * both.products,
        "attention": m * count * both.attention,
        "memory": m * count * (both.scores + both.moved),
        "kernels": m * count * both.kernels,
        "recompute": m * count * _pass_time(micro.again),
        "output": m * with_output * _pass_time(output),
        **{name: m * count * time for name, time in micro.exposed.items()},
        "launches": m * wait,
        # filling and draining pass every stage boundary once each way
        "sends": m * steady + 2 * (p.pipeline - 1) * send,
        "bubble": idle,
        "parameters": shared.gathers,
        "gradients": shared.gradients,
        "optimizer": update,
        "offload": offload,
        "swaps": m * swaps,
    }
    return {name: np.asarray(parts[name], dtype=float) for name in PARTS}


def step_time(parts: Mapping[str, Floats]) -> Number:
    """Return the time of a step [s]: the sum of its parts."""
    whole: Number = 0.0
    for name in PARTS:
        whole = whole + parts[name]
    return whole


def _send_time(system: Cluster, size: Number, stages: Number, placement: GroupPlacement) -> Number:
    """Return the time for every rank to send a message to a rank of the next stage [s].

    Args:
        size: message of a rank [byte].
        stages: pipeline stages p [1].
        placement: ranks of one pipeline: all on one node, or their distance in nodes.

    Equation:
        size / NVLink where stages that follow one another are joined by it, or two stages by bridges, else
        latency + size / min(NICs / G, W), W what a rank has of the links between leaves or zones that stages cross

    Source:
        Every rank has an equal fraction of the node's NICs; all ranks of a node send at once.
    """
    if system.rows:  # they are of one plan
        where = GroupPlacement(*(_first(getattr(placement, each.name)) for each in fields(placement)))
        return _by_machine(system, lambda machine: _send_time(machine, _first(size), _first(stages), where))
    host, gpus = system.host, max(1, system.domain)
    rates, part = host.rates, host.accelerator
    peer = rates.peer.value if rates and rates.peer else (rates.ring.value if rates and rates.ring else None)
    links = len(host.gpus) - 1 if host.mesh else 2 * len(host.torus)
    if links and part and part.nvlink and not (rates and rates.peer):  # two GPUs share one link
        share = system.library.link_share.value if system.library.link_share else 1.0
        peer = share * part.nvlink.value / links
    elif peer is None or not host.joined:
        linked = part.nvlink.value if part and part.nvlink and host.joined else None
        peer = linked or (host.pcie[1] if host.pcie else float("inf"))
    # all ranks of a node send at once, so each has its share of the NICs
    rate: Number = host.payload_gbyte_s * host.domain_nodes / gpus
    # and all of them cross together
    whole = GroupPlacement(0.0 * np.asarray(placement.nodes) + gpus, placement.nodes, placement.apart)
    for cut in system.crossed(whole)[1] if system.crossed else ():
        rate = np.where(cut.sets > 1, np.minimum(rate, cut.gbyte_s / (gpus * cut.lane)), rate)
    known: object = system.library.latency.get("network", {}).get("ring", {}).get("simple")
    away = getattr(known, "value", 0.0) + size / (np.maximum(rate, 1e-9) * 1e9)
    inside = peer + _bridge_gain(system, peer) * (np.asarray(stages) == 2) * (np.asarray(placement.adjacent) > 0)
    return np.where(placement.per_node >= stages, size / (inside * 1e9), away)


def _bridge_gain(system: Cluster, peer: float) -> float:
    """Return the extra rate of a bridge over the other way between two GPUs [GB/s]; 0 unless all are bridged."""
    host = system.host
    if not host.pairs or 2 * len(host.pairs) < len(host.gpus):
        return 0.0
    share = system.library.link_share.value if system.library.link_share else 1.0
    bridge = resources(host, (), share).get(("nvlink_copy", host.pairs[0][0]))
    return max(0.0, float(bridge.one_way[1]) - peer) if bridge is not None else 0.0
