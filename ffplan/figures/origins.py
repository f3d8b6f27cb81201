"""Origin of any figure of a result: its value and meaning, its equation, and its parts."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import number
from ffplan.base.plain import steps
from ffplan.base.record import record
from ffplan.figures.cost import COST
from ffplan.figures.design import DESIGN
from ffplan.figures.figure import Figure, equation
from ffplan.figures.run import COMPARISON, RUN, SERVING, TRAINING
from ffplan.results.explanation import Evidence, Origin
from ffplan.results.run import Band

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ffplan.base.outcomes import InputRow
    from ffplan.figures.figure import Table
    from ffplan.results.explanation import Derivation

FIGURES: Table = {**COST, **RUN, **TRAINING, **SERVING, **DESIGN, **COMPARISON}
"""Every figure that says more than its meaning, by record class and field."""
MOST_PARTS = 16
"""Parts of a figure that are named [1]."""
QUANTILES = {"p10": "10th percentile", "p50": "median", "p90": "90th percentile"}
"""Names of a range's fields other than its likely value."""
_UNIT = re.compile(r"\[([^\]]+)\]")
_SIDE = re.compile(r"(?:^|\.)(?:designs|sides|own_sizes)\[([0-9]+)\]")
_PLAIN = Figure()


@record
class _Place:
    """Place of a number: enclosing records, innermost first, each with its path."""

    field: str
    above: tuple[tuple[str, Any], ...]


def unit_of(meaning: str, currency: str = "currency") -> str:
    """Return the unit that a description names in brackets; an empty text for pure numbers, and for bare amounts.

    Args:
        currency: currency of amounts, if known.
    """
    unit = _UNIT.search(meaning.replace("[currency", f"[{currency}"))
    return "" if unit is None or unit[1] in ("1", "currency") else unit[1]


def said(row: InputRow, currency: str) -> str:
    """Return an input of an account with range, source, date and status.

    Args:
        currency: currency of amounts.
    """
    unit = row.unit.replace("currency", currency)
    unit = "" if unit == "1" else f" {unit.removeprefix('1 ')}"
    span = "" if row.distribution == "fixed" else f", {number(row.low, 4)} to {number(row.high, 4)} {row.distribution}"
    dated = f", {row.date}" if row.date else ""
    return f"{row.label}: {number(row.likely, 5)}{unit}{span} ({row.source}{dated}; {row.status})"


def evidence(row: Evidence) -> str:
    """Return a figure of the catalogue with source, date, grade and status."""
    return f"{row.part}, {row.path}: {row.value} ({row.source}, {row.date}; {row.grade}, {row.status})"


def _places(
    value: Any, path: str = "", field: str = "", above: tuple[tuple[str, Any], ...] = ()
) -> Iterator[tuple[str, _Place]]:
    """Yield the path and the place of every number in a record; `above` has the innermost record first."""
    if is_dataclass(value):
        for inner in fields(value):
            full = f"{path}.{inner.name}" if path else inner.name
            yield from _places(getattr(value, inner.name), full, inner.name, ((path, value), *above))
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _places(child, f"{path}.{key}", field, above)
    elif isinstance(value, list | tuple):
        for position, child in enumerate(value):
            yield from _places(child, f"{path}[{position}]", field, above)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, _Place(field, above)


def figure_of(holder: Any, field: str) -> Figure:
    """Return the table's figure for a field of a record; an empty figure without an entry."""
    entry = FIGURES.get(type(holder), {}).get(field, _PLAIN)
    return entry.derived(holder) if isinstance(entry, Figure) else entry(holder)


def figure_at(value: Any, path: str) -> Figure:
    """Return the table's figure for a path of a result."""
    holder, field = value, path
    for step in steps(path):
        if is_dataclass(value):
            holder, field = value, str(step)
        if isinstance(step, int):
            value = value[step] if isinstance(value, list | tuple) else None
        else:
            value = value.get(step) if isinstance(value, dict) else getattr(value, step, None)
    return figure_of(holder, field)


