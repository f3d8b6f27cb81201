"""Draws, seed and years of a study of money."""

from __future__ import annotations

from ffplan.base.record import record

DRAWS = 10_000
"""Default draws [1]."""


@record
class CostRequest:
    """Draws, seed and years."""

    draws: int = DRAWS
    seed: int = 0
    years: float | None = None
    """Life in place of the profile's [year]."""
