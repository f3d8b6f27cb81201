"""Gains of a change: goodput, tokens, and money a year before and after the price of its parts."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number
from ffplan.base.formatting import plural, span
from ffplan.base.record import record
from ffplan.catalog.reliability import PATHS
from ffplan.cost.account import account_year
from ffplan.cost.sensitivity import likely
from ffplan.reliability.hazards import EDGE_ROLES
from ffplan.reliability.job import job_outcome
from ffplan.reliability.job_case import JobCase
from ffplan.reliability.spare_count import enough
from ffplan.results import reliability as out
from ffplan.studies.cost.cost import ledger_for
from ffplan.studies.cost.ledger import CostRequest, Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.catalog.store import Catalog
    from ffplan.cost.inputs import Input
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.reliability.job import JobOutcome
    from ffplan.studies.operate.goodput_basis import GoodputBasis

_STORAGE = ("storage", "storage-network")


@record
class _Bought:
    price: float | None
    """With their freight and installation, after discount [currency]; None if a part has no price."""
    year: float | None
    """What they add to a year: write-off, cost of capital, support [currency per year]."""
    why: str | None


@record
class _JobMoney:
    ledger: Ledger
    year: float
    """What the job's accelerators cost a year [currency per year]."""

    @property
    def currency(self) -> str:
        return str(self.ledger.owned.currency)

    def bought(self, parts: dict[str, float]) -> _Bought:
        """Return the money that parts would add to the account.

        Equation:
            the account with them less the account without: price after discount, freight and installation; a year of
            write-off, cost of capital and support. Their power, racks and labour are left out.
        """
        ledger = self.ledger
        if not parts:
            return _Bought(price=0.0, year=0.0, why=None)
        if ledger.owned.rent is not None:
            return _Bought(price=None, year=None, why="the fleet is rented")
        lacking = sorted(part for part in parts if part not in ledger.prices)
        if lacking:
            return _Bought(price=None, year=None, why=f"the price book has no `{lacking[0]}`")
        account, v = ledger.account, likely(ledger.inputs)
        more = replace(account, parts=(*account.parts, *parts.items()))
        before, two = account_year(account, v), account_year(more, v)
        price, year = float(two.capex) - float(before.capex), float(two.year) - float(before.year)
        return _Bought(price=price, year=year, why=None)


def _job_money(design: ResolvedDesign, catalog: Catalog, gpus: int) -> _JobMoney | None:
    """Return the costs of a job's accelerators; None for a design without costs."""
    ledger = ledger_for(design, catalog, CostRequest(draws=0, seed=0, years=None))
    if not ledger.costed:
        return None
    year = float(account_year(ledger.account, likely(ledger.inputs)).year)
    return _JobMoney(ledger=ledger, year=year * gpus / ledger.account.bearing)


def _storage_again(money: _JobMoney) -> dict[str, float] | None:
    """Return the parts of the storage and its network, once more; None if the bill has none."""
    parts: dict[str, float] = {}
    for line in (*money.ledger.planned, *money.ledger.around):
        if line.category in _STORAGE:
            parts[line.part] = parts.get(line.part, 0.0) + float(line.quantity)
    return parts or None


def _leaf_layer(money: _JobMoney) -> dict[str, float]:
    ledger, design = money.ledger, money.ledger.design
    parts: dict[str, float] = {}
    for line in ledger.planned:
        if line.category == "endpoint-links":
            parts[line.part] = parts.get(line.part, 0.0) + float(line.quantity)
    for role in EDGE_ROLES:
        count = ledger.fabric.switches_by_role.get(role, 0)
        if count:
            part = design.parts.switch_of(role).id
            parts[part] = parts.get(part, 0.0) + float(count)
    return parts


_LEAST_GAIN = 1e-5
"""Gain of a lever below which it is left out [1]."""
_SERVICE = "software or service, which no price book has"


@record
class _Lever:
    name: str
    words: str
    job: JobCase
    inputs: dict[str, Number] = field(default_factory=dict)
    parts: dict[str, float] | None = None
    """Parts that it buys, by catalogue id; None if a price book has no such part."""
    why: str = _SERVICE


def _restarts(basis: GoodputBasis, job: JobCase) -> Iterator[_Lever]:
    if job.restart == "requeue" or (job.restart == "standby" and not job.spares):
        changed = replace(job, restart="reschedule")
        yield _Lever(name="reschedule", words="a restart that replaces lost nodes", job=changed)
    if job.restart != "standby" and job.spares:
        changed = replace(job, restart="standby")  # the spares are there
        yield _Lever(name="standby", words="restart onto warm standby nodes", job=changed, parts={})
    profile = basis.hazards.profile
    seen, quick = float(profile.hang.range[0]), float(profile.repair.range[0])
    yield _Lever(name="monitor", words=f"a monitor that sees hangs in {span(seen)}", job=job, inputs={"hang": seen})
    yield _Lever(name="repair", words=f"repair within {span(quick)}", job=job, inputs={"repair": quick})


