"""Rates of requests, as people write them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ffplan.inputs.quantities import describe

_SHAPE = (
    r"([0-9][0-9,]*(?:\.[0-9]+)?(?:e[0-9]+)?)\s*([kmb])?\s*(?:requests?\s*)?"
    r"(?:(?:/|per|a|an)\s*(s|sec|second|min|minute|h|hour|day))?"
)
_RATE = re.compile(_SHAPE)
_SCALES = {"k": 1e3, "m": 1e6, "b": 1e9}
_PERIODS = {
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("min", "minute"), 60.0),
    **dict.fromkeys(("h", "hour"), 3600.0),
    "day": 86400.0,
}
_MOST = 1e9
"""Most requests a second [1/s]."""


def parse_rate(value: Any) -> float:
    """Parse a rate of arrival [1/s], a second if it names no period.

    Args:
        value: such as `5/s`, `300/min` or `10M requests a day`.

    Raises:
        PydanticCustomError: if it is no rate, 0, or beyond all use.
    """
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    match = _RATE.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    remedy = "write 5/s, 300/min or 10M requests a day"
    if match is None:
        message = f"{describe(value)} is no rate"
        raise PydanticCustomError("unit", "{message}", {"message": message, "remedy": remedy})
    rate = float(match[1].replace(",", "")) * _SCALES.get(match[2], 1.0) / _PERIODS[match[3] or "s"]
    if not 0 < rate <= _MOST:
        message = f"{describe(value)} is not above 0 and below {_MOST:g} a second"
        raise PydanticCustomError("range", "{message}", {"message": message, "remedy": remedy})
    return rate


RequestRate = Annotated[
    float,
    PlainValidator(parse_rate),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "examples": ["5/s", "10M requests a day"]}]}),
]
"""A rate of requests, such as `5/s` [1/s]."""
