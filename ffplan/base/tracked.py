"""Numbers that remember their path in a result, so that a text built from them knows its figures.

A page builds its text from a tracked copy of the result: each number formats as a mark with its path, then its digits,
and the page strips the marks. All other formats build the same text from the result itself.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
P = ParamSpec("P")

START, END = "\ue000", "\ue001"
"""Delimiters of a mark: private Unicode characters, which no result holds."""
BETWEEN = "\ue002"
"""Separator between the paths of a mark."""
_MARK = re.compile(f"{START}([^{END}]*){END}")
_PRIVATE = re.compile(f"[{START}-{BETWEEN}]")

Paths = tuple[str, ...]


class _Tracked:
    """Base of tracked numbers: paths, and arithmetic that merges the paths of both operands."""

    paths: Paths

    def __format__(self, spec: str) -> str:
        return _marked(format(_untracked(self), spec), self.paths)

    def __str__(self) -> str:
        return format(self, "")


class _TrackedFloat(_Tracked, float):
    """A float with the paths of its figures."""


class _TrackedInt(_Tracked, int):
    """An integer with the paths of its figures."""


def _tracked(value: Any, paths: Paths) -> Any:
    """Return a number with its paths; anything else as it is."""
    kind = {float: _TrackedFloat, int: _TrackedInt}.get(type(value))
    if kind is None or not paths:
        return value
    number = kind(value)
    number.paths = paths
    return number


def _untracked(value: Any) -> Any:
    """Return a number without its paths; anything else as it is."""
    if isinstance(value, _TrackedFloat):
        return float.__float__(value)
    return int.__int__(value) if isinstance(value, _TrackedInt) else value


def _paths_of(values: Iterable[Any]) -> Paths:
    """Return the paths of numbers and of marked texts, each once."""
    paths: list[str] = []
    for value in values:
        if isinstance(value, _Tracked):
            paths += value.paths
        elif isinstance(value, str) and START in value:
            paths += split_marks(value)[1]
    return tuple(dict.fromkeys(paths))


_BOTH = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_ONE = ("neg", "pos", "abs", "round")


def _arithmetic(name: str) -> Callable[..., Any]:
    """Return a numeric operation by name that merges the paths of all operands."""

    def operate(self: Any, *others: Any) -> Any:
        plain = _untracked(self)
        operands = [_untracked(operand) for operand in others]
        if isinstance(plain, int) and any(isinstance(operand, float) for operand in operands):
            plain = float(plain)  # an integer leaves mixed arithmetic to the other side
        result = getattr(plain, name)(*operands)
        return _tracked(result, _paths_of((self, *others)))

    return operate


for _name in (*(f"__{prefix}{name}__" for name in _BOTH for prefix in ("", "r")), *(f"__{name}__" for name in _ONE)):
    setattr(_Tracked, _name, _arithmetic(_name))


def track(value: T) -> T:
    """Return a copy of a result, of records, mappings and sequences, whose numbers know their paths."""
    copy: T = _copied(value, "")
    return copy


def _copied(value: Any, path: str) -> Any:
    if type(value) is str:
        return _PRIVATE.sub(lambda match: f"\\u{ord(match[0]):04x}", value)
    if is_dataclass(value) and not isinstance(value, type):
        ahead = f"{path}." if path else ""
        return type(value)(
            **{field.name: _copied(getattr(value, field.name), f"{ahead}{field.name}") for field in fields(value)}
        )
    if isinstance(value, dict):
        return {key: _copied(child, f"{path}.{key}" if path else str(key)) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_copied(child, f"{path}[{index}]") for index, child in enumerate(value)])
    return _tracked(value, (path,))


def made_of(text: str, *numbers: float | None) -> str:
    """Mark a finished text with the paths of the numbers behind it."""
    return _marked(text, _paths_of(numbers))


def _marked(text: str, paths: Paths) -> str:
    return f"{START}{BETWEEN.join(paths)}{END}{text}" if paths else text


def split_marks(text: str) -> tuple[str, Paths]:
    """Return a text without its marks, and the paths that they name, each once."""
    if START not in text:
        return text, ()
    paths = [path for mark in _MARK.findall(text) for path in mark.split(BETWEEN)]
    return _MARK.sub("", text), tuple(dict.fromkeys(paths))


def read_alike(first: str, second: str) -> bool:
    """Return whether two texts are equal without their marks."""
    return split_marks(first)[0] == split_marks(second)[0]


def _traced(function: Callable[P, str]) -> Callable[P, str]:
    """Decorate a formatting function so that its text keeps the paths of its arguments."""

    @wraps(function)
    def formatted(*args: P.args, **kwargs: P.kwargs) -> str:
        paths = _paths_of((*args, *kwargs.values()))
        if not paths:
            return function(*args, **kwargs)
        bare_args: Any = [_bare(value) for value in args]
        bare_named: Any = {name: _bare(value) for name, value in kwargs.items()}
        return _marked(function(*bare_args, **bare_named), paths)

    return formatted


def _bare(value: Any) -> Any:
    """Return an argument without paths."""
    return split_marks(value)[0] if isinstance(value, str) else _untracked(value)
