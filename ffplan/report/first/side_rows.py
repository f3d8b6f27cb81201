"""Figures of several designs side by side, for the first screen of `ffplan compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size, kilowatts, number, percent
from ffplan.base.record import record
from ffplan.base.tracked import split_marks
from ffplan.results.design import purchase_words
from ffplan.results.run import band_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.results.comparison import Comparison, JobSize, TrainingComparison
    from ffplan.results.design import Assessment
    from ffplan.results.run import Band

_THOUSAND = 1000
_PAIR = 2


@record
class _SideRow:
    """A figure of every design."""

    label: str
    texts: tuple[str, ...]
    values: tuple[float | None, ...]
    """Figures for ratios; None if they cannot be compared."""
    better: int
    """1 if more of it is better, -1 if less is."""


def _row(label: str, figures: Sequence[tuple[str, float | None]], better: int = -1) -> _SideRow:
    """Return a row: the text of each design, and its figure for ratios."""
    return _SideRow(label, tuple(text for text, _ in figures), tuple(value for _, value in figures), better)


def _banded(label: str, bands: Sequence[Band | None]) -> _SideRow:
    return _row(label, [("-", None) if band is None else (band_words(band), band.likely) for band in bands])


def _money_rows(c: Comparison) -> list[_SideRow]:
    """Return the run in days and money."""
    if c.money is None:
        return []
    sides, unit = c.money.sides, c.money.currency
    runs = [side.run for side in sides]
    return [
        _banded(f"days on {c.money.gpus:,} GPUs", [run.days if run else None for run in runs]),
        _banded(f"a million tokens, {unit}", [run.cost_per_million_tokens if run else None for run in runs]),
        _banded(f"GPU-hour in use, {unit}", [side.hour for side in sides]),
    ]


def _job_rows(c: Comparison) -> list[_SideRow]:
    """Return the speed of the job."""
    if c.training is None or c.money is not None:
        return []
    sides = _job_size(c.training).sides
    speeds = [("cannot run" if s.tokens_s is None else number(s.tokens_s), s.tokens_s) for s in sides]
    shares = [("-" if s.mfu is None else percent(s.mfu), None) for s in sides]
    return [_row(f"tokens/s on {c.training.gpus:,} GPUs", speeds, 1), _row("MFU", shares, 1)]


def _job_size(job: TrainingComparison) -> JobSize:
    """Return the job at the batch that was asked for."""
    return next(row for row in job.sizes if row.batch == job.batch)


def _cluster_rows(c: Comparison) -> list[_SideRow]:
    """Return rows for the purchase; per accelerator if the designs differ in size."""
    counts = [a.accelerators for a in c.designs]
    shares = counts if len(set(counts)) > 1 else [1] * len(counts)
    each = " a GPU" if len(set(counts)) > 1 else ""
    pairs = list(zip(c.designs, shares, strict=True))
    rows = [
        _row(*_sizes(c)),
        _purchase_row(c, pairs, each),
        _row(f"facility peak{each}", [_peak(a, share) for a, share in pairs]),
        _row(f"switches{' a 1,000 GPUs' if each else ''}", [_switches(a, share) for a, share in pairs]),
        _row(f"bisection{each}, GB/s", [_number(a.fabric.bisection_gbyte_s / share) for a, share in pairs], 1),
    ]
    timed = [a.communication[0] if a.communication else None for a in c.designs]
    sizes = {report.message_bytes for report in timed if report}
    if len(sizes) == 1:
        rates = [_number(report.algbw_gbyte_s) if report else ("-", None) for report in timed]
        rows.append(_row(f"allreduce {data_size(sizes.pop())}, GB/s", rates, 1))
    return rows


def _sizes(c: Comparison) -> tuple[str, list[tuple[str, None]]]:
    """Return the accelerators of each design, with the power of all where the sizes differ."""
    if (
        any(a.site is None for a in c.designs)
        or len(c.designs) > _PAIR
        or len({a.accelerators for a in c.designs}) == 1
    ):
        return "GPUs", [(f"{a.accelerators:,}", None) for a in c.designs]
    peaks = [kilowatts(a.site.facility_peak_kw) for a in c.designs if a.site is not None]
    return "GPUs, their peak", [(f"{a.accelerators:,}, {kw}", None) for a, kw in zip(c.designs, peaks, strict=True)]


def _switches(a: Assessment, share: int) -> tuple[str, float]:
    return _number(a.fabric.switches.total / share * (_THOUSAND if share > 1 else 1))


def _number(value: float) -> tuple[str, float]:
    return number(value, 3), value


def _purchase_row(c: Comparison, pairs: Sequence[tuple[Assessment, int]], each: str) -> _SideRow:
    """Return the purchases, with a shared currency in the label."""
    currencies = {a.site.currency for a in c.designs if a.site is not None}
    shared = currencies.pop() if len(currencies) == 1 else ""
    cells: list[tuple[str, float | None]] = []
    for a, share in pairs:
        if a.site is None or a.site.headline is None:
            cells.append(("-", None))
            continue
        text = purchase_words(a.site, "" if shared else a.site.currency, share)
        cells.append((text, None if c.incomparable else a.site.headline / share))
    return _row(f"purchase{each}{f', {shared}' if shared else ''}", cells)


def _peak(a: Assessment, share: int) -> tuple[str, float | None]:
    if a.site is None:
        return "-", None
    return kilowatts(a.site.facility_peak_kw / share), a.site.facility_peak_kw / share


def _side_rows(c: Comparison) -> list[_SideRow]:
    """Return the figures that differ between designs: the job, the run in money, and what is bought."""
    rows = (*_job_rows(c), *_money_rows(c), *_cluster_rows(c))
    return [row for row in rows if len({split_marks(text)[0] for text in row.texts}) > 1]
