"""The step time of many plans at once: dense GPT models under tensor, pipeline and data parallelism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.fabric.arrays import Floats
from ffplan.perf import step
from ffplan.perf.collective import Wish, evaluate
from ffplan.perf.job import Job
from ffplan.record import record

if TYPE_CHECKING:
    from ffplan.catalog.library import Library
    from ffplan.perf.host import Host

PASSES = {"none": 3, "full": 4}
"""Forward passes that a layer's step is worth: one forward, two backward, and one again with full recomputation."""
REDUCTIONS = {"none": 4, "full": 6}
"""Allreduces of tensor parallelism in a layer: two forward, two backward, two more with full recomputation."""


@record
class Plans:
    """Plans, one a position of every array."""

    gpus: Floats
    batch: Floats
    """Sequences of a step."""
    micro: Floats
    """Sequences of a micro-batch."""
    layers: Floats
    hidden: Floats
    heads: Floats
    sequence: Floats
    vocabulary: Floats
    tensor: Floats
    """Ways of tensor parallelism."""
    data: Floats
    """Data-parallel ranks."""
    stages: Floats
    """Pipeline stages."""
    chunks: Floats
    """Chunks of a stage, for interleaving."""
    recompute: str
    """none or full."""
    gradient_bytes: float
    """Bytes of a gradient on the wire [byte]."""


@record
class StepTimes:
    """What a step consists of, one a position of every array [s]."""

    step: Floats
    """The whole step."""
    compute: Floats
    """A layer's computing, for one micro-batch, forward and backward."""
    tensor: Floats
    """A layer's allreduces of tensor parallelism."""
    launch_bound: Any
    """True where a stage waits for its host to launch."""
    gradients: Floats
    """Reduction of gradients."""


def _allreduce(library: Library, host: Host, per_node: Floats, nodes: Floats, sizes: Floats) -> Floats:
    """Return the time of allreduces, one a position; 0 over a single rank [s].

    The call itself is not counted: launches of a step have a figure of their own.
    """
    found = np.zeros(len(sizes))
    for key in sorted(set(zip(per_node.tolist(), nodes.tolist(), strict=True))):
        here = (per_node == key[0]) & (nodes == key[1])
        if key[0] * key[1] < 2:
            continue
        grid = evaluate(Wish("allreduce", library), Job(host, np.array([key[1]]), np.array([key[0]])), sizes[here])
        assert grid is not None
        found[here] = np.maximum(grid.pick(grid.time)[0] - host.launch_s, 0.0)
    return found


def step_times(plans: Plans, host: Host, library: Library) -> StepTimes:
    """Return the time of a step of each plan.

    Tensor-parallel ranks fill a node first, then data-parallel ones; stages follow one another over nodes.

    Args:
        plans: the plans.
        host: a node, with what training reaches on its accelerators.
        library: the library of its collectives.

    Raises:
        ValueError: where nothing is known of training on the accelerators.
    """
    part = host.accelerator
    if part is None or part.training is None:
        raise ValueError("no training rates")
    rates, gpus = part.training, len(host.gpus)
    flops = part.peak["fp16"].value * 1e12 * rates.matrix.value
    memory = part.memory_bandwidth.value * rates.memory.value
    units, kernel = rates.units.value, rates.kernel.value
    p, passes = plans, PASSES[plans.recompute]
    tokens = p.micro * p.sequence
    forward = step.layer_forward(
        p.micro, p.sequence, p.hidden, p.heads, 4 * p.hidden, p.tensor, flops, memory, units, kernel
    )
    inside = np.minimum(p.tensor, gpus)
    reduce = _allreduce(library, host, inside, p.tensor / inside, step.HALF * tokens * p.hidden)
    compute, tensor = passes * forward, REDUCTIONS[plans.recompute] * reduce
    layer = compute + tensor
    output = step.output_time(tokens, p.vocabulary / p.tensor, p.hidden, flops, memory, units, kernel)
    launch = rates.launch.value + rates.launch_parallel.value * (p.tensor > 1)
    layers = p.layers / p.stages
    stage = step.stage_time(layers, layer, output, launch, rates.launch_step.value)
    together = np.where(p.gpus <= gpus, p.data, np.minimum(p.data, np.maximum(gpus / p.tensor, 1)))
    weights = (12 * p.layers * p.hidden**2 / p.stages + p.vocabulary * p.hidden) / p.tensor
    gradients = _allreduce(library, host, together, p.data / together, p.gradient_bytes * weights)
    nics = host.payload_gbyte_s / gpus
    peer = part.collectives.ring.value if part.collectives and part.collectives.ring else memory
    apart = (p.gpus > gpus) & (p.tensor * p.data >= gpus)
    send = (p.stages > 1) * 2 * step.HALF * tokens * p.hidden / (np.where(apart, nics, peer) * 1e9)
    whole = step.step_time(stage, send, p.batch / p.data / p.micro, p.stages, p.chunks, gradients)
    bound = layers * launch + rates.launch_step.value > layers * layer + output
    return StepTimes(whole, compute, tensor, bound, gradients)
