"""From a plan as people write it to plans as numbers or arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.training.parallel_plan import RECOMPUTE, Plans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ffplan.design.training import PlanFields


def plans_of(plan: PlanFields, gpus: Any, columns: Mapping[str, Any] | None = None) -> Plans:
    """Return plans from what people write.

    Args:
        plan: what all have in common.
        gpus: accelerators of each, a number or an array.
        columns: fields that differ, by name, as arrays of the same shape.
    """
    differing = columns or {}

    def field(name: str, default: Any) -> Any:
        value = differing.get(name, getattr(plan, name))
        if value is None:
            return default
        return value if name in differing else float(value)

    tensor, pipeline, context = field("tensor", 1.0), field("pipeline", 1.0), field("context", 1.0)
    return Plans(
        gpus=gpus, batch=field("batch", 1.0), micro=field("micro_batch", 1.0), tensor=tensor, pipeline=pipeline,
        data=field("data", gpus / (tensor * pipeline * context)), chunks=field("chunks", 1.0), context=context,
        expert=field("expert", 1.0), expert_tensor=field("expert_tensor", tensor),
        recompute=float(RECOMPUTE.index(plan.recompute)),
        sequence_parallel=float(plan.sequence_parallel) * (tensor > 1), zero=field("zero", 0.0),
        shard=field("shard", 0.0), unit_layers=float(plan.unit_layers),
        gradient_bytes=float(plan.gradient_bytes), precision=plan.precision, schedule=plan.schedule,
        fused_attention=plan.attention == "fused",
        eager=plan.elementwise == "eager", causal_skip=plan.causal_skip,
        overlap=frozenset(plan.overlap), scatter_gather=plan.scatter_gather, order=plan.order, offload=plan.offload,
    )  # fmt: skip
