"""The base of every model read from a file, and the small types they share."""

from __future__ import annotations

import re
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Frozen(BaseModel):
    """A strict, frozen model: no unknown field, no coercion, no infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


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
