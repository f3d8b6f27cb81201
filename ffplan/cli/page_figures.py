"""The figures of a result with value, meaning and unit by path, and notes that say where one comes from."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import number
from ffplan.base.record import record
from ffplan.report.chart import Origin
from ffplan.schema.described import described
from ffplan.studies.explain.derivation import unit_of
from ffplan.studies.explain.explain import formula

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ffplan.report.chart import Source
    from ffplan.results.cost import InputRow

MOST_PARTS = 16
"""Parts of a figure that are named [1]."""
QUANTILES = {"likely": "", "p10": "10th percentile", "p50": "median", "p90": "90th percentile"}
"""Fields of a figure with its range, in the order of columns."""


@record
class Spot:
    """A cell of the tables of a page."""

    table: str
    """Start of the title of its table; empty for a table without one."""
    row: str
    """Label of its row."""
    column: int = 0
    """Column after the label, from 0."""
    _: KW_ONLY
    side: int | None = None
    """Design that it is of, from 0, where a result has several."""
    at: int | None = None
    """Number of the row in its table, from 0, where labels repeat."""
    nth: int | None = None
    """Number of the table among those with its title, from 0, where there are several."""


def evidence(source: Source) -> str:
    """Return a figure of the catalogue with source, date, grade and status."""
    grades = f"{source.grade}, {source.status}"
    return f"{source.part}, {source.path}: {source.value} ({source.source}, {source.date}; {grades})"


def shortened(parts: Iterable[str]) -> tuple[str, ...]:
    """Return what a figure is made of, with how many are left out."""
    found = tuple(parts)
    more = len(found) - MOST_PARTS
    return found if more <= 0 else (*found[:MOST_PARTS], f"and {more} more in JSON")


class Figures:
    """The figures of a result."""

    def __init__(
        self, value: Any, schema: str, currency: str | None, sources: Iterable[Source] = (), designs: Sequence[str] = ()
    ) -> None:
        """Take a result.

        Args:
            value: the result.
            schema: name of its schema.
            currency: currency of its amounts, where it has one.
            sources: figures of the catalogue behind it.
            designs: names of its designs, where it has several.
        """
        self.found = {path: (amount, words) for path, amount, words in described(value, schema)}
        self.currency, self.sources, self.designs = currency or "", tuple(sources), tuple(designs)

    def shown(self, path: str) -> str:
        """Return a figure with its unit."""
        value, words = self.found[path]
        unit = unit_of(words.replace("[currency", f"[{self.currency}" if self.currency else "[amount"))
        return f"{number(value, 5)} {unit}".rstrip()

    def named(self, *paths: str) -> list[str]:
        """Return figures of the result with their paths, those that it has."""
        return [f"{path} = {self.shown(path)}" for path in paths if path in self.found]

    def inputs(self, rows: Iterable[InputRow], *names: str) -> list[str]:
        """Return inputs of an account with range, source, date and status.

        Args:
            rows: all inputs.
            names: names, or starts of names that end with a dot, in the order wanted.
        """
        found = [
            row
            for name in names
            for row in rows
            if row.input == name or (name[-1] == "." and row.input.startswith(name))
        ]
        return [said(row, self.currency) for row in dict.fromkeys(found)]

    def parts(self, part: str, *starts: str) -> list[str]:
        """Return figures of a part of the catalogue whose paths start so, with their evidence."""
        return [evidence(item) for item in self.sources if item.part == part and item.path.startswith(starts)]

    def note(
        self, spot: Spot, path: str, *, how: str = "", place: str = "", parts: Iterable[str] = ()
    ) -> Iterator[Origin]:
        """Yield the note of a figure; nothing where the result does not have it.

        Args:
            spot: where it stands.
            path: its path.
            how: how it follows from its parts.
            place: module and function whose docstring states its equation instead.
            parts: what it is made of.
        """
        if path not in self.found:
            return
        equation, source = formula(place) if place else (how, "")
        yield Origin(
            table=spot.table,
            row=spot.row,
            column=spot.column,
            at=spot.at,
            nth=spot.nth,
            design="" if spot.side is None else self.designs[spot.side],
            path=path,
            value=self.shown(path),
            meaning=self.found[path][1],
            formula=equation,
            source=source,
            parts=shortened(parts),
        )


def said(row: InputRow, currency: str) -> str:
    """Return an input of an account with range, source, date and status.

    Args:
        row: the input.
        currency: currency of amounts.
    """
    unit = row.unit.replace("currency", currency)
    unit = "" if unit == "1" else f" {unit.removeprefix('1 ')}"
    span = "" if row.distribution == "fixed" else f", {number(row.low, 4)} to {number(row.high, 4)} {row.distribution}"
    dated = f", {row.date}" if row.date else ""
    return f"{row.label}: {number(row.likely, 5)}{unit}{span} ({row.source}{dated}; {row.status})"
