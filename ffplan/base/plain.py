"""Plain data: made from records, read and set by paths such as `nodes[0].count`."""

from __future__ import annotations

import csv
from dataclasses import fields, is_dataclass
from enum import Enum
from io import StringIO
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ffplan.base.control_characters import plain_cell
from ffplan.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


SIGNIFICANT_DIGITS = 12
"""Digits kept of a float, so that the last bits of an addition do not show."""
_PART = 4096
"""Rows of CSV written at a time [1]."""


def plain(value: Any) -> Any:
    """Return dataclasses as mappings, tuples as lists, floats at 12 significant digits."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [plain(child) for child in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    return value


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, value) for every scalar inside plain data."""
    if isinstance(value, dict) and value:
        for key, child in value.items():
            yield from leaves(child, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for position, child in enumerate(value):
            yield from leaves(child, f"{path}[{position}]")
    else:
        yield path, value


def numbers(value: Any) -> dict[str, float]:
    """Return every number inside plain data by its path, booleans excluded."""
    return {path: leaf for path, leaf in leaves(value) if isinstance(leaf, int | float) and not isinstance(leaf, bool)}


def flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten a mapping: keys joined by dots, lists as text."""
    flattened: dict[str, Any] = {}
    for key, child in value.items():
        if isinstance(child, dict):
            flattened |= flat(child, f"{prefix}{key}.")
        else:
            flattened[f"{prefix}{key}"] = " ".join(map(str, child)) if isinstance(child, list) else child
    return flattened


def value_at(data: Any, steps: Iterable[str | int]) -> Any:
    """Return the value at a path of plain data or records; None if missing."""
    for step in steps:
        if isinstance(step, int):
            data = data[step] if isinstance(data, list | tuple) and step < len(data) else None
        else:
            data = data.get(step) if isinstance(data, dict) else getattr(data, step, None)
    return data


def number_at(data: Any, steps: Iterable[str | int]) -> float | None:
    """Return the number at a path of plain data or records; None if missing."""
    value = value_at(data, steps)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


class NoPlaceError(LookupError):
    """A path leads nowhere; `step` is its first step that the data lacks."""

    def __init__(self, step: str | int) -> None:
        """Keep the step."""
        super().__init__(str(step))
        self.step = step


def steps(path: str) -> list[str | int]:
    """Return the steps of a path such as `nodes[0].count`, or `nodes.0.count` as findings write it.

    Raises:
        UsageError: if the path is malformed.
    """
    path_steps: list[str | int] = []
    for part in path.split("."):
        name, *places = part.split("[")
        path_steps.append(int(name) if path_steps and len(name) < 10 and name.isdecimal() else name)
        for place in places:
            if not (place.endswith("]") and len(place) < 10 and place[:-1].isdecimal()):
                raise UsageError(f"`{path[:60]}` is not a path; write one such as `nodes[0].count`")
            path_steps.append(int(place[:-1]))
    return path_steps


def put(data: Any, path: str, value: Any, *, create: bool = False) -> None:
    """Set the value at a path; the last name need not exist.

    Args:
        data: mappings and lists, changed in place.
        create: add missing mappings on the way; otherwise they must exist.

    Raises:
        UsageError: if the path is malformed.
        NoPlaceError: if the data lacks a step of the path.
    """
    *way, last = steps(path)
    parent = data
    for step in way:
        if create and isinstance(parent, dict) and isinstance(step, str):
            parent.setdefault(step, {})
        try:
            parent = parent[step]
        except (KeyError, IndexError, TypeError):
            raise NoPlaceError(step) from None
    held = isinstance(last, int) and last < len(parent) if isinstance(parent, list) else isinstance(parent, dict)
    if not held or (isinstance(parent, dict) and not isinstance(last, str)):
        raise NoPlaceError(last)
    parent[last] = value


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return plain_cell(value)
    return None if value in ({}, []) else value


def csv_parts(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Yield a header and rows as CSV (RFC 4180, newline as line end), some thousand at a time."""
    rest = chain((head,), rows)
    while part := list(islice(rest, _PART)):
        stream = StringIO()
        csv.writer(stream, lineterminator="\n").writerows([_cell(value) for value in row] for row in part)
        yield stream.getvalue()
