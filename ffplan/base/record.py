"""The dataclass that results are made of: with slots, immutable to the type checker, and cheap to define.

A report needs dozens of small classes, and start-up time is a feature. Generated comparison, printing and run-time
guards against assignment are four fifths of the cost of defining a class. The type checker holds what the guards would,
and all records share the functions that print, compare and hash them. The rest of a dataclass is generated on first
access: a command loads many records that it never builds.
"""

from __future__ import annotations

from dataclasses import Field, dataclass
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C")

POSITIONAL = 4
"""Most fields that a record takes by position."""
SHOWN = 6
"""Most items of a sequence that are printed one by one."""
WIDTH = 100
"""Columns that a record may take on one line."""
LATE = ("__init__", "__dataclass_fields__", "__dataclass_params__", "__match_args__")
"""Attributes of a dataclass that are generated on first access."""


def _shown(value: Any) -> str:
    """Return a short form of a value: large arrays by their shape, long sequences by their first items."""
    shape = getattr(value, "shape", None)
    if shape is not None and getattr(value, "size", 0) > SHOWN:
        return f"<array {shape} {value.dtype}>"
    if isinstance(value, tuple | list) and len(value) > SHOWN:
        inner = ", ".join(_shown(element) for element in value[:SHOWN])
        return f"({inner}, ... {len(value) - SHOWN} more)"
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value)


def _repr(self: Any) -> str:
    """Print the record with its fields, one per line if they exceed one line."""
    parts = [f"{name}={_shown(getattr(self, name))}" for name in self.__dataclass_fields__]
    name = type(self).__name__
    line = f"{name}({', '.join(parts)})"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    body = "".join(f"    {part},\n".replace("\n", "\n    ").rstrip(" ") for part in parts)
    return f"{name}(\n{body})"


def _is_simple(plain: type[Any]) -> bool:
    """Return whether a class has no base and no field with a default factory."""
    return plain.__bases__ == (object,) and not any(isinstance(value, Field) for value in plain.__dict__.values())


def _builder(plain: type[Any], many: bool) -> Any:
    """Return the `__init__` of an equivalent dataclass, in a third of the time that a dataclass takes."""
    kinds = dict(plain.__annotations__)
    parameters = [f"{name}=known[{name!r}]" if name in plain.__dict__ else name for name in kinds]
    parts = ["self", *(["*"] if many else []), *("*" if part == "_" else part for part in parameters)]
    kinds.pop("_", None)
    body = "".join(f"\n    self.{name} = {name}" for name in kinds) or "\n    pass"
    space: dict[str, Any] = {"known": plain.__dict__}
    exec(f"def __init__({', '.join(parts)}):{body}", space)  # fields are names: they are annotated
    method = space["__init__"]
    method.__annotations__, method.__qualname__ = {**kinds, "return": None}, f"{plain.__qualname__}.__init__"
    return method


class _Late:
    """Placeholder for an attribute of a record, generated on first access."""

    __slots__ = ("many", "name", "plain", "target")

    def __init__(self, name: str, plain: type[Any], many: bool) -> None:
        self.name, self.plain, self.many, self.target = name, plain, many, plain

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        """Generate the attributes of a dataclass with the same fields, and return the one requested."""
        if self.name == "__init__" and _is_simple(self.plain):
            self.target.__init__ = _builder(self.plain, self.many)
        else:
            same = dataclass(eq=False, repr=False, kw_only=self.many)(self.plain)
            for name in LATE:
                setattr(self.target, name, same.__dict__[name])
        return getattr(owner if instance is None else instance, self.name)


def _equal(first: Any, second: Any) -> bool:
    """Return whether two values are equal, arrays in every element."""
    if first is second:
        return True
    if isinstance(first, tuple | list) and type(first) is type(second):
        return len(first) == len(second) and all(map(_equal, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_equal(value, second[key]) for key, value in first.items())
    if getattr(first, "shape", ()) != getattr(second, "shape", ()):
        return False
    equal: Any = first == second
    return bool(equal.all() if hasattr(equal, "all") else equal)


def _eq(self: Any, other: Any) -> Any:
    """Compare two records field by field."""
    if type(self) is not type(other):
        return NotImplemented
    return all(_equal(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__)


def _hash(self: Any) -> int:
    """Return a hash of the plain fields; others, such as arrays, may have none."""
    values = (getattr(self, name) for name in self.__dataclass_fields__)
    return hash((type(self), *(value for value in values if isinstance(value, str | int | float))))


@dataclass_transform(frozen_default=True, eq_default=True)
def record(cls: type[C]) -> type[C]:
    """Make `cls` a dataclass with slots, compared by value, that the type checker takes for frozen.

    A record of more than four fields is built by name only, unless `_: KW_ONLY` marks where names begin.
    """
    fields = cls.__annotations__
    many = len(fields) > POSITIONAL and "_" not in fields
    inherited = {name for base in cls.__mro__[1:] for name in base.__dict__.get("__slots__", ())}
    left_out = {*fields, "__dict__", "__weakref__"}
    body = {name: attribute for name, attribute in cls.__dict__.items() if name not in left_out}
    late = [_Late(name, cls, many) for name in LATE]
    body |= {placeholder.name: placeholder for placeholder in late}
    body["__slots__"] = tuple(name for name in fields if name != "_" and name not in inherited)
    body |= {"__repr__": _repr, "__eq__": _eq, "__hash__": _hash}
    kind: Any = type(cls)
    built: type[C] = kind(cls.__name__, cls.__bases__, body)
    built.__qualname__ = cls.__qualname__
    for placeholder in late:
        placeholder.target = built
    return built
