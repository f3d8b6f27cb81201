"""Constraints of plans: the code of every plan's first broken constraint, and a message for each code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.training.axes import AXES, FOLDED, RANK_ORDER
from ffplan.training.memory_margins import host_bytes, peak_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ffplan.base.array_math import Bools, Ints, Number, Truth
    from ffplan.catalog.models import Transformer
    from ffplan.training.axes import ParallelPlans

AXIS_REASONS = {axis.reason.name: axis.reason for axis in AXES if axis.reason is not None}
"""Rules that axes bring."""
REASONS = (
    "fits",
    "heads",
    "widths",
    "stages",
    "ranks",
    "accelerators",
    "batch",
    "chunks",
    "rounds",
    "experts",
    "expert-ranks",
    *AXIS_REASONS,
    "shard",
    "schedule",
    "offload",
    "memory",
    "host-memory",
)
"""Reasons by code; `fits` is none, `accelerators` is of searches alone."""
ROOM = ("memory", "host-memory")
"""Reasons of too little memory."""
WORDS = {
    "ranks": f"{' x '.join(RANK_ORDER)} is not the number of accelerators",
    "heads": "tensor parallelism does not divide the attention heads, or the key-value heads",
    "widths": "tensor parallelism does not divide the feed-forward network, or an expert's",
    "accelerators": "more accelerators than there are",
    "offload": "offloaded parameters need ZeRO 3",
    "stages": "more pipeline stages than layers",
    "chunks": "the layers do not divide into stages and chunks, embedding and output counted or not",
    "rounds": "interleaving needs micro-batches in multiples of the stages",
    "batch": "the batch is not a whole number of micro-batches for every data-parallel rank",
    "experts": "expert parallelism does not divide the experts",
    "expert-ranks": "expert parallelism does not fit into the ranks of tensor, context and data parallelism",
    **{name: reason.label for name, reason in AXIS_REASONS.items()},
    "shard": "the ranks that ZeRO shards over do not divide the data-parallel ranks, or an expert's",
    "schedule": "the schedule needs more micro-batches or layers, or an even number of stages",
    "memory": "does not fit into device memory",
    "host-memory": "offloaded data does not fit into host memory, or onto the node's drives",
}
"""Reasons for people."""


FIELDS = {
    "heads": ("tensor",),
    "widths": ("tensor", "expert_tensor"),
    "stages": ("pipeline",),
    "ranks": ("data", *RANK_ORDER),
    "batch": ("micro_batch", "batch", "data"),
    "chunks": ("chunks",),
    "rounds": ("chunks",),
    "experts": ("expert",),
    "expert-ranks": ("expert", "expert_tensor"),
    **{name: (name,) for name in AXIS_REASONS},
    "shard": ("shard",),
    "schedule": ("schedule",),
    "offload": ("offload",),
    "host-memory": ("offload_layers", "offload"),
}
"""Fields of a plan that bring about each fault."""

COUNTED = 2
"""Embedding and output layer, which frameworks count as layers of an uneven pipeline."""


def _whole(value: Number) -> Bools:
    integral: Bools = np.asarray(value) == np.floor(value)
    return integral


def uneven(layers: Number, pieces: Number, plans: ParallelPlans) -> Truth:
    """Return a mask of plans whose layers do not fill their pieces, with or without embedding and output layer.

    Args:
        layers: layers of the model [1].
        pieces: stages times chunks [1].
        plans: the plans: layers that predict further tokens count as well as embedding and output.
    """
    # embedding, output and prediction layers may fill the places that are left
    lacking = np.ceil(layers / pieces) * pieces - layers
    return lacking > COUNTED + plans.mtp_layers


def violations(
    shape: Transformer, plans: ParallelPlans, limit: float | None, host_limit: float | None = None
) -> dict[str, Truth]:
    """Return a mask over plans for each fault, True if the plan has it.

    Args:
        limit: device memory [byte]; not checked if omitted.
        host_limit: host memory that a rank may fill [byte]; not checked if omitted.
    """
    p = plans
    # micro-batches of a rank; not whole where the batch does not divide
    m = p.batch / (p.data * p.micro)
    faults: dict[str, Truth] = {
        "ranks": (p.ranks != p.gpus) | ~_whole(p.data),
        "heads": (shape.heads % p.tensor != 0) | ((shape.latent is None) & (shape.key_value_heads % p.tensor != 0)),
        "widths": shape.ffn % p.tensor != 0,
        "stages": p.pipeline > shape.layers,
        "chunks": (np.asarray(p.chunks) > 1) & (uneven(shape.layers, p.pipeline * p.chunks, p) | (p.pipeline == 1)),
        "offload": (p.offload == "parameters") & (np.asarray(p.zero) != 3),
        "rounds": (np.asarray(p.chunks) > 1) & (m % p.pipeline != 0),
        "batch": ~_whole(m) | (m < 1),
        **{name: reason.broken(shape, p) for name, reason in AXIS_REASONS.items()},
        "shard": (np.asarray(p.shard) > 0) & ~_whole(p.reducing / np.maximum(p.shard, 1)),
    }
    if p.by_heads:
        faults["heads"] = faults["heads"] | (shape.heads % (p.tensor * p.context) != 0)
    if shape.experts is not None:
        faults["experts"] = shape.experts.routed % p.expert != 0
        faults["widths"] = faults["widths"] | (shape.experts.ffn % p.expert_tensor != 0)
        # experts have fewer replicas, so their shard may be smaller
        mine = np.minimum(np.maximum(p.shard, 1), p.expert_data)
        faults["shard"] = faults["shard"] | (
            (np.asarray(p.shard) > 0) & ~_whole(p.expert_data / np.maximum(mine, 1e-9))
        )
        faults["expert-ranks"] = (p.expert_data < 1) | ~_whole(p.expert_data)
    else:
        faults["experts"] = np.asarray(p.expert) > 1
    if p.schedule == "dualpipe":
        faults["schedule"] = (np.asarray(p.pipeline) % 2 != 0) | (m < 2 * p.pipeline) | (m % 2 != 0)
    elif p.schedule != "1f1b":
        folded = p.schedule in FOLDED
        faults["schedule"] = (m < p.pipeline) | (folded & (2 * p.pipeline > shape.layers + COUNTED))
    if limit is not None:
        faults["memory"] = peak_bytes(shape, plans) > limit
    if host_limit is not None and (p.offload != "none" or bool(np.any(np.asarray(p.offload_layers) > 0))):
        faults["host-memory"] = host_bytes(shape, plans) > host_limit
    return faults


def reason_codes(faults: Mapping[str, Truth]) -> Ints:
    """Return the code of every plan's first fault, 0 for a plan without faults."""
    shape = np.broadcast_shapes(*(np.shape(broken) for broken in faults.values()))
    code = np.zeros(shape, dtype=np.int8)
    for number, name in enumerate(REASONS):
        if name in faults:
            # the order of REASONS is the order of messages: the first fault is named
            code = np.where((code == 0) & np.broadcast_to(faults[name], shape), np.int8(number), code)
    return code


CANNOT = "this plan cannot run"


class RefusedError(ValueError):
    """A plan cannot run; the message is for people."""

    def __init__(self, why: str, *, infeasible: bool, lead: str = "", fields: tuple[str, ...] = ()) -> None:
        super().__init__(lead + why)
        self.fields = fields
        """Fields of the plan that bring it about, the likeliest first."""
        self.why = why
        """The message without its lead, for a place that says so already."""
        self.infeasible = infeasible
        """True if the plan is sound but does not fit the machine."""


def multiples(value: int, divisor: int) -> str:
    """Return the nearest multiples of a divisor below and above a value, as typed; 0 is left out."""
    low = value // divisor * divisor
    return " or ".join(f"{near}" for near in (low, low + divisor) if near > 0)
