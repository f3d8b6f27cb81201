"""The same training run on several designs, in money: which is cheaper, how surely, why, and where that flips."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import UsageError
from ffplan.base.formatting import OWN
from ffplan.base.record import record
from ffplan.cost.account import account_run, account_year
from ffplan.cost.draws import sample
from ffplan.cost.inputs import Input
from ffplan.cost.sensitivity import flips, likely, tornado
from ffplan.results.comparison import MoneyComparison, MoneyDifference, MoneySide, ScaleRow, ScaleSide
from ffplan.results.cost import FlipRow, benchmark
from ffplan.results.training import TrainReport
from ffplan.studies.basis.job_layout import most_gpus
from ffplan.studies.compare.words import money_headline
from ffplan.studies.cost.cost import (
    accounted,
    band,
    evaluate,
    inputs_for,
    ledger_for,
    run_report,
    tco_of,
)
from ffplan.studies.cost.ledger import Ledger, with_nic_prices
from ffplan.studies.cost.parts import flip_row, input_rows, swing_row
from ffplan.studies.cost.words import outlives
from ffplan.studies.train.default_job import TimedJob, timed_job

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.cost.account import RunOutcome
    from ffplan.studies.cost.ledger import CostRequest
    from ffplan.studies.train.default_job import JobReports

FRACTIONS = (0.0625, 0.25)
"""Parts of the accelerators at which the run is compared besides [1]."""


@record
class _Side:
    """A design with its account and its run."""

    label: str
    ledger: Ledger
    inputs: tuple[Input, ...]
    timed: TimedJob | None
    refused: str | None
    """Reason why there is no run."""

    def run(self, values: dict[str, Number]) -> RunOutcome:
        """Return the run from inputs by key."""
        assert self.timed is not None
        v = {entry.name: values[entry.key] for entry in self.inputs}
        return account_run(self.ledger.account, self.timed.job, account_year(self.ledger.account, v), v)


def _refusal(ledger: Ledger, report: object) -> str | None:
    if not isinstance(report, TrainReport):
        return str(report)
    if not ledger.costed:
        return "the design names neither a price book nor a rent"
    return None


def _sides(
    reports: JobReports, labels: tuple[str, ...], batch: int, gpus: int, tokens: float, request: CostRequest
) -> list[_Side]:
    sides = []
    for index, (label, (design, catalog)) in enumerate(zip(labels, reports.designs, strict=True)):
        ledger, report = ledger_for(design, catalog, request), reports.of(index, gpus, batch)
        refused = _refusal(ledger, report)
        timed = timed_job(report, gpus, tokens) if isinstance(report, TrainReport) and not refused else None
        sides.append(
            _Side(label=label, ledger=ledger, inputs=inputs_for(ledger, timed, catalog), timed=timed, refused=refused)
        )
    return sides


def _by_key(sides: list[_Side]) -> tuple[Input, ...]:
    """Return the inputs of several sides, each draw once, named by its key."""
    inputs: dict[str, Input] = {}
    for side in sides:
        for entry in side.inputs:
            inputs.setdefault(entry.key, replace(entry, input=entry.key))
    return tuple(inputs.values())


def _apart(sides: list[_Side]) -> list[_Side]:
    """Return the sides with separate keys for inputs on which they disagree; such draws share their quantile."""
    figures: dict[str, set[tuple[object, ...]]] = {}
    for side in sides:
        for entry in side.inputs:
            figures.setdefault(entry.key, set()).add((entry.likely, entry.low, entry.high, entry.distribution))
    several = {key for key, seen in figures.items() if len(seen) > 1}
    return [
        replace(
            side,
            inputs=tuple(
                replace(item, key=f"{item.key}{OWN}{side.label}", label=f"{item.label} of {side.label}")
                if item.key in several
                else item
                for item in side.inputs
            ),
        )
        for side in sides
    ]


def _flip_rows(side: _Side, base: _Side) -> tuple[FlipRow, ...]:
    """Return the value of each input, NICs within servers included, at which two designs cost the same."""
    mine, theirs = _apart([_with_nic_prices(side), _with_nic_prices(base)])

    def gap(values: dict[str, Number]) -> Number:
        difference: Number = mine.run(values).per_million - theirs.run(values).per_million
        return difference

    rows = flips(gap, _by_key([theirs, mine]), side.ledger.owned.currency)
    return tuple(flip_row(flip) for flip in rows)


def _with_nic_prices(side: _Side) -> _Side:
    """Return a side whose servers follow the prices of their NICs."""
    wide = with_nic_prices(side.ledger)
    return replace(side, ledger=wide, inputs=(*side.inputs, *wide.inputs[len(side.ledger.inputs) :]))


def _outlives(side: _Side) -> bool:
    """Return whether the run takes longer than its hardware, or a rent of a term, is paid for."""
    if side.timed is None:
        return False
    v = likely(side.inputs)
    _, run = evaluate(side.ledger.account, side.timed.job, v)
    return run is not None and outlives(side.ledger, float(run.days), float(v["life"])) is not None


def _difference(side: _Side, base: _Side, request: CostRequest) -> MoneyDifference:
    """Return one design against the baseline."""
    inputs = _by_key([base, side])

    def gap(values: dict[str, Number]) -> Number:
        difference: Number = side.run(values).per_million - base.run(values).per_million
        return difference

    v = likely(inputs)
    drawn = sample(inputs, request.draws, request.seed) if request.draws else v
    mine, theirs = side.run(drawn).per_million, base.run(drawn).per_million
    one, two = side.run(v).per_million, base.run(v).per_million
    lower: Any = mine < theirs
    whole = not any(_outlives(one) for one in (side, base))  # no draw says what hardware bought again costs
    share = float(lower.mean()) if getattr(lower, "shape", ()) and whole else None
    return MoneyDifference(
        label=side.label,
        against=base.label,
        cheaper_share=share,
        difference=band(one - two, mine - theirs),
        ratio=band(one / two, mine / theirs),
        tornado=tuple(swing_row(swing) for swing in tornado(gap, inputs) if swing.width),
        break_even=_flip_rows(side, base),
    )


def _crossing(sizes: list[tuple[int, float]], likely_size: int) -> float | None:
    """Return the size nearest to the likely one at which two designs cost the same; straight lines in logarithms.

    Args:
        sizes: size and ratio of the two costs, in order.
    """
    from math import exp, log

    crossings = []
    for (low, before), (high, two) in pairwise(sizes):
        if (before - 1) * (two - 1) < 0:
            part = log(before) / (log(before) - log(two))
            crossings.append(exp(log(low) + part * (log(high) - log(low))))
    return min(crossings, key=lambda size: abs(log(size / likely_size))) if crossings else None


def _with_sizes(
    difference: MoneyDifference, scales: tuple[ScaleRow, ...], sides: tuple[int, int], gpus: int, batch: int
) -> MoneyDifference:
    """Return a difference with the batch and the number of accelerators at which both cost the same."""
    rows = []
    job = {"batch": batch, "gpus": gpus}
    for name, label, fixed in (("batch", "batch", "gpus"), ("gpus", "accelerators of the job", "batch")):
        value, kept = job[name], job[fixed]
        sizes = []
        for row in scales:
            mine, theirs = (row.sides[position].cost_per_million_tokens for position in sides)
            if getattr(row, fixed) == kept and mine is not None and theirs:
                sizes.append((int(getattr(row, name)), mine / theirs))
        crossing = _crossing(sorted(sizes), value)
        tried = ", ".join(f"{size:,}" for size, _ in sorted(sizes))
        why = None if crossing else f"the same design is cheaper at likely values at every size tried: {tried}"
        rows.append(FlipRow(input=name, label=label, unit="1", likely=float(value), break_even=crossing, why=why))
    return replace(difference, break_even=(*difference.break_even, *rows))


def _money_side(side: _Side, request: CostRequest) -> MoneySide:
    if not side.ledger.costed:
        return MoneySide(
            label=side.label,
            hour=None,
            capex=None,
            partial=(),
            run=None,
            refused=side.refused,
            waiting=None,
            cash_flow=(),
            rent=None,
            inputs=(),
        )
    account = accounted(side.ledger, side.inputs, side.timed, request)
    tco = tco_of(side.ledger, account, None)
    return MoneySide(
        label=side.label,
        hour=tco.per_accelerator_hour,
        capex=tco.capex,
        partial=tco.partial,
        run=run_report(side.ledger, side.timed, account),
        refused=side.refused,
        waiting=tco.waiting,
        cash_flow=tco.cash_flow,
        rent=benchmark(tco.rents),
        inputs=input_rows(side.inputs),
    )


def _scales(
    reports: JobReports, sides: list[_Side], batches: list[int], gpus: int, batch: int, tokens: float
) -> tuple[ScaleRow, ...]:
    """Return the run at other numbers of accelerators, all of each design among them, and at other batches."""
    per_node = max(side.ledger.design.compute.accelerators_per_node for side in sides)
    counts = [round(gpus * part / per_node) * per_node for part in FRACTIONS]
    whole = sorted(most_gpus(side.ledger.design) for side in sides)
    sizes = [(count, batch) for count in counts if count >= per_node] + [(gpus, size) for size in batches]
    sizes += [(count, batch) for count in whole]
    rows = []
    for count, size in dict.fromkeys(sizes):
        row = []
        for index, side in enumerate(sides):
            report = reports.of(index, count, size)
            if not isinstance(report, TrainReport) or not side.ledger.costed:
                row.append(ScaleSide(None, None))
                continue
            timed = timed_job(report, count, tokens)
            v = likely(inputs_for(side.ledger, timed, reports.designs[index][1], drawn=False))
            _, run = evaluate(side.ledger.account, timed.job, v)
            assert run is not None
            row.append(ScaleSide(float(run.per_million), float(run.days)))
        rows.append(ScaleRow(count, size, tuple(row)))
    return tuple(rows)


def _compare_money(
    reports: JobReports,
    labels: tuple[str, ...],
    baseline: int,
    batches: list[int],
    job: tuple[int, int, float],
    request: CostRequest,
) -> MoneyComparison:
    """Return the same training run on every design, in money.

    Args:
        reports: the job on every design, by accelerators and batch.
        labels: label of each design.
        baseline: position of the design that others are set against.
        batches: batches that are compared [1].
        job: accelerators, batch and tokens of the run.
        request: draws, seed and years.

    Raises:
        InputError: if the ownership of a design is wrong.
        UsageError: if the designs report in several currencies.
    """
    gpus, batch, tokens = job
    sides = _apart(_sides(reports, labels, batch, gpus, tokens, request))
    currencies = {side.label: side.ledger.owned.currency for side in sides}
    if len(set(currencies.values())) > 1:
        listed = ", ".join(f"{label} in {currency}" for label, currency in currencies.items())
        raise UsageError(
            f"ffplan compare: the designs report in several currencies ({listed}); give all one `site.currency`, and "
            "rates under `site.exchange`"
        )
    money_sides = tuple(_money_side(side, request) for side in sides)
    base = sides[baseline]
    scales = _scales(reports, sides, batches, gpus, batch, tokens)
    if base.timed is None:
        base = next((side for side in sides if side.timed is not None), base)
    differences = tuple(
        _with_sizes(_difference(side, base, request), scales, (sides.index(side), sides.index(base)), gpus, batch)
        for side in sides
        if side is not base and side.timed is not None and side.ledger.left_out == base.ledger.left_out
    )
    comparison = MoneyComparison(
        currency=base.ledger.owned.currency,
        tokens=tokens,
        gpus=gpus,
        draws=request.draws,
        seed=request.seed,
        headline=(),
        sides=money_sides,
        differences=differences,
        scales=scales,
    )
    steps = {side.label: side.timed.report.rows[0] for side in sides if side.timed}
    return money_headline(comparison, labels, labels[baseline], steps)
