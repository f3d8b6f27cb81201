"""Notes of a page: where each figure comes from, beside its cell and at the end."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from ffplan.base.control_characters import visible
from ffplan.base.tracked import split_marks
from ffplan.report.document import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.results.origin import Origin

Paths = tuple[str, ...]


def safe(text: str) -> str:
    """Return a text for a page, its hidden characters visible."""
    return escape(visible(text), quote=True)


_CODE = re.compile("`([^`]+)`")


def worded(text: str) -> str:
    """Return a sentence for a page, what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", safe(text))


def safe_lines(text: str) -> str:
    """Return a text of several lines for a page."""
    return "\n".join(safe(line) for line in text.splitlines())


def read_marks(text: str) -> tuple[str, Paths]:
    """Return a text as a page shows it, and the paths of the figures that it is made of."""
    plain, paths = split_marks(text)
    return str(shown(plain)), paths


def without_marks(text: str) -> str:
    """Return a text as a page shows it, whatever figures it is made of."""
    return read_marks(text)[0]


TIP = 160
"""Letters of a line of what a cell says; the note has all [1]."""
SENTENCE = "The sentence uses these figures of the result."


def _short(line: str) -> str:
    return line if len(line) <= TIP else f"{line[: TIP - 4]} ..."


def _taken_apart(origin: Origin) -> list[str]:
    """Return lines on a figure: path, value and meaning, its equation, and what it is made of."""
    whose = f"{origin.design}: " if origin.design else ""
    lines = [f"{whose}{origin.path} = {origin.value}", origin.meaning]
    if origin.formula:
        lines.append(f"Formula: {origin.formula}" + (f" Source: {origin.source}" if origin.source else ""))
    return [line for line in (*lines, *origin.parts) if line]


def _meant(origin: Origin) -> str:
    """Return a figure with its value and its meaning, in a line."""
    whose = f"{origin.design}: " if origin.design else ""
    return f"{whose}{origin.path} = {origin.value}: {origin.meaning}"


class Notes:
    """The notes of a page, numbered as they are found."""

    def __init__(self, origin: Callable[[str], Origin] | None) -> None:
        """Take what says where a figure comes from; None of a page without notes."""
        self._origin = origin
        self._found: list[tuple[str, list[list[str]]]] = []

    def __len__(self) -> int:
        return len(self._found)

    def _cell(self, paths: Paths) -> list[str]:
        """Return lines on the figures of a cell: the first in parts, the others by name."""
        if self._origin is None or not paths:
            return []
        first, *others = (self._origin(path) for path in paths)
        return [*_taken_apart(first), *map(_meant, others)]

    def _add(self, label: str, groups: list[list[str]]) -> str:
        """Keep a note, and return the link to it."""
        self._found.append((label, groups))
        number = len(self._found)
        return f'<sup><a href="#note-{number}" aria-label="note {number}">{number}</a></sup>'

    def row(self, label: str, cells: Sequence[Paths]) -> tuple[list[str], str]:
        """Return the tooltip of each cell of a row, and the link to the row's note.

        Args:
            label: label of the row.
            cells: paths of the figures of each cell.
        """
        said = [self._cell(paths) for paths in cells]
        groups = [lines for lines in said if lines]
        return ["\n".join(map(_short, lines)) for lines in said], self._add(label, groups) if groups else ""

    def sentence(self, text: str, paths: Paths) -> tuple[str, str]:
        """Return the tooltip of a sentence, and the link to its note.

        Args:
            text: the sentence.
            paths: paths of its figures.
        """
        if self._origin is None or not paths:
            return "", ""
        lines = [SENTENCE, *(_meant(self._origin(path)) for path in paths)]
        return "\n".join(map(_short, lines)), self._add(text, [lines])

    def text(self) -> str:
        """Return all notes as a numbered list."""
        items = []
        for number, (label, groups) in enumerate(self._found):
            inner = "".join(f"<p>{'<br>'.join(map(safe, lines))}</p>" for lines in groups)
            items.append(f'<li id="note-{number + 1}"><b>{safe(label)}</b>{inner}</li>')
        return f'<ol class="notes">{"".join(items)}</ol>'
