"""Tables of `ffplan collective` and `ffplan accuracy`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size, duration, number, plural
from ffplan.report.document import Body, Document, Grid

if TYPE_CHECKING:
    from ffplan.results.accuracy import AccuracyReport, AccuracyRow, Score
    from ffplan.results.collective import CollectiveRow, CollectiveTable

LOSS = 1.1
"""Slowdown from which a choice is listed [1]."""
BAR = 34
"""Width of the longest bar [columns]."""


def _bars(report: CollectiveTable) -> Grid:
    most = max(row.busbw_gbyte_s for row in report.rows)
    rows = tuple(
        (
            f"{row.gpus:,}",
            data_size(row.size_bytes),
            "#" * max(1, round(BAR * row.busbw_gbyte_s / most)) + f" {number(row.busbw_gbyte_s)} {_choice(row)}",
        )
        for row in report.rows
    )
    return Grid("Bus bandwidth, GB/s", rows, ("GPUs", "size", ""))


def _choice(row: CollectiveRow) -> str:
    if row.algorithm == "hfreduce":
        return row.library
    return f"{row.algorithm} {row.protocol}".strip()


def _spells(report: CollectiveTable) -> list[tuple[str, str]]:
    """Return where the choice changes with the size, one line for each number of GPUs that sees several."""
    found = []
    for library, gpus in dict.fromkeys((row.library, row.gpus) for row in report.rows):
        rows = [row for row in report.rows if (row.library, row.gpus) == (library, gpus)]
        rows.sort(key=lambda row: row.size_bytes)
        steps = [f"{_choice(rows[0])}"] if rows else []
        for before, row in pairwise(rows):
            if _choice(before) != _choice(row):
                steps.append(f"{_choice(row)} from {data_size(row.size_bytes)}")
        if len(steps) > 1:
            found.append((f"{gpus:,} GPUs", ", ".join(steps)))
    return found


def _slower(report: CollectiveTable) -> list[tuple[str, str]]:
    """Return the row where the library's choice loses most against another, where it loses a tenth or more."""
    worst = max(report.rows, key=lambda row: row.time_s / row.fastest_time_s)
    loss = worst.time_s / worst.fastest_time_s
    if loss < LOSS:
        return []
    at = f"{worst.gpus:,} GPUs, {data_size(worst.size_bytes)}"
    text = f"{_choice(worst)} takes {loss:.2f} times as long as {worst.fastest} would ({at})"
    return [("not the fastest", text)]


def _collective(report: CollectiveTable, *, chart: bool) -> list[Grid]:
    rows = tuple(
        (
            f"{row.gpus:,}",
            data_size(row.size_bytes),
            _choice(row),
            duration(row.time_s),
            number(row.algbw_gbyte_s),
            number(row.busbw_gbyte_s if row.deepep_gbyte_s is None else row.deepep_gbyte_s),
            row.limited_by.replace("_", " "),
        )
        for row in report.rows
    )
    header = ("GPUs", "size", "choice", "time", "algbw", "busbw", "binds")
    if report.rows[0].deepep_gbyte_s is not None:
        header = (*header[:5], "as DeepEP", "binds")
    blocks = [Grid("algbw and busbw in GB/s", rows, header)]
    if chart:
        blocks.append(_bars(report))
    choices = (*_spells(report), *_slower(report))
    if choices:
        blocks.append(Grid("What the library chooses", choices))
    last = report.algorithms[-1] if report.algorithms else None
    if last is not None:
        terms = tuple((f"{number(term.gbyte_s)}", term.label, term.derivation) for term in last.terms)
        what = last.library if last.algorithm == "hfreduce" else last.algorithm
        title = f"Terms of {what} on {last.gpus:,} GPUs, GB/s of a long message"
        blocks.append(Grid(title, terms, ("algbw", "resource", "capacity / use")))
    network = "off" if not report.in_network_allowed else "used" if report.in_network_reduction else "allowed, not used"
    used = "used" if report.in_switch_reduction else "not used"
    lines = [("reduction", f"in the network (SHARP) {network}; in the scale-up switch (NVLS) {used}")]
    blocks.append(Grid("Assumptions", (*lines, *(("", text) for text in report.assumptions))))
    return blocks


def _value(row: AccuracyRow) -> str:
    if row.measured_high is not None:
        return f"{number(row.measured)} to {number(row.measured_high)}"
    return number(row.measured)


