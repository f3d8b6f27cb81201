"""Options of money that `cost`, `train` and `compare` share."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.options import SeedOption

SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9, "g": 1e9, "t": 1e12}
"""Multiples that a number of tokens is written with."""
MOST_TOKENS = 1e18
_TOKENS = re.compile(r"([0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z]*)")

TokensOption = Annotated[
    str | None,
    typer.Option(
        "--tokens", metavar="NUMBER", help="Tokens to train on, such as 300B or 2T: days, cost, energy, CO2e."
    ),
]
YearsOption = Annotated[
    float | None,
    typer.Option("--years", min=0.5, max=20, help="Life of the hardware, in place of the ownership profile's."),
]
DrawsOption = Annotated[
    int | None,
    typer.Option(
        "--draws", min=0, max=10_000_000, help="Draws of the uncertain inputs; 10,000 if omitted, 0 for none."
    ),
]
MoneySeedOption = SeedOption


def tokens_of(text: str, command: str) -> float:
    """Return a number of tokens.

    Args:
        text: such as 300B, 15.6T or 2e12.
        command: for messages.

    Raises:
        UsageError: where it is none, or not above 0.
    """
    match = _TOKENS.fullmatch(text.strip())
    scale = SCALES.get(match[2].lower()) if match else None
    if match is None or scale is None:
        raise UsageError(f"ffplan {command}: --tokens: `{text}` is no number of tokens; write 300B or 2T")
    found = float(match[1].replace(",", "")) * scale
    if not 1 <= found <= MOST_TOKENS:
        raise UsageError(f"ffplan {command}: --tokens: `{text}` is out of range; write a number above 0, such as 2T")
    return found
