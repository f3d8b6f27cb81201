"""Plain data from assessments, and the two machine formats made of it: JSON and CSV."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNIFICANT_DIGITS = 12
"""Digits kept of a float, so that the last bits of an addition do not show."""


def plain(value: Any) -> Any:
    """Return dataclasses as mappings, tuples as lists, floats at 12 significant digits."""
    if is_dataclass(value):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    return value


def to_json(value: Any) -> str:
    """Return `value` as JSON text that is the same for the same input."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for position, item in enumerate(value):
            yield from _leaves(item, f"{path}[{position}]")
    else:
        yield path, value


def _cell(value: Any) -> str:
    if value is None or value in ({}, []):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


def csv_text(header: list[str], rows: list[list[Any]]) -> str:
    """Return rows as CSV (RFC 4180, newline as line end)."""
    import csv
    import io

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([[_cell(item) for item in row] for row in rows])
    return stream.getvalue()


def to_csv(value: Any) -> str:
    """Return every leaf of `value` as a row of path and value; paths are those of the JSON document."""
    return csv_text(["path", "value"], [list(leaf) for leaf in _leaves(plain(value), "")])
