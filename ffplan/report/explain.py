"""The reports of `ffplan explain` and `ffplan diff`: a figure from its parts, and two versions of a design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, number, plural
from ffplan.report.document import Document, Grid, Lines, Remarks, _Body
from ffplan.report.first.choose import _difference_screen
from ffplan.report.phrases import _value_words, moves, relative
from ffplan.results.difference import UNKNOWN_CHANGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.report.document import Block
    from ffplan.results.difference import ChangeEffect, DesignDifference, FigureChange
    from ffplan.results.explanation import Derivation, Explanation, Influence


_MOST_INPUTS = 15
"""Inputs that people are shown; JSON and CSV have all."""


def _tree(step: Derivation, depth: int = 0) -> Iterator[tuple[str, str]]:
    value = "" if step.value is None else f"{number(step.value, 5)} {step.unit}".strip()
    mark = " <- binds" if step.binds else ""
    lines = [f"{value}{mark}"]
    lines += [f"= {step.formula}"] if step.formula else []
    where = ", ".join(text for text in (step.source, step.place) if text)
    if where and not step.formula:
        lines.append(f"from {where}")
    yield f"{'  ' * depth}{step.label}", "; ".join(line for line in lines if line)
    for inner in step.steps:
        yield from _tree(inner, depth + 1)


def _change(value: float | None) -> str:
    if value is None:
        return "cannot stand"
    return f"{100 * value:+.3g} %" if abs(value) > 5e-8 else "0 %"


def _row(influence: Influence) -> tuple[str, ...]:
    less, more = (
        f"{_change(change)} at {value}"
        for change, value in ((influence.less, influence.at_less), (influence.more, influence.at_more))
    )
    return influence.input, influence.value, less, more, influence.status


def _whence(influence: Influence) -> tuple[str, str]:
    origin = [
        influence.place or "not stated: the default",
        *([influence.source] if influence.status != "given" else []),
    ]
    return influence.input, f"{'; '.join(origin)} ({', '.join(filter(None, (influence.grade, influence.status)))})"


def explanation_document(explanation: Explanation) -> Document:
    """Return the report of `ffplan explain DESIGN PATH`."""

    def body(_: object) -> _Body:
        blocks: list[Block] = [Grid("Derivation", tuple(_tree(explanation.root)), ("", ""), style="plain")]
        sources = tuple(dict.fromkeys(_sources(explanation.root)))
        if sources:
            blocks.append(Lines("Equations", sources))
        if explanation.influences:
            rows = tuple(_row(influence) for influence in explanation.influences[:_MOST_INPUTS])
            header = ("input", "value", "a tenth less", "a tenth more", "status")
            blocks.append(Grid("What moves it", rows, header, style="plain"))
            blocks.append(Lines("Where these inputs stand", tuple(map(_whence, explanation.influences[:_MOST_INPUTS]))))
        notes = [f"{explanation.idle:,} other inputs do not move it."] * bool(explanation.idle)
        more = len(explanation.influences) - _MOST_INPUTS
        if more > 0:
            notes.insert(0, f"{more:,} more inputs move it less; --format json lists all.")
        blocks.append(Remarks((*notes, *explanation.notes)))
        return _Body(f"{explanation.design}: {explanation.path}", blocks, intro=explanation.meaning or None)

    return Document(explanation, body, lambda: explanation.influences)


def _sources(step: Derivation) -> Iterator[tuple[str, str]]:
    if step.place and step.formula:
        yield step.place, step.source
    for inner in step.steps:
        yield from _sources(inner)


_LONGEST = 60
"""Letters of a value that people are shown."""


def _value(text: str | None) -> str:
    if text is None:
        return "absent"
    plain = text.strip('"')
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."


def _delta(row: FigureChange) -> str:
    if row.before is None or row.after is None or (row.relative is None and row.before):
        return "-"
    change = row.after - row.before
    return f"{'+' if change > 0 else ''}{_value_words(row, change)}"


def _figures(rows: tuple[FigureChange, ...]) -> Grid:
    cells = tuple(
        (
            f"{row.label}{f' [{row.unit}]' if row.unit else ''}",
            _value_words(row, row.before),
            _value_words(row, row.after),
            _delta(row),
            relative(row),
            row.verdict,
        )
        for row in rows
    )
    return Grid("Figures", cells, ("", "before", "after", "change", "", ""), style="plain")


def _move(row: FigureChange) -> str:
    if row.before is None or row.after is None or row.relative is None:
        ends = ("none" if value is None else _value_words(row, value) for value in (row.before, row.after))
        return f"{row.label} {' -> '.join(ends)}{f' {row.unit}' if row.unit else ''}"
    unit = f" {row.unit}" if row.unit else ""
    return f"{row.label} {_delta(row)}{unit}{f' ({relative(row)})' if relative(row) else ''}"


def _effect(effect: ChangeEffect) -> tuple[str, str]:
    together = " (together)" if len(effect.changes) > 1 else ""
    changes = [f"{change.path}: {_value(change.before)} -> {_value(change.after)}" for change in effect.changes]
    inputs = "; ".join(changes) + together
    moved = [_move(row) for row in effect.figures]
    return inputs, listed(moved) or "no figure moves"


def headline(report: DesignDifference) -> str:
    """Return the difference in a sentence."""
    count = plural(len(report.changes), "change") if report.changes else "no change"
    if UNKNOWN_CHANGES in report.notes:
        count = "changes not known"
    judged = [
        _move(row) if row.relative is None else f"{row.label} {relative(row)}"
        for row in report.figures
        if row.verdict and moves(row)
    ]
    return f"{count}: {listed(judged) or 'no figure gets better or worse'}."


def difference_document(report: DesignDifference) -> Document:
    """Return the report of `ffplan diff`."""

    def body(_: object) -> _Body:
        blocks: list[Block] = []
        if report.effects:
            cells = tuple(_effect(effect) for effect in report.effects)
            blocks.append(
                Grid("What changed, and what it did", cells, ("change", "effect"), style="plain", name="changes")
            )
        blocks.append(_figures(report.figures))
        if report.notes:
            blocks.append(Remarks(report.notes))
        before, after = report.before, report.after
        same = before.file == after.file and before.name == after.name
        title = f"{after.name}: {before.file} to {after.file}" if not same else f"{after.name}: {after.file}"
        return _Body(title, blocks, intro=headline(report))

    return Document(report, body, lambda: report.figures, first=_difference_screen, folded=True)
