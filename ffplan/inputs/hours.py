"""Files with the requests of each hour of a day or a week."""

from __future__ import annotations

import csv
import re
from io import StringIO
from math import isfinite

from ffplan.base.errors import InputError, located

_DAY, _WEEK = 24, 168
_HOUR = re.compile(r"([0-9]{1,3})(?::00){0,2}")
"""Form of an hour: 13, or 13:00."""


def _fault(name: str, line: int, message: str, remedy: str) -> InputError:
    return located("file-hours", name, (line, 1), message, remedy)


def _amount(text: str, name: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (isfinite(value) and value >= 0):
        raise _fault(name, line, f"`{text}` is not a number of requests", "write a number, 0 or more")
    return value


def read_hours(text: str, name: str) -> tuple[float, ...]:
    """Return the requests of each hour; only their proportions count.

    Args:
        text: a number on a line for each of 24 or 168 hours; or CSV with a column `requests`, in the order of the hours
            unless a column `hour` counts them from 0.
        name: name of the file, for messages.

    Raises:
        InputError: if an hour is missing or stated twice, a number is wrong, or no hour has a request.
    """
    try:
        reader = csv.reader(StringIO(text, newline=""))
        rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(map(str.strip, cells))]
    except csv.Error as error:
        raise _fault(name, 1, f"not valid CSV: {error}", "write a line for each hour") from None
    hours: dict[int, float] = {}
    titles = tuple(cell.lower() for cell in rows[0][1]) if rows else ()
    headed = any(title.isidentifier() for title in titles)
    if headed and "requests" not in titles:
        raise _fault(name, rows[0][0], "no column `requests`", "name it so in the header")
    for line, cells in rows[1:] if headed else rows:
        if len(cells) != (len(titles) if headed else 1):
            raise _fault(name, line, f"{len(cells)} values", "write one for each column, or one number")
        hour = _hour(cells[titles.index("hour")], name, line) if "hour" in titles else len(hours)
        if hour in hours:
            raise _fault(name, line, f"hour {hour} is stated twice", "remove one of the two")
        hours[hour] = _amount(cells[titles.index("requests")] if headed else cells[0], name, line)
    if sorted(hours) not in (list(range(_DAY)), list(range(_WEEK))):
        whole = range(_DAY if len(hours) <= _DAY else _WEEK)
        gone = next((hour for hour in whole if hour not in hours), None)
        what = f"hour {gone} is missing" if gone is not None else f"{len(hours)} hours"
        raise _fault(name, rows[-1][0] if rows else 1, what, f"state {_DAY} hours of a day, or {_WEEK} of a week")
    if not sum(hours.values()):
        raise _fault(name, rows[-1][0], "no hour has a request", "state the requests of each hour")
    return tuple(hours[hour] for hour in sorted(hours))


def _hour(text: str, name: str, line: int) -> int:
    match = _HOUR.fullmatch(text)
    if match is None or int(match[1]) >= _WEEK:
        raise _fault(name, line, f"`{text}` is not an hour", f"count hours from 0, to {_DAY - 1} or {_WEEK - 1}")
    return int(match[1])
