"""Sections of a design file about ownership and rent, imported on demand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, get_args

from pydantic import ValidationError

from ffplan.base.errors import UsageError
from ffplan.catalog.ownership import Effort, OwnershipFields, PerHourEstimate, PerMonth, ShareEstimate
from ffplan.catalog.prices import Term
from ffplan.inputs.model import Frozen, Identifier
from ffplan.inputs.part_ids import OwnershipId, RentBookId
from ffplan.inputs.quantities import Share

if TYPE_CHECKING:
    from ffplan.catalog.prices import RentBook


class Ownership(OwnershipFields):
    """Ownership of the cluster: a profile, and fields that override it."""

    profile: OwnershipId = "owned-2026"
    """Catalogue id of the ownership profile."""
    facility: Literal["colocation", "racks", "own", "power"] = "colocation"
    """`colocation`: rent by kW plus energy. `racks`: rent by rack, times PUE, as in the Fire-Flyer paper. `own`:
    a building written off over its life. `power`: energy alone."""
    liquid: ShareEstimate | None = None
    """Share of the servers' heat removed by liquid, if missing in their files [1]."""
    rents: RentBookId = "rents-2026"
    """Catalogue id of the rent book to compare ownership with."""
    effort: Effort = "typical"
    """How well training runs are tuned: `tuned` takes the time of the fastest plan, `typical` what published runs took,
    `first-run` what a team's first run of its size took."""
    delay: PerMonth | None = None
    """Cost of a month without the cluster; the rent of a replacement if omitted [currency per month]."""


class Rent(Frozen):
    """The cluster is rented: from an offer of a rent book, or at a stated price."""

    book: RentBookId = "rents-2026"
    """Catalogue id of the rent book."""
    offer: Identifier | None = None
    """Offer of the book."""
    price: PerHourEstimate | None = None
    """Price of an accelerator-hour in place of an offer [currency per hour]."""
    term: Term | None = None
    """Billing of that price: hours in use for `on-demand`, `spot` and `capacity-block`, every hour for `1-year`
    and `3-year`; needed with `price`."""
    upfront: Share | None = None
    """Share of a 1-year or 3-year rent paid upfront [1]; the offer's if omitted."""
    extras: PerMonth | None = None
    """Storage, egress and support billed in addition [currency per month]."""


def quoted_rent(quote: str, book: RentBook) -> Rent:
    """Return a rent at an own quote, such as 2.10:3-year: the price of an accelerator-hour, in the book's
    currency unless it has one, and its term.

    Raises:
        UsageError: if the price or the term is missing or wrong.
    """
    price, _, term = quote.partition(":")
    if term not in get_args(Term):
        head = f"`{term}` is no term" if term else "a price needs a term"
        raise UsageError(f"--rent {quote}: {head}; write {price}: and one of {', '.join(get_args(Term))}")
    if not price.strip("0."):
        raise UsageError(f"--rent {quote}: write a price above 0")
    bare = price.replace(".", "", 1).isdigit()
    amount = f"{price} {book.currency}" if bare else re.sub(r"/\s*h(our)?$", "", price)
    try:
        return Rent.model_validate({"book": book.id, "price": f"{amount}/hour", "term": term})
    except ValidationError as error:
        raise UsageError(f"--rent {quote}: {error.errors()[0]['msg']}") from None
