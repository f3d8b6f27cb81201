"""A result of a benchmark program as its fields, each with its place in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any, NoReturn

from ffplan.base.errors import located
from ffplan.base.record import record

RULE = "serving-run"
_AS_WRITTEN = "give the file as the program wrote it"
_DAY = re.compile(r"(20\d\d)-?(\d\d)-?(\d\d)")


@record
class _Result:
    """A result: its fields by name, and the text that holds them."""

    data: Mapping[str, Any]
    file: str
    text: str
    start: int
    """Position of its first character in the text."""
    end: int
    """Position after its last."""

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.start) + 1

    def place(self, name: str) -> tuple[int, int]:
        """Return line and column of a field; of the whole result if it has none of that name."""
        word = re.escape(name.rpartition(".")[2])
        patterns = (rf'"{word}"', rf"\b{word}\b")
        matches = (re.compile(pattern).search(self.text, self.start, self.end) for pattern in patterns)
        position = next((match.start() for match in matches if match), self.start)
        return self.text.count("\n", 0, position) + 1, position - self.text.rfind("\n", 0, position)

    def refuse(self, name: str, message: str, remedy: str = _AS_WRITTEN) -> NoReturn:
        raise located(RULE, self.file, self.place(name), f"`{name}`: {message}", remedy)

    def get(self, name: str) -> Any:
        """Return a field, dots leading into nested ones; None if it has none."""
        value: Any = self.data
        for key in name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def text_of(self, *names: str) -> str | None:
        """Return the first of several fields that is a text and not empty."""
        for name in names:
            value = self.get(name)
            if isinstance(value, list) and len(value) == 1:
                value = value[0]
            if isinstance(value, str) and value.strip():
                return value.strip()
        return None

    def number(self, *names: str, scale: float = 1.0) -> float | None:
        """Return the first of several fields there, as a number above 0 times `scale`; 0 means not measured."""
        for name in names:
            value = self.get(name)
            if value is None or value == "":
                continue
            if isinstance(value, str):
                value = _parsed(value)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
                self.refuse(name, f"`{str(self.get(name))[:40]}` is not a number from 0 on")
            if value > 0:
                return float(value) * scale
        return None

    def count(self, *names: str) -> int | None:
        """Return the first of several fields that the result has, as a whole number above 0."""
        value = self.number(*names)
        if value is not None and value != int(value):
            self.refuse(next(name for name in names if self.get(name)), f"{value:g} is not a whole number")
        return None if value is None else int(value)

    def flag(self, name: str) -> bool:
        return str(self.get(name)).lower() in ("true", "1", "yes")

    def day(self, *names: str) -> str | None:
        """Return the day of the first of several fields that has one, such as 2026-11-26."""
        for name in names:
            if (match := _DAY.match(str(self.get(name) or ""))) is not None:
                return "-".join(match.groups())
        return None


def _shortest_of(variation: float) -> float:
    """Return the least length as a fraction of the largest, of lengths that are drawn evenly between the two [1].

    Args:
        variation: standard deviation of the lengths over their mean [1].

    Equation:
        (1 - sqrt(3) v) / (1 + sqrt(3) v), at least 1 %
    """
    spread = 3**0.5 * variation
    return max((1 - spread) / (1 + spread), 0.01)


def _parsed(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None
