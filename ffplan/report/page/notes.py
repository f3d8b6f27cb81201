"""Notes of a page: the origin of each figure, next to its cell and at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.base.tracked import split_marks
from ffplan.report.document import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.results.explanation import Origin

Paths = tuple[str, ...]


def _read_marks(text: str) -> tuple[str, Paths]:
    plain, paths = split_marks(text)
    return str(shown(plain)), paths


def _without_marks(text: str) -> str:
    return _read_marks(text)[0]


TIP = 160
"""Letters of a line of what a cell says; the note has all [1]."""
SENTENCE = "The sentence uses these figures of the result."


def _short(line: str) -> str:
    return line if len(line) <= TIP else f"{line[: TIP - 4]} ..."


def _taken_apart(origin: Origin) -> list[str]:
    whose = f"{origin.design}: " if origin.design else ""
    lines = [f"{whose}{origin.path} = {origin.value}", origin.meaning]
    if origin.formula:
        lines.append(f"Formula: {origin.formula}" + (f" Source: {origin.source}" if origin.source else ""))
    return [line for line in (*lines, *origin.parts) if line]


def _meant(origin: Origin) -> str:
    whose = f"{origin.design}: " if origin.design else ""
    return f"{whose}{origin.path} = {origin.value}: {origin.meaning}"


@record
class _Said:
    text: str
    tip: str = ""
    note: int = 0


class Notes:
    """The notes of a page, numbered from 1 as they are found."""

    def __init__(self, origin: Callable[[str], Origin] | None) -> None:
        self._origin = origin
        self.entries: list[tuple[str, list[list[str]]]] = []
        """Label of each note, and lines on its figures in groups."""

    def _cell(self, paths: Paths) -> list[str]:
        """Return lines on the figures of a cell: the first in parts, the others by name."""
        if self._origin is None or not paths:
            return []
        first, *others = (self._origin(path) for path in paths)
        return [*_taken_apart(first), *map(_meant, others)]

    def _add(self, label: str, groups: list[list[str]]) -> int:
        self.entries.append((label, groups))
        return len(self.entries)

    def row(self, label: str, cells: Sequence[Paths]) -> tuple[list[str], int]:
        """Return the tooltip of each cell of a row, and the number of the row's note.

        Args:
            label: label of the row.
            cells: paths of the figures of each cell.
        """
        said = [self._cell(paths) for paths in cells]
        groups = [lines for lines in said if lines]
        return ["\n".join(map(_short, lines)) for lines in said], self._add(label, groups) if groups else 0

    def sentence(self, marked: str) -> _Said:
        """Return a sentence with the note that names its figures; one without figures of the result has none."""
        text, paths = _read_marks(marked)
        if self._origin is None or not paths:
            return _Said(text)
        lines = [SENTENCE, *(_meant(self._origin(path)) for path in paths)]
        return _Said(text, "\n".join(map(_short, lines)), self._add(text, [lines]))
