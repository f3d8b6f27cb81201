"""Two versions of a design: what changed, and what each change did to their figures."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import InputError
from ffplan.base.plain import value_at
from ffplan.base.record import record
from ffplan.base.version import __version__
from ffplan.figures.address import NAMES, address_of, figure_at_address, label_of, number_at_address, unit_at_address
from ffplan.inputs.document import Document
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.difference import UNKNOWN_CHANGES, ChangeEffect, DesignDifference, FieldChange, FigureChange
from ffplan.results.result import DesignInfo, ToolInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ffplan.results.run import RunReport
    from ffplan.results.training import TrainReport


Values = dict[str, tuple[float | None, str]]
"""Value and unit of each figure by name."""


def values_of(assessment: Mapping[str, Any], job: TrainReport | None = None, run: RunReport | None = None) -> Values:
    """Return the figures of a design, a name of `NAMES` each; a cost or a power without a part's is not known.

    Args:
        assessment: its assessment as plain data, of a saved report or of today.
        job: its workload; None without one.
        run: the run of the workload over its tokens.
    """
    results = {"": assessment, "train": job.rows[0] if job else None, "run": run}
    partial = {name for name in ("cost", "power") if value_at(assessment, (name, "missing"))}
    return {
        name: (
            None if figure_at_address(name).threshold in partial else number_at_address(results, name),
            unit_at_address(results, name),
        )
        for name in NAMES
    }


def _verdict(better: int, change: float) -> str:
    return "" if not change or not better else "better" if change * better > 0 else "worse"


def figure_changes(before: Values, after: Values) -> tuple[FigureChange, ...]:
    """Return every figure that one of two designs has.

    Args:
        before: figures before.
        after: figures after.

    Amounts in two currencies are not compared: the figure has no change.
    """
    rows = []
    for name, address in NAMES.items():
        (old, unit), (two, new_unit) = before[name], after[name]
        if old is None and two is None:
            continue
        same = old is not None and two is not None and unit == new_unit
        change = two - old if same and old is not None and two is not None else 0.0
        figure = figure_at_address(address)
        rows.append(
            FigureChange(
                figure=name,
                address=address,
                label=label_of(address),
                unit=unit if same or two is None else new_unit if old is None else f"{unit}, {new_unit}",
                kind=figure.threshold,
                before=old,
                after=two,
                relative=change / old if same and old else None,
                verdict=_verdict(figure.better, change),
            )
        )
    return tuple(rows)


def _moved(rows: tuple[FigureChange, ...], least: float = 1e-9) -> tuple[FigureChange, ...]:
    return tuple(row for row in rows if _has_moved(row, least))


def _has_moved(row: FigureChange, least: float) -> bool:
    if row.before is None or row.after is None or row.relative is None:
        return row.before != row.after
    return abs(row.relative) > least


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
        yield ChangeEffect(tuple(item.row() for item in waiting), _moved(figure_changes(last, now)))
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
    if not rows and _moved(figures) and before.document is not None and after.document is not None:
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
    """Return figures that are worse than before by more than their threshold, with that threshold.

    Args:
        thresholds: largest relative change by the address of a figure, or by the kind of it [1].
    """
    own = {address_of(name): limit for name, limit in thresholds.items()}
    worse = ((row, own.get(row.address, own.get(row.kind))) for row in rows if row.verdict == "worse")
    return tuple((row, limit) for row, limit in worse if limit is not None and abs(row.relative or 0.0) > limit + 1e-12)
