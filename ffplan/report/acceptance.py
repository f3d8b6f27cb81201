"""The acceptance sheet as text, Markdown and CSV, and what was measured against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size, number, percent
from ffplan.report.document import Block, Body, Document, Grid, Lines, Remarks

if TYPE_CHECKING:
    from ffplan.results.acceptance import AcceptanceReport, CheckRow, JudgedRow

MOST = 40
"""Measured values that text shows; JSON has all."""


def _at(gpus: int, size: float) -> str:
    if not gpus:
        return ""
    return f"{data_size(size)} on {gpus:,}"


def _sheet(rows: tuple[CheckRow, ...]) -> Grid:
    cells = tuple(
        (
            row.label,
            _at(row.gpus, row.size_bytes),
            number(row.expected, 3),
            number(row.least, 3),
            row.unit,
            row.how,
        )
        for row in rows
    )
    return Grid("Sheet", cells, ("what", "at", "expected", "at least", "unit", "measured by"))


def _judged(rows: tuple[JudgedRow, ...]) -> Grid:
    cells = tuple(
        (
            row.verdict,
            row.measured.check,
            f"{row.measured.host} {row.measured.part}".strip(),
            _at(row.measured.gpus, row.measured.size_bytes),
            number(row.measured.value, 3),
            "" if row.least is None else number(row.least, 3),
            row.why,
        )
        for row in rows[:MOST]
    )
    more = f", the first {MOST}" if len(rows) > MOST else ""
    return Grid(f"Measured{more}", cells, ("verdict", "what", "where", "at", "value", "at least", "why"))


def _body(r: AcceptanceReport) -> Body:
    blocks: list[Block] = [Remarks(r.headline)]
    if r.judged:
        blocks.append(_judged(r.judged))
        if r.slow:
            cells = tuple(
                (
                    f"{row.check} {_at(row.gpus, row.size_bytes)}".strip(),
                    f"{row.host} {row.part}".strip(),
                    number(row.value, 3),
                    number(row.median, 3),
                    percent(row.value / row.median),
                    "" if row.step is None else f"+{100 * row.step:.1f} %",
                )
                for row in r.slow[:MOST]
            )
            header = ("what", "where", "value", "median", "of it", "step")
            blocks.append(Grid("Slower than the fleet", cells, header))
        if r.missing:
            blocks.append(Lines("Nothing measured", (("", "; ".join(r.missing)),)))
    else:
        blocks.append(_sheet(r.sheet))
    blocks.append(Lines("Assumptions", tuple(("", text) for text in r.assumptions)))
    return Body(
        title=f"Acceptance of {r.design.name}",
        blocks=blocks,
        footer=f"ffplan {r.tool.version}, design SHA-256 {r.design.sha256}",
    )


def _rows(r: AcceptanceReport) -> list[dict[str, object]]:
    """Return the sheet with columns to fill in, or what was measured."""
    if not r.judged:
        names = ("check", "label", "of", "unit", "gpus", "size_bytes", "expected", "least")
        blank = {"host": "", "part": "", "measured": ""}
        return [{**{name: getattr(row, name) for name in names}, **blank} for row in r.sheet]
    return [
        {
            "check": row.measured.check,
            "host": row.measured.host,
            "part": row.measured.part,
            "gpus": row.measured.gpus,
            "size_bytes": row.measured.size_bytes,
            "measured": row.measured.value,
            "expected": row.expected,
            "least": row.least,
            "verdict": row.verdict,
            "why": row.why,
        }
        for row in r.judged
    ]


def acceptance_document(report: AcceptanceReport) -> Document:
    """Return the report as a document; its table is the sheet to fill in, or what was measured."""
    return Document(value=report, made=_body, rows=lambda: _rows(report))
