"""A comparison in money as sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.formatting import input_value, listed, number, percent, plural
from ffplan.results.comparison import cheaper_of, even_steps, largest_gap
from ffplan.results.cost import recalled_drivers
from ffplan.results.difference import EVEN, FAR, near_flips
from ffplan.studies.cost.words import DRIVERS, memory_edge, money, outlived

if TYPE_CHECKING:
    from ffplan.results.comparison import JobSide, MoneyComparison, MoneyDifference, MoneySide, ScaleRow
    from ffplan.results.cost import FlipRow
    from ffplan.results.training import TrainRow

_FLIPS = 4
"""Break-evens that the headline names [1]."""

_Steps = Mapping[str, "JobSide | TrainRow"]
"""The job on each design that runs it, by label."""


def _verdict(difference: MoneyDifference, currency: str) -> str:
    """Return which side is cheaper, by how much and how surely."""
    gap = f"{money(abs(difference.difference.likely), currency)} for a million tokens"
    side = cheaper_of(difference)
    if side is None:
        return f"{difference.label} and {difference.against} cost about the same for a token."
    called = side.verdict
    return f"{called.doubt}{side.cheap} is {percent(side.less)} cheaper than {side.dear}, by {gap}{called.sure}."


def _why(report: MoneyComparison, difference: MoneyDifference, steps: _Steps) -> str:
    """Return the part of the step that makes the faster side faster."""
    base = difference.against
    sides = [steps.get(difference.label), steps.get(base)]
    mine, theirs = (side.parts if side else () for side in sides)
    gap = largest_gap(mine, theirs)
    if gap is None:
        said = even_steps(report, difference)
        return f"{said[0].upper()}{said[1:]}."
    slow, fast = (difference.label, base) if gap.slower else (base, difference.label)
    longer, shorter = sides if gap.slower else reversed(sides)
    total_high, total_low = (side.step_s or 0.0 if side else 0.0 for side in (longer, shorter))
    part = f"{number(gap.longer_s, 3)} s against {number(gap.shorter_s, 3)} s"
    return (
        f"The step of {slow} takes {number(total_high, 3)} s against {number(total_low, 3)} s of {fast}; the largest "
        f"part of the difference is {gap.label}, {part}."
    )


def _decides(difference: MoneyDifference) -> str:
    if not difference.tornado:
        return ""
    return f"What decides the difference most: {listed(row.label for row in difference.tornado[:DRIVERS])}."


def _recalled(difference: MoneyDifference, sides: tuple[MoneySide, ...]) -> str:
    """Name the recalled inputs among the main drivers of the difference; empty without any."""
    names = recalled_drivers(difference.tornado, [row for side in sides for row in side.inputs])
    return f"Recalled and unverified among what decides it: {listed(names)}." if names else ""


def _flips(difference: MoneyDifference, currency: str) -> str:
    """Return at which value of an input the verdict flips, the nearest first."""

    def shown(row: FlipRow, value: float | None) -> str:
        return input_value(row.input, value, row.unit, currency)

    rows = near_flips(difference.break_even)
    if not rows:
        return f"No single input flips the verdict within a factor of {FAR:g}."
    phrases = [
        f"{row.label} at {shown(row, row.break_even)} (likely {shown(row, row.likely)})" for row in rows[:_FLIPS]
    ]
    return f"The verdict flips with {'; '.join(phrases)}."


def _winner(row: ScaleRow, labels: tuple[str, ...]) -> str | None:
    """Return the cheapest design of a size; empty if two are even, None where fewer than two can run."""
    costs = [
        (side.cost_per_million_tokens, label)
        for side, label in zip(row.sides, labels, strict=True)
        if side.cost_per_million_tokens is not None
    ]
    if len(costs) < 2:
        return None
    (least, label), (second, _) = sorted(costs)[:2]
    return label if second / least - 1 >= EVEN else ""


def _scale_words(rows: tuple[ScaleRow, ...], labels: tuple[str, ...]) -> str:
    """Return where the cheapest design changes with the size of the job."""
    known = [(row, winner) for row in rows if (winner := _winner(row, labels)) is not None]
    winners = {winner for _, winner in known}
    if not known:
        return ""
    gpus = sorted({row.gpus for row, _ in known})
    batches = sorted({row.batch for row, _ in known})
    span = f"from {gpus[0]:,} to {gpus[-1]:,} accelerators and from batch {batches[0]:,} to {batches[-1]:,}"
    if winners == {""}:
        return f"At likely values they cost the same at every size tried, {span}."
    if len(winners) == 1:
        return f"At likely values {known[0][1]} is cheaper at every size tried, {span}."
    usual = max(sorted(winners), key=lambda name: sum(1 for _, winner in known if winner == name))
    rest = [(row, winner) for row, winner in known if winner != usual]
    phrases = [
        f"{f'{winner} is cheaper' if winner else 'both are even'} at {row.gpus:,} accelerators and batch {row.batch:,}"
        for row, winner in rest
    ]
    others = f"{usual or 'both are even'} at the other {len(known) - len(rest)} tried"
    return f"The size of the job decides as well, at likely values: {listed(phrases)}; {others}."


def _waits(sides: tuple[MoneySide, ...], currency: str) -> str:
    """Return how long each design takes to its first job, and what that costs; empty if all take as long."""
    waits = [(side.label, side.waiting) for side in sides if side.waiting is not None]
    if len({wait.months for _, wait in waits}) < 2:
        return ""
    months = [f"{plural(round(wait.months), 'month')} on {label}" for label, wait in waits]
    costs = [
        f"{money(wait.value, currency)} on {label} ({wait.basis})"
        for label, wait in waits
        if wait.value and wait.months
    ]
    beside = f"; these months cost {listed(costs)}, which no figure above holds" if costs else ""
    return f"The first job runs after {listed(months)}{beside}."


def money_headline(report: MoneyComparison, labels: tuple[str, ...], base: str, steps: _Steps) -> MoneyComparison:
    """Return a comparison in money with its answer in words.

    Args:
        labels: label of each design.
        base: label of the baseline.
        steps: the job on each design that runs it.
    """
    lines: list[str] = []
    for side in report.sides:
        if side.run is not None:
            lines.append(
                " ".join(filter(None, (f"{side.label}: {side.run.words}", memory_edge(side.run), outlived(side.run))))
            )
        elif side.refused:
            lines.append(f"{side.label}: no run: {side.refused}.")
        if side.partial:
            lines.append(f"{side.label}: its costs leave out {listed(side.partial)}.")
    for difference in report.differences:
        if difference.against != base:
            lines.append(f"{base}, the baseline, has no run; {difference.against} replaces it.")
        lines += [_verdict(difference, report.currency), _why(report, difference, steps)]
        lines += [
            text
            for text in (_decides(difference), _recalled(difference, report.sides), _flips(difference, report.currency))
            if text
        ]
    if report.unlike:
        lines.append("Their costs leave out different things: no design is called cheaper.")
    else:
        lines += [_scale_words(report.scales, labels), _waits(report.sides, report.currency)]
    return replace(report, headline=tuple(line for line in lines if line))
