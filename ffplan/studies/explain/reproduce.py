"""Two designs apart, change by change; and reports as they were saved."""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from math import isfinite
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.base.version import __version__
from ffplan.inputs.document import Document
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.difference import (
    UNKNOWN_CHANGES,
    ChangeEffect,
    DesignDifference,
    FieldChange,
)
from ffplan.results.result import DesignInfo, ToolInfo
from ffplan.studies.explain.figure_changes import Values, figure_changes, moved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_MOST_STEPS = 40
"""Most changes that are attributed one by one; more are taken section by section."""
_ABSENT = object()


@record
class Version:
    """A version of a design."""

    info: DesignInfo
    figures: Values
    document: Document | None
    """Its file; None of a saved report."""


@record
class _Change:
    path: tuple[str | int, ...]
    before: Any
    after: Any

    def row(self) -> FieldChange:
        return FieldChange(".".join(map(str, self.path)), _written(self.before), _written(self.after))


def _written(value: Any) -> str | None:
    return None if value is _ABSENT else json.dumps(value, ensure_ascii=False)


def _changes(before: Any, after: Any, path: tuple[str | int, ...] = ()) -> Iterator[_Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*after, *(name for name in before if name not in after)]:
            yield from _changes(before.get(name, _ABSENT), after.get(name, _ABSENT), (*path, name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, two) in enumerate(zip(before, after, strict=True)):
            yield from _changes(old, two, (*path, index))
    elif type(before) is not type(after) or before != after:
        yield _Change(path, before, after)


def _applied(data: Any, change: _Change) -> Any:
    changed = deepcopy(data)
    target = changed
    for step in change.path[:-1]:
        target = target[step]
    if change.after is _ABSENT:
        del target[change.path[-1]]
    else:
        target[change.path[-1]] = deepcopy(change.after)
    return changed


def _grouped(changes: list[_Change], before: Any, after: Any) -> list[_Change]:
    """Return changes few enough to attribute; whole sections if there are many."""
    if len(changes) <= _MOST_STEPS:
        return changes
    heads = dict.fromkeys(change.path[0] for change in changes)
    return [_Change((head,), before.get(head, _ABSENT), after.get(head, _ABSENT)) for head in heads]


def _effects(
    changes: list[_Change],
    before: Version,
    after: Version,
    assess: Callable[[bytes], Values],
    step: Callable[[int, int], None],
) -> Iterator[ChangeEffect]:
    """Yield the effect of each change, made one after the other.

    A design between the two that cannot be assessed has no figures: its change counts together with the next.
    """
    assert before.document is not None
    data, last, waiting = before.document.data, before.figures, list[_Change]()
    for number, change in enumerate(changes, 1):
        step(number, len(changes))
        data = _applied(data, change)
        waiting.append(change)
        try:
            now = after.figures if number == len(changes) else assess(json.dumps(data, ensure_ascii=False).encode())
        except InputError:
            continue
        yield ChangeEffect(tuple(item.row() for item in waiting), moved(figure_changes(last, now)))
        last, waiting = now, []


def difference(
    before: Version,
    after: Version,
    assess: Callable[[bytes], Values],
    step: Callable[[int, int], None],
    notes: tuple[str, ...] = (),
) -> DesignDifference:
    """Return the changes between two versions of a design, and the effect of each.

    Args:
        assess: returns the figures of a design file; raises `InputError` if it cannot be assessed.
        step: called with the number of each change, and how many there are.
    """
    rows: tuple[FieldChange, ...] = ()
    effects: tuple[ChangeEffect, ...] = ()
    said = list(notes)
    if before.document is not None and after.document is not None:
        old, two = before.document.data, after.document.data
        changes = list(_changes(old, two))
        rows = tuple(change.row() for change in changes)
        effects = tuple(_effects(_grouped(changes, old, two), before, after, assess, step))
        if len(changes) > _MOST_STEPS:
            said.append(f"{len(changes)} changes are more than {_MOST_STEPS}: their effects are given by section.")
        if len(effects) > 1:
            said.append("Effects are of one change after the other, in this order; in another order they may differ.")
    else:
        said.append(UNKNOWN_CHANGES)
    figures = figure_changes(before.figures, after.figures)
    if not rows and moved(figures) and before.document is not None and after.document is not None:
        said.append("The designs are the same; catalogue or program differ.")
    return DesignDifference(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        before=before.info,
        after=after.info,
        changes=rows,
        figures=figures,
        effects=effects,
        notes=tuple(said),
    )


_MOST_DEPTH, _MOST_DESIGNS, _MOST_DIGITS = 40, 50, 20
"""Levels of a report, designs that it names, and digits of its whole numbers."""


class NoReportError(Exception):
    """The file is no report that names its inputs."""

    def __init__(self, message: str, place: tuple[int, int] = (1, 1)) -> None:
        super().__init__(message)
        self.place = place


@record
class _Saved:
    kind: str
    value: dict[str, Any]
    designs: tuple[dict[str, Any], ...]


def read_report(text: str) -> _Saved:
    """Return a saved report; raise `NoReportError` if it is not the JSON of `ffplan design` or `ffplan compare`."""
    value = _json(text)
    kind = "comparison" if isinstance(value, dict) and "designs" in value else "design"
    designs = value.get("designs") if kind == "comparison" else [value]
    if not isinstance(designs, list) or not designs or not all(map(_names_its_inputs, designs)):
        raise NoReportError(
            "this report does not name the files it rests on; save one with `ffplan design DESIGN -f json -o FILE`, or "
            "with `ffplan compare`"
        )
    labels = value.get("labels")
    if kind == "comparison" and not (
        isinstance(labels, list)
        and all(isinstance(label, str) for label in labels)
        and len(set(labels)) == len(labels) == len(designs)
        and value.get("baseline") in labels
    ):
        raise NoReportError("this comparison does not name its designs and its baseline: see `labels` and `baseline`")
    if len(designs) > _MOST_DESIGNS:
        raise NoReportError(f"{len(designs):,} designs are more than {_MOST_DESIGNS}; save them as several comparisons")
    return _Saved(kind, value, tuple(designs))


def _json(text: str) -> Any:
    """Return the plain data of a JSON text, with finite numbers, unique keys and a limited depth."""

    def number(found: str) -> float:
        value = float(found)
        if not isfinite(value):
            raise ValueError(f"`{found[:20]}` is no finite number")
        return value

    def whole(found: str) -> int:
        if len(found) > _MOST_DIGITS:
            raise ValueError(f"a number of {len(found):,} digits")
        return int(found)

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(members)
        if len(value) < len(members):
            ((twice, _),) = Counter(key for key, _ in members).most_common(1)
            raise ValueError(f"`{twice[:60]}` stands twice")
        return value

    try:
        value = json.loads(text, parse_float=number, parse_int=whole, parse_constant=number, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise NoReportError(f"not valid JSON: {error.msg}", (error.lineno, error.colno)) from None
    except (ValueError, RecursionError) as error:
        raise NoReportError(f"not valid JSON: {error}") from None
    level = [value]
    for _ in range(_MOST_DEPTH):
        level = [
            inner
            for holder in level
            if isinstance(holder, dict | list)
            for inner in (holder.values() if isinstance(holder, dict) else holder)
        ]
        if not level:
            return value
    raise NoReportError(f"this report has more than {_MOST_DEPTH} levels")


def _names_its_inputs(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    tool, design, catalog = (value.get(name) for name in ("tool", "design", "catalog"))
    return (
        isinstance(tool, dict)
        and isinstance(tool.get("version"), str)
        and isinstance(design, dict)
        and all(isinstance(design.get(name), str) for name in ("file", "sha256"))
        and isinstance(catalog, list)
        and all(
            isinstance(part, dict) and all(isinstance(part.get(name), str) for name in ("path", "sha256"))
            for part in catalog
        )
    )
