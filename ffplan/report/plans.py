"""Parallel plans in short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.results.plan import SHORT_NAMES

if TYPE_CHECKING:
    from ffplan.results.plan import PlanRow, SurePlan


def step_time(seconds: float) -> str:
    """Return the time of a step with as many places as tell plans apart."""
    return f"{seconds:,.3f}" if seconds < 100 else f"{seconds:,.1f}"


def _plan_words(plan: PlanRow) -> str:
    """Return a plan in short: axes above one, micro-batch, and other choices."""
    sizes = {short: getattr(plan, field) for field, short in SHORT_NAMES.items()}
    parts = [f"{name}{value}" for name, value in sizes.items() if value > 1] or ["one rank"]
    parts += [f"etp{plan.expert_tensor}"] if plan.expert_tensor != plan.tensor else []
    parts.append(f"mb{plan.micro_batch}")
    parts += [f"zero{plan.zero}"] if plan.zero else []
    parts += [f"shard{plan.shard}"] if plan.zero and plan.shard < plan.data * plan.context else []
    parts += [f"unit{plan.unit_layers}"] if plan.unit_layers > 1 else []
    parts += ["no-sp"] if plan.tensor > 1 and not plan.sequence_parallel else []
    parts += [plan.recompute] if plan.recompute != "none" else []
    parts += [plan.schedule] if plan.schedule not in ("1f1b", "interleaved") else []
    parts += [f"mtp{plan.mtp_layers}"] if plan.mtp_layers else []
    parts += [plan.routing] if plan.routing != "random" else []
    parts += ["eager"] if plan.elementwise == "eager" else []
    where = "-to-drives" if plan.offload_to == "drives" else ""
    parts += [f"offload-{plan.offload}{where}"] if plan.offload != "none" else []
    parts += [f"offload-{plan.offload_layers}-layers"] if plan.offload_layers else []
    return " ".join(parts)


def _sure_words(sure: SurePlan | None) -> str:
    """Return the plan to take where the fastest may run out of memory."""
    if sure is None:
        return "No plan fits beyond doubt."
    longer = f"{step_time(sure.step_s)} s a step, {100 * sure.slower:.1f} % longer"
    return f"The fastest that fits beyond doubt is {_plan_words(sure.plan)}: {longer}, {sure.memory_gib:.1f} GiB."
