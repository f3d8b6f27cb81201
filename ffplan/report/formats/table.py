"""Text for terminals and files, through rich."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ffplan.base.formatting import number as figure
from ffplan.report.document import Lines, Matrix, Remarks
from ffplan.report.formats.blocks import bar, has_blocks, spark
from ffplan.report.formats.wrapping import Cell, column_widths, longest_piece

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ffplan.report.document import Body, Document, Grid

WIDTH = 80
"""Width of text that does not go to a terminal."""
LEAST, MOST = 60, 10_000
"""Least width of a terminal that is used, and more than any table needs."""
LABELS, CELL = 23, 18
"""Columns that the labels of a matrix take, and least of each of its columns."""
LEAST_BAR, MOST_BAR = 6, 30
"""Letters of the longest bar: fewer are not drawn, and more are not needed."""


def _real() -> Console:
    """Return the terminal."""
    return Console()


def _print(items: list[RenderableType], *, terminal: bool, width: int) -> str:
    """Return rich renderables as text, in the width of the terminal or the width given."""
    stream = io.StringIO()
    if terminal:
        real = _real()
        width = max(LEAST, real.width)
        console = Console(
            file=stream,
            force_terminal=True,
            width=width,
            no_color=real.no_color,
            color_system=real.color_system,  # type: ignore[arg-type]
            highlight=False,
        )
    else:
        console = Console(file=stream, width=width, no_color=True, color_system=None, highlight=False)
    for item in items:
        console.width = width
        if isinstance(item, Table):
            least = item.__rich_measure__(console, console.options.update(width=MOST)).minimum
            console.width = max(width, least)  # a number that does not fit is better too far right than broken
        console.print(item)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _lines(block: Lines) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column()
    for label, text in block.lines:
        grid.add_row(Text(f"  {label or '-'}"), Cell(text))
    return grid


def _grid(block: Grid, width: int) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(block.header))
    indented = block.style == "indented"
    fixed = {"indented": 1, "plain": 0, "list": 2}[block.style]
    rows = [[f"  {row[0]}", *row[1:]] if indented else list(row) for row in (block.header, *block.rows) if row]
    count = max(map(len, rows), default=0)
    columns = [[row[number] for row in rows if number < len(row)] for number in range(count)]
    widths = column_widths(columns, fixed, width - 2 * (count - 1))
    for number, most in enumerate(widths):
        dim = indented and not number and not block.header
        grid.add_column(
            Cell(rows[0][number]) if block.header else "",
            width=most,
            no_wrap=number < fixed,
            style="dim" if dim else "",
        )
    for row in rows[1:] if block.header else rows:
        grid.add_row(*[Cell(cell) for cell in row])
    return grid


def _barred(block: Grid, width: int) -> Grid:
    """Return a table with a bar beside each of its last columns, as long as the line has room for.

    Args:
        block: the table, with values for bars.
        width: letters of a line [1].
    """
    count = len(block.bars[0])
    rows = [row for row in (block.header, *block.rows) if row]
    used = 2 + sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True))
    room = min(MOST_BAR, (width - used) // count - 2)
    most = max((value for row in block.bars for value in row if value is not None), default=0.0)
    if room < LEAST_BAR or most <= 0:
        return block
    blocks, first = has_blocks(), len(block.rows[0]) - count

    def drawn(value: float | None) -> str:
        return "" if value is None else bar(value, most, room, blocks=blocks)

    def woven(row: tuple[str, ...], bars: list[str]) -> tuple[str, ...]:
        pairs = zip(row[first:], bars, strict=True)
        return (*row[:first], *(cell for pair in pairs for cell in pair))

    made = tuple(
        woven(row, [drawn(value) for value in values]) for row, values in zip(block.rows, block.bars, strict=True)
    )
    header = woven(block.header, [""] * count) if block.header else ()
    return replace(block, rows=made, header=header, bars=())


def _sparked(block: Matrix) -> Matrix:
    """Return columns with their small charts as rows: a letter for each value, then the first and the last."""
    blocks = has_blocks()

    def cell(values: tuple[float, ...]) -> str:
        if len(values) < 2:
            return "-"
        return f"{spark(values, blocks=blocks)} ({figure(values[0], 3)} to {figure(values[-1], 3)})"

    rows = list(block.rows)
    for before, label, columns in block.sparks:
        place = next((at for at, (name, _) in enumerate(rows, 1) if name == before), len(rows))
        rows.insert(place, (label, tuple(map(cell, columns))))
    return replace(block, rows=tuple(rows), sparks=())


def _column(name: str) -> int:
    return max(CELL, len(name) + 2)


def _matrix(block: Matrix, width: int | None) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=width)
    grid.add_column(Text(block.title, style="bold cyan"), no_wrap=True, width=LABELS - 2)
    for name in block.names:
        grid.add_column(Cell(name), ratio=_column(name), min_width=_needs(block)[block.names.index(name)])
    for label, cells in block.rows:
        grid.add_row(Text(label), *[Cell(cell) for cell in cells])
    return grid


def _least(texts: list[str]) -> int:
    """Return the width that a column needs so that no word, name part or number is broken."""
    return max(map(longest_piece, texts), default=1)


def _needs(block: Matrix) -> list[int]:
    """Return the width that each column of a matrix needs."""
    return [_least([name, *(cells[place] for _, cells in block.rows)]) for place, name in enumerate(block.names)]


def _text_width(blocks: list[Matrix]) -> int:
    """Return the letters of a line of text: the usual, or more where a column would be too narrow [1]."""
    needs: list[int] = [max(column) for column in zip(*(_needs(block) for block in blocks), strict=True)]
    if LABELS + sum(max(CELL, need + 2) for need in needs) <= WIDTH:
        return WIDTH
    columns = [max(_column(name), need + 2) for name, need in zip(blocks[0].names, needs, strict=True)]
    return max(WIDTH, LABELS + sum(columns))


def _side_by_side(blocks: list[Matrix], width: int) -> list[tuple[int, int]]:
    """Return the first and last column of each part of some matrices that fits a terminal.

    Args:
        blocks: matrices with the same columns.
        width: letters of a line [1].
    """
    needs = [max(column) for column in zip(*(_needs(block) for block in blocks), strict=True)]
    parts, first, used = [], 0, LABELS
    for place, need in enumerate(needs):
        if place > first and used + need + 2 > width:
            parts.append((first, place))
            first, used = place, LABELS
        used += need + 2
    return [*parts, (first, len(needs))]


def _columns(block: Matrix, first: int, last: int) -> Matrix:
    rows = tuple((label, row[first:last]) for label, row in block.rows)
    return Matrix(block.title, block.names[first:last], rows)


def _head(body: Body) -> list[RenderableType]:
    """Return the title; a matrix has the names over its columns, which is title enough."""
    if not body.title or any(isinstance(block, Matrix) for block in body.blocks):
        return []
    head = Text(body.title, style="bold")
    if body.intro:
        head.append(f"  {' '.join(body.intro.split())}", style="not bold")
    return [head]


def render(document: Document, *, terminal: bool) -> str:
    """Return a document as text.

    Args:
        document: the document.
        terminal: whether the text goes to a terminal, which takes its own width and colours.
    """
    body = document.body()
    if terminal:
        body = replace(body, blocks=tuple(_sparked(b) if isinstance(b, Matrix) else b for b in body.blocks))
    matrices = [block for block in body.blocks if isinstance(block, Matrix)]
    names = matrices[0].names if matrices else ()
    width = _text_width(matrices) if matrices else WIDTH
    room = max(LEAST, _real().width) if terminal else width
    items = _head(body)
    for block in body.blocks:
        if isinstance(block, Remarks):
            items += [Cell(line) for line in block.lines]
        elif isinstance(block, Matrix):
            parts = _side_by_side(matrices, room) if terminal else [(0, len(names))]
            for first, last in parts:
                items += [_matrix(_columns(block, first, last), None if terminal else width), Text("")]
        else:
            if block.title:
                items.append(Text(block.title, style="bold cyan"))
            if isinstance(block, Lines):
                items.append(_lines(block))
            else:
                items.append(_grid(_barred(block, room) if terminal and block.bars else block, room))
    return _print(items, terminal=terminal, width=width)
