"""What changes would give of a job: goodput, tokens, and money a year before and after the price of their parts."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number
from ffplan.base.formatting import plural, span
from ffplan.base.record import record
from ffplan.catalog.reliability import PATHS
from ffplan.cost.sensitivity import likely
from ffplan.reliability.job import JobCase, job_outcome
from ffplan.reliability.spare_count import enough
from ffplan.results import reliability as out
from ffplan.studies.goodput.goodput_money import leaf_layer, storage_again

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.cost.inputs import Input
    from ffplan.reliability.job import JobOutcome
    from ffplan.studies.goodput.goodput_money import JobMoney
    from ffplan.studies.operate.goodput_basis import GoodputBasis

LEAST_GAIN = 1e-5
"""Gain of a lever below which it is left out [1]."""
SERVICE = "software or service, which no price book has"


@record
class Lever:
    """A change, and what it takes."""

    name: str
    words: str
    job: JobCase
    inputs: dict[str, Number] = field(default_factory=dict)
    """Inputs that it changes."""
    parts: dict[str, float] | None = None
    """Parts that it buys, by catalogue id; None where it is none that a price book has."""
    why: str = SERVICE
    """Why it has no parts."""


def _restarts(basis: GoodputBasis, job: JobCase) -> Iterator[Lever]:
    if job.restart == "requeue":
        changed = replace(job, restart="reschedule")
        yield Lever(name="reschedule", words="a restart that replaces lost nodes", job=changed)
    if job.restart != "standby" and job.spares:
        changed = replace(job, restart="standby")  # the spares are there
        yield Lever(name="standby", words="restart onto warm standby nodes", job=changed, parts={})
    profile = basis.hazards.profile
    seen, quick = float(profile.hang.range[0]), float(profile.repair.range[0])
    yield Lever(name="monitor", words=f"a monitor that sees hangs in {span(seen)}", job=job, inputs={"hang": seen})
    yield Lever(name="repair", words=f"repair within {span(quick)}", job=job, inputs={"repair": quick})


def _checkpoints(job: JobCase, money: JobMoney | None) -> Iterator[Lever]:
    if job.checkpoints == "synchronous":
        changed = replace(job, checkpoints="asynchronous")
        yield Lever(name="asynchronous", words="asynchronous checkpoints", job=changed)
    if job.checkpoints != "in-memory" and job.clients_gbyte_s:
        yield Lever(
            name="in-memory",
            words="checkpoints in other nodes' memory",
            job=replace(job, checkpoints="in-memory"),
            why="host memory and software",
        )
    if job.write_gbyte_s:
        yield Lever(
            name="storage",
            words="twice the storage servers",
            job=replace(
                job,
                read_gbyte_s={name: 2 * rate for name, rate in job.read_gbyte_s.items()},
                write_gbyte_s={name: 2 * rate for name, rate in job.write_gbyte_s.items()},
            ),
            parts=storage_again(money) if money else None,
            why="the bill of materials leaves storage out",
        )


def _fabric(basis: GoodputBasis, job: JobCase, money: JobMoney | None) -> Iterator[Lever]:
    paths = frozenset(rate.name for rate in basis.hazards.rates if rate.unit in PATHS)
    links = [rate for rate in basis.hazards.rates if rate.unit == "endpoint-link" and rate.name not in job.survives]
    if links:
        yield Lever(
            name="second-port",
            words="a second NIC port on another leaf",  # one of the two lost leaves the rate of now
            job=replace(job, survives=job.survives | paths),
            parts=leaf_layer(money) if money else None,
            why="the bill of materials leaves the fabric out",
        )
        yield Lever(
            name="links",
            words="links at the best rate known",
            job=job,
            inputs={f"rate.{rate.name}": rate.rate.ends[0] for rate in links},
            why="no price book has optics by their rate of failures",
        )
    if job.units.get("bridge"):
        yield Lever(
            name="bridge",
            words="no NVLink bridges (longer steps)",
            job=replace(job, units={**job.units, "bridge": 0.0}),
            why="the server's price has its bridges in it",
        )


def _levers(basis: GoodputBasis, job: JobCase, outcome: JobOutcome, money: JobMoney | None) -> Iterator[Lever]:
    """Yield every change worth a try."""
    yield from _restarts(basis, job)
    yield from _checkpoints(job, money)
    yield from _fabric(basis, job, money)
    if job.domain_nodes > 1 and (job.drains or job.swaps):
        size = job.domain_nodes
        whole = size * max(1, enough(float(outcome.domains_in_repair), 0.99))
        if whole + job.spares % size > job.spares:
            wanted = whole + job.spares % size
            yield Lever(
                name="spare-domain",
                words=f"{wanted // size:,} whole spare domain{'s' if wanted >= 2 * size else ''}",
                job=replace(job, spares=wanted),
                parts={basis.design.compute.server.id: float(wanted - job.spares)},
            )
    spares = enough(float(outcome.in_repair), 0.99)
    if spares > job.spares:
        parts = {basis.design.compute.server.id: float(spares - job.spares)}
        yield Lever(name="spares", words=plural(spares, "spare node"), job=replace(job, spares=spares), parts=parts)


def lever_rows(
    basis: GoodputBasis, job: JobCase, inputs: tuple[Input, ...], outcome: JobOutcome, money: JobMoney | None
) -> tuple[out.LeverRow, ...]:
    """Return what changes would give, the largest first.

    Args:
        basis: the design with its hazards.
        money: what its accelerators cost; None of a design without costs.
    """
    v = likely(inputs)
    base = float(outcome.goodput)
    if base <= 0:
        return ()
    rows = []
    for lever in _levers(basis, job, outcome, money):
        found = float(job_outcome(lever.job, {**v, **lever.inputs}).goodput)
        gain = found / base - 1
        if abs(gain) >= LEAST_GAIN:
            rows.append(_row(lever, found, gain, money))
    return tuple(sorted(rows, key=lambda row: -row.tokens))


def _row(lever: Lever, found: float, gain: float, money: JobMoney | None) -> out.LeverRow:
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
        goodput=found,
        tokens=gain,
        worth_year=worth,
        price=price,
        price_year=year,
        net_year=None if worth is None or year is None else worth - year,
        unpriced=why,
    )
