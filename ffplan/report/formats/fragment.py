"""HTML fragments, for notebooks: no script, no style sheet."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ffplan.report.document import Remarks, Table, laid_out

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.report.document import Block, Document


def _row(cells: Iterable[str], tag: str = "td") -> str:
    style = ' style="text-align:left"'
    return f"<tr>{''.join(f'<{tag}{style}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(header)
    top = f"<thead>{_row(head, 'th')}</thead>" if any(head) else ""
    return f"<table>{top}<tbody>{''.join(_row(row) for row in rows)}</tbody></table>"


def _list(texts: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"


def _block(block: Block) -> str:
    found = laid_out(block)
    return _table(found.header, found.rows) if isinstance(found, Table) else _list(found)


def render(document: Document, *, terminal: bool) -> str:  # noqa: ARG001
    """Return a document as an HTML fragment."""
    body = document.body()
    parts = [f"<h3>{escape(body.title)}</h3>"]
    if body.intro:
        parts.append(f"<p>{escape(body.intro)}</p>")
    for block in body.blocks:
        if not isinstance(block, Remarks) and block.title:
            parts.append(f"<h4>{escape(block.title)}</h4>")
        parts.append(_block(block))
    return f"<div>{''.join(parts)}</div>"
