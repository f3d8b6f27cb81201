"""JSON and CSV: the whole result, or its main table, for programs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import fields
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ffplan.base.control_characters import plain_cell, visible_json
from ffplan.base.plain import flat, leaves, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ffplan.report.document import Document


def to_json(value: Any) -> str:
    """Return `value` as JSON text that is the same for the same input."""
    return visible_json(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def render_json(document: Document) -> str:
    """Return the whole result as JSON."""
    return to_json(document.value)


_PART = 4096
"""Records written at a time."""


def _cell(value: Any) -> str:
    if value is None or value in ({}, []):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return plain_cell(value)
    return repr(value) if isinstance(value, float) else str(value)


def _text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV (RFC 4180, newline as line end)."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue()


def _csv_text(header: list[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a header and rows as CSV."""
    return _text([header, *rows])


def _records_csv(rows: Sequence[Any]) -> str:
    """Return records of one kind as CSV, a column for each field; nested fields are joined by dots."""
    flats = [flat(plain(row)) for row in rows]
    if not flats:
        return ""
    header = list(flats[0])
    return _csv_text(header, [[row.get(name) for name in header] for row in flats])


def flat_lines(rows: Iterable[Any]) -> Iterator[str]:
    """Yield records of one kind without nested fields as CSV, some thousand at a time."""
    rest = iter(rows)
    first = next(rest, None)
    if first is None:
        return
    names = [field.name for field in fields(first)]
    values = attrgetter(*names)
    yield _csv_text(names, [values(first)])
    while part := list(islice(rest, _PART)):
        yield _text(map(values, part))


def render_csv(document: Document) -> str:
    """Return the main table of a result as CSV, or its leaves by the paths of the JSON document."""
    if document.rows is not None:
        return _records_csv(document.rows())
    return _csv_text(["path", "value"], [list(leaf) for leaf in leaves(plain(document.value))])
