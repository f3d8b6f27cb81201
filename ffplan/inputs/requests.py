"""Files of requests: lengths of prompts and answers with times of arrival, and the requests of each hour."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime
from io import StringIO
from math import isfinite
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError, located
from ffplan.base.files import text_lines
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROMPTS = ("prompt", "isl", "input_length", "input_tokens", "prompt_tokens", "contexttokens", "request tokens")
_OUTPUTS = (
    "output",
    "osl",
    "output_length",
    "output_tokens",
    "generatedtokens",
    "response tokens",
    "completion_tokens",
)
_TIMES = ("time", "timestamp", "arrival", "arrived_at")
_MOST = 10_000_000
_MILLI = 1e3
"""Numbers of a `timestamp` in JSON lines are milliseconds, as Mooncake's are; dates are not."""


@record
class _RequestLine:
    prompt: float
    output: float
    time: float | None
    """Time of arrival [s]; None if the file has none."""


def _fault(name: str, line: int, message: str, remedy: str) -> InputError:
    return located("file-requests", name, (line, 1), message, remedy)


def read_requests(text: str, name: str) -> list[_RequestLine]:
    """Return the requests of a file.

    Args:
        text: CSV with a header, or JSON lines, with columns such as prompt, output and time; Azure's, Mooncake's and
            BurstGPT's names are known.
        name: name of the file, for messages.

    Raises:
        InputError: if a column is missing, or a line is wrong.
    """
    rows = list(_json_rows(text, name) if text.lstrip().startswith("{") else _csv_rows(text, name))
    if not rows:
        raise _fault(name, 1, "no requests", "write a header such as `prompt,output`, and a line for each request")
    line, first = rows[0]
    prompt, output = _column(first, _PROMPTS), _column(first, _OUTPUTS)
    time = _column(first, _TIMES)
    if prompt is None or output is None:
        missing, known = ("prompts", _PROMPTS) if prompt is None else ("answers", _OUTPUTS)
        raise _fault(name, line, f"no column with the tokens of {missing}", f"name it one of {', '.join(known[:4])}")
    scale = _MILLI if time == "timestamp" and text.lstrip().startswith("{") else 1.0
    return _checked(rows, name, (prompt, output, time), scale)


def _checked(
    rows: list[tuple[int, dict[str, Any]]], name: str, columns: tuple[str, str, str | None], scale: float
) -> list[_RequestLine]:
    prompt, output, time = columns
    requests: list[_RequestLine] = []
    start = None
    for line, row in rows:
        tokens = [_tokens(row.get(column), name, line, column) for column in (prompt, output)]
        at = None
        if time is not None:
            at = _seconds(row.get(time), name, line, time, scale)
            start = at if start is None else start
            if requests and requests[-1].time is not None and at - start < requests[-1].time:
                raise _fault(name, line, "the time is earlier than on the line above", "sort the requests by time")
            at -= start
        requests.append(_RequestLine(tokens[0], tokens[1], at))
    return requests


def _column(row: dict[str, Any], known: tuple[str, ...]) -> str | None:
    return next((name for name in known if name in row), None)


def _csv_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(StringIO(text, newline=""))
    try:
        rows = [(reader.line_num, cells) for cells in reader]
    except csv.Error as error:
        raise _fault(name, max(1, reader.line_num), f"not valid CSV: {error}", "a line for each request") from None
    header = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    for line, cells in rows[1:]:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise _fault(name, line, f"{len(cells)} cells under {len(header)} columns", "complete the line")
        yield line, dict(zip(header, cells, strict=True))


def _json_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, content in enumerate(text_lines(text), 1):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
        except (ValueError, RecursionError):
            raise _fault(name, line, "the line is not JSON", "write one object a line") from None
        if not isinstance(row, dict):
            raise _fault(name, line, "the line is not an object", 'write {"prompt": 1024, "output": 128}')
        yield line, {str(key).lower(): value for key, value in row.items()}


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return None if isinstance(value, bool) or number != number else number


def _tokens(value: Any, name: str, line: int, column: str) -> float:
    number = _number(value)
    if number is None or not 1 <= number <= _MOST:
        raise _fault(name, line, f"`{column}` is {value!r}, no number of tokens", f"write 1 to {_MOST:,}")
    return number


def _seconds(value: Any, name: str, line: int, column: str, scale: float) -> float:
    """Return a time of arrival: a number over its scale, or a date, which is in UTC unless it states an offset [s]."""
    number = _number(value)
    if number is not None and abs(number) < 1e15:
        return number / scale
    try:
        date = datetime.fromisoformat(str(value).strip())
        return (date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        message = f"`{column}` is {value!r}, no time"
        raise _fault(name, line, message, "write seconds, or a date such as 2023-11-16 18:15:46") from None


_DAY, _WEEK = 24, 168
_HOUR = re.compile(r"([0-9]{1,3})(?::00){0,2}")
"""Form of an hour: 13, or 13:00."""


def _hours_fault(name: str, line: int, message: str, remedy: str) -> InputError:
    return located("file-hours", name, (line, 1), message, remedy)


def _amount(text: str, name: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (isfinite(value) and value >= 0):
        raise _hours_fault(name, line, f"`{text}` is not a number of requests", "write a number, 0 or more")
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
        raise _hours_fault(name, 1, f"not valid CSV: {error}", "write a line for each hour") from None
    hours: dict[int, float] = {}
    titles = tuple(cell.lower() for cell in rows[0][1]) if rows else ()
    headed = any(title.isidentifier() for title in titles)
    if headed and "requests" not in titles:
        raise _hours_fault(name, rows[0][0], "no column `requests`", "name it so in the header")
    for line, cells in rows[1:] if headed else rows:
        if len(cells) != (len(titles) if headed else 1):
            raise _hours_fault(name, line, f"{len(cells)} values", "write one for each column, or one number")
        hour = _hour(cells[titles.index("hour")], name, line) if "hour" in titles else len(hours)
        if hour in hours:
            raise _hours_fault(name, line, f"hour {hour} is stated twice", "remove one of the two")
        hours[hour] = _amount(cells[titles.index("requests")] if headed else cells[0], name, line)
    if sorted(hours) not in (list(range(_DAY)), list(range(_WEEK))):
        whole = range(_DAY if len(hours) <= _DAY else _WEEK)
        gone = next((hour for hour in whole if hour not in hours), None)
        what = f"hour {gone} is missing" if gone is not None else f"{len(hours)} hours"
        raise _hours_fault(name, rows[-1][0] if rows else 1, what, f"state {_DAY} hours of a day, or {_WEEK} of a week")
    if not sum(hours.values()):
        raise _hours_fault(name, rows[-1][0], "no hour has a request", "state the requests of each hour")
    return tuple(hours[hour] for hour in sorted(hours))


def _hour(text: str, name: str, line: int) -> int:
    match = _HOUR.fullmatch(text)
    if match is None or int(match[1]) >= _WEEK:
        raise _hours_fault(name, line, f"`{text}` is not an hour", f"count hours from 0, to {_DAY - 1} or {_WEEK - 1}")
    return int(match[1])
