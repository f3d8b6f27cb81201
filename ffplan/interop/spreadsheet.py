"""Tables that users write or save from a spreadsheet: the line that names the columns, and what parts its cells."""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from ffplan.base.files import text_lines
from ffplan.base.record import record
from ffplan.interop.logs.measured import _refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

_TITLE_LINES = 20
"""Lines that a table may have above its heading [1]."""
_TITLE_LETTERS = 20_000
"""Letters among which its heading is sought [1]."""
_MARK = "\ufeff"
"""What Windows writes before a text."""
_DELIMITERS = ",;\t|"
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")
"""A number that may have a decimal comma or groups of three digits."""


@record
class _Heading:
    """Where a table begins."""

    line: int
    """The line that names its columns, from 1."""
    sign: str
    """What stands between its cells: spreadsheets write semicolons where numbers have a decimal comma."""

    def number(self, cell: str) -> str:
        """Return a number with a decimal point, as it was meant."""
        plain = self.sign == "," or (self.sign != ";" and _GROUPED.fullmatch(cell) is not None)
        return cell if plain else cell.replace(",", ".")


class _Form(csv.excel):
    """Lines as spreadsheets and hands write them: a blank may stand before the quotation marks of a cell."""

    skipinitialspace = True


def _names(heading: list[str]) -> list[str]:
    """Return the names of columns, which may keep quotation marks behind an odd blank."""
    return [cell.strip().strip('"').strip() for cell in heading]


def _heading(text: str, columns: tuple[str, ...], letters: int = _TITLE_LETTERS) -> _Heading | None:
    """Return the heading that names some columns; None of a text without one among its first letters."""
    lines = text_lines(text.removeprefix(_MARK)[:letters])
    for above, line in enumerate(lines[:_TITLE_LINES]):
        if not all(name in line for name in columns):
            continue
        for sign in _DELIMITERS:
            with suppress(csv.Error):
                if set(columns) <= set(_names(next(csv.reader(lines[above:], _Form, delimiter=sign), []))):
                    return _Heading(above + 1, sign)
    return None


def _rows(text: str, file: str, heading: _Heading) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows below a heading as they are read, each with its line; what a row lacks at its end is empty.

    Raises:
        InputError: where two columns have one name, or a row is no CSV or has more cells than the heading.
    """
    above = heading.line - 1
    lines = csv.reader(text_lines(text.removeprefix(_MARK))[above:], _Form, delimiter=heading.sign)
    try:
        names = _names(next(lines, []))
        twice = next((name for name in names if name and names.count(name) > 1), None)
        if twice is not None:
            _refuse(file, heading.line, f"the column `{twice}` is listed twice", "leave one of them out")
        for row in lines:
            if not row:
                continue
            line = above + lines.line_num
            if any(cell.strip() for cell in row[len(names) :]):
                _refuse(
                    file, line, "more cells than the heading has", "write decimal points, or cells in quotation marks"
                )
            yield line, {name: row[place].strip() if place < len(row) else "" for place, name in enumerate(names)}
    except csv.Error as error:
        _refuse(file, above + max(1, lines.line_num), f"not valid CSV: {error}", "correct the row")
