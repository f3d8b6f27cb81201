"""Models of shipped files, read without the checks that a user's file needs.

Tests read every such file both ways. Building Pydantic's validator of a kind of part takes longer than reading all its
shipped files.
"""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, PlainValidator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

M = TypeVar("M", bound=BaseModel)

AS_IT_IS = (int, str, bool, Any)
"""Types whose values stay as in the file."""


def trusted(model: type[M], data: dict[str, Any]) -> M:
    """Return data as a model, unchecked.

    Args:
        data: valid fields of the model.
    """
    rewrite, readers = _readers(model)
    for name in rewrite:
        data = getattr(model, name)(data)
    values = {name: value if (read := readers[name]) is None else read(value) for name, value in data.items()}
    return model.model_construct(set(values), **values)


@cache
def _readers(model: type[BaseModel]) -> tuple[tuple[str, ...], dict[str, Callable[[Any], Any] | None]]:
    """Return the rewriting methods of a model, and a reader for each field; None keeps the value."""
    validators = model.__pydantic_decorators__.model_validators
    rewrite = tuple(name for name, validator in validators.items() if validator.info.mode == "before")
    return rewrite, {name: _reader(field.annotation, field.metadata) for name, field in model.model_fields.items()}


def _reader(kind: Any, notes: Iterable[Any] = ()) -> Callable[[Any], Any] | None:
    """Return the reader of a type; None if its values stay as they are."""
    validator = next((note.func for note in notes if isinstance(note, PlainValidator)), None)
    if validator is not None:
        return cast("Callable[[Any], Any]", validator)
    if kind is float:
        return float
    if kind in AS_IT_IS or get_origin(kind) is Literal:
        return None
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return lambda value: trusted(kind, value)
    return _inner_reader(get_origin(kind), get_args(kind))


def _inner_reader(outer: Any, inner: tuple[Any, ...]) -> Callable[[Any], Any] | None:
    """Return the reader of a generic type."""
    if outer is Annotated:
        return _reader(inner[0], inner[1:])
    if outer in (Union, UnionType):
        kinds = [kind for kind in inner if kind is not NoneType]
        readers = [_reader(kind) for kind in kinds]
        if not any(readers):
            return None
        if len(readers) == 1:
            return lambda value: None if value is None else readers[0](value)  # type: ignore[misc]
    if outer is tuple and inner[1:] == (Ellipsis,):
        item_of = _reader(inner[0])
        return tuple if item_of is None else lambda items: tuple(map(item_of, items))
    if outer is tuple:
        items_of = [_reader(kind) for kind in inner]
        return lambda items: tuple(
            value if read is None else read(value) for read, value in zip(items_of, items, strict=True)
        )
    if outer is dict:
        value_of = _reader(inner[1])
        return None if value_of is None else lambda items: {key: value_of(value) for key, value in items.items()}
    raise TypeError(f"no reader of {outer} of {inner}")
