"""Figures of several designs side by side, for the first screen of `ffplan compare`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ffplan.base.formatting import at_least, data_size, kilowatts, number, percent
from ffplan.base.record import record
from ffplan.base.tracked import split_marks
from ffplan.results.design import purchase_words
from ffplan.results.run import band_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.results.comparison import Comparison, JobSize, MoneyComparison, TrainingComparison
    from ffplan.results.design import Assessment
    from ffplan.results.run import Band

_THOUSAND = 1000
_PAIR = 2


_Name = Literal[
    "gpus", "days", "token", "hour", "speed", "mfu", "purchase", "peak", "switches", "bisection", "allreduce"
]


@record
class _SideRow:
    name: _Name
    label: str
    """The figure, without its unit."""
    unit: str
    texts: tuple[str, ...]
    short: tuple[str, ...]
    """The texts without ranges."""
    values: tuple[float | None, ...]
    """Figures for ratios; None if they cannot be compared."""
    better: int
    """1 if more of it is better, -1 if less is."""

    @property
    def title(self) -> str:
        return f"{self.label}, {self.unit}" if self.unit else self.label


def _row(
    name: _Name,
    label: str,
    cells: Sequence[tuple[str, float | None]],
    *,
    unit: str = "",
    short: Sequence[str] = (),
    better: int = -1,
) -> _SideRow:
    texts, values = zip(*cells, strict=True)
    return _SideRow(
        name=name, label=label, unit=unit, texts=texts, short=tuple(short) or texts, values=values, better=better
    )


def _banded(name: _Name, label: str, bands: Sequence[Band | None], unit: str = "") -> _SideRow:
    return _row(
        name,
        label,
        [("-", None) if band is None else (band_words(band), band.likely) for band in bands],
        unit=unit,
        short=["-" if band is None else band_words(band, ends=False) for band in bands],
    )


def _money_rows(c: Comparison) -> list[_SideRow]:
    if c.money is None:
        return []
    sides = c.money.sides
    runs = [side.run for side in sides]
    return [
        _banded("days", f"days on {c.money.gpus:,} GPUs", [run.days if run else None for run in runs]),
        _costs(c.money, "token", "a million tokens", [run.cost_per_million_tokens if run else None for run in runs]),
        _costs(c.money, "hour", "GPU-hour in use", [side.hour for side in sides]),
    ]


def _costs(money: MoneyComparison, name: _Name, label: str, bands: Sequence[Band | None]) -> _SideRow:
    """Return costs; a cost that leaves out parts which others have is "at least", and has no ratio."""
    row = _banded(name, label, bands, money.currency)
    lacking = [money.unlike and side.partial for side in money.sides]
    ranked = [side.label in money.ranked or not money.unlike for side in money.sides]
    return replace(
        row,
        texts=tuple(map(at_least, row.texts, lacking)),
        short=tuple(map(at_least, row.short, lacking)),
        values=tuple(value if kept else None for value, kept in zip(row.values, ranked, strict=True)),
    )


def _job_rows(c: Comparison) -> list[_SideRow]:
    if c.training is None or c.money is not None:
        return []
    sides = _job_size(c.training).sides
    speeds = [("cannot run" if s.tokens_s is None else number(s.tokens_s), s.tokens_s) for s in sides]
    shares = [("-" if s.mfu is None else percent(s.mfu), None) for s in sides]
    label = f"tokens/s on {c.training.gpus:,} GPUs"
    return [_row("speed", label, speeds, better=1), _row("mfu", "MFU", shares, better=1)]


def _job_size(job: TrainingComparison) -> JobSize:
    return next(row for row in job.sizes if row.batch == job.batch)


def _cluster_rows(c: Comparison) -> list[_SideRow]:
    """Return rows for the purchase; per accelerator if the designs differ in size."""
    counts = [a.accelerators for a in c.designs]
    shares = counts if len(set(counts)) > 1 else [1] * len(counts)
    each = " a GPU" if len(set(counts)) > 1 else ""
    pairs = list(zip(c.designs, shares, strict=True))
    bisections = [_number(a.fabric.bisection_gbyte_s / share) for a, share in pairs]
    rows = [
        _sizes(c, each),
        _purchase_row(c, pairs, each),
        _row("peak", f"facility peak{each}", [_peak(a, share) for a, share in pairs]),
        _row("switches", f"switches{' a 1,000 GPUs' if each else ''}", [_switches(a, share) for a, share in pairs]),
        _row("bisection", f"bisection{each}", bisections, unit="GB/s", better=1),
    ]
    timed = [a.communication[0] if a.communication else None for a in c.designs]
    sizes = {report.message_bytes for report in timed if report}
    if len(sizes) == 1:
        rates = [_number(report.algbw_gbyte_s) if report else ("-", None) for report in timed]
        rows.append(_row("allreduce", f"allreduce {data_size(sizes.pop())}", rates, unit="GB/s", better=1))
    return rows


def _sizes(c: Comparison, each: str) -> _SideRow:
    """Return the accelerators of each design, with the power of all where two designs differ in size."""
    counts = [f"{a.accelerators:,}" for a in c.designs]
    peaks = [_peak(a, 1)[0] for a in c.designs if a.site is not None]
    if each and len(counts) == len(peaks) == _PAIR:
        return _row("gpus", "GPUs, their peak", [(f"{n}, {kw}", None) for n, kw in zip(counts, peaks, strict=True)])
    return _row("gpus", "GPUs", [(count, None) for count in counts])


def _switches(a: Assessment, share: int) -> tuple[str, float]:
    return _number(a.fabric.switches.total / share * (_THOUSAND if share > 1 else 1))


def _number(value: float) -> tuple[str, float]:
    return number(value, 3), value


def _purchase_row(c: Comparison, pairs: Sequence[tuple[Assessment, int]], each: str) -> _SideRow:
    """Return the purchases, with a shared currency in the label."""
    currencies = {a.site.currency for a in c.designs if a.site is not None}
    shared = currencies.pop() if len(currencies) == 1 else ""
    cells: list[tuple[str, float | None]] = []
    short = []
    for a, share in pairs:
        if a.site is None or a.site.headline is None:
            cells.append(("-", None))
            short.append("-")
            continue
        unit = "" if shared else a.site.currency
        text = purchase_words(a.site, unit, share)
        cells.append((text, None if c.incomparable else a.site.headline / share))
        short.append(purchase_words(a.site, unit, share, ends=False))
    return _row("purchase", f"purchase{each}", cells, unit=shared, short=short)


def _peak(a: Assessment, share: int) -> tuple[str, float | None]:
    if a.site is None:
        return "-", None
    peak = a.site.facility_peak_kw / share
    return at_least(kilowatts(peak), a.site.missing), None if a.site.missing else peak


def _side_rows(c: Comparison) -> list[_SideRow]:
    rows = (*_job_rows(c), *_money_rows(c), *_cluster_rows(c))
    return [row for row in rows if len({split_marks(text)[0] for text in row.texts}) > 1]
