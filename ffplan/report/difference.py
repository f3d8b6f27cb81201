"""What `ffplan diff` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, listed, number, plural
from ffplan.report.document import Body, Document, Grid, Remarks
from ffplan.results.difference import UNKNOWN_CHANGES

if TYPE_CHECKING:
    from ffplan.report.document import Block
    from ffplan.results.difference import ChangeEffect, DesignDifference, FieldChange, FigureChange

LONGEST = 60
"""Letters of a value that people are shown."""


def _value(text: str | None) -> str:
    if text is None:
        return "absent"
    plain = text.strip('"')
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 3]}..."


def _field(change: FieldChange) -> str:
    return f"{change.path}: {_value(change.before)} -> {_value(change.after)}"


def _number(row: FigureChange, value: float | None) -> str:
    if value is None:
        return "-"
    return amount(value) if row.kind == "cost" else number(value, 5)


def relative(row: FigureChange) -> str:
    """Return the relative change of a figure, such as `+3.2 %`; an empty text where there is none."""
    if row.relative is None:
        return ""
    return f"{100 * row.relative:+.3g} %" if abs(row.relative) >= 5e-5 else "0 %"


def _delta(row: FigureChange) -> str:
    if row.before is None or row.after is None or (row.relative is None and row.before):
        return "-"
    change = row.after - row.before
    return f"{'+' if change > 0 else ''}{_number(row, change)}"


def _figures(rows: tuple[FigureChange, ...]) -> Grid:
    cells = tuple(
        (
            f"{row.label}{f' [{row.unit}]' if row.unit else ''}",
            _number(row, row.before),
            _number(row, row.after),
            _delta(row),
            relative(row),
            row.verdict,
        )
        for row in rows
    )
    return Grid("Figures", cells, ("", "before", "after", "change", "", ""), style="plain")


def _move(row: FigureChange) -> str:
    """Return what a figure did: its change, or that it came or went."""
    if row.before is None or row.after is None or row.relative is None:
        ends = ("none" if value is None else _number(row, value) for value in (row.before, row.after))
        return f"{row.label} {' -> '.join(ends)}{f' {row.unit}' if row.unit else ''}"
    unit = f" {row.unit}" if row.unit else ""
    return f"{row.label} {_delta(row)}{unit}{f' ({relative(row)})' if relative(row) else ''}"


def _effect(effect: ChangeEffect) -> tuple[str, str]:
    together = " (together)" if len(effect.changes) > 1 else ""
    words = "; ".join(_field(change) for change in effect.changes) + together
    moves = [_move(row) for row in effect.figures]
    return words, listed(moves) or "no figure moves"


def headline(report: DesignDifference) -> str:
    """Return the difference in a sentence."""
    count = plural(len(report.changes), "change") if report.changes else "no change"
    if UNKNOWN_CHANGES in report.notes:
        count = "changes not known"
    judged = [row for row in report.figures if row.verdict and relative(row) not in ("", "0 %")]
    moves = [f"{row.label} {relative(row)}" for row in judged]
    return f"{count}: {listed(moves) or 'no figure gets better or worse'}."


def difference_document(report: DesignDifference) -> Document:
    """Return what `ffplan diff` prints."""

    def body(_: object) -> Body:
        blocks: list[Block] = []
        if report.effects:
            cells = tuple(_effect(effect) for effect in report.effects)
            blocks.append(Grid("What changed, and what it did", cells, ("change", "effect"), style="plain"))
        blocks.append(_figures(report.figures))
        if report.notes:
            blocks.append(Remarks(report.notes))
        one, two = report.before, report.after
        same = one.file == two.file and one.name == two.name
        title = f"{two.name}: {one.file} to {two.file}" if not same else f"{two.name}: {two.file}"
        return Body(title, blocks, intro=headline(report))

    return Document(report, body, lambda: report.figures)
