"""Figures that record their reads: a result cannot depend on a figure that was never read."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ffplan.catalog.evidence import Figure
from ffplan.inputs.model import Frozen

if TYPE_CHECKING:
    from ffplan.catalog.read import Entry

Place = tuple[str, tuple[str | int, ...]]
"""A figure: id of its part, and its path there."""
NUMBERS = frozenset({"value", "low", "high", "__dict__"})
"""Attributes whose access counts as a read; `__dict__` covers copies, comparisons and dumps."""
NOTE = "_noted"


def _read(self: Any, name: str) -> Any:
    """Return an attribute of a figure, and record the read if it holds the number."""
    if name in NUMBERS:
        place, seen = object.__getattribute__(self, "__dict__")[NOTE]
        seen.add(place)
    return object.__getattribute__(self, name)


@cache
def _noting(model: Any) -> type[Figure]:
    """Return a subclass of a figure's class that records reads."""
    fields = {"__getattribute__": _read, "__module__": __name__}
    noting: type[Figure] = type(model)(model.__name__, (model,), fields)
    return noting


def _noted(value: Any, place: Place, seen: set[Place]) -> Any:
    """Return a part, or a value inside it, whose figures record their reads."""
    name, path = place
    if isinstance(value, Figure):
        copied = value.model_copy()
        copied.__dict__[NOTE] = (place, seen)
        object.__setattr__(copied, "__class__", _noting(type(value)))
        return copied
    if isinstance(value, Frozen):
        fields = {field: getattr(value, field) for field in type(value).model_fields}
        noted_fields = {field: _noted(child, (name, (*path, field)), seen) for field, child in fields.items()}
        return value.model_copy(
            update={field: child for field, child in noted_fields.items() if child is not fields[field]}
        )
    if isinstance(value, dict):
        items = {key: _noted(child, (name, (*path, key)), seen) for key, child in value.items()}
        return items if any(items[key] is not child for key, child in value.items()) else value
    if isinstance(value, tuple | list):
        parts = [_noted(child, (name, (*path, index)), seen) for index, child in enumerate(value)]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else type(value)(parts)
    return value


def noted(entry: Entry, seen: set[Place]) -> Entry:
    """Return a part whose figures record their reads.

    Args:
        seen: receives the places of the figures read from now on.
    """
    return replace(entry, part=_noted(entry.part, (entry.part.id, ()), seen))