def _checkpoints(job: JobCase, money: _JobMoney | None) -> Iterator[_Lever]:
    if job.checkpoints == "synchronous":
        changed = replace(job, checkpoints="asynchronous")
        yield _Lever(name="asynchronous", words="asynchronous checkpoints", job=changed)
    if job.checkpoints != "in-memory" and job.clients_gbyte_s and job.nodes > 1:
        yield _Lever(
            name="in-memory",
            words="checkpoints in other nodes' memory",
            job=replace(job, checkpoints="in-memory"),
            why="host memory and software",
        )
    if job.write_gbyte_s:
        yield _Lever(
            name="storage",
            words="twice the storage servers",
            job=replace(
                job,
                read_gbyte_s={name: 2 * rate for name, rate in job.read_gbyte_s.items()},
                write_gbyte_s={name: 2 * rate for name, rate in job.write_gbyte_s.items()},
            ),
            parts=_storage_again(money) if money else None,
            why="the bill of materials leaves storage out",
        )


def _fabric(basis: GoodputBasis, job: JobCase, money: _JobMoney | None) -> Iterator[_Lever]:
    paths = frozenset(rate.name for rate in basis.hazards.rates if rate.hazard.unit in PATHS)
    links = [
        rate for rate in basis.hazards.rates if rate.hazard.unit == "endpoint-link" and rate.name not in job.survives
    ]
    if links:
        yield _Lever(
            name="second-port",
            words="a second NIC port on another leaf",  # one of the two lost leaves the rate of now
            job=replace(job, survives=job.survives | paths),
            parts=_leaf_layer(money) if money else None,
            why="the bill of materials leaves the fabric out",
        )
        yield _Lever(
            name="links",
            words="links at the best rate known",
            job=job,
            inputs={f"rate.{rate.name}": rate.rate.ends[0] for rate in links},
            why="no price book has optics by their rate of failures",
        )
    if job.units.get("bridge"):
        yield _Lever(
            name="bridge",
            words="no NVLink bridges (longer steps)",
            job=replace(job, units={**job.units, "bridge": 0.0}),
            why="the server's price has its bridges in it",
        )


def _levers(basis: GoodputBasis, job: JobCase, outcome: JobOutcome, money: _JobMoney | None) -> Iterator[_Lever]:
    yield from _restarts(basis, job)
    yield from _checkpoints(job, money)
    yield from _fabric(basis, job, money)
    if job.domain_nodes > 1 and (job.drains or job.swaps):
        size = job.domain_nodes
        whole = size * max(1, enough(float(outcome.domains_in_repair), 0.99))
        if whole + job.spares % size > job.spares:
            wanted = whole + job.spares % size
            yield _Lever(
                name="spare-domain",
                words=f"{wanted // size:,} whole spare domain{'s' if wanted >= 2 * size else ''}",
                job=replace(job, spares=wanted),
                parts={basis.design.compute.server.id: float(wanted - job.spares)},
            )
    spares = enough(float(outcome.in_repair), 0.99)
    if spares > job.spares:
        parts = {basis.design.compute.server.id: float(spares - job.spares)}
        yield _Lever(name="spares", words=plural(spares, "spare node"), job=replace(job, spares=spares), parts=parts)


def _lever_rows(
    basis: GoodputBasis, job: JobCase, inputs: tuple[Input, ...], outcome: JobOutcome, money: _JobMoney | None
) -> tuple[out.LeverRow, ...]:
    v = likely(inputs)
    base = float(outcome.goodput)
    if base <= 0:
        return ()
    rows = []
    for lever in _levers(basis, job, outcome, money):
        goodput = float(job_outcome(lever.job, {**v, **lever.inputs}).goodput)
        gain = goodput / base - 1
        if abs(gain) >= _LEAST_GAIN:
            rows.append(_row(lever, goodput, gain, money))
    return tuple(sorted(rows, key=lambda row: -row.tokens))


def _row(lever: _Lever, goodput: float, gain: float, money: _JobMoney | None) -> out.LeverRow:
    worth = None if money is None else money.year * gain
    price = year = None
    why: str | None = lever.why
    if money is None:
        why = "the design has no prices"
    elif lever.parts is not None:
        bought = money.bought(lever.parts)
        price, year, why = bought.price, bought.year, bought.why
    return out.LeverRow(
        lever=lever.name,
        label=lever.words,
        goodput=goodput,
        tokens=gain,
        worth_year=worth,
        price=price,
        price_year=year,
        net_year=None if worth is None or year is None else worth - year,
        unpriced=why,
    )
