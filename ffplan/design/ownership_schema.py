"""Sections of a design file about ownership and rent, imported on demand."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ffplan.catalog.ownership import Effort, OwnershipFields, PerHourEstimate, PerMonth, ShareEstimate
from ffplan.catalog.prices import Term
from ffplan.inputs.model import Frozen, Identifier
from ffplan.inputs.part_ids import OwnershipId, RentBookId


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
    upfront: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of a 1-year or 3-year rent paid upfront [1]; the offer's if omitted."""
    extras: PerMonth | None = None
    """Storage, egress and support billed in addition [currency per month]."""
