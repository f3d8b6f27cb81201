"""Text for terminals and files: lines and columns of letters, laid out here where each letter takes one column."""

from __future__ import annotations

import re
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING

from ffplan.report.document import WHOLE, Grid, Lines, Remarks, _Matrix, _viewed
from ffplan.report.formats.wrapping import (
    LABELS,
    _column_of,
    _folds,
    _grid_columns,
    _longest_piece,
    _page_width,
    pieces,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ffplan.report.document import Block, Document, View, _Body


_GAP = 2
"""Blanks between columns."""


_NARROW = re.compile("[ -~\xa1-\xac\xae-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u2193\u2260-\u2265]*")
"""Texts whose letters take one column each."""


class _WideError(Exception):
    """A text has letters that take more or fewer columns, or a table is too wide for this layout."""


def _render_plain(body: _Body) -> str | None:
    """Return a body as text; None if only `styled` can lay it out."""
    try:
        lines = [line.rstrip() for line in _lines_of(body, _page_width(body))]
    except _WideError:
        return None
    return "\n".join(lines) + "\n"


def _lines_of(body: _Body, width: int) -> Iterator[str]:
    """Yield the lines of a body, the title first; a matrix has the names over its columns, which is title enough."""
    if body.title and not any(isinstance(block, _Matrix) for block in body.blocks):
        intro = f"  {' '.join(body.intro.split())}" if body.intro else ""
        yield from _folded(body.title + intro, width)
    for block in body.blocks:
        yield from _block(block, width)


def _block(block: Block, width: int) -> Iterator[str]:
    if isinstance(block, Remarks):
        for line in block.lines:
            yield from _folded(line, width)
        return
    if isinstance(block, _Matrix):
        yield from _matrix(block, width)
        yield ""
        return
    if block.title:
        yield from _folded(block.title, width)
    yield from _labelled(block, width) if isinstance(block, Lines) else _grid(block, width)


def _narrow(text: str) -> str:
    if not (text.isascii() or _NARROW.fullmatch(text)):
        raise _WideError
    return text


def _folded(text: str, width: int) -> list[str]:
    text = _narrow(text)
    if len(text) <= width:
        return [text]
    places = _folds(text, width)
    return [text[start:end] for start, end in zip((0, *places), (*places, len(text)), strict=True)]


def _fitted(text: str, width: int) -> list[str]:
    lines = pieces(text, width)
    if len(text) > width and max(map(len, lines)) > width:
        raise _WideError
    return lines


def _side_by_side(cells: Sequence[list[str]], widths: Sequence[int], *, header: bool = False) -> Iterator[str]:
    """Yield the lines of a row, from the lines of its cells and the widths of its columns, gaps included.

    Titles of columns align at the foot of their row, all other cells at the top.
    """
    if all(len(cell) == 1 for cell in cells):
        yield "".join([cell[0].ljust(width) for cell, width in zip(cells, widths, strict=True)])
        return
    most = max(map(len, cells))
    if header:
        cells = [[""] * (most - len(cell)) + cell for cell in cells]
    for number in range(most):
        row = [cell[number] if number < len(cell) else "" for cell in cells]
        yield "".join([text.ljust(width) for text, width in zip(row, widths, strict=True)])


def _labelled(block: Lines, width: int) -> Iterator[str]:
    rows = [(f"  {_narrow(label) or '-'}", _narrow(text)) for label, text in block.lines]
    if not rows:
        return
    first = max(len(label) for label, _ in rows) + 1
    longest = max(len(text) for _, text in rows)
    room = min(longest, width - first)
    if room < longest and room < max(_longest_piece(text) for _, text in rows):
        raise _WideError
    for label, text in rows:
        yield from _side_by_side([[label], _fitted(text, room)], (first, room))


def _grid(block: Grid, width: int) -> Iterator[str]:
    for cell in chain(block.header, *block.rows):
        _narrow(cell)
    rows, widths, fixed = _grid_columns(block, width)
    if not widths:
        yield ""
        return
    taken = [*(most + _GAP for most in widths[:-1]), widths[-1]]
    for row in rows:
        texts = [*row, *[""] * (len(widths) - len(row))]
        cells = [[text] if column < fixed else _fitted(text, widths[column]) for column, text in enumerate(texts)]
        yield from _side_by_side(cells, taken, header=bool(block.header) and row is rows[0])


def _matrix(block: _Matrix, width: int) -> Iterator[str]:
    taken, left, parts = [LABELS], width - LABELS, sum(map(_column_of, block.names))
    for name in block.names:
        share = ceil(_column_of(name) * left / parts)
        taken.append(share)
        left, parts = left - share, parts - _column_of(name)
    if min(taken) <= _GAP:
        raise _WideError
    room = [most - _GAP for most in taken]
    room[-1] = taken[-1]
    for number, (label, row) in enumerate(((block.title, block.names), *block.rows)):
        if len(_narrow(label)) > room[0]:
            raise _WideError
        cells = [[label], *[_fitted(_narrow(text), most) for text, most in zip(row, room[1:], strict=True)]]
        yield from _side_by_side(cells, taken, header=not number)


MOST_STYLED = 2_000
"""Lines above which a terminal gets the layout of a file: colours take most of the time."""


def _length(body: _Body) -> int:
    return sum(len(getattr(block, "lines", ()) or getattr(block, "rows", ())) for block in body.blocks)


def render_text(document: Document, *, terminal: bool, view: View = WHOLE) -> str:
    """Return a document as text; on a terminal in its own width and colours, unless it is long."""
    body = _viewed(document, view)
    text = _render_plain(body) if not terminal or _length(body) > MOST_STYLED else None
    if text is not None:
        return text
    from ffplan.report.formats import styled

    return styled.render(body, terminal=terminal)
