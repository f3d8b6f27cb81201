"""The base of every model read from a file, small types they share, and a quick reader of shipped files."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, PlainValidator, StringConstraints
from pydantic_core import core_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler


class Frozen(BaseModel):
    """A strict, frozen model: no unknown field, no coercion, no infinity."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True
    )


class OnDemand:
    """Marker of a field whose model is imported when the field is read."""

    def __init__(self, home: str, name: str) -> None:
        self.home, self.name = home, name

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Accept anything: whoever reads the field validates it."""
        return core_schema.any_schema()

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        from pydantic import TypeAdapter

        return handler(TypeAdapter(self.model()).core_schema)

    def model(self) -> type[Frozen]:
        """Import and return the model."""
        model: type[Frozen] = getattr(import_module(self.home), self.name)
        return model


def other_names(model: type[BaseModel]) -> list[tuple[str, str]]:
    """Return (field, other name) of every field that a file may write with another name."""
    aliases = ((name, field.validation_alias) for name, field in model.model_fields.items())
    return [
        (name, str(other)) for name, alias in aliases if isinstance(alias, AliasChoices) for other in alias.choices[1:]
    ]


def names_of(model: type[BaseModel]) -> list[str]:
    """Return every name that a field of a model may be written with."""
    return [*model.model_fields, *(other for _, other in other_names(model))]


LONGEST_ID = 100
"""Most letters of an id [1]."""
_LETTERS = "[a-z0-9][a-z0-9.+-]"
IDENTIFIER = re.compile(f"^{_LETTERS}{{0,{LONGEST_ID - 1}}}$")
"""Form of an id."""
Identifier = Annotated[str, StringConstraints(pattern=f"^{_LETTERS}*$", max_length=LONGEST_ID)]
"""Name of a part, a design, or a place inside a server: lower-case letters, digits, `.`, `+`, `-`."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
"""Free text."""

MOST_COUNT = 10_000_000
"""Most of anything that is counted."""

Count = Annotated[int, Field(ge=1, le=MOST_COUNT)]
"""A whole number of things, at least one."""

T = TypeVar("T")
Many = Annotated[tuple[T, ...], Field(strict=False)]
"""A YAML list, kept as an immutable tuple; its items stay strictly typed."""


M = TypeVar("M", bound=BaseModel)

AS_IT_IS = (int, str, bool, Any)
"""Types whose values stay as in the file."""


def trusted(model: type[M], data: dict[str, Any]) -> M:
    """Return data of a shipped file as a model, unchecked; tests read every such file both ways.

    Building Pydantic's validator of a kind of part takes longer than reading all its shipped files.

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
