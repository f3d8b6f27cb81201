"""Markdown for reviews and wikis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import plural
from ffplan.report.document import Remarks, Table, _laid_out, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.report.document import Block, Document, _FirstScreen


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
    """Return the content of a block, without its title."""
    layout = _laid_out(block)
    return table(layout.header, layout.rows) if isinstance(layout, Table) else _bullets(layout)


_ROWS = 5
"""Figures of a comment before its fold."""


def _comment(screen: _FirstScreen) -> str:
    """Return a first screen in at most ten lines: head, verdict, figures, and what moves them."""
    rows, more = screen.figures[:_ROWS], len(screen.figures) - _ROWS
    last = [f"{label} {text}" for label, text in screen.advice[:1] if text]
    last += [f"{plural(more, 'figure')} more below"] if more > 0 else []
    parts = [f"### {escape(screen.head)}", *map(escape, screen.verdict[:1])]
    parts += [table(screen.header, rows)] if rows else []
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
