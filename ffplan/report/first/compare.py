"""The first screen of `ffplan compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, data_size, kilowatts, listed, number, percent, plural, ranged
from ffplan.base.input_values import input_value
from ffplan.base.record import record
from ffplan.report.document import FirstScreen
from ffplan.results.comparison import SURE, cheaper_of, largest_gap, near_flips
from ffplan.results.cost import recalled_drivers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.results.comparison import Comparison, JobSize, MoneyComparison, MoneyDifference, TrainingComparison
    from ffplan.results.design import Assessment
    from ffplan.results.run import Band

_COLUMNS = 4
"""Designs that stand side by side in 80 columns [1]."""
_PAIR = 2
_HALF = 0.5
"""Ratio below which, or above whose inverse, a factor is told in place of a difference [1]."""
_THOUSAND = 1000
_FLIPS = 2
_WORDS = 2
"""Sentences of a comparison without a price that fit the screen [1]."""


@record
class _SideRow:
    """A figure of every design."""

    label: str
    texts: tuple[str, ...]
    values: tuple[float | None, ...]
    """Figures for ratios; None where they cannot be compared."""
    better: int
    """1 if more of it is better, -1 if less is."""


def compare_screen(c: Comparison) -> FirstScreen:
    """Return who wins at what job, how sure that is, and the figures that decide."""
    shown = c.labels[:_COLUMNS]
    rows = (*_job_rows(c), *_money_rows(c), *_cluster_rows(c))
    figures = tuple(_cells(c, row) for row in rows if len(set(row.texts)) > 1)
    rest = f"{plural(len(c.labels) - len(shown), 'further design')} in --full" if len(c.labels) > len(shown) else ""
    return FirstScreen(
        head=" against ".join(c.labels) if len(c.labels) == 2 else f"{len(c.labels)} designs, ratios to {c.baseline}",
        verdict=_verdict(c, rows),
        figures=figures,
        header=("", *shown, *([""] if len(shown) == _PAIR else [])),
        advice=(
            ("Why", _why(c)),
            ("Flips at", _flips(c)),
            ("Memory", _memory(c)),
            ("Left out", _left_out(c)),
            ("No ratio", c.incomparable[0] if c.incomparable else ""),
            ("Next", _next(c)),
            ("More", rest),
        ),
        unverified=_unverified(c),
    )


def _main(money: MoneyComparison | None) -> MoneyDifference | None:
    """Return the first design against the baseline in money; None without a run on both."""
    return money.differences[0] if money is not None and money.differences else None


def _verdict(c: Comparison, rows: Sequence[_SideRow]) -> tuple[str, ...]:
    if c.training is None:
        return (_leads(c.labels, rows),)
    if c.money is None:
        return tuple(c.verdicts[:_WORDS])
    said = [_cheaper(difference, c.training.model) for difference in c.money.differences]
    said += [f"{side.label}: no run: {side.refused}." for side in c.money.sides if side.refused]
    return tuple(said) or tuple(c.verdicts[:_WORDS])


def _leads(labels: Sequence[str], rows: Sequence[_SideRow]) -> str:
    """Return which design is ahead in which figure."""
    ahead: dict[str, list[str]] = {}
    for row in rows:
        known = {
            value * row.better: label for label, value in zip(labels, row.values, strict=True) if value is not None
        }
        if len(known) > 1:
            ahead.setdefault(known[max(known)], []).append(row.label.partition(", ")[0])
    if not ahead:
        return "No figure that can be compared differs."
    return "; ".join(f"{label} is ahead in {listed(names)}" for label, names in ahead.items()) + "."


def _cheaper(difference: MoneyDifference, model: str) -> str:
    """Return which of two designs trains a model for less, and how sure that is."""
    side = cheaper_of(difference)
    if side is None:
        return f"{difference.label} and {difference.against} train {model} at the same cost."
    sure = "" if side.share is None else f" ({percent(side.share)} sure)"
    doubt = " Too close to call." if side.share is not None and side.share < SURE else ""
    return f"{side.cheap} trains {model} {percent(side.less)} cheaper per token than {side.dear}{sure}.{doubt}"


def _row(label: str, figures: Sequence[tuple[str, float | None]], better: int = -1) -> _SideRow:
    """Return a row: the text of each design, and its figure for ratios."""
    return _SideRow(label, tuple(text for text, _ in figures), tuple(value for _, value in figures), better)


def _banded(label: str, bands: Sequence[Band | None]) -> _SideRow:
    return _row(label, [("-", None) if b is None else (ranged(b.p50, b.p10, b.p90), b.likely) for b in bands])


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
    sides = _size(c.training).sides
    speeds = [("cannot run" if s.tokens_s is None else number(s.tokens_s), s.tokens_s) for s in sides]
    shares = [("-" if s.mfu is None else percent(s.mfu), None) for s in sides]
    return [_row(f"tokens/s on {c.training.gpus:,} GPUs", speeds, 1), _row("MFU", shares, 1)]


def _size(job: TrainingComparison) -> JobSize:
    return next(row for row in job.sizes if row.batch == job.batch)


def _cluster_rows(c: Comparison) -> list[_SideRow]:
    """Return what is bought; per accelerator where the designs have different numbers of them."""
    counts = [a.accelerators for a in c.designs]
    shares = counts if len(set(counts)) > 1 else [1] * len(counts)
    each = " a GPU" if len(set(counts)) > 1 else ""
    pairs = list(zip(c.designs, shares, strict=True))
    rows = [
        _row("GPUs", [(f"{count:,}", None) for count in counts]),
        _row(f"purchase{each}", [_purchase(a, share, comparable=not c.incomparable) for a, share in pairs]),
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


def _switches(a: Assessment, share: int) -> tuple[str, float]:
    return _number(a.fabric.switches.total / share * (_THOUSAND if share > 1 else 1))


def _number(value: float) -> tuple[str, float]:
    return number(value, 3), value


def _cells(c: Comparison, row: _SideRow) -> tuple[str, ...]:
    """Return a row of the table: of two designs the ratio stands in a column of its own."""
    label, texts, values = row.label, row.texts, row.values
    place = c.labels.index(c.baseline)
    ratios = [
        "" if name == c.baseline else _ratio(value, values[place]) for name, value in zip(c.labels, values, strict=True)
    ]
    if len(texts) == _PAIR:
        return (label, *texts, ratios[1 - place])
    cells = [f"{text} ({ratio})" if ratio else text for text, ratio in zip(texts, ratios, strict=True)]
    return (label, *cells[:_COLUMNS])


def _ratio(figure: float | None, base: float | None) -> str:
    """Return how a figure compares with the baseline's; empty if they are equal or cannot be compared."""
    if figure is None or not base or figure == base:
        return ""
    ratio = figure / base
    return f"{100 * (ratio - 1):+.0f} %" if _HALF < ratio < 1 / _HALF else f"{number(ratio, 2)}x"


