"""Figures of two versions of a design, as words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import amount, number

if TYPE_CHECKING:
    from ffplan.results.difference import FigureChange

_LEAST = 5e-5
"""Relative change below which a figure counts as unchanged [1]."""


def _value_words(row: FigureChange, value: float | None) -> str:
    """Return the value of a figure before or after; a dash without one."""
    if value is None:
        return "-"
    return amount(value) if row.kind == "cost" else number(value, 5)


def relative(row: FigureChange) -> str:
    """Return the relative change of a figure, such as `+3.2 %`; empty without one."""
    if row.relative is None:
        return ""
    return f"{100 * row.relative:+.3g} %" if abs(row.relative) >= _LEAST else "0 %"


def moves(row: FigureChange) -> bool:
    """Return whether a figure differs, or came or went."""
    return row.before != row.after and (row.relative is None or abs(row.relative) >= _LEAST)
