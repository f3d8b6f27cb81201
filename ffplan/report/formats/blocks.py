"""Small charts of block letters for terminals, or of plain letters where a terminal has no blocks."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from ffplan.base.formatting import number as figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.report.document import Grid, _Matrix

_EIGHTHS = "▏▎▍▌▋▊▉█"
"""Letters that fill one to eight eighths of their width."""
_HEIGHTS = "▁▂▃▄▅▆▇█"
"""Letters that fill one to eight eighths of their height."""
_PLAIN = "_.:-=+*#"
"""Letters in place of the heights on a terminal without blocks, from low to high."""
_LEAST_BAR, _MOST_BAR = 6, 30
"""Letters of the longest bar: fewer are not drawn, and more are not needed."""


def _has_blocks() -> bool:
    """True where standard output can show block letters."""
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
    """Return a letter for each value, as high as it is against the largest, from zero.

    Args:
        values: the values, none below 0.
        blocks: of block letters; otherwise of plain ones.
    """
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
