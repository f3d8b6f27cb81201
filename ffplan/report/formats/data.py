"""JSON and CSV: the whole result, or its main table, for programs."""

from __future__ import annotations

import json
from dataclasses import fields
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ffplan.base.control_characters import visible_json
from ffplan.base.plain import csv_parts, flat, leaves, plain
from ffplan.report.document import Remarks, Table, _laid_out, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ffplan.report.document import Block, Document, _FirstScreen


def to_json(value: Any) -> str:
    """Return `value` as JSON text that is the same for the same input."""
    return visible_json(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def render_json(document: Document) -> str:
    """Return the whole result as JSON."""
    return to_json(document.value)


def _records_csv(rows: Sequence[Any]) -> str:
    flats = [flat(plain(row)) for row in rows]
    if not flats:
        return ""
    header = list(flats[0])
    return "".join(csv_parts(header, ([row.get(name) for name in header] for row in flats)))


def flat_lines(rows: Iterable[Any]) -> Iterator[str]:
    """Yield records of one kind without nested fields as CSV, some thousand at a time."""
    rest = iter(rows)
    first = next(rest, None)
    if first is None:
        return
    names = [field.name for field in fields(first)]
    yield from csv_parts(names, map(attrgetter(*names), chain((first,), rest)))


def render_csv(document: Document) -> str:
    """Return the main table of a result as CSV, or its leaves by the paths of the JSON document."""
    if document.rows is not None:
        return _records_csv(document.rows())
    return "".join(csv_parts(("path", "value"), leaves(plain(document.value))))


def escape(text: str) -> str:
    """Return text escaped for a cell of a Markdown table."""
    for mark in "\\`*_[]<>|":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = list(header)
    lines = [head, ["---"] * len(head), *[list(row) for row in rows]]
    cells = [[cell if line == lines[1] else escape(cell) for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def _bullets(texts: Iterable[str]) -> str:
    return "\n".join(f"- {escape(text)}" for text in texts)


def _markdown_block(block: Block) -> str:
    layout = _laid_out(block)
    return table(layout.header, layout.rows) if isinstance(layout, Table) else _bullets(layout)


def _comment(screen: _FirstScreen) -> str:
    last = [f"{label.lower() if number else label} {text}" for number, (label, text) in enumerate(screen.advised())]
    parts = [f"### {escape(screen.head)}", *map(escape, screen.verdict[:1])]
    parts += [table(screen.header, screen.figures)] if screen.figures else []
    parts += [escape(f"{'; '.join(last)}.")] if last else []
    return "\n\n".join(parts)


def render_markdown(document: Document) -> str:
    """Return a document as Markdown."""
    whole = _whole(document)
    if not document.folded or document.first is None:
        return whole
    summary = "<details><summary>What changed, and what it did</summary>"
    return f"{_comment(shown(document.first(document.value)))}\n\n{summary}\n\n{whole}\n</details>\n"


def _whole(document: Document) -> str:
    body = document.body()
    parts = [f"# {escape(body.title)}"]
    if body.intro:
        parts.append(escape(body.intro))
    for block in body.blocks:
        if not isinstance(block, Remarks) and block.title:
            parts.append(f"## {escape(block.title)}")
        parts.append(_markdown_block(block))
    if body.footer:
        parts.append(body.footer)
    return "\n\n".join(parts) + "\n"
