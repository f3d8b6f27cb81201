"""Markdown for reviews and wikis, and HTML fragments for notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from ffplan.report.document import Remarks, Table, laid_out

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.report.document import Block, Document


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
    layout = laid_out(block)
    return table(layout.header, layout.rows) if isinstance(layout, Table) else _bullets(layout)


def render_markdown(document: Document) -> str:
    """Return a document as Markdown."""
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


def _html_row(cells: Iterable[str], tag: str = "td") -> str:
    style = ' style="text-align:left"'
    return f"<tr>{''.join(f'<{tag}{style}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _html_table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(header)
    top = f"<thead>{_html_row(head, 'th')}</thead>" if any(head) else ""
    return f"<table>{top}<tbody>{''.join(_html_row(row) for row in rows)}</tbody></table>"


def _html_list(texts: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{html.escape(text)}</li>' for text in texts)}</ul>"


def _html_block(block: Block) -> str:
    layout = laid_out(block)
    return _html_table(layout.header, layout.rows) if isinstance(layout, Table) else _html_list(layout)


def render_fragment(document: Document) -> str:
    """Return a document as an HTML fragment."""
    body = document.body()
    parts = [f"<h3>{html.escape(body.title)}</h3>"]
    if body.intro:
        parts.append(f"<p>{html.escape(body.intro)}</p>")
    for block in body.blocks:
        if not isinstance(block, Remarks) and block.title:
            parts.append(f"<h4>{html.escape(block.title)}</h4>")
        parts.append(_html_block(block))
    return f"<div>{''.join(parts)}</div>"
