"""Text for terminals and files, through rich."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ffplan.report.document import Lines, Matrix, Remarks

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ffplan.report.document import Body, Document, Grid

WIDTH = 80
"""Width of text that does not go to a terminal."""
LABELS, CELL = 23, 18
"""Columns that the labels of a matrix take, and least of each of its columns."""


def _print(items: list[RenderableType], *, terminal: bool, width: int) -> str:
    """Return rich renderables as text, in the width of the terminal or the width given."""
    stream = io.StringIO()
    if terminal:
        real = Console()
        console = Console(
            file=stream,
            force_terminal=True,
            width=max(60, real.width),
            no_color=real.no_color,
            color_system=real.color_system,  # type: ignore[arg-type]
            highlight=False,
        )
    else:
        console = Console(file=stream, width=width, no_color=True, color_system=None, highlight=False)
    for item in items:
        console.print(item)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _lines(block: Lines) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for label, text in block.lines:
        grid.add_row(Text(f"  {label or '-'}"), Text(text))
    return grid


def _grid(block: Grid) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(block.header))
    indented = block.style == "indented"
    fixed = {"indented": 1, "plain": 0, "list": 2}[block.style]
    for number, title in enumerate(block.header or block.rows[0] if block.rows else block.header):
        dim = indented and not number and not block.header
        grid.add_column(
            Text(f"  {title}" if indented and not number else title),
            overflow="fold",
            no_wrap=number < fixed,
            style="dim" if dim else "",
        )
    for row in block.rows:
        grid.add_row(*[Text(f"  {cell}" if indented and not number else cell) for number, cell in enumerate(row)])
    return grid


def _column(name: str) -> int:
    return max(CELL, len(name) + 2)


def _matrix(block: Matrix, width: int | None) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=width)
    grid.add_column(Text(block.title, style="bold cyan"), no_wrap=True, width=LABELS - 2)
    for name in block.names:
        grid.add_column(Text(name), overflow="fold", ratio=_column(name))
    for label, cells in block.rows:
        grid.add_row(Text(label), *[Text(cell) for cell in cells])
    return grid


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
    names = next((block.names for block in body.blocks if isinstance(block, Matrix)), ())
    width = max(WIDTH, LABELS + sum(map(_column, names))) if names else WIDTH
    items = _head(body)
    for block in body.blocks:
        if isinstance(block, Remarks):
            items += [Text(line) for line in block.lines]
        elif isinstance(block, Matrix):
            items += [_matrix(block, None if terminal else width), Text("")]
        else:
            if block.title:
                items.append(Text(block.title, style="bold cyan"))
            items.append(_lines(block) if isinstance(block, Lines) else _grid(block))
    return _print(items, terminal=terminal, width=width)
