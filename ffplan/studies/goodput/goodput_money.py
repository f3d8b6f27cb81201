"""What a job's accelerators cost a year, and what parts bought beside them would add."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.cost.account import account_year
from ffplan.cost.sensitivity import likely
from ffplan.reliability.exposure import EDGE_ROLES
from ffplan.studies.cost.asked import Asked
from ffplan.studies.cost.cost import ledger_for
from ffplan.studies.cost.ledger import Ledger

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign

STORAGE = ("storage", "storage-network")
"""Categories of the bill that storage is bought in."""


@record
class Bought:
    """Parts bought beside a cluster."""

    price: float | None
    """With their freight and installation, after discount [currency]; None where a part has no price."""
    year: float | None
    """What they add to a year: write-off, cost of capital, support [currency per year]."""
    why: str | None
    """Why there is no price."""


@record
class JobMoney:
    """A job's part of what a cluster costs."""

    ledger: Ledger
    year: float
    """What the job's accelerators cost a year [currency per year]."""

    @property
    def currency(self) -> str:
        """Currency of every amount."""
        return str(self.ledger.owned.currency)

    def bought(self, parts: dict[str, float]) -> Bought:
        """Return what parts would add to the account.

        Args:
            parts: pieces by catalogue id [1].

        Equation:
            the account with them less the account without: price after discount, freight and installation; a year of
            write-off, cost of capital and support. Their power, racks and labour are left out.
        """
        ledger = self.ledger
        if not parts:
            return Bought(price=0.0, year=0.0, why=None)
        if ledger.owned.rent is not None:
            return Bought(price=None, year=None, why="the fleet is rented")
        lacking = sorted(part for part in parts if part not in ledger.prices)
        if lacking:
            return Bought(price=None, year=None, why=f"the price book has no `{lacking[0]}`")
        account, v = ledger.account, likely(ledger.inputs)
        more = replace(account, parts=(*account.parts, *parts.items()))
        one, two = account_year(account, v), account_year(more, v)
        price, year = float(two.capex) - float(one.capex), float(two.year) - float(one.year)
        return Bought(price=price, year=year, why=None)


def job_money(design: ResolvedDesign, catalog: Catalog, gpus: int) -> JobMoney | None:
    """Return what a job's accelerators cost; None of a design without costs.

    Args:
        gpus: accelerators of the job [1].

    Raises:
        InputError: where the ownership of the design is wrong.
    """
    ledger = ledger_for(design, catalog, Asked(draws=0, seed=0, years=None))
    if not ledger.costed:
        return None
    year = float(account_year(ledger.account, likely(ledger.inputs)).year)
    return JobMoney(ledger=ledger, year=year * gpus / design.accelerators)


def storage_again(money: JobMoney) -> dict[str, float] | None:
    """Return the parts of the storage and of a network of its own, once more; None where the bill has none.

    Args:
        money: the job's part of the cluster's cost.
    """
    found: dict[str, float] = {}
    for item in (*money.ledger.planned, *money.ledger.around):
        if item.category in STORAGE:
            found[item.part] = found.get(item.part, 0.0) + float(item.quantity)
    return found or None


def leaf_layer(money: JobMoney) -> dict[str, float]:
    """Return the endpoint links and leaf switches of the fabric, once more: the least that a second port needs.

    Args:
        money: the job's part of the cluster's cost.
    """
    ledger, design = money.ledger, money.ledger.design
    found: dict[str, float] = {}
    for item in ledger.planned:
        if item.category == "endpoint-links":
            found[item.part] = found.get(item.part, 0.0) + float(item.quantity)
    for role in EDGE_ROLES:
        count = ledger.fabric.switches_by_role.get(role, 0)
        if count:
            part = design.switch_of(role).id
            found[part] = found.get(part, 0.0) + float(count)
    return found
