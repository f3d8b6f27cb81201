"""What `ffplan explain` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import number
from ffplan.report.document import Body, Document, Grid, Lines, Remarks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.report.document import Block
    from ffplan.results.explanation import Derivation, Explanation, Influence

MOST = 15
"""Inputs that people are shown; JSON and CSV have all."""


def _tree(step: Derivation, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield (label, words) of a derivation and what it is made of."""
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


def _row(item: Influence) -> tuple[str, ...]:
    less, more = (f"{_change(change)} at {at}" for change, at in ((item.less, item.at_less), (item.more, item.at_more)))
    return item.input, item.value, less, more, item.status


def _whence(item: Influence) -> tuple[str, str]:
    """Return an input with its place, and its source where that is another file's."""
    words = [item.place or "not stated: the default", *([item.source] if item.status != "given" else [])]
    return item.input, f"{'; '.join(words)} ({', '.join(filter(None, (item.grade, item.status)))})"


def explanation_document(found: Explanation) -> Document:
    """Return what `ffplan explain DESIGN PATH` prints."""

    def body(_: object) -> Body:
        blocks: list[Block] = [Grid("Derivation", tuple(_tree(found.root)), ("", ""), style="plain")]
        sources = tuple(dict.fromkeys(_sources(found.root)))
        if sources:
            blocks.append(Lines("Equations", sources))
        if found.influences:
            rows = tuple(_row(item) for item in found.influences[:MOST])
            header = ("input", "value", "a tenth less", "a tenth more", "status")
            blocks.append(Grid("What moves it", rows, header, style="plain"))
            blocks.append(Lines("Where these inputs stand", tuple(map(_whence, found.influences[:MOST]))))
        notes = [f"{found.idle:,} other inputs do not move it."] * bool(found.idle)
        if len(found.influences) > MOST:
            notes.insert(0, f"{len(found.influences) - MOST:,} more inputs move it less; --format json lists all.")
        blocks.append(Remarks((*notes, *found.notes)))
        return Body(f"{found.design}: {found.path}", blocks, intro=found.meaning or None)

    return Document(found, body, lambda: found.influences)


def _sources(step: Derivation) -> Iterator[tuple[str, str]]:
    """Yield (function, source) of every equation of a derivation."""
    if step.place and step.formula:
        yield step.place, step.source
    for inner in step.steps:
        yield from _sources(inner)
