"""Money options shared by `cost`, `train` and `compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ffplan.base.errors import UsageError
from ffplan.cli.models import _model_part
from ffplan.cli.options import SeedOption

if TYPE_CHECKING:
    from ffplan.catalog.models import Model
    from ffplan.catalog.prices import PriceBook
    from ffplan.catalog.store import Catalog

TokensOption = Annotated[
    str | None,
    typer.Option(
        "--tokens",
        metavar="NUMBER",
        help="Tokens to train on, such as 300B or 2T: days, cost, energy, CO2e. Alone: of the design's `workload`.",
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


def _tokens_of(text: str, command: str) -> float:
    """Parse a number of tokens.

    Args:
        text: such as 300B, 15.6T or 2e12.
        command: for messages.

    Raises:
        UsageError: if the text is not a number above 0.
    """
    from ffplan.cli.loading import _parsed
    from ffplan.inputs.workloads import parse_tokens

    return _parsed(lambda: parse_tokens(text), "--tokens", command)


def _book_of(parts: Catalog, name: str, command: str) -> PriceBook:
    """Return the price book that --prices names.

    Raises:
        UsageError: if it is unknown.
    """
    from ffplan.catalog.named import part_of
    from ffplan.catalog.prices import PriceBook

    return part_of(parts, PriceBook, name, f"ffplan {command}: --prices")


def _money_of(text: str | None, book: PriceBook, option: str, command: str) -> float | None:
    """Parse an amount in the currency of a price book [currency]; None if not given.

    Args:
        text: such as $40M.
        command: for messages.

    Raises:
        UsageError: if the text is no amount, or in another currency.
    """
    from ffplan.cli.loading import _parsed
    from ffplan.inputs.quantities import parse_money

    if text is None:
        return None
    money = _parsed(lambda: parse_money(text), option, command)
    if money.currency != book.currency:
        fault = f"{option} is in {money.currency}, the price book `{book.id}` in {book.currency}"
        remedy = f"no rate of exchange is known: give it in {book.currency}, or another book with --prices"
        raise UsageError(f"ffplan {command}: {fault}; {remedy}")
    return money.amount


def _transformer_of(parts: Catalog, name: str, command: str) -> Model:
    """Return a model whose work is counted in tokens.

    Args:
        command: for messages.

    Raises:
        UsageError: if the part is not a model, or no transformer.
    """

    part = _model_part(parts, name, command)
    if part.transformer is None:
        raise UsageError(f"ffplan {command}: --model {name}: a workload is counted in tokens; name a transformer")
    return part
