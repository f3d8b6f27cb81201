"""The first screen of `compare --serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, number, percent
from ffplan.report.document import _FirstScreen, _recalled_count
from ffplan.report.first.serve import _limits_text, _plan_text
from ffplan.results.recommendation import MOST_RECALLED

if TYPE_CHECKING:
    from ffplan.results.serve_comparison import ServeComparison, ServedSide

_MILLI = 1e3
_ROWS = 8
_SAME = 0.005
_LEVEL = 0.05
"""Cost over the cheapest, less one, that is said to be level with it [1]."""
HEADER = ("", "GPUs", "req/s", "tok/s/GPU", "TTFT s", "TPOT ms", "all/M out", "k tok/s/MW")


def _served_row(side: ServedSide, comparison: ServeComparison) -> tuple[str, ...]:
    """Return a design as a row of the table; latencies at the statistic of the targets."""
    at = comparison.targets.at if comparison.targets is not None else "mean"
    return (
        side.label if side.meets else f"{side.label} (misses)",
        f"{side.accelerators:,}",
        number(side.rate_s, 3),
        f"{side.output_tokens_s_gpu:,.0f}",
        number(getattr(side.ttft_s, at), 2),
        number(getattr(side.tpot_s, at) * _MILLI, 3),
        number(side.cost.per_million_output_all, 3) if side.cost is not None else "unknown",
        f"{side.output_tokens_s_mw / 1e3:,.0f}",
    )


def _load_of(comparison: ServeComparison) -> str:
    """Return model and lengths in words."""
    return f"{comparison.model} · {comparison.prompt_tokens:,.0f} in, {comparison.output_tokens:,.0f} out"


def _winner(comparison: ServeComparison) -> str:
    """Return who serves cheapest, how much cheaper, and how sure that is."""
    within = f" within {_limits_text(comparison.targets)}" if comparison.targets is not None else ""
    found = comparison.verdict
    if found is None:
        meeting = [side for side in comparison.sides if side.meets]
        if not meeting:
            return f"No design serves {comparison.model}{within}."
        if len(meeting) == 1:
            return f"Only {meeting[0].label} serves {comparison.model}{within}."
        return f"{len(meeting)} designs serve {comparison.model}{within}; costs in one currency are missing."
    costs = {side.label: side.cost for side in comparison.sides}
    mine, other = costs[found.cheapest], costs[found.other]
    assert mine is not None
    assert other is not None
    if 1 - found.ratio < _SAME:
        return f"{found.cheapest} and {found.other} serve {comparison.model}{within} at the same cost."
    both = f"{number(mine.per_million_output_all, 3)} against {number(other.per_million_output_all, 3)} {mine.currency}"
    level = _level(comparison, mine.per_million_output_all)
    return (
        f"{found.cheapest} serves {comparison.model} {percent(1 - found.ratio)} cheaper a token than {found.other} "
        f"({both} a million out, prompts included; {percent(found.chance)} sure){within}.{level}"
    )


def _level(comparison: ServeComparison, least: float) -> str:
    """Return which other designs cost hardly more than the cheapest, as a sentence; empty if none does."""
    found = comparison.verdict
    assert found is not None
    near = [
        side.label
        for side in comparison.sides
        if side.meets and side.cost is not None and side.cost.per_million_output_all <= least * (1 + _LEVEL)
    ]
    names = [label for label in near if label not in (found.cheapest, found.other)]
    return f" {listed(names)} {'is' if len(names) == 1 else 'are'} within {percent(_LEVEL)} of it." if names else ""


def _serve_comparison_screen(comparison: ServeComparison) -> _FirstScreen:
    """Return who serves a model cheapest, and the figures of every design."""
    sides = comparison.sides[:_ROWS]
    plans = "; ".join(f"{side.label}: {side.copies:,} x {_plan_text(side.plan)}" for side in sides)
    users = "; ".join(f"{side.label} {side.users_rack:,.0f}" for side in sides)
    kin = ", ".join(side.label for side in sides if not side.calibrated)
    guessed = ", ".join(
        f"{percent(side.recalled_share)} of {side.label}'s price"
        for side in sides
        if side.recalled_share is not None and side.recalled_share > MOST_RECALLED
    )
    doubts = [f"no run of the engine on {kin}"] * bool(kin) + [guessed] * bool(guessed)
    return _FirstScreen(
        head=_load_of(comparison),
        verdict=(_winner(comparison),),
        figures=tuple(_served_row(side, comparison) for side in sides),
        header=HEADER,
        advice=(
            ("Plans", plans),
            ("A rack", f"requests under way: {users}" if sides else ""),
            ("Cannot", "; ".join(f"{side.label}: {side.reason}" for side in comparison.unserved)),
            ("Next", "ffplan serve DESIGN … --disaggregate" if sides else ""),
        ),
        unverified="".join(f"{doubt}. " for doubt in doubts) + _recalled_count(comparison.unverified),
    )
