"""The dataclass that results are made of: with slots, immutable to the type checker, and cheap to define.

A report needs dozens of small classes, and start-up time is a feature. Generated comparison, printing and run-time
guards against assignment are four fifths of the cost of defining a class; they are left out, and the type checker
holds what the guards would. All records share one function that prints them.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import get_annotations
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C")

POSITIONAL = 4
"""Most fields of a record that can be built without naming them."""
SHOWN = 6
"""Most items of a sequence that are printed one by one."""
WIDTH = 100
"""Columns that a record may take on one line."""


def _shown(value: Any) -> str:
    """Return a value in short: large arrays by their shape, long sequences by their first items."""
    shape = getattr(value, "shape", None)
    if shape is not None and getattr(value, "size", 0) > SHOWN:
        return f"<array {shape} {value.dtype}>"
    if isinstance(value, tuple | list) and len(value) > SHOWN:
        inner = ", ".join(_shown(item) for item in value[:SHOWN])
        return f"({inner}, ... {len(value) - SHOWN} more)"
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value)


def _repr(self: Any) -> str:
    """Return the record with its fields, one a line where they need more than a line."""
    parts = [f"{name}={_shown(getattr(self, name))}" for name in self.__dataclass_fields__]
    name = type(self).__name__
    line = f"{name}({', '.join(parts)})"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    body = "".join(f"    {part},\n".replace("\n", "\n    ").rstrip(" ") for part in parts)
    return f"{name}(\n{body})"


def same(one: Any, two: Any) -> bool:
    """Return whether two values are equal, records field by field."""
    if one is two:
        return True
    fields = getattr(one, "__dataclass_fields__", None)
    if fields is None or type(one) is not type(two):
        return bool(one == two)
    return all(same(getattr(one, name), getattr(two, name)) for name in fields)


@dataclass_transform(frozen_default=True, eq_default=False)
def record(cls: type[C]) -> type[C]:
    """Make `cls` a dataclass with slots, compared by identity, that the type checker takes for frozen.

    A record of more than four fields is built by their names alone, unless it says `_: KW_ONLY` where names begin.
    """
    fields = get_annotations(cls)
    many = len(fields) > POSITIONAL and "_" not in fields
    made = dataclass(slots=True, eq=False, repr=False, kw_only=many)(cls)
    made.__repr__ = _repr  # type: ignore[method-assign]
    return made
