"""Text that wraps between words and after the hyphens of names, never inside a number or figures in brackets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.containers import Lines
from rich.measure import Measurement
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

_BREAK = re.compile(r"(?<=-)(?=[^\s-])")


_GROUP = re.compile(r"\([+-]?\d[^()]{0,30}\)\S*\s*")
"""Figures in brackets, such as a difference and a ratio, or a range."""


def _words(text: str) -> list[str]:
    """Return the words of a line, each with the blanks after it; `%` stays with its number."""
    return re.findall(r"\S+(?: %\S*)?\s*", text)


def _units(text: str, width: int) -> list[str]:
    """Return the words of a line; figures in brackets are one word where a line has room for them."""
    found, start = [], 0
    for group in _GROUP.finditer(text):
        if len(group[0].rstrip()) <= width:
            found += [*_words(text[start : group.start()]), group[0]]
            start = group.end()
    return [*found, *_words(text[start:])]


def _pieces(word: str) -> list[str]:
    """Return the parts of a word that stay whole: it is cut after hyphens that end a part with a letter in it."""
    found, start = [], 0
    for place in _BREAK.finditer(word):
        if re.search("[A-Za-z]", word[start : place.start()]):
            found.append(word[start : place.start()])
            start = place.start()
    return [*found, word[start:]]


def longest_piece(text: str) -> int:
    """Return the letters of the longest part of a text that stays whole [1]."""
    return max((len(piece.rstrip()) for word in _words(text) for piece in _pieces(word)), default=0)


def breaks(text: str, width: int) -> list[int]:
    """Return where to break a line so that it fits: between words, and within those that are longer than a line.

    Figures in brackets stay together: a difference and its ratio, or the ends of a range.

    A part of a name that is longer than the width is broken only where it holds no digit.

    Args:
        text: one line.
        width: letters of a line [1].
    """
    found: list[int] = []
    used = place = len(text) - len(text.lstrip())
    for word in _units(text, width):
        for piece in _pieces(word) if len(word.rstrip()) > width else [word]:
            length = len(piece.rstrip())
            if used and used + length > width:
                found.append(place)
                used = 0
            used += len(piece)
            if length > width and not re.search("[0-9]", piece):
                found += range(place + width, place + length, width)
                used = (length - 1) % width + 1 + len(piece) - length
            place += len(piece)
    return found


def column_widths(columns: list[list[str]], whole: int, width: int) -> list[int]:
    """Return the widths of columns that fit a line, no narrower than their longest part that stays whole.

    The widest columns give way first.

    Args:
        columns: cells of each column, with its title.
        whole: how many of the first columns never wrap [1].
        width: letters that all of them may take [1].
    """
    found = [max(map(len, cells), default=1) for cells in columns]
    least = [
        most if place < whole else max(map(longest_piece, cells), default=1)
        for place, (most, cells) in enumerate(zip(found, columns, strict=True))
    ]
    while sum(found) > width:
        spare = [(most, place) for place, most in enumerate(found) if most > least[place]]
        if not spare:
            break
        found[max(spare)[1]] -= 1
    return found


class Cell(Text):
    """A cell of a table that wraps so."""

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the least and the greatest width."""
        longest = max((len(line) for line in self.plain.splitlines()), default=0)
        return Measurement(longest_piece(self.plain), longest)

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        """Return the lines of the cell in some width."""
        if options.get("no_wrap"):
            return super().wrap(console, width, **options)
        lines = Lines()
        for line in self.split(allow_blank=True):
            indent = len(line.plain) - len(line.plain.lstrip())
            indent = indent if indent < width // 2 else 0
            places = [indent + place for place in breaks(line.plain[indent:], width - indent)]
            for at, part in enumerate(line.divide(places)):
                part.rstrip()
                part.pad_left(indent if at else 0)
                lines.append(part)
        if justify := options.get("justify"):
            lines.justify(console, width, justify=justify, overflow="ignore")
        return lines
