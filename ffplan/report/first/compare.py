"""The first screen of `ffplan compare`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ffplan.base.formatting import chance, first_few, input_value, listed, number, percent
from ffplan.base.tracked import split_marks
from ffplan.inputs.design_files import as_argument
from ffplan.report.document import _FirstScreen
from ffplan.report.first.side_rows import _job_size, _side_rows, _SideRow
from ffplan.report.formats.wrapping import _two_lines
from ffplan.results.comparison import cheaper_of, even_steps, largest_gap
from ffplan.results.cost import recalled_drivers
from ffplan.results.difference import near_flips
from ffplan.results.result import model_as_given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.results.comparison import Comparison, MoneyComparison, MoneyDifference

_FEW = 4
"""Designs whose table leaves room to say why one wins [1]."""
_WIDTH = 80
"""Letters of a line that a table of designs by rows fits [1]."""
_MOST_ROWS = 10
"""Designs that are listed below each other [1]."""
_PAIR = 2
"""Designs that stand side by side; more are listed below each other [1]."""
_HALF = 0.5
"""Ratio below which, or above whose inverse, a factor is printed in place of a difference [1]."""
_FLIPS = 2
_CLOSE = 0.05
"""Lead of the cheapest of many designs below which no draws of the next say who is cheaper [1]."""
_WORDS = 2
"""Sentences of a comparison without a price that fit the screen [1]."""


def _compare_screen(c: Comparison) -> _FirstScreen:
    rows = _side_rows(c)
    header, figures = _by_rows(c, rows) if len(c.labels) > _PAIR else _side_by_side(c, rows)
    return _FirstScreen(
        head=_head(c),
        verdict=_verdict(c, rows),
        figures=figures,
        header=header,
        advice=_advice_on_many(c) if len(c.labels) > _FEW else _advice(c),
        to_page="" if c.money is None or len(c.labels) > _FEW else "the same with --format html -o page.html",
        unverified=_unverified(c),
        tiles=_tiles(c, rows),
    )


_LARGE = ("purchase", "hour", "peak", "days")
"""Names of the rows that a page shows large."""


def _tiles(c: Comparison, rows: Sequence[_SideRow]) -> tuple[tuple[str, str, str], ...]:
    """Return the figures of the cheapest design, each with the next one's; none without a run in money."""
    difference = _main(c.money)
    if difference is None or c.money is None:
        return ()
    place, following = _cheapest_two(c, c.money)
    cheap, other = c.labels[place], c.labels[following]
    tiles = [
        (row.title, row.texts[place], f"{cheap}, against {row.short[following]} of {other}")
        for row in rows
        if row.name in _LARGE
    ]
    side = cheaper_of(difference)
    if side is not None and side.verdict.share is not None and side.cheap == cheap:
        tiles.append(("chance to be cheaper", chance(side.verdict.share), f"{cheap} per token, against {side.dear}"))
    return tuple(tiles)


def _cheapest_two(c: Comparison, money: MoneyComparison) -> tuple[int, int]:
    """Return the places of the design that trains cheapest per token and of the next."""
    first, second = sorted(range(len(c.labels)), key=lambda place: _token_cost(money, place))[:2]
    return first, second


def _advice(c: Comparison) -> tuple[tuple[str, str], ...]:
    return (
        ("Job", "" if c.training else c.workload),
        ("Why", _why(c)),
        ("Even at", _flips(c)),
        ("Memory", _memory(c)),
        ("Too long", _too_long(c)),
        ("Left out", _left_out(c)),
        ("No ratio", c.incomparable[0] if c.incomparable else ""),
        ("Next", _next(c)),
    )


def _advice_on_many(c: Comparison) -> tuple[tuple[str, str], ...]:
    if c.money is None:
        following = f"the same with {'--tokens T' if c.training else '--model ID --tokens T'}"
    else:
        two = listed(c.labels[place] for place in _cheapest_two(c, c.money))
        following = f"compare {two} alone: why, and what flips it" if c.money.differences else ""
    return (
        ("Job", "" if c.training else c.workload),
        ("Left out", _left_out(c)),
        ("No ratio", c.incomparable[0] if c.incomparable else ""),
        ("Next", following),
        ("Shown", f"{_MOST_ROWS} of {len(c.labels)} designs" if len(c.labels) > _MOST_ROWS else ""),
    )


