"""Options of money that `cost`, `train` and `compare` share."""

from __future__ import annotations

from typing import Annotated

import typer

from ffplan.cli.options import SeedOption

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
    from ffplan.cli.loading import parsed
    from ffplan.inputs.tokens import parse_tokens

    return parsed(lambda: parse_tokens(text), "--tokens", command)