def _purchase(a: Assessment, share: int, *, comparable: bool) -> tuple[str, float | None]:
    if a.site is None or a.site.purchase is None:
        return "-", None
    price = a.site.purchase / share
    text = f"{amount(price, 3)} {a.site.currency}" + (", partial" if a.site.left_out else "")
    return text, price if comparable else None


def _peak(a: Assessment, share: int) -> tuple[str, float | None]:
    if a.site is None:
        return "-", None
    return kilowatts(a.site.facility_peak_kw / share), a.site.facility_peak_kw / share


def _why(c: Comparison) -> str:
    """Return the part of a step that makes one design slower than the other."""
    difference = _main(c.money)
    if difference is None or c.training is None:
        return ""
    sides = dict(zip(c.labels, _size(c.training).sides, strict=True))
    gap = largest_gap(sides[difference.label].parts, sides[difference.against].parts)
    if gap is None:
        return "their steps take the same time: the price of a GPU-hour decides"
    slow, fast = (difference.label, difference.against) if gap.slower else (difference.against, difference.label)
    whole = number(sides[slow].step_s or 0.0, 3)
    return (
        f"{gap.label} takes {number(gap.longer_s, 3)} s of a {whole} s step on {slow}, "
        f"{number(gap.shorter_s, 3)} s on {fast}"
    )


def _flips(c: Comparison) -> str:
    """Return at which value of a single input the verdict flips."""
    difference = _main(c.money)
    if difference is None or c.money is None:
        return ""
    currency = c.money.currency
    return listed(
        f"{row.label} of {input_value(row.input, row.break_even, row.unit, currency)} "
        f"(now {input_value(row.input, row.likely, row.unit, currency)})"
        for row in near_flips(difference)[:_FLIPS]
    )


def _memory(c: Comparison) -> str:
    edge = [side.label for side in c.money.sides if side.run and side.run.memory_words] if c.money else []
    return f"the plan of {listed(edge)} is at the edge" if edge else ""


def _left_out(c: Comparison) -> str:
    """Return what the purchase of each design leaves out."""
    lacks: dict[Sequence[str], list[str]] = {}
    for label, design in zip(c.labels, c.designs, strict=True):
        if design.site is not None and design.site.left_out:
            lacks.setdefault(tuple(design.site.left_out), []).append(label)
    return "; ".join(f"{listed(parts)} of {listed(labels)}" for parts, labels in lacks.items())


def _next(c: Comparison) -> str:
    files = " ".join(design.design.file for design in c.designs)
    if c.training is None:
        return f"ffplan compare {files} --model ID --batch N --tokens T"
    if c.money is None:
        return f"ffplan compare {files} --model {c.training.model} --tokens T"
    return "the same with --format html -o page.html"


def _unverified(c: Comparison) -> str:
    difference = _main(c.money)
    if difference is None or c.money is None:
        return ""
    names = recalled_drivers(difference.tornado, [row for side in c.money.sides for row in side.inputs])
    return f"{listed(names)}." if names else ""
