"""A figure of a result: the function that states its equation, and its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, replace
from importlib import import_module
from inspect import getdoc
from typing import Any

from ffplan.base.record import record


@record
class Figure:
    """Facts on a record's field besides its meaning, which its docstring has.

    Names in `of` are fields of the record or of an enclosing record; a field with a range means its likely value.
    """

    _: KW_ONLY
    label: str = ""
    """Name in tables and sentences; `{key}` is the name that a mapping has it under."""
    unit: str = ""
    """Unit; `currency` is the enclosing record's currency, and empty a pure number."""
    better: int = 0
    """1 if more is better, -1 if less is, 0 if neither is meant."""
    threshold: str = ""
    """cost, power, bandwidth or time: the threshold of a policy that it is held to, if not to its own."""
    place: str = ""
    """Function whose docstring states its equation and source."""
    how: str = ""
    """Derivation in words, if no function has the whole equation."""
    of: tuple[str, ...] = ()
    """Figures of the result that it is computed from."""
    inputs: tuple[str, ...] = ()
    """Inputs of the account that it rests on: names, or their start with a dot."""
    part: str = ""
    """Field, here or above, that names its part of the catalogue; empty for any part."""
    evidence: tuple[str, ...] = ()
    """Starts of the paths of that part's figures."""
    said: Callable[[Any], Iterable[str]] | None = None
    """Remarks of the record on it, in addition to numbers."""
    by: Callable[[Any], Figure] | None = None
    """Returns the derivation, if the record itself decides."""

    def derived(self, holder: Any) -> Figure:
        """Return the figure with the derivation that a record gives it."""
        if self.by is None:
            return self
        told = {name: getattr(self, name) for name in ("label", "unit", "better", "threshold")}
        return replace(self.by(holder), **told)


Table = dict[type, "dict[str, Figure | Callable[[Any], Figure]]"]
"""Figures by record class and field; a function if the record itself decides, such as by the name of its row."""


def equation(place: str) -> tuple[str, str]:
    """Return equation and source that the docstring of a function states.

    Args:
        place: module and function, such as `ffplan.cost.bom:line_total`.
    """
    module, _, name = place.partition(":")
    text = getdoc(getattr(import_module(module), name)) or ""
    return _section(text, "Equation"), _section(text, "Source")


def _section(text: str, name: str) -> str:
    _, _, rest = text.partition(f"{name}:\n")
    lines = []
    for line in rest.splitlines():
        if line and not line.startswith(" "):
            break
        lines.append(line.strip())
    return " ".join(" ".join(lines).split())
