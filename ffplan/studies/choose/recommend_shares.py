"""How sure a recommendation is: prices and speeds drawn together over the designs that it names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.record import record
from ffplan.cost.draws import sample
from ffplan.studies.cost.asked import Asked
from ffplan.studies.cost.cost import evaluate, inputs_for, ledger_for, whole_life

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.catalog.store import Catalog
    from ffplan.studies.choose.recommend_target import SizedCluster, Target

DRAWS = 4_000
"""Draws of prices and speeds [1]."""
BY_SIZE = ("capex", "tco", "power", "accelerators")
"""Aims that grow with the cluster."""


@record
class Chances:
    """How often a design is the best, and in time."""

    best: float
    """Share of the draws in which it is the best once each design is resized to its drawn speed [1]."""
    in_time: float
    """Share of the draws in which it takes no more than the days wanted, at the size it has [1]."""
    days_p10: float
    """Tenth percentile of the days."""
    days_p90: float
    """Ninetieth percentile."""


def _drawn(candidate: SizedCluster, target: Target, catalog: Catalog, draws: int) -> tuple[Any, Any]:
    """Return days and aim of a design over the draws, shape (draws,) each; those of an accelerator share its errors."""
    asked, parts = Asked(draws=draws), catalog.fresh()
    ledger = ledger_for(candidate.built.design, parts, asked)
    inputs = tuple(
        replace(item, key=f"speed_own.{candidate.accelerator}") if item.name == "speed_own" else item
        for item in inputs_for(ledger, candidate.timed, parts)
    )
    v = sample(inputs, draws, asked.seed)
    year, run = evaluate(ledger.account, candidate.timed.job, v)
    assert run is not None
    aims: dict[str, Any] = {
        "capex": year.capex + year.building,
        "tco": whole_life(ledger, v, year),
        "token": run.per_million,
        "power": candidate.built.watts,
        "accelerators": candidate.built.assessment.accelerators,
    }
    return np.broadcast_to(run.days, draws), np.broadcast_to(aims[target.aim], draws)


def chances(candidates: Sequence[SizedCluster], target: Target, catalog: Catalog, draws: int = DRAWS) -> list[Chances]:
    """Return how often each design is the best, and in time, over draws that all of them share.

    Args:
        candidates: designs to choose from.
        target: what is wanted.
        draws: number of draws [1].

    Returns:
        Shares [1], one for each design.

    Equation:
        best where aim x days / wanted days is least; the aim alone for the cost of a token, which holds the time

    Source:
        Definition: a purchase grows with its accelerators, and the time of a run falls as they grow.
    """
    if not candidates:
        return []
    days, aims = (np.array(rows) for rows in zip(*(_drawn(c, target, catalog, draws) for c in candidates), strict=True))
    resized = aims * days / target.days if target.aim in BY_SIZE else aims
    won = np.bincount(resized.argmin(axis=0), minlength=len(candidates)) / draws
    early = (days <= target.days).mean(axis=1)
    low, high = np.quantile(days, (0.1, 0.9), axis=1)
    columns = zip(won.tolist(), early.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Chances(best, in_time, p10, p90) for best, in_time, p10, p90 in columns]
