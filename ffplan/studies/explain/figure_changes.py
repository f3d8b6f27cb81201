"""Figures of two designs side by side: what changed, which sums can be compared, and what is worse than allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ffplan.base.plain import value_at
from ffplan.figures.address import NAMES, address_of, figure_at_address, label_of, number_at_address, unit_at_address
from ffplan.results.difference import TWO_UNITS, FigureChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ffplan.results.run import RunReport
    from ffplan.results.training import TrainReport


class Scope(NamedTuple):
    """What a sum of money covers."""

    excluded: frozenset[str] = frozenset()
    """Categories that the design's cost leaves out."""
    storage: bool = False
    """Whether the design has storage, which else is left out of nothing."""

    def alike(self, other: Scope) -> bool:
        """Return whether two sums cover the same."""
        apart = self.excluded ^ other.excluded
        return not (apart if self.storage or other.storage else apart - {"storage"})


class Stated(NamedTuple):
    """A figure of a design."""

    value: float | None
    unit: str
    scope: Scope = Scope()
    """Of an amount of money."""


Values = dict[str, Stated]
"""Figures by name."""


def values_of(assessment: Mapping[str, Any], job: TrainReport | None = None, run: RunReport | None = None) -> Values:
    """Return the figures of a design, a name of `NAMES` each; a cost or a power without a part's is not known.

    Args:
        assessment: its assessment as plain data, of a saved report or of today.
        job: its workload; None without one.
        run: the run of the workload over its tokens.
    """
    results = {"": assessment, "train": job.rows[0] if job else None, "run": run}
    partial = {name for name in ("cost", "power") if value_at(assessment, (name, "missing"))}
    excluded = frozenset(value_at(assessment, ("cost", "excluded")) or ())
    scope = Scope(excluded, bool(value_at(assessment, ("nodes", "storage"))))
    return {
        name: Stated(
            None if figure_at_address(name).threshold in partial else number_at_address(results, name),
            unit_at_address(results, name),
            scope if figure_at_address(name).unit.startswith("currency") else Scope(),
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

    Amounts in two currencies, or of two scopes, are not compared: the figure has no change.
    """
    rows = []
    for name, address in NAMES.items():
        (old, unit, scope), (two, new_unit, new_scope) = before[name], after[name]
        if old is None and two is None:
            continue
        known = old is not None and two is not None
        unlike = "" if not known else "currencies" if unit != new_unit else "" if scope.alike(new_scope) else "scopes"
        same = known and not unlike
        change = two - old if same and old is not None and two is not None else 0.0
        figure = figure_at_address(address)
        rows.append(
            FigureChange(
                figure=name,
                address=address,
                label=label_of(address),
                unit=f"{unit}{TWO_UNITS}{new_unit}" if unlike == "currencies" else new_unit if old is None else unit,
                kind=figure.threshold,
                before=old,
                after=two,
                relative=change / old if same and old else None,
                verdict=_verdict(figure.better, change),
                unlike=unlike,
            )
        )
    return tuple(rows)


def moved(rows: tuple[FigureChange, ...]) -> tuple[FigureChange, ...]:
    """Return the figures that differ by more than rounding."""
    return tuple(row for row in rows if (row.before != row.after if row.relative is None else abs(row.relative) > 1e-9))


def regressions(rows: tuple[FigureChange, ...], thresholds: dict[str, float]) -> tuple[tuple[FigureChange, float], ...]:
    """Return figures that are lost, or worse than before by more than their threshold, with that threshold.

    Args:
        thresholds: largest relative change by the address of a figure, or by the kind of it [1].
    """
    return tuple((row, limit) for row, limit in _thresholds(rows, thresholds) if row.lost or _beyond(row, limit))


def not_held(rows: tuple[FigureChange, ...], thresholds: dict[str, float]) -> tuple[FigureChange, ...]:
    """Return figures with a threshold that were not known before: nothing says whether they are worse.

    Args:
        thresholds: as for `regressions`.
    """
    return tuple(row for row, _ in _thresholds(rows, thresholds) if row.before is None)


def _thresholds(rows: tuple[FigureChange, ...], thresholds: dict[str, float]) -> Iterator[tuple[FigureChange, float]]:
    own = {address_of(name): limit for name, limit in thresholds.items()}
    for row in rows:
        limit = own.get(row.address, own.get(row.kind))
        if limit is not None:
            yield row, limit


def _beyond(row: FigureChange, limit: float) -> bool:
    """Return whether a figure is worse by more than a limit; of nothing, any share is more."""
    return row.verdict == "worse" and (row.relative is None or abs(row.relative) > limit + 1e-12)
