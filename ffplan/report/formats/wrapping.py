"""Text that wraps between words and after the hyphens of names, never inside a number or figures in brackets."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from ffplan.report.document import _Matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.report.document import Grid, _Body

_WIDTH = 80
"""Width of text that does not go to a terminal."""
LABELS, CELL = 23, 18
"""Columns that the labels of a matrix take, and least of each of its columns."""
_BREAK = re.compile(r"(?<=-)(?=[^\s-])")
_BREAK_OF_PATH = re.compile(r"(?<=/)(?=[^\s/])")
_GROUP = re.compile(r"(?<!\S)(?:\([+-]?\d[^()]{0,30}\)|\[[^\[\]]{1,30}\])\S*\s*")
"""Figures in brackets, such as a difference and a ratio, or a range; in square ones anything short, such as a unit."""


def _words(text: str) -> list[str]:
    """Return the words of a line, each with the blanks after it; `%` stays with its number."""
    return re.findall(r"\S+(?: %\S*)?\s*", text)


def _units(text: str, width: int) -> list[str]:
    """Return the words of a line; figures in brackets are one word if a line has room for them."""
    units, start = [], 0
    for group in _GROUP.finditer(text):
        if len(group[0].rstrip()) <= width:
            units += [*_words(text[start : group.start()]), group[0]]
            start = group.end()
    return [*units, *_words(text[start:])]


def _pieces(word: str) -> list[str]:
    """Return the parts of a word that stay whole: it is cut after hyphens that end a part with a letter in it.

    A path of a YAML file is cut after its slashes instead, so that a name and its line stay together.
    """
    whole, start = [], 0
    for place in (_BREAK_OF_PATH if ".yaml" in word and "/" in word else _BREAK).finditer(word):
        if re.search("[A-Za-z]", word[start : place.start()]):
            whole.append(word[start : place.start()])
            start = place.start()
    return [*whole, word[start:]]


@lru_cache(maxsize=4096)
def _longest_piece(text: str) -> int:
    """Return the letters of the longest part of a text that stays whole, behind the indent that its lines have [1]."""
    indent = len(text) - len(text.lstrip())
    whole = max((len(piece.rstrip()) for word in _words(text) for piece in _pieces(word)), default=0)
    return indent + whole if whole else 0


@lru_cache(maxsize=4096)
def breaks(text: str, width: int) -> tuple[int, ...]:
    """Find the breaks of a line: between words, and within words longer than a line.

    Figures in brackets stay together: a difference and its ratio, or the ends of a range.

    A part of a name longer than the width is broken only if it has no digit.

    Args:
        text: one line, without a line feed.
        width: letters of a line [1].
    """
    places: list[int] = []
    used = place = len(text) - len(text.lstrip())
    for word in _units(text, width):
        for piece in _pieces(word) if len(word.rstrip()) > width else [word]:
            length = len(piece.rstrip())
            if used and used + length > width:
                places.append(place)
                used = 0
            used += len(piece)
            if length > width and not re.search("[0-9]", piece):
                places += range(place + width, place + length, width)
                used = (length - 1) % width + 1 + len(piece) - length
            place += len(piece)
    return tuple(places)


@lru_cache(maxsize=4096)
def _folds(text: str, width: int) -> tuple[int, ...]:
    """Text in brackets stays together as in a cell; a sentence has no hyphens to break at."""
    places: list[int] = []
    indent = place = len(text) - len(text.lstrip())
    for word in _units(text, width):
        length, used = len(word.rstrip()), place - (places[-1] if places else 0)
        if used + length > width and used and place > indent:
            places.append(place)
            used = 0
        places += range(place + width - used, place + length, width)
        place += len(word)
    return tuple(places)


def hung(text: str, width: int) -> list[str]:
    """Return a line of a message in lines of a terminal; those after the first are indented by two more.

    Args:
        text: one line, without a line feed.
        width: letters of a line [1].
    """
    if len(text) <= width:
        return [text]
    start = len(text) - len(text.lstrip())
    more = " " * (start + 2)
    body = text[start:]
    first = (*_folds(body, width - start), len(body))[0]
    rest = body[first:]
    places = (0, *_folds(rest, width - len(more)), len(rest))
    return [
        text[: start + first].rstrip(),
        *(more + rest[begin:end].rstrip() for begin, end in pairwise(places) if rest[begin:end].strip()),
    ]


def _column_widths(columns: list[list[str]], whole: int, width: int, *, titled: bool = True) -> list[int]:
    """Return the widths of columns that fit a line, no narrower than their longest part that stays whole.

    Titles give way first, to two lines; then the widest columns.

    Args:
        columns: cells of each column.
        titled: the first cell of each is its title.
        whole: how many of the first columns never wrap [1].
        width: letters that all of them may take [1].
    """
    widths = [max(map(len, cells), default=1) for cells in columns]
    hard = [
        most if place < whole else max(map(_longest_piece, cells), default=1)
        for place, (most, cells) in enumerate(zip(widths, columns, strict=True))
    ]
    soft = [
        max(most, *(len(line) for line in _two_lines(cells[0])), *map(len, cells[1:])) if cells else most
        for most, cells in zip(hard, columns, strict=True)
    ]
    for least in (soft, hard) if titled else (hard,):
        while sum(widths) > width:
            spare = [(most, place) for place, most in enumerate(widths) if most > least[place]]
            if not spare:
                break
            widths[max(spare)[1]] -= 1
    return widths


def _two_lines(text: str) -> tuple[str, str]:
    words = text.split()
    cuts = ((" ".join(words[:place]), " ".join(words[place:])) for place in range(1, len(words) + 1))
    return min(cuts, key=lambda lines: max(map(len, lines)), default=(text, ""))


def _hanging(text: str, width: int) -> tuple[int, list[int]]:
    indent = len(text) - len(text.lstrip())
    indent = indent if indent < width // 2 else 0
    return indent, [indent + place for place in breaks(text[indent:], width - indent)]


def pieces(text: str, width: int) -> list[str]:
    """Return the lines of a cell in some width [1], each as far indented as the first."""
    if len(text) <= width:
        return [text.rstrip()]
    indent, places = _hanging(text, width)
    ends = zip((0, *places), (*places, len(text)), strict=True)
    first, *rest = [text[start:end].rstrip() for start, end in ends]
    return [first, *(" " * indent + line for line in rest)]


def _column_of(name: str) -> int:
    """Return the letters that a column of a matrix takes in a line, the gap after it included [1]."""
    return max(CELL, len(name) + 2)


def _needs(block: _Matrix) -> list[int]:
    """Return the width that each column of a matrix needs so that no word, name part or number is broken [1]."""
    columns = zip(block.names, *(cells for _, cells in block.rows), strict=True)
    return [max(map(_longest_piece, column)) for column in columns]


def _shared_needs(blocks: Sequence[_Matrix]) -> list[int]:
    """Return the width that each column of some matrices with the same columns needs [1]."""
    return [max(column) for column in zip(*map(_needs, blocks), strict=True)]


def _page_width(body: _Body) -> int:
    """Return the width of a body that does not go to a terminal: wider if a column would be too narrow [1]."""
    matrices = [block for block in body.blocks if isinstance(block, _Matrix)]
    least = _shared_needs(matrices)
    if LABELS + sum(max(CELL, need + 2) for need in least) <= _WIDTH:
        return _WIDTH
    columns = [max(_column_of(name), need + 2) for name, need in zip(matrices[0].names, least, strict=True)]
    return max(_WIDTH, LABELS + sum(columns))


def _grid_columns(block: Grid, width: int) -> tuple[list[list[str]], list[int], int]:
    """Return the rows of a table, its header first, the width of each column, and how many of the first never wrap."""
    indented = block.style == "indented"
    fixed = {"indented": 1, "plain": 0, "list": 2}[block.style]
    rows = [[f"  {row[0]}", *row[1:]] if indented else list(row) for row in (block.header, *block.rows) if row]
    count = max(map(len, rows), default=0)
    columns = [[row[number] for row in rows if number < len(row)] for number in range(count)]
    room = width - 2 * (count - 1)
    titled = any(block.header)
    widths = _column_widths(columns, fixed, room, titled=titled)
    if sum(widths) > room:  # labels give way last
        fixed, widths = 0, _column_widths(columns, 0, room, titled=titled)
    return rows, widths, fixed
