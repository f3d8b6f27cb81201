"""Lists and doubling ranges of whole numbers and of sizes as people write them: `16,32`, `1MiB..1GiB`."""

from __future__ import annotations

import re

from ffplan.base.errors import UsageError

_SHORT = re.compile(r"([0-9]+)([KMGTkmgt])")
"""Sizes as in nccl-tests: K is 1024."""
MOST = 10_000_000
"""Largest accepted number."""


def _whole(text: str, option: str) -> float:
    stripped = text.strip()
    if not stripped.isdecimal() or stripped.startswith("0"):
        raise UsageError(f"{option}: `{stripped}` is no whole number; write 16,32 or 16..512")
    if len(stripped) > len(str(MOST)) or int(stripped) > MOST:
        raise UsageError(f"{option}: {stripped} are too many; take at most {MOST:,}")
    return float(int(text))


def _size(text: str, option: str) -> float:
    from pydantic_core import PydanticCustomError

    from ffplan.inputs.dimensions import DATA
    from ffplan.inputs.quantities import parse_quantity

    short = _SHORT.fullmatch(text.strip())
    whole = f"{short[1]} {short[2].upper()}iB" if short else text
    try:
        return parse_quantity(whole, DATA)
    except PydanticCustomError as error:
        said = error.context or {}
        raise UsageError(f"{option}: {said['message']}; {said['remedy']}") from None


def series(text: str, option: str, *, sizes: bool = False) -> tuple[float, ...]:
    """Return the numbers of a list such as `16,32`, or of a doubling range such as `16..1024`.

    Raises:
        UsageError: if the list is malformed, or falls.
    """
    read = _size if sizes else _whole
    numbers: list[float] = []
    for part in text.split(","):
        first, dots, last = part.partition("..")
        value, end = read(first, option), read(last, option) if dots else None
        numbers.append(value)
        if end is None:
            continue
        if end < value:
            raise UsageError(f"{option}: {part.strip()} falls; write the smaller end first")
        while numbers[-1] * 2 <= end:
            numbers.append(numbers[-1] * 2)
        if numbers[-1] < end:
            numbers.append(end)
    return tuple(dict.fromkeys(numbers))
