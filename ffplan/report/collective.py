"""The report of `ffplan collective`: times of a collective over sizes and numbers of accelerators."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size, duration, number
from ffplan.report.document import Document, Grid, _Body

if TYPE_CHECKING:
    from ffplan.results.collective import CollectiveRow, CollectiveTable


_LOSS = 1.1
"""Slowdown from which a choice is listed [1]."""


_BAR = 34
"""Width of the longest bar [columns]."""


def _bars(report: CollectiveTable) -> Grid:
    most = max(row.busbw_gbyte_s for row in report.rows)
    rows = tuple(
        (
            f"{row.gpus:,}",
            data_size(row.size_bytes),
            "#" * max(1, round(_BAR * row.busbw_gbyte_s / most)) + f" {number(row.busbw_gbyte_s)} {_choice(row)}",
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
    spells = []
    for library, gpus in dict.fromkeys((row.library, row.gpus) for row in report.rows):
        rows = [row for row in report.rows if (row.library, row.gpus) == (library, gpus)]
        rows.sort(key=lambda row: row.size_bytes)
        steps = [f"{_choice(rows[0])}"] if rows else []
        for before, row in pairwise(rows):
            if _choice(before) != _choice(row):
                steps.append(f"{_choice(row)} from {data_size(row.size_bytes)}")
        if len(steps) > 1:
            spells.append((f"{gpus:,} GPUs", ", ".join(steps)))
    return spells


def _slower(report: CollectiveTable) -> list[tuple[str, str]]:
    """Return the row with the largest loss of the library's choice, if a tenth or more."""
    worst = max(report.rows, key=lambda row: row.time_s / row.fastest_time_s)
    loss = worst.time_s / worst.fastest_time_s
    if loss < _LOSS:
        return []
    place = f"{worst.gpus:,} GPUs, {data_size(worst.size_bytes)}"
    text = f"{_choice(worst)} takes {loss:.2f} times as long as {worst.fastest} would ({place})"
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


def collective_document(report: CollectiveTable, *, chart: bool = False) -> Document:
    """Return the report of `ffplan collective`.

    Args:
        report: the table.
        chart: add bars of bus bandwidth.
    """
    head = f"{report.design}: {report.operation} with {report.library}"
    return Document(report, lambda told: _Body(head, _collective(told, chart=chart)), lambda: report.rows)
