"""Plans of files turned into arrays; the division of layers over stages, and of groups over nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.collectives.expert_dispatch import token_bytes
from ffplan.training.axes import RECOMPUTE, ParallelPlans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ffplan.base.array_math import Number
    from ffplan.design.training import PlanFields


def layers_of(layers: Number, plans: ParallelPlans) -> tuple[Number, Number]:
    """Return the layers of the fullest stage, and of the last one.

    Args:
        layers: layers of the model L [1].
        plans: the plans: p stages of v chunks; d layers that predict further tokens.

    Returns:
        Layers [1] of the fullest stage of the model's layers, and of the last stage with its prediction layers.

    Equation:
        f = v ceil(L / (p v)); f - min(f p - L, 1 + d, f) + d: if L is no multiple, the last stage has one less,
        since it holds the output layer, and one less for each layer that predicts

    Source:
        Megatron-LM counts embedding and output as layers where a pipeline is uneven; BLOOM's 70 layers on 12 stages;
        Megatron-Bridge's layout of DeepSeek-V3, Et(tt)x30 mL: the last of 32 chunks has a layer that predicts alone.
    """
    import numpy as np

    chunk = np.ceil(layers / (plans.pipeline * plans.chunks))
    full = chunk * plans.chunks
    lacking = full * plans.pipeline - layers
    return full, full - np.minimum(np.minimum(lacking, 1.0 + plans.mtp_layers), full) + plans.mtp_layers


def stage_layers(layers: Number, plans: ParallelPlans, stage: Number) -> Number:
    """Return the layers of a stage [1].

    Args:
        layers: layers of the model L [1].
        plans: the plans: p stages.
        stage: position of the stage, the first 0 [1].

    Equation:
        f of `layers_of`; f p - L layers are missing: as many as it takes off the last stage, then one off the first,
        then one off each before the last

    Source:
        Megatron-LM counts the output layer, and then the embedding, as a layer where a pipeline is uneven; Llama 3
        405B, arXiv 2407.21783, section 3.3.2, takes a layer off either end (recalled).
    """
    import numpy as np

    full, last = layers_of(layers, plans)
    position, stages = np.asarray(stage), np.asarray(plans.pipeline)
    lacking = full * stages - layers - (full + plans.mtp_layers - last)
    tail = (position > stages - 1 - lacking) & (position < stages - 1) & (position > 0)
    less = ((position == 0) & (lacking > 0)) | tail
    return np.where(position == stages - 1, last, full - less)


def _layers_before(layers: Number, plans: ParallelPlans, stage: Number) -> Number:
    """Return the layers in front of a stage [1], as `stage_layers` has them up to the middle.

    Args:
        layers: layers of the model [1].
        stage: position of the stage i, the first 0 [1].

    Equation:
        i f, less one behind a first stage that lacks a layer

    Source:
        Definition.
    """
    import numpy as np

    full, _ = layers_of(layers, plans)
    short = full - stage_layers(layers, plans, 0.0)
    return np.asarray(stage) * full - np.where(np.asarray(stage) > 0, short, 0.0)


def _units_of(layers: Number, plans: ParallelPlans) -> tuple[Number, Number]:
    """Return the units of a chunk of a stage under ZeRO 3, and the layers of each.

    Args:
        layers: layers of the stage L [1].
        plans: the plans: v chunks, units of n layers.

    Returns:
        Units, and layers of each [1].

    Equation:
        ceil(L / (v n)); L / (v units)

    Source:
        Chunks of a stage run at different times; where layers do not divide, units count as even.
    """
    import numpy as np

    chunk = layers / plans.chunks
    units = np.ceil(chunk / plans.unit_layers)
    return units, chunk / units


def _placed(size: Number, inside: Number, domain: Number, *, aligned: bool = False) -> tuple[Number, Number]:
    """Return the placement of a group of ranks on nodes.

    Args:
        size: ranks of the group n [1].
        inside: ranks between neighbours of the group: the ranks of the axes further inside [1].
        domain: accelerators of a node, or of the nodes that one scale-up switch joins [1].
        aligned: jobs leave accelerators idle that do not divide a domain, as on racks of 72, so no group straddles two.

    Returns:
        Ranks on each node, and nodes [1].

    Equation:
        nodes = ceil(n / clip(floor(domain / inside), 1, n)), n / nodes on each; one node more where groups do not
        divide the domain, so that some straddle two

    Source:
        Ranks are numbered axis by axis, the innermost first, as Megatron-LM does.
    """
    import numpy as np

    # neighbours of the group are `inside` ranks apart, so only every `inside`-th GPU of a domain is in it
    fits = np.minimum(np.maximum(np.floor_divide(domain, inside), 1), size)
    nodes = np.ceil(size / fits)
    if not aligned:
        # groups that do not divide the domain lie across its boundary somewhere: the slowest counts
        span = np.minimum(size * inside, domain)
        straddles = (size > 1) & (inside < domain) & (domain % np.maximum(span, 1) != 0)
        nodes = np.minimum(nodes + straddles, size)
    return size / nodes, nodes


def _strides(plans: ParallelPlans) -> dict[str, Number]:
    """Return the ranks between neighbours on every axis [1]."""
    apart: dict[str, Number] = {}
    inside: Number = 1
    for axis in plans.order:
        apart[axis] = inside
        inside = inside * getattr(plans, axis)
    return apart


def _dispatched(plan: PlanFields) -> float:
    """Return the bytes of a number of a token on its way to an expert [byte]."""
    if plan.dispatch_dtype == "fp8":
        return float(token_bytes(1, "dispatch"))
    return 4.0 if plan.precision == "tf32" else 2.0


def parallel_plans(plan: PlanFields, gpus: Number, columns: Mapping[str, Number] | None = None) -> ParallelPlans:
    """Return the plans of a plan file.

    Args:
        gpus: accelerators of each, a number or an array.
        columns: fields that differ, by name, as arrays of the same shape.
    """
    differing = columns or {}

    def field(name: str, default: Number) -> Number:
        value = differing.get(name, getattr(plan, name))
        if value is None:
            return default
        return value if name in differing else float(value)

    tensor, pipeline, context = field("tensor", 1.0), field("pipeline", 1.0), field("context", 1.0)
    return ParallelPlans(
        gpus=gpus,
        batch=field("batch", 1.0),
        micro=field("micro_batch", 1.0),
        tensor=tensor,
        pipeline=pipeline,
        data=field("data", gpus / (tensor * pipeline * context)),
        chunks=field("chunks", 1.0),
        context=context,
        expert=field("expert", 1.0),
        expert_tensor=field("expert_tensor", tensor),
        recompute=float(RECOMPUTE.index(plan.recompute)),
        sequence_parallel=float(plan.sequence_parallel) * (tensor > 1),
        zero=field("zero", 0.0),
        shard=field("shard", 0.0),
        unit_layers=float(plan.unit_layers),
        gradient_bytes=float(plan.kept_bytes),
        reduced_bytes=float(plan.reduced_bytes),
        optimizer_bytes=float(plan.optimizer_bytes),
        casts=plan.casts,
        again=frozenset(plan.recompute_parts),
        precision=plan.precision,
        schedule=plan.schedule,
        fused_attention=plan.attention != "unfused",
        by_heads=plan.context_exchange == "heads",
        dispatcher=plan.dispatcher or "",
        dispatch_bytes=_dispatched(plan),
        dispatch_sms=float(plan.dispatch_sms or 0),
        mtp_layers=float(plan.mtp_layers),
        in_turn=plan.routing == "in-turn",
        imbalance=plan.imbalance,
        eager=plan.elementwise == "eager",
        causal_skip=plan.causal_skip,
        overlap=frozenset(plan.overlap),
        scatter_gather=plan.scatter_gather,
        order=plan.order,
        offload=plan.offload,
        on_drives=plan.offload_to == "drives",
        offload_layers=float(plan.offload_layers),
    )
