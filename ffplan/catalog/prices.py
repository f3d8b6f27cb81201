"""Price books: dated prices in one currency, apart from specifications."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from ffplan.catalog.evidence import PriceFigure
from ffplan.catalog.parts import Part
from ffplan.inputs.model import Text

Currency = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z-]+$", max_length=30)]
"""A currency code such as USD, or the name of a relative unit such as paper-unit."""


class PriceBook(Part):
    """Prices of parts, all in one currency and of one date."""

    kind_words: ClassVar[str] = "price book"

    kind: Literal["price-book"]
    currency: Currency
    """Currency of every price in the book."""
    currency_note: Text | None = None
    """Meaning of the currency, where it is not a national one."""
    date: Annotated[str, StringConstraints(pattern=r"^\d{4}(-\d{2}){0,2}$")]
    """Date of the prices: year or year-month."""
    items: dict[str, PriceFigure]
    """Price of one piece, by catalogue id of the part."""
