"""The reports of `ffplan model`: the model against measurements, a report against today."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log2
from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size, number, plural, times
from ffplan.report.document import Document, Grid, Lines, Remarks, _Body
from ffplan.results.difference import Difference

if TYPE_CHECKING:
    from ffplan.results.accuracy import AccuracyReport, AccuracyRow, Score
    from ffplan.results.difference import Reproduction


def _value(row: AccuracyRow) -> str:
    if row.measured_high is not None:
        return f"{number(row.measured)} to {number(row.measured_high)}"
    return number(row.measured)


def _signed(value: float) -> str:
    return f"{100 * value:+.1f}"


_UNITS = {
    "time_us": "us",
    "algbw_gbyte_s": "algbw GB/s",
    "busbw_gbyte_s": "busbw GB/s",
    "deepep_gbyte_s": "GB/s as DeepEP counts",
    "gbyte_s": "GB/s",
    "ratio": "ratio",
    "seconds": "seconds",
    "tflops": "TFLOP/s a GPU",
    "mfu": "fraction of the peak",
    "tokens_s_gpu": "tokens/s a GPU",
    "memory_gib": "GiB",
    "states_gib": "GiB of states",
    "activations_gib": "GiB of activations",
}


_RATES = ("tflops", "mfu", "tokens_s_gpu")


_SCORE_HEADER = ("", "n", "MAPE %", "bias %", "max %", "worst")


def _bands(report: AccuracyReport) -> Grid:
    """Return the summary by message size; of serving by quantity, with the median, which a few loads do not move."""
    if report.subject != "serving":
        return Grid("Message sizes", tuple(_score(band) for band in report.bands), _SCORE_HEADER)
    rows = ((band.title, *_score(band)[1:3], f"{100 * band.median:.1f}", *_score(band)[3:5]) for band in report.bands)
    return Grid("Quantities", tuple(rows), ("", "n", "MAPE %", "median %", "bias %", "max %"))


def _score(score: Score) -> tuple[str, ...]:
    return (
        score.name,
        str(score.n),
        f"{100 * score.mape:.1f}",
        _signed(score.bias),
        f"{100 * score.max_error:.1f}",
        score.worst,
    )


def _case_block(rows: list[AccuracyRow]) -> Grid:
    """Return the table of one case; values common to all rows are in its title."""
    first = rows[0]
    same = len({row.what for row in rows}) == 1
    flags = [any(row.gpus for row in rows), any(row.size_bytes for row in rows), any(row.chosen for row in rows)]

    def cells(row: AccuracyRow) -> tuple[str, ...]:
        texts = [] if same else [row.what]
        texts += [f"{row.gpus:,}" if row.gpus else ""] if flags[0] else []
        texts += [data_size(row.size_bytes) if row.size_bytes else ""] if flags[1] else []
        texts += [_value(row), number(row.model), _signed(row.error)]
        return (*texts, row.chosen) if flags[2] else tuple(texts)

    header = [] if same else [""]
    header += [name for name, shown in zip(("GPUs", "size"), flags, strict=False) if shown]
    header += [
        "measured",
        "model",
        "error %",
        *(["largest" if first.unit in ("seconds", *_RATES) else "choice"] if flags[2] else []),
    ]
    title_parts = [f"{first.source}: {first.case}", *([first.what] if same else []), _UNITS[first.unit]]
    marks = ["fitted"] if first.kind == "fitted" else []
    marks += [] if first.scored else ["not scored"]
    title = ", ".join(title_parts) + (f" ({', '.join(marks)})" if marks else "")
    return Grid(title, tuple(cells(row) for row in rows), tuple(header))


def _summaries(report: AccuracyReport) -> list[Grid | Remarks]:
    totals = [report.total] if report.total else []
    blocks: list[Grid | Remarks] = []
    if totals:
        blocks.append(Grid("Sources", tuple(_score(score) for score in (*report.sources, *totals)), _SCORE_HEADER))
        blocks.append(Grid("Kinds of rows", tuple(_score(kind) for kind in report.kinds), _SCORE_HEADER))
    if report.bands:
        blocks.append(_bands(report))
    if any(row.unit in _RATES for row in report.rows):
        text = "errors are of the step time; for a rate, measured over model, less one"
        blocks.append(Grid("", (("note", text),)))
    blocks += [Remarks(report.assumptions)] if report.assumptions else []
    return blocks


def _cases(report: AccuracyReport) -> list[Grid]:
    groups: dict[tuple[str, ...], list[AccuracyRow]] = {}
    for row in report.rows:
        groups.setdefault((row.source, row.case, row.unit, row.kind), []).append(row)
    blocks = []
    for rows in groups.values():
        blocks.append(_case_block(rows))
        notes = tuple(("note", note) for note in dict.fromkeys(row.note for row in rows) if note)
        if notes:
            blocks.append(Grid("", notes))
    return blocks


def _accuracy(report: AccuracyReport, *, rows: bool) -> list[Grid | Remarks]:
    if rows:
        return [*_summaries(report), *_cases(report)]
    text = f"{plural(len(report.rows), 'row')} in all; `--rows` prints each"
    return [*_summaries(report), Grid("", (("rows", text),))]


def failed(report: AccuracyReport, limit: float) -> str | None:
    """Return the message if the mean error exceeds a limit [1], else None."""
    if report.total is None or report.total.mape <= limit:
        return None
    error, most = (f"{100 * value:.3g}" for value in (report.total.mape, limit))
    if error == most:
        error, most = f"{100 * report.total.mape:.8g}", f"{100 * limit:.8g}"
    return f"mean error {error} % over {plural(report.total.n, 'row')} exceeds {most} %"


def accuracy_document(report: AccuracyReport, *, rows: bool = False) -> Document:
    """Return the report of `ffplan model accuracy`.

    Args:
        report: the accuracy of the model.
        rows: print every row after the summaries; JSON and CSV hold the rows always.
    """
    head = f"accuracy: {report.subject}"
    return Document(report, lambda told: _Body(head, _accuracy(told, rows=rows)), lambda: report.rows)


COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f", "#8b4513", "#6a3d9a")
"""Colours that colour-blind readers can distinguish, then some more."""


_WIDTH, _HEIGHT, _ACROSS, DOWN, _LEFT, TOP = 980, 500, 640, 380, 70, 40
"""Size of the picture and of its field, and where that begins [px]."""


_MOST_ERROR = 0.5
"""Error at the edge of the field [1]; larger ones lie on it."""


def points(report: AccuracyReport) -> list[tuple[str, float, float]]:
    """Return source, message size [byte] and error [1] of every scored row with a size."""
    return [(row.source, row.size_bytes, row.error) for row in report.rows if row.scored and row.size_bytes]


def scatter(report: AccuracyReport) -> str:
    """Return the picture: a point for each row, error of the model over size of the message."""
    marks = points(report)
    if not marks:
        return _page(['<text x="20" y="40">no row has a size</text>'])
    low, high = floor(log2(min(size for _, size, _ in marks))), ceil(log2(max(size for _, size, _ in marks)))
    high = max(high, low + 1)
    parts = _axes(low, high)
    names = list(dict.fromkeys(name for name, *_ in marks))
    colour = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    for name, size, error in marks:
        x = _LEFT + _ACROSS * (log2(size) - low) / (high - low)
        parts.append(f'<circle cx="{x:.1f}" cy="{_up(error):.1f}" r="3.5" fill="{colour[name]}" fill-opacity="0.65"/>')
    scores = {source.name: source for source in report.sources}
    for position, name in enumerate(names):
        y = TOP + 14 + 24 * position
        parts.append(f'<circle cx="{_LEFT + _ACROSS + 22}" cy="{y - 4}" r="5" fill="{colour[name]}"/>')
        label = f"{name}: {100 * scores[name].mape:.1f} % of {scores[name].n}"
        parts.append(f'<text x="{_LEFT + _ACROSS + 34}" y="{y}">{escape(label)}</text>')
    return _page(parts)


def _up(error: float) -> float:
    return TOP + DOWN / 2 - DOWN / 2 * min(max(error, -_MOST_ERROR), _MOST_ERROR) / _MOST_ERROR


def _axes(low: int, high: int) -> list[str]:
    bottom, right = TOP + DOWN, _LEFT + _ACROSS
    parts = []
    for percent in range(-50, 51, 10):
        y, shade = _up(percent / 100), "#888" if percent == 0 else "#ddd"
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{shade}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{percent:+d} %</text>')
    step = max(1, ceil((high - low) / 8))
    for power in range(low, high + 1, step):
        x = _LEFT + _ACROSS * (power - low) / (high - low)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#eee"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{data_size(2.0**power)}</text>')
    return [
        *parts,
        f'<rect x="{_LEFT}" y="{TOP}" width="{_ACROSS}" height="{DOWN}" fill="none" stroke="#333"/>',
        f'<text x="{_LEFT + _ACROSS / 2:.0f}" y="{bottom + 42}" text-anchor="middle">message</text>',
        f'<text x="{_LEFT}" y="{TOP - 14}" font-weight="bold">Model over measured time or rate, less one; '
        "legend: MAPE of rows</text>",
    ]


def _page(parts: list[str], width: int = _WIDTH, height: int = _HEIGHT) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="{width}" height="{height}" fill="#fff"/>\n{body}\n'
        "</svg>\n"
    )


_MOST_DIFFERENCES = 40
"""Differences shown to people; JSON and CSV have all."""


_MANY_TIMES = 10.0
"""Size of a value over the one before from which a change is said in times [1]."""


def _change(change: float | None) -> str:
    """Return a relative change, such as `+4.98 %`; of ten times and more, the value over the one before: `84x`."""
    if change is None:
        return ""
    ratio = 1 + change
    if abs(ratio) < _MANY_TIMES:
        return f"{100 * change:+.3g} %"
    return f"{'-' if ratio < 0 else ''}{times(abs(ratio))}"


def _causes(report: Reproduction) -> list[Lines | Grid]:
    if not report.causes:
        text = "none: program, format, designs and catalogue files are unchanged"
        return [Lines("Causes", (("", text),))]
    rows = tuple((cause.what, cause.then or "not read", cause.now or "not read") for cause in report.causes)
    return [Grid("Inputs of the report that have changed", rows, ("", "then", "now"), style="plain")]


def _as_rows(report: Reproduction) -> list[Difference]:
    return [Difference(cause.what, cause.then, cause.now, None) for cause in report.causes]


def reproduction_document(report: Reproduction) -> Document:
    """Return the report of `ffplan model reproduce`."""
    count = len(report.differences)
    head = f"{report.report}: {report.values:,} values of a {report.kind}, "
    head += f"{plural(count, 'difference')}" if count else "all as before"

    def body(_: object) -> _Body:
        blocks: list[Lines | Grid] = []
        if count:
            shown = report.differences[:_MOST_DIFFERENCES]
            rows = tuple((i.path, i.then or "absent", i.now or "absent", _change(i.change)) for i in shown)
            blocks.append(Grid("Values that differ", rows, ("path", "then", "now", "change"), style="plain"))
            if count > _MOST_DIFFERENCES:
                blocks.append(Lines("", (("", f"and {count - _MOST_DIFFERENCES:,} more; `--format csv` lists all"),)))
        blocks += _causes(report) if count or report.causes else []
        if report.left_out:
            text = f"not repeated, because the report lacks the options: {', '.join(report.left_out)}"
            blocks.append(Lines("Left out", (("", text),)))
        return _Body(head, blocks)

    return Document(report, body, lambda: [*report.differences, *_as_rows(report)])