def _head(c: Comparison) -> str:
    job = ""
    if c.training is not None:
        job = f" · {c.workload or c.training.model} on {c.training.gpus:,} GPUs"
    if len(c.labels) == _PAIR:
        return " against ".join(c.labels) + job
    return f"{len(c.labels)} designs, the baseline is {c.baseline}{job}"


def _side_by_side(c: Comparison, rows: Sequence[_SideRow]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    place = c.labels.index(c.baseline)
    table = ((row.title, *row.texts, _ratio(row.values[1 - place], row.values[place])) for row in rows)
    return ("", *c.labels, ""), tuple(table)


def _by_rows(c: Comparison, rows: Sequence[_SideRow]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return header and rows of a table with a row for each design, the best first, and the columns that fit a line."""
    order = list(range(len(c.labels)))
    if c.money is not None:
        order = sorted(order, key=lambda place: _token_cost(c.money, place))
    columns, width = [c.labels], 2 + max(map(len, c.labels))
    header = [""]
    for row in rows:
        if c.money is not None and row.name == "gpus":
            continue  # their number, which the purchase of each stands for
        texts = row.texts if row.name == "token" else row.short  # only the figure that ranks them keeps its range
        need = 2 + max(len(split_marks(text)[0]) for text in (*_two_lines(row.title), *texts))
        if width + need <= _WIDTH:
            columns.append(texts)
            header.append(row.title)
            width += need
    table = tuple(tuple(column[place] for column in columns) for place in order)
    return tuple(header), table[:_MOST_ROWS]


def _token_cost(money: MoneyComparison | None, place: int) -> float:
    """Return the likely cost of a million tokens on a design; infinite if it cannot be compared."""
    side = money.sides[place] if money is not None else None
    if money is None or side is None or side.run is None or side.label not in money.ranked:
        return math.inf
    cost = side.run.cost_per_million_tokens
    return math.inf if cost is None else cost.likely


def _main(money: MoneyComparison | None) -> MoneyDifference | None:
    """The cheapest design against the baseline, or the next against it; None without a run on both."""
    if money is None or not money.differences:
        return None
    return min(money.differences, key=lambda difference: difference.ratio.likely)


def _verdict(c: Comparison, rows: Sequence[_SideRow]) -> tuple[str, ...]:
    if c.training is None:
        return (_leads(c.labels, rows),)
    if c.money is None:
        return tuple(c.verdicts[:_WORDS])
    if len(c.labels) > _PAIR:
        return _cheapest(c, c.money, c.training.model)
    said = [_cheaper(difference, c.training.model) for difference in c.money.differences]
    said += [f"{side.label}: no run: {side.refused}." for side in c.money.sides if side.refused]
    return tuple(said) or tuple(c.verdicts[:_WORDS])


def _leads(labels: Sequence[str], rows: Sequence[_SideRow]) -> str:
    ahead: dict[str, list[str]] = {}
    for row in rows:
        known = {
            value * row.better: label for label, value in zip(labels, row.values, strict=True) if value is not None
        }
        if len(known) > 1:
            ahead.setdefault(known[max(known)], []).append(row.label)
    if not ahead:
        return "No figure that can be compared differs."
    return "; ".join(f"{label} is ahead in {listed(names)}" for label, names in ahead.items()) + "."


def _cheaper(difference: MoneyDifference, model: str) -> str:
    side = cheaper_of(difference)
    if side is None:
        return f"{difference.label} and {difference.against} train {model} at about the same cost."
    less, called = f"{percent(side.less)} cheaper per token", side.verdict
    return f"{called.doubt}{side.cheap} trains {model} {less} than {side.dear}{called.sure}."


def _cheapest(c: Comparison, money: MoneyComparison, model: str) -> tuple[str, ...]:
    refused = [side.label for side in money.sides if side.refused]
    said = [f"No run on {first_few(refused)}: --full says why."] if refused else []
    main = _main(money)
    if main is None:
        return (*said, *c.verdicts[:1])
    best, second = _cheapest_two(c, money)
    less = 1 - _token_cost(money, best) / _token_cost(money, second)
    verdict = f"{c.labels[best]} trains {model} cheapest per token: {percent(less)} below {c.labels[second]}, the next"
    side = cheaper_of(main)
    called = side.verdict if side is not None and side.dear == c.labels[second] else None
    if less < _CLOSE if called is None or called.share is None else called.close:
        verdict += " (too close to call)"
    if side is not None and side.cheap == c.labels[best]:
        sure = side.verdict.sure
        verdict += sure if side.dear == c.labels[second] else f", {percent(side.less)} below {side.dear}{sure}"
    return (f"{verdict}.", *said)


def _ratio(figure: float | None, base: float | None) -> str:
    """Return how a figure compares with the baseline's; empty if they are equal or cannot be compared."""
    if figure is None or not base or figure == base:
        return ""
    ratio = figure / base
    more = round(100 * (ratio - 1))
    if not more:
        return ""
    return f"{more:+d} %" if _HALF < ratio < 1 / _HALF else f"{number(ratio, 2)}x"


def _why(c: Comparison) -> str:
    difference = _main(c.money)
    if difference is None or c.training is None or c.money is None:
        return ""
    sides = dict(zip(c.labels, _job_size(c.training).sides, strict=True))
    gap = largest_gap(sides[difference.label].parts, sides[difference.against].parts)
    if gap is None:
        return even_steps(c.money, difference)
    slow, fast = (difference.label, difference.against) if gap.slower else (difference.against, difference.label)
    whole = number(sides[slow].step_s or 0.0, 3)
    return (
        f"{gap.label} takes {number(gap.longer_s, 3)} s of a {whole} s step on {slow}, "
        f"{number(gap.shorter_s, 3)} s on {fast}"
    )


def _flips(c: Comparison) -> str:
    difference = _main(c.money)
    if difference is None or c.money is None:
        return ""
    currency = c.money.currency
    return listed(
        f"{row.label} of {input_value(row.input, row.break_even, row.unit, currency)} "
        f"(now {input_value(row.input, row.likely, row.unit, currency)})"
        for row in near_flips(difference.break_even)[:_FLIPS]
    )


def _too_long(c: Comparison) -> str:
    """Return which runs take longer than their hardware is paid for; empty without any."""
    runs = [(side.label, side.run.outlives) for side in c.money.sides if side.run is not None] if c.money else []
    return listed(f"the run on {label} takes {words}" for label, words in runs if words is not None)


def _memory(c: Comparison) -> str:
    edge = [side.label for side in c.money.sides if side.run and side.run.memory_words] if c.money else []
    whose = "the plan" if len(edge) == 1 else "the plans"
    return f"{whose} of {first_few(edge)} may run out of memory" if edge else ""


def _left_out(c: Comparison) -> str:
    lacks: dict[Sequence[str], list[str]] = {}
    for label, design in zip(c.labels, c.designs, strict=True):
        if design.site is not None and design.site.left_out:
            lacks.setdefault(tuple(design.site.left_out), []).append(label)
    return "; ".join(f"{listed(parts)} of {first_few(labels, 2)}" for parts, labels in lacks.items())


def _next(c: Comparison) -> str:
    """Return the command that adds what is missing: a job, or its tokens; empty with a price."""
    if c.money is not None:
        return ""
    files = " ".join(as_argument(design.design.file) for design in c.designs)
    model = "ID" if c.training is None else model_as_given(c.training.catalog, c.training.model)
    return f"ffplan compare {files} --model {model} --tokens T"


def _unverified(c: Comparison) -> str:
    difference = _main(c.money)
    if difference is None or c.money is None:
        return ""
    names = recalled_drivers(difference.tornado, [row for side in c.money.sides for row in side.inputs])
    return f"{listed(names)}." if names else ""
