"""Fleets over quarters of demand, as `ffplan fleet` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ffplan.results.fleet_plan import FleetPlan


def fleet(
    file: str | Path, *, chance: float = 0.85, draws: int = 10_000, seed: int = 0, catalog: Sequence[str | Path] = ()
) -> FleetPlan:
    """Return a fleet over its quarters: what it does of the demand, cash, power, carbon, and dates of orders.

    Args:
        file: a fleet file, or the name of a shipped one.
        chance: chance wanted that demand is met and orders are in time [1].
        draws: draws of the uncertain inputs [1].
        seed: seed of the draws.
        catalog: folders of parts.

    Raises:
        InputError: if the file or a design is wrong, or a cluster cannot do what it is used for.
        UsageError: if no shipped fleet has the name, or a number is out of range.
    """
    from ffplan.catalog.store import Catalog
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.fleet.plan import plan_fleet

    if not (0.5 <= chance <= 0.99 and draws >= 1):
        raise UsageError("fleet: chance is 0.5 to 0.99, draws are at least 1")
    parts = Catalog([str(folder) for folder in catalog])
    return plan_fleet(str(file), parts, CostRequest(draws=draws, seed=seed), chance=chance, tell=_quiet)


def _quiet(what: str) -> None:
    """Say nothing of what is studied."""
