"""Price books: dated prices in one currency, apart from specifications."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from ffplan.catalog.evidence import PriceFigure
from ffplan.catalog.parts import Part
from ffplan.inputs.model import Identifier, Text

Currency = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z-]+$", max_length=30)]
"""A currency code such as USD, or the name of a relative unit such as paper-unit."""


class PriceBook(Part):
    """Prices of parts, all in one currency and of one date."""

    kind_words: ClassVar[str] = "price book"

    kind: Literal["price-book"]
    extends: Identifier | None = None
    """Id of another price book, whose prices hold for parts that this one does not name; its own id means the book of
    that id in the next catalogue folder."""
    currency: Currency
    """Currency of every price in the book."""
    currency_note: Text | None = None
    """Meaning of the currency, where it is not a national one."""
    date: Annotated[str, StringConstraints(pattern=r"^\d{4}(-\d{2}){0,2}$")]
    """Date of the prices: year or year-month."""
    items: dict[str, PriceFigure]
    """Price of one piece, by catalogue id of the part."""


def inherit(book: PriceBook, base: PriceBook) -> PriceBook:
    """Return a price book with the prices of another for parts that it does not name.

    Args:
        book: the book; its own prices win.
        base: the book that it extends; its prices keep their sources, under a key of their own where two books use
            one key.
    """
    sources, items = dict(book.sources), {}
    for part, figure in base.items.items():
        if part in book.items:
            continue
        key, source = figure.source, base.sources[figure.source]
        while sources.get(key, source) != source:
            key = f"{base.id}.{key}"
        sources[key] = source
        items[part] = figure.model_copy(update={"source": key})
    return book.model_copy(update={"items": {**items, **book.items}, "sources": sources})
