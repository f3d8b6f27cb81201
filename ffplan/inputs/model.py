"""The base of every model read from a file, and the small types they share."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints


class Frozen(BaseModel):
    """A strict, frozen model: no unknown field, no coercion, no infinity."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True
    )


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
