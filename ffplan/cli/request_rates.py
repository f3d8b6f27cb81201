"""Rates of requests as people write them."""

from __future__ import annotations

import re

from ffplan.base.errors import UsageError

_RATE = re.compile(
    r"([0-9][0-9,]*(?:\.[0-9]+)?(?:e[0-9]+)?)\s*([kmb])?\s*(?:requests?\s*)?(?:(?:/|per|a|an)\s*(s|sec|second|min|minute|h|hour|day))?"
)
_SCALES = {"k": 1e3, "m": 1e6, "b": 1e9}
_PERIODS = {
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("min", "minute"), 60.0),
    **dict.fromkeys(("h", "hour"), 3600.0),
    "day": 86400.0,
}
_MOST = 1e9
"""Most requests a second [1/s]."""


def request_rates(text: str | None, option: str, such: str = "5/s, 300/min or 2,4,8") -> tuple[float, ...]:
    """Return rates of arrival [1/s].

    Args:
        text: rates with commas between them; nothing if None.
        option: the option, for messages.
        such: examples, for messages.

    Raises:
        UsageError: if one is malformed, 0 or beyond all use.
    """
    return tuple(request_rate(part, option, such) for part in text.split(",")) if text else ()


def request_rate(text: str, option: str, such: str) -> float:
    """Return a rate of arrival, such as `5/s` or `10M requests a day` [1/s].

    Args:
        text: the rate, a second if it names no period.
        option: the option, for messages.
        such: examples, for messages.

    Raises:
        UsageError: if it is malformed, 0 or beyond all use.
    """
    match = _RATE.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(f"{option}: `{text.strip()}` is no rate; write {such}")
    rate = float(match[1].replace(",", "")) * _SCALES.get(match[2], 1.0) / _PERIODS[match[3] or "s"]
    if not 0 < rate <= _MOST:
        raise UsageError(f"{option}: `{text.strip()}` is not above 0 and below {_MOST:g} a second; write {such}")
    return rate
