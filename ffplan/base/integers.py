"""Integers in the output of other programs."""

from __future__ import annotations

DIGITS = 9
"""Most digits of a number [1]."""


def integer(text: str, digits: int = DIGITS) -> int | None:
    """Parse an integer of a few digits; None for any other text.

    Args:
        digits: most digits [1].
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None