class Origins:
    """Figures of one result with value, meaning and origin."""

    def __init__(
        self,
        value: Any,
        described: Iterable[tuple[str, float, str]],
        sources: Iterable[Evidence],
        derivation: Callable[[str, float, str], Derivation | None],
    ) -> None:
        self.value, self.sources, self.derivation = value, tuple(sources), derivation
        self.found: Mapping[str, tuple[float, str]] = {path: (amount, text) for path, amount, text in described}
        self._at = dict(_places(value))
        self._labels: tuple[str, ...] = getattr(value, "labels", ())

    def shown(self, path: str) -> str:
        """Return a figure with its unit."""
        value, text = self.found[path]
        return f"{number(value, 5)} {unit_of(text, self._currency(path))}".rstrip()

    def of(self, path: str) -> Origin:
        """Return where a figure comes from.

        Args:
            path: path of a number of the result.
        """
        place, (value, meaning) = self._at[path], self.found[path]
        root = self.derivation(path, value, meaning)
        derived = (root.formula, root.source, tuple(_steps(root.steps))) if root else ("", "", ())
        figure, quantile = self._figure(place)
        formula, source = equation(figure.place) if figure.place else (figure.how, "")
        if quantile and (draws := self._above(place, "draws")) is not None:
            formula = (
                f"{QUANTILES[quantile]} of {draws:,} draws of the inputs" if draws else "no draws: the likely value"
            )
            source = ""
        parts = (*derived[2], *self._parts(figure, place, path))
        more = len(parts) - MOST_PARTS
        return Origin(
            design=self._design(path),
            path=path,
            value=self.shown(path),
            meaning=meaning,
            formula=derived[0] or formula,
            source=derived[1] if derived[0] else source,
            parts=parts if more <= 0 else (*parts[:MOST_PARTS], f"and {more} more in JSON"),
        )

    def _figure(self, place: _Place) -> tuple[Figure, str]:
        """Return the table's figure for a number, and the number's quantile in a range."""
        field, holder, quantile = place.field, place.above[0][1], ""
        if isinstance(holder, Band):
            quantile = field if field in QUANTILES else ""
            path, holder = place.above[0][0], place.above[1][1]
            field = path.rpartition(".")[2]
        return figure_of(holder, field), quantile

    def _parts(self, figure: Figure, place: _Place, path: str) -> Iterator[str]:
        for name in figure.of:
            yield from (f"{near} = {self.shown(near)}" for near in self._named(name, place) if near != path)
        if figure.said is not None:
            holders = [holder for _, holder in place.above if not isinstance(holder, Band)]
            yield from figure.said(holders[0])
        yield from (said(row, self._currency(path)) for row in self._inputs(place, figure.inputs))
        if figure.evidence:
            part = self._above(place, figure.part) if figure.part else None
            for source in self.sources:
                if (not figure.part or source.part == part) and source.path.startswith(figure.evidence):
                    yield evidence(source)

    def _named(self, name: str, place: _Place) -> list[str]:
        """Return the paths of a figure by its name here, or in a record around it."""
        for start, _ in place.above:
            path = f"{start}.{name}" if start else name
            if name.endswith(".*"):
                paths = [known for known in self.found if known.startswith(path[:-1])]
            else:
                paths = [known for known in (path, f"{path}.likely") if known in self.found]
            if paths:
                return paths
        return []

    def _above(self, place: _Place, name: str) -> Any:
        """Return a field of a record around a number, the innermost first; dots lead into it."""
        for _, holder in place.above:
            value = holder
            for step in name.split("."):
                value = getattr(value, step, None)
            if value is None:
                value = getattr(getattr(holder, "uncertainty", None), name, None)
            if value is not None:
                return value
        return None

    def _inputs(self, place: _Place, names: tuple[str, ...]) -> Iterator[InputRow]:
        """Yield the inputs of the account by names, or by their start with a dot, in their order, each once."""
        if not names:
            return
        rows = self._above(place, "inputs")
        if rows is None:
            sides = self._above(place, "sides") or ()
            rows = [row for side in sides for row in getattr(side, "inputs", ())]
        seen = set()
        for name in names:
            for row in rows:
                if (row.input == name or (name.endswith(".") and row.input.startswith(name))) and id(row) not in seen:
                    seen.add(id(row))
                    yield row

    def _currency(self, path: str) -> str:
        currency = self._above(self._at[path], "currency") or self._above(self._at[path], "cost.currency")
        return str(currency) if currency else "currency"

    def _design(self, path: str) -> str:
        if not self._labels:
            return ""
        sides = _SIDE.findall(path)
        if sides:
            return self._labels[int(sides[-1])]
        return next((label for label in self._labels if path.startswith(f"ratios.{label}.")), "")


def _steps(derivations: Iterable[Derivation], above: str = "") -> Iterator[str]:
    """Yield the derivation of a figure, one line a value, parents before children."""
    for step in derivations:
        value = "" if step.value is None else f"{number(step.value, 5)} {step.unit}".rstrip()
        derived = "; ".join(text for text in (step.formula and f"= {step.formula}", step.source) if text)
        yield f"{above}{step.label}: {value}{'; binds' if step.binds else ''}{f' ({derived})' if derived else ''}"
        yield from _steps(step.steps, f"{step.label}, ")
