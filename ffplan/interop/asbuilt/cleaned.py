"""Texts without what stands around the lines of a program: colours, and what is in front of every line."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from ffplan.interop.asbuilt.forms import LONGEST_LINE
from ffplan.interop.asbuilt.model import fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_COLOUR = re.compile("\x1b\\[[0-9;?]{0,20}[A-Za-z]")
"""Codes for colours and cursors, which a recorded terminal holds."""
MOST_LINES = 40_000_000
"""Most lines of a text that is read line by line [1]; 500,000 endpoints have 4 million."""
FEWEST = 3
"""Fewest lines that show something to stand in front of all [1]."""
_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        r"([\w.-]{1,64}):(?: |$)",
        r"()\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]{8,15}(?:Z|[+-][0-9:]{4,6})?\]?(?: |$)",
        r"(>)(?: |$)",
        r"() {0,9}[0-9]{1,7}[\t:]",
    )
)
"""What may stand in front of every line, with what must be the same on all of them."""


def cleaned(text: str) -> str:
    """Return a text without a mark of its encoding, codes of a terminal, and NUL.

    Args:
        text: content of a file, or a part of it.
    """
    text = text.removeprefix("\ufeff")
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    return text.replace("\0", "")


def _prefix(text: str) -> tuple[re.Pattern[str], str] | None:
    """Return what stands in front of all lines of a text, with its part that is the same on all; None for nothing."""
    lines = text.splitlines(keepends=True)
    shown = [line for line in lines if line.strip()]
    if len(shown) < FEWEST:
        return None
    for prefix in _PREFIXES:
        if not all(map(prefix.match, shown[:FEWEST])):
            continue
        found = list(map(prefix.match, shown))
        marks = {match[1] for match in found if match}
        if all(found) and len(marks) == 1:
            return prefix, marks.pop()
    return None


def unprefixed(text: str) -> str:
    """Return a text without what stands in front of all its lines: a host as of pdsh, a time, a number, `>` of mail.

    Args:
        text: the text.
    """
    if (found := _prefix(text)) is None:
        return text
    return "".join(_without(*found, text.splitlines(keepends=True)))


def _without(prefix: re.Pattern[str], mark: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines without what stands in front of them; others as they are."""
    for line in lines:
        match = prefix.match(line)
        yield line[match.end() :] if match and match[1] == mark else line


def lines_of(parts: Iterable[str], start: str, file: str) -> Iterator[str]:
    """Yield the lines of a large text, without what stands in front of all lines of its start.

    Args:
        parts: its parts, each of whole lines.
        start: the lines of its start.
        file: its name in messages.

    Raises:
        InputError: located, at a line that no program writes, or where there are too many.
    """
    found, count = _prefix(start), 0
    for part in parts:
        lines = list(StringIO(cleaned(part)))
        _refuse_long(lines, file, count + 1)
        count += len(lines)
        if count > MOST_LINES:
            raise fault(file, count, f"more than {MOST_LINES:,} lines", "no fabric has as many")
        yield from _without(*found, lines) if found else lines


def refuse_long_lines(text: str, file: str) -> None:
    """Refuse a line that no program writes: some patterns of lines take time with the square of their length.

    Args:
        text: the text.
        file: its name in messages.

    Raises:
        InputError: located, at the first such line.
    """
    if len(text) > LONGEST_LINE:
        _refuse_long(list(StringIO(text)), file, 1)


def _refuse_long(lines: Sequence[str], file: str, first: int) -> None:
    """Refuse a line that no program writes.

    Raises:
        InputError: located, at the first such line.
    """
    if max(map(len, lines), default=0) <= LONGEST_LINE:
        return
    at, line = next((at, line) for at, line in enumerate(lines, start=first) if len(line) > LONGEST_LINE)
    words = f"a line of {len(line):,} characters"
    raise fault(file, at, words, f"no such file has a line of more than {LONGEST_LINE:,}")
