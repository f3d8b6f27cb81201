"""Price books: dated prices in one currency, separate from specifications."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from ffplan.catalog.evidence import Date, PriceFigure
from ffplan.catalog.parts import Part
from ffplan.inputs.model import Frozen, Identifier, Text

Currency = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z-]+$", max_length=30)]
"""A currency code such as USD, or the name of a relative unit such as paper-unit."""


class PriceBook(Part):
    """Prices of parts, all in one currency and of one date."""

    kind_words: ClassVar[str] = "price book"

    kind: Literal["price-book"]
    extends: Identifier | None = None
    """Id of another price book, whose prices apply to parts missing here; the same id means the book of that id in the
    next catalogue folder."""
    currency: Currency
    """Currency of every price in the book."""
    currency_note: Text | None = None
    """Meaning of the currency, if not a national one."""
    date: Date
    """Date of the book: year or year-month. Prices of other dates state their own."""
    items: dict[str, PriceFigure]
    """Price of one piece, by catalogue id of the part."""
    unpriced: dict[Identifier, Text] = Field(default_factory=dict)
    """Parts on sale without a known price, with the reason, by catalogue id; the audit lists them."""


Term = Literal["on-demand", "spot", "capacity-block", "1-year", "3-year"]
"""Term of a rent: by the hour, for days booked ahead, or for years."""
TERM_YEARS = {"1-year": 1.0, "3-year": 3.0}
"""Years of terms that bill every hour [year]."""


class Offer(Frozen):
    """An accelerator for rent."""

    provider: Text
    """Provider."""
    instance: Text | None = None
    """The provider's name for the machine."""
    accelerator: Identifier
    """Catalogue id of the accelerator."""
    term: Term
    """Term of the rent."""
    upfront: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the term's rent paid upfront [1]."""
    index: bool = False
    """An index, median or survey of several providers: a market level, not an offer to sign."""
    most: Annotated[int, Field(ge=1)] | None = None
    """Most accelerators at this price, as for a single small machine [1]; any number if omitted."""
    price: PriceFigure
    """Price of an accelerator-hour, its server, network and power included [currency per hour]."""


class RentBook(Part):
    """Rents of accelerators, all in one currency."""

    kind_words: ClassVar[str] = "rent book"

    kind: Literal["rent-book"]
    currency: Currency
    """Currency of every rent in the book."""
    date: Date
    """Date of the book: year or year-month. Rents of other dates state their own."""
    offers: dict[Identifier, Offer]
    """Offers by id, such as aws-p5-h100-3-year."""


class TokenOffer(Frozen):
    """Tokens of a hosted model, sold by API."""

    provider: Text
    """Provider."""
    model: Identifier
    """Catalogue id of the model."""
    input: PriceFigure
    """Price of a million prompt tokens [currency per million]."""
    cached: PriceFigure | None = None
    """Price of a million prompt tokens in the provider's prefix cache [currency per million]; as `input` if omitted."""
    output: PriceFigure
    """Price of a million output tokens [currency per million]."""


class TokenBook(Part):
    """Prices of tokens by API, all in one currency."""

    kind_words: ClassVar[str] = "token book"

    kind: Literal["token-book"]
    currency: Currency
    """Currency of every price in the book."""
    offers: dict[Identifier, TokenOffer]
    """Offers by id, such as deepseek-r1-api."""


def _inherit(book: PriceBook, base: PriceBook) -> PriceBook:
    """Extend a price book with another's prices of parts that it lacks, and their sources, renamed where keys clash."""
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
