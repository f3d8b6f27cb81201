"""A training job on the designs of a comparison: time, memory, batches, and the run in money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, input_value, number, percent, short, times
from ffplan.report.document import Grid, _Matrix
from ffplan.report.phrases import _plan_words
from ffplan.results.design import purchase_words
from ffplan.results.run import band_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.results.comparison import Comparison, JobSize, MoneyComparison, OwnSize, TrainingComparison
    from ffplan.results.cost import Waiting
    from ffplan.results.run import Band

Row = tuple[str, tuple[str, ...]]
"""A label and one cell for each design."""


def _cell(value: float | None, show: Callable[[float], str], ratio: float | None = None) -> str:
    if value is None:
        return "-"
    return show(value) + (f" ({times(ratio)})" if ratio is not None and ratio != 1 else "")


def _banded(label: str, bands: list[Band | None]) -> Row:
    return label, tuple("-" if band is None else band_words(band) for band in bands)


def _money(c: Comparison, money: MoneyComparison) -> list[_Matrix | Grid]:
    runs = [side.run for side in money.sides]
    unit = money.currency

    def of(field: str) -> list[Band | None]:
        return [getattr(run, field) if run else None for run in runs]

    rows: list[Row] = [
        ("purchase", tuple("-" if a.site is None else purchase_words(a.site) for a in c.designs)),
        _banded("accelerator-hour", [side.hour for side in money.sides]),
        ("goodput", tuple("-" if run is None else f"{100 * run.effective:.1f} %" for run in runs)),
        _banded("days of the run", of("days")),
        _banded("cost of the run", of("cost")),
        _banded("a million tokens", of("cost_per_million_tokens")),
        _banded("energy [MWh]", of("energy_mwh")),
        _banded("carbon [t CO2e]", of("carbon_t")),
        (
            "first job after",
            tuple(f"{run.ready_months:.0f} months" if run else "-" for run in runs),
        ),
        ("cost of that wait", tuple(_wait(side.waiting) for side in money.sides)),
    ]
    if c.training is not None and _own_sizes_differ(c.training):
        rows.insert(4, ("days on all its GPUs", _days_on_all(money, c.training)))
    blocks: list[_Matrix | Grid] = [_Matrix(f"Run, {unit}, likely (P10 to P90)", tuple(c.labels), tuple(rows))]
    for difference in money.differences:
        swings = tuple(
            (
                row.label,
                input_value(row.input, row.low, row.unit, unit),
                input_value(row.input, row.high, row.unit, unit),
                _two(row.at_low),
                _two(row.at_high),
            )
            for row in difference.tornado[:_SWINGS]
        )
        title = f"{difference.label} less {c.baseline}, {unit} for a million tokens: what drives it"
        blocks.append(Grid(title, swings, ("input", "P10", "P90", "at P10", "at P90"), name="drivers"))
    sizes = tuple(
        (
            f"{row.gpus:,}",
            f"{row.batch:,}",
            *("-" if s.cost_per_million_tokens is None else _two(s.cost_per_million_tokens) for s in row.sides),
        )
        for row in money.scales
    )
    blocks.append(Grid(f"A million tokens by size, {unit}", sizes, ("GPUs", "batch", *c.labels), name="sizes"))
    return blocks


def _wait(waiting: Waiting | None) -> str:
    """Return the cost of the months before the first job; a dash if it is unknown."""
    return "-" if waiting is None or waiting.value is None else amount(waiting.value)


_SWINGS = 6
"""Inputs of the tornado that text shows; JSON has all [1]."""


def _two(value: float) -> str:
    """Return an amount with two places; three digits below one."""
    return f"{value:,.2f}" if abs(value) >= 1 or not value else number(value, 3)


def _capital(c: Comparison, job: TrainingComparison, size: JobSize) -> tuple[str, ...]:
    cells = []
    for design, side in zip(c.designs, size.sides, strict=True):
        priced = side.capital_per_token_s is not None and job.currency is None
        currency = f" {design.cost.currency if design.cost else ''}" if priced else ""
        cells.append(_cell(side.capital_per_token_s, number, side.capital_ratio) + currency)
    return tuple(cells)


def _job(c: Comparison, job: TrainingComparison) -> _Matrix:
    size = next(row for row in job.sizes if row.batch == job.batch)
    rows: tuple[Row, ...] = (
        ("batch", (f"{job.batch:,} on {job.gpus:,} GPUs",) * len(c.labels)),
        ("plan", tuple(_plan_words(side.plan) if side.plan else side.refused or "-" for side in size.sides)),
        *_memory(size),
        ("GPUs in use", tuple(f"{side.plan.gpus:,}" if side.plan else "-" for side in size.sides)),
        ("step [s]", tuple(_cell(side.step_s, number) for side in size.sides)),
        ("tokens/s", tuple(_cell(side.tokens_s, number, side.speed_ratio) for side in size.sides)),
        ("tokens/s/GPU", tuple(_cell(side.tokens_s_gpu, number) for side in size.sides)),
        ("MFU", tuple(_cell(side.mfu, percent) for side in size.sides)),
        (f"{job.capital_basis.split()[-1]} a token/s", _capital(c, job, size)),  # a column is narrow
        *([("tokens/s on all its GPUs", tuple(map(_on_all, job.own_sizes)))] if _own_sizes_differ(job) else []),
    )
    return _Matrix("Training", tuple(c.labels), (("model", (job.model,) * len(c.labels)), *rows))


def _memory(size: JobSize) -> list[Row]:
    if not any(side.memory_words for side in size.sides):
        return []
    verdicts = ("at the edge" if side.memory_words else "fits" if side.plan else "-" for side in size.sides)
    return [("memory", tuple(verdicts))]


def _own_sizes_differ(job: TrainingComparison) -> bool:
    return any(own_size.gpus > job.gpus for own_size in job.own_sizes)


def _on_all(size: OwnSize) -> str:
    return f"{number(size.tokens_s)} ({size.gpus:,})" if size.tokens_s is not None else f"cannot run ({size.gpus:,})"


def _days_on_all(money: MoneyComparison, job: TrainingComparison) -> tuple[str, ...]:
    cells = []
    for side, size in enumerate(job.own_sizes):
        row = next(row for row in money.scales if (row.gpus, row.batch) == (size.gpus, job.batch))
        days = row.sides[side].days
        cells.append(f"{'-' if days is None else short(days)} ({size.gpus:,})")
    return tuple(cells)


def _batches(c: Comparison, job: TrainingComparison) -> _Matrix:
    rows = tuple(
        (
            f"batch {size.batch:,}",
            tuple(_cell(side.tokens_s_gpu, number, side.capital_ratio) for side in size.sides),
        )
        for size in job.sizes
    )
    return _Matrix("Tokens/s/GPU", tuple(c.labels), rows, name="batches")