def _signed(value: float) -> str:
    return f"{100 * value:+.1f}"


UNITS = {
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
RATES = ("tflops", "mfu", "tokens_s_gpu")
OF_STEPS, LARGEST = ("seconds", *RATES), "largest"
SCORE_HEADER = ("", "n", "MAPE %", "bias %", "max %", "worst")


def _score(item: Score) -> tuple[str, ...]:
    return (
        item.name,
        str(item.n),
        f"{100 * item.mape:.1f}",
        _signed(item.bias),
        f"{100 * item.max_error:.1f}",
        item.worst,
    )


def _case_block(rows: list[AccuracyRow]) -> Grid:
    """Return the table of one case; values common to all rows are in its title."""
    first = rows[0]
    same = len({row.what for row in rows}) == 1
    flags = [any(row.gpus for row in rows), any(row.size_bytes for row in rows), any(row.chosen for row in rows)]

    def cells(row: AccuracyRow) -> tuple[str, ...]:
        found = [] if same else [row.what]
        found += [f"{row.gpus:,}" if row.gpus else ""] if flags[0] else []
        found += [data_size(row.size_bytes) if row.size_bytes else ""] if flags[1] else []
        found += [_value(row), number(row.model), _signed(row.error)]
        return (*found, row.chosen) if flags[2] else tuple(found)

    header = [] if same else [""]
    header += [name for name, shown in zip(("GPUs", "size"), flags, strict=False) if shown]
    header += ["measured", "model", "error %", *([LARGEST if first.unit in OF_STEPS else "choice"] if flags[2] else [])]
    words = [f"{first.source}: {first.case}", *([first.what] if same else []), UNITS[first.unit]]
    marks = ["fitted"] if first.kind == "fitted" else []
    marks += [] if first.scored else ["not scored"]
    title = ", ".join(words) + (f" ({', '.join(marks)})" if marks else "")
    return Grid(title, tuple(cells(row) for row in rows), tuple(header))


def _summaries(report: AccuracyReport) -> list[Grid]:
    """Return the errors of all rows, by source, kind and size of the message."""
    totals = [report.total] if report.total else []
    blocks = []
    if totals:
        blocks.append(Grid("Sources", tuple(_score(item) for item in (*report.sources, *totals)), SCORE_HEADER))
        blocks.append(Grid("Kinds of rows", tuple(_score(item) for item in report.kinds), SCORE_HEADER))
    if report.bands:
        blocks.append(Grid("Message sizes", tuple(_score(item) for item in report.bands), SCORE_HEADER))
    if any(row.unit in RATES for row in report.rows):
        text = "errors are of the step time; for a rate, measured over model, less one"
        blocks.append(Grid("", (("note", text),)))
    return blocks


def _cases(report: AccuracyReport) -> list[Grid]:
    """Return every row, case by case."""
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


def _accuracy(report: AccuracyReport, *, rows: bool) -> list[Grid]:
    """Return the summaries, then every row or the way to see them."""
    if rows:
        return [*_summaries(report), *_cases(report)]
    text = f"{plural(len(report.rows), 'row')} in all; `--rows` prints each"
    return [*_summaries(report), Grid("", (("rows", text),))]


def failed(report: AccuracyReport, limit: float) -> str | None:
    """Return the message where the mean error exceeds a limit [1], else None."""
    if report.total is None or report.total.mape <= limit:
        return None
    found, most = (f"{100 * value:.3g}" for value in (report.total.mape, limit))
    if found == most:
        found, most = f"{100 * report.total.mape:.8g}", f"{100 * limit:.8g}"
    return f"mean error {found} % over {plural(report.total.n, 'row')} exceeds {most} %"


def collective_document(report: CollectiveTable, *, chart: bool = False) -> Document:
    """Return what `ffplan collective` prints.

    Args:
        report: the table.
        chart: add bars of bus bandwidth.
    """
    head = f"{report.design}: {report.operation} with {report.library}"
    return Document(report, lambda told: Body(head, _collective(told, chart=chart)), lambda: report.rows)


def accuracy_document(report: AccuracyReport, *, rows: bool = False) -> Document:
    """Return what `ffplan accuracy` prints.

    Args:
        report: rows and summaries.
        rows: print every row after the summaries; JSON and CSV hold the rows always.
    """
    head = f"accuracy: {report.subject}"
    return Document(report, lambda told: Body(head, _accuracy(told, rows=rows)), lambda: report.rows)
