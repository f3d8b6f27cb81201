"""Words of a recommendation that its first screen and its whole report share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.results.fleet import FleetReport
    from ffplan.results.recommendation import RecommendedDesign, RecommendReport


def _short_name(design: RecommendedDesign, r: RecommendReport) -> str:
    """Return the name of a design without the model's, which all share."""
    return design.name.removeprefix(f"{r.model}-")


def _limit_name(name: str, r: RecommendReport) -> str:
    """Return the name of a limit: a sustained rate stands as days of a run, which nobody asked for."""
    return "rate" if name == "days" and r.sustained_pflops is not None else name


def _broken_limits(design: RecommendedDesign, r: RecommendReport) -> str:
    """Return the limits that a design breaks, each with its figure over the limit."""
    return listed([f"{_limit_name(name, r)} x {number(ratio, 3)}" for name, ratio in design.breaks.items()])


def left_out(r: RecommendReport | FleetReport, in_words: Callable[[list[str]], str] = listed) -> list[str]:
    """Return why accelerators were not sized, those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for refusal in r.left_out:
        reasons.setdefault(refusal.reason, []).append(refusal.accelerator)
    return [f"{in_words(names)}: {reason}" for reason, names in reasons.items()]
