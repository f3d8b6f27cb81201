"""Whole numbers in texts of other programs."""

from __future__ import annotations

DIGITS = 9
"""Most digits of a number that is read [1]."""


def whole(text: str, digits: int = DIGITS) -> int | None:
    """Return a whole number of a few digits; None where a text is none.

    Args:
        digits: most digits [1].
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None
