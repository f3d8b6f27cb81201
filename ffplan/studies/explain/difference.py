"""Two versions of a design: what changed, and what each change did to the figures that matter."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ffplan import __version__
from ffplan.base.errors import InputError
from ffplan.base.record import record
from ffplan.inputs.document import Document
from ffplan.results.design import SCHEMA_VERSION, DesignInfo, ToolInfo
from ffplan.results.difference import UNKNOWN_CHANGES, ChangeEffect, DesignDifference, FieldChange, FigureChange
from ffplan.studies.explain.figures import Values, figure_changes, moved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_STEPS = 40
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
    """A value that differs at a path."""

    path: tuple[str | int, ...]
    before: Any
    after: Any

    def row(self) -> FieldChange:
        return FieldChange(".".join(map(str, self.path)), _written(self.before), _written(self.after))


def _written(value: Any) -> str | None:
    return None if value is _ABSENT else json.dumps(value, ensure_ascii=False)


def _changes(before: Any, after: Any, path: tuple[str | int, ...] = ()) -> Iterator[_Change]:
    """Yield where two plain values differ, as deep as both are mappings, or lists of one length."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*after, *(name for name in before if name not in after)]:
            yield from _changes(before.get(name, _ABSENT), after.get(name, _ABSENT), (*path, name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for at, (one, two) in enumerate(zip(before, after, strict=True)):
            yield from _changes(one, two, (*path, at))
    elif type(before) is not type(after) or before != after:
        yield _Change(path, before, after)


def _applied(data: Any, change: _Change) -> Any:
    """Return plain data with one change made."""
    made = deepcopy(data)
    at = made
    for step in change.path[:-1]:
        at = at[step]
    if change.after is _ABSENT:
        del at[change.path[-1]]
    else:
        at[change.path[-1]] = deepcopy(change.after)
    return made


def _grouped(changes: list[_Change], before: Any, after: Any) -> list[_Change]:
    """Return changes few enough to attribute: whole sections, where there are many."""
    if len(changes) <= MOST_STEPS:
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
    """Yield what each change did, made one after the other.

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
    """Return what changed between two versions of a design, and what each change did.

    Args:
        assess: returns the figures of a design, given its file; raises `InputError` where it cannot be assessed.
        step: called with the number of each change, and how many there are.
        notes: what the reader should know besides.
    """
    rows: tuple[FieldChange, ...] = ()
    effects: tuple[ChangeEffect, ...] = ()
    said = list(notes)
    if before.document is not None and after.document is not None:
        one, two = before.document.data, after.document.data
        changes = list(_changes(one, two))
        rows = tuple(change.row() for change in changes)
        effects = tuple(_effects(_grouped(changes, one, two), before, after, assess, step))
        if len(changes) > MOST_STEPS:
            said.append(f"{len(changes)} changes are more than {MOST_STEPS}: their effects are given by section.")
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


def regressions(rows: tuple[FigureChange, ...], thresholds: dict[str, float]) -> tuple[tuple[FigureChange, float], ...]:
    """Return figures that are worse than before by more than the threshold of their kind, with that threshold.

    Args:
        rows: figures before and after.
        thresholds: largest relative change by kind [1].
    """
    worse = ((row, thresholds.get(row.kind)) for row in rows if row.verdict == "worse" and row.relative is not None)
    return tuple((row, limit) for row, limit in worse if limit is not None and abs(row.relative or 0.0) > limit + 1e-12)
