"""Words of several reports: parallel plans in short, changes of figures, what a recommendation leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, listed, number
from ffplan.results.run import SHORT_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.results.difference import FigureChange
    from ffplan.results.fleet import FleetDesign, FleetReport
    from ffplan.results.recommendation import RecommendedDesign, RecommendReport
    from ffplan.results.run import PlanRow, SurePlan

_LEAST = 5e-5
"""Relative change below which a figure counts as unchanged [1]."""


def _value_words(row: FigureChange, value: float | None) -> str:
    if value is None:
        return "-"
    return amount(value) if row.kind == "cost" else number(value, 5)


def relative(row: FigureChange) -> str:
    """Return the relative change of a figure, such as `+3.2 %`, or that it has none; empty if it came or went."""
    if row.unlike:
        return f"two {row.unlike}"
    if row.relative is None:
        return ""
    return f"{100 * row.relative:+.3g} %" if abs(row.relative) >= _LEAST else "0 %"


def moves(row: FigureChange) -> bool:
    """Return whether a figure differs, or came or went."""
    return row.before != row.after and (row.relative is None or abs(row.relative) >= _LEAST)


def _next_of_written(designs: Sequence[RecommendedDesign] | Sequence[FleetDesign]) -> str:
    """Return the next step with recommended designs: compare those written, or write them; empty for a single file."""
    files = [design.file for design in designs if design.file]
    if len(files) > 1:
        return f"ffplan compare {' '.join(files[:3])}"
    return "--folder DIR writes the designs" if designs and not files else ""


def step_time(seconds: float) -> str:
    """Return the time of a step with enough decimals to distinguish plans."""
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
    if sure is None:
        return "No plan fits beyond doubt."
    longer = f"{step_time(sure.step_s)} s a step, {100 * sure.slower:.1f} % longer"
    return f"The fastest that fits beyond doubt is {_plan_words(sure.plan)}: {longer}, {sure.memory_gib:.1f} GiB."


def _short_name(design: RecommendedDesign, r: RecommendReport) -> str:
    return design.name.removeprefix(f"{r.model}-")


def _limit_name(name: str, r: RecommendReport) -> str:
    """Return the name of a limit: a sustained rate counts as days of a run, which nobody requested."""
    return "rate" if name == "days" and r.sustained_pflops is not None else name


def _broken_limits(design: RecommendedDesign, r: RecommendReport) -> str:
    return listed([f"{_limit_name(name, r)} x {number(ratio, 3)}" for name, ratio in design.breaks.items()])


def left_out(r: RecommendReport | FleetReport, in_words: Callable[[list[str]], str] = listed) -> list[str]:
    """Return the reasons why accelerators were not sized, each with its accelerators."""
    reasons: dict[str, list[str]] = {}
    for refusal in r.left_out:
        reasons.setdefault(refusal.reason, []).append(refusal.accelerator)
    return [f"{in_words(names)}: {reason}" for reason, names in reasons.items()]
