"""Text with styles for terminals, through rich; and text with letters that take two columns or none."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.containers import Lines as TextLines
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ffplan.base.formatting import number as figure
from ffplan.report.document import Grid, Lines, Remarks, _Matrix
from ffplan.report.formats.wrapping import (
    LABELS,
    _column_of,
    _folds,
    _grid_columns,
    _hanging,
    _longest_piece,
    _needs,
    _page_width,
    _shared_needs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import ConsoleOptions, RenderableType

    from ffplan.report.document import _Body


_EIGHTHS = "▏▎▍▌▋▊▉█"
"""Letters that fill one to eight eighths of their width."""
_HEIGHTS = "▁▂▃▄▅▆▇█"
"""Letters that fill one to eight eighths of their height."""
_PLAIN = "_.:-=+*#"
"""Letters in place of the heights on a terminal without blocks, from low to high."""
_LEAST_BAR, _MOST_BAR = 6, 30
"""Letters of the longest bar: fewer are not drawn, and more are not needed."""


def _has_blocks() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        (_EIGHTHS + _HEIGHTS).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def bar(value: float, most: float, width: int, *, blocks: bool) -> str:
    """Return a bar from zero.

    Args:
        value: its value.
        most: value of the longest bar, above 0.
        width: letters of the longest bar [1].
        blocks: of block letters; otherwise of `#`.
    """
    part = max(0.0, min(1.0, value / most)) * width
    if not blocks:
        return "#" * round(part)
    whole, rest = divmod(round(part * 8), 8)
    return _EIGHTHS[-1] * whole + (_EIGHTHS[rest - 1] if rest else "")


def _spark(values: Sequence[float], *, blocks: bool) -> str:
    """Return a letter for each value [none below 0], as high as it is against the largest, from zero."""
    letters, most = _HEIGHTS if blocks else _PLAIN, max(values, default=0.0)
    if most <= 0:
        return letters[0] * len(values)
    return "".join(letters[max(0, min(8, round(8 * value / most)) - 1)] for value in values)


def _barred(block: Grid, width: int) -> Grid:
    """Return a table with a bar beside each of its last columns, as long as a line of `width` letters has room for."""
    count = len(block.bars[0])
    rows = [row for row in (block.header, *block.rows) if row]
    used = 2 + sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True))
    room = min(_MOST_BAR, (width - used) // count - 2)
    most = max((value for row in block.bars for value in row if value is not None), default=0.0)
    if room < _LEAST_BAR or most <= 0:
        return block
    blocks, first = _has_blocks(), len(block.rows[0]) - count

    def drawn(value: float | None) -> str:
        return "" if value is None else bar(value, most, room, blocks=blocks)

    def woven(row: tuple[str, ...], bars: list[str]) -> tuple[str, ...]:
        pairs = zip(row[first:], bars, strict=True)
        return (*row[:first], *(cell for pair in pairs for cell in pair))

    barred_rows = tuple(
        woven(row, [drawn(value) for value in values]) for row, values in zip(block.rows, block.bars, strict=True)
    )
    header = woven(block.header, [""] * count) if block.header else ()
    return replace(block, rows=barred_rows, header=header, bars=())


def _sparked(block: _Matrix) -> _Matrix:
    """Return columns with their small charts as rows: a letter for each value, then the first and the last."""
    blocks = _has_blocks()

    def cell(values: tuple[float, ...]) -> str:
        if len(values) < 2:
            return "-"
        return f"{_spark(values, blocks=blocks)} ({figure(values[0], 3)} to {figure(values[-1], 3)})"

    rows = list(block.rows)
    for before, label, columns in block.sparks:
        place = next((number for number, (name, _) in enumerate(rows, 1) if name == before), len(rows))
        rows.insert(place, (label, tuple(map(cell, columns))))
    return replace(block, rows=tuple(rows), sparks=())


_LEAST, _MOST = 60, 10_000
"""Least width of a terminal that is used, and more than any table needs."""


class _Cell(Text):
    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        longest = max((len(line) for line in self.plain.splitlines()), default=0)
        return Measurement(_longest_piece(self.plain), longest)

    def wrap(self, console: Console, width: int, **options: Any) -> TextLines:
        if options.get("no_wrap"):
            return super().wrap(console, width, **options)
        lines = TextLines()
        for line in self.split(allow_blank=True):
            indent, places = _hanging(line.plain, width)
            for number, part in enumerate(line.divide(places)):
                part.rstrip()
                part.pad_left(indent if number else 0)
                lines.append(part)
        if justify := options.get("justify"):
            lines.justify(console, width, justify=justify, overflow="ignore")
        return lines


def _real() -> Console:
    return Console()


def _print(renderables: list[RenderableType], *, terminal: bool, width: int) -> str:
    stream = io.StringIO()
    if terminal:
        real = _real()
        width = max(_LEAST, real.width)
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
    for renderable in renderables:
        console.width = width
        if isinstance(renderable, Table):
            least = renderable.__rich_measure__(console, console.options.update(width=_MOST)).minimum
            console.width = max(width, least)  # a number that does not fit is better too far right than broken
        console.print(renderable)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _lines(block: Lines, width: int) -> Table:
    labels = max((Text(label).cell_len for label, _ in block.lines), default=0)
    if labels + 3 + max((_longest_piece(text) for _, text in block.lines), default=0) > width:
        rows = tuple((f"  {label or '-'}", text) for label, text in block.lines)
        return _grid(Grid(block.title, rows, style="plain"), width)
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, style="dim", min_width=labels + 2)  # rich takes no indent for needed
    grid.add_column()
    for label, text in block.lines:
        grid.add_row(Text(f"  {label or '-'}"), _Cell(text))
    return grid


def _grid(block: Grid, width: int) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(block.header))
    indented = block.style == "indented"
    rows, widths, fixed = _grid_columns(block, width)
    for number, most in enumerate(widths):
        dim = indented and not number and not block.header
        grid.add_column(
            _Cell(rows[0][number]) if block.header else "",
            width=most,
            no_wrap=number < fixed,
            style="dim" if dim else "",
        )
    for row in rows[1:] if block.header else rows:
        grid.add_row(*[_Cell(cell) for cell in row])
    return grid


def _matrix(block: _Matrix, width: int | None) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=width)
    grid.add_column(Text(block.title, style="bold cyan"), no_wrap=True, width=LABELS - 2)
    for name, need in zip(block.names, _needs(block), strict=True):
        grid.add_column(_Cell(name), ratio=_column_of(name), min_width=need)
    for label, cells in block.rows:
        grid.add_row(Text(label), *[_Cell(cell) for cell in cells])
    return grid


def _side_by_side(blocks: list[_Matrix], width: int) -> list[tuple[int, int]]:
    """Return the first and last column of each part of matrices with the same columns that fits a terminal."""
    least = _shared_needs(blocks)
    parts, first, used = [], 0, LABELS
    for place, need in enumerate(least):
        if place > first and used + need + 2 > width:
            parts.append((first, place))
            first, used = place, LABELS
        used += need + 2
    return [*parts, (first, len(least))]


def _columns(block: _Matrix, first: int, last: int) -> _Matrix:
    rows = tuple((label, row[first:last]) for label, row in block.rows)
    return _Matrix(block.title, block.names[first:last], rows)


def _sentence(text: Text, width: int) -> list[Text]:
    """Return a sentence in lines of `width` letters; one with letters of other widths is left to rich."""
    if text.cell_len != len(text):
        return [text]
    lines = list(text.divide(_folds(text.plain, width)))
    for line in lines:
        line.rstrip()
    return lines


def _head(body: _Body, width: int) -> list[RenderableType]:
    """Return the title in some width; a matrix has the names over its columns, which is title enough."""
    if not body.title or any(isinstance(block, _Matrix) for block in body.blocks):
        return []
    head = Text(body.title, style="bold")
    if body.intro:
        head.append(f"  {' '.join(body.intro.split())}", style="not bold")
    return [*_sentence(head, width)]


def render(body: _Body, *, terminal: bool) -> str:
    """Return a body as text.

    Args:
        body: text and tables, with hidden characters as escapes.
        terminal: whether the text goes to a terminal, which takes its own width and colours.
    """
    if terminal:
        body = replace(body, blocks=tuple(_sparked(b) if isinstance(b, _Matrix) else b for b in body.blocks))
    matrices = [block for block in body.blocks if isinstance(block, _Matrix)]
    names = matrices[0].names if matrices else ()
    width = _page_width(body)
    room = max(_LEAST, _real().width) if terminal else width
    items = _head(body, room)
    for block in body.blocks:
        if isinstance(block, Remarks):
            items += [part for line in block.lines for part in _sentence(Text(line), room)]
        elif isinstance(block, _Matrix):
            parts = _side_by_side(matrices, room) if terminal else [(0, len(names))]
            for first, last in parts:
                items += [_matrix(_columns(block, first, last), None if terminal else width), Text("")]
        else:
            if block.title:
                items += _sentence(Text(block.title, style="bold cyan"), room)
            if isinstance(block, Lines):
                items.append(_lines(block, room))
            else:
                items.append(_grid(_barred(block, room) if terminal and block.bars else block, room))
    return _print(items, terminal=terminal, width=width)
