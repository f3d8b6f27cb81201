"""Numbers of tokens, as people write them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ffplan.inputs.quantities import describe

SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9, "g": 1e9, "t": 1e12}
"""Suffixes of a number of tokens, with their factors."""
MOST_TOKENS = 1e18
_SHAPE = r"([0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z]*)"
_TOKENS = re.compile(_SHAPE)


def parse_tokens(value: Any) -> float:
    """Parse a number of tokens [1].

    Args:
        value: such as 300B, 15.6T or 2e12.

    Raises:
        PydanticCustomError: if the value is not a number above 0.
    """
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    match = _TOKENS.fullmatch(text.strip()) if isinstance(text, str) else None
    scale = SCALES.get(match[2].lower()) if match else None
    if match is None or scale is None:
        message = f"{describe(value)} is no number of tokens"
        raise PydanticCustomError("unit", "{message}", {"message": message, "remedy": "write 300B or 2T"})
    count = float(match[1].replace(",", "")) * scale
    if not 1 <= count <= MOST_TOKENS:
        message, remedy = f"{describe(value)} is out of range", "write a number above 0, such as 2T"
        raise PydanticCustomError("range", "{message}", {"message": message, "remedy": remedy})
    return count


Tokens = Annotated[
    float,
    PlainValidator(parse_tokens),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{_SHAPE}$", "examples": ["2T"]}]}),
]
"""A number of tokens, such as `2T` [1]."""
