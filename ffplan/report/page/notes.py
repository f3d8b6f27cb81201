"""Notes of a page: where each headline figure comes from, beside its cell and at the end."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from ffplan.base.visible import visible

if TYPE_CHECKING:
    from ffplan.report.chart import Origin


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


def link_to(at: int) -> str:
    """Return the link to a note, numbered from 0."""
    return f'<sup><a href="#note-{at + 1}" aria-label="note {at + 1}">{at + 1}</a></sup>'


def _words(origin: Origin) -> list[str]:
    """Return lines on a figure: path, value and meaning, its equation, and what it is made of."""
    whose = f"{origin.design}: " if origin.design else ""
    value = f" = {origin.value}" if origin.value else ""
    lines = [f"{whose}{origin.path}{value}", origin.meaning]
    if origin.formula:
        lines.append(f"Formula: {origin.formula}" + (f" Source: {origin.source}" if origin.source else ""))
    return [line for line in (*lines, *origin.parts) if line]


Key = tuple[str, str, int | None, int | None]
"""Start of a table's title, label of a row, and their numbers where labels or titles repeat."""


def _fits(key: Key, title: str, at: int, nth: int) -> bool:
    table, _, row, number = key
    titled = title.startswith(table) if table else not title
    return titled and row in (None, at) and number in (None, nth)


TIP = 160
"""Letters of a line of what a cell says; the note has all [1]."""


def _short(line: str) -> str:
    return line if len(line) <= TIP else f"{line[: TIP - 4]} ..."


class Notes:
    """The notes of a page by table and row."""

    def __init__(self, origins: tuple[Origin, ...]) -> None:
        """Take where the figures come from.

        Args:
            origins: one for each figure of a table; figures of a row share a note.
        """
        self.rows: dict[Key, dict[int, Origin]] = {}
        self._of_row: dict[str, list[Key]] = {}
        for item in origins:
            key = (item.table, item.row, item.at, item.nth)
            if key not in self.rows:
                self._of_row.setdefault(item.row, []).append(key)
            self.rows.setdefault(key, {})[item.column] = item
        self._titles: dict[str, int] = {}
        self.keys: list[Key] = []
        """Rows with a note, in the order in which they were found."""

    def find(self, title: str, row: str, at: int = 0, nth: int = 0) -> int | None:
        """Return the number of a row's note, from 0; None where it has none. Notes count as they are found.

        Args:
            title: title of the table.
            row: label of the row.
            at: number of the row in its table, from 0.
            nth: number of the table among those with its title, from 0.
        """
        key = next((key for key in self._of_row.get(row, ()) if _fits(key, title, at, nth)), None)
        if key is None:
            return None
        if key not in self.keys:
            self.keys.append(key)
        return self.keys.index(key)

    def another(self, title: str) -> int:
        """Return how many tables with a title came before the next one [1]."""
        self._titles[title] = self._titles.get(title, -1) + 1
        return self._titles[title]

    def tips(self, at: int, columns: int) -> list[str]:
        """Return what each cell of a row says when it is pointed at.

        Args:
            at: number of the note, from 0.
            columns: cells of the row [1].
        """
        own = self.rows[self.keys[at]]
        return ["\n".join(map(_short, _words(own[column]))) if column in own else "" for column in range(columns)]

    def text(self) -> str:
        """Return all notes as a numbered list."""
        items = []
        for at, key in enumerate(self.keys):
            own = self.rows[key].values()
            inner = "".join(f"<p>{'<br>'.join(map(safe, _words(item)))}</p>" for item in own)
            items.append(f'<li id="note-{at + 1}"><b>{safe(key[1])}</b>{inner}</li>')
        return f'<ol class="notes">{"".join(items)}</ol>'
