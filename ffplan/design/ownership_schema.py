"""The sections of a design file about money: ownership and rent. They are read by who needs them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ffplan.catalog.ownership import OwnershipFields, PerHourEstimate, PerMonth, ShareEstimate
from ffplan.catalog.prices import Term
from ffplan.inputs.model import Frozen, Identifier


class Ownership(OwnershipFields):
    """What owning the cluster takes: a profile, and fields of it that this design states otherwise."""

    profile: Identifier = "owned-2026"
    """Catalogue id of the ownership profile."""
    facility: Literal["colocation", "racks", "own", "power"] = "colocation"
    """`colocation`: rent by kW, energy apart. `racks`: rent by rack, times PUE, as the Fire-Flyer paper has it. `own`:
    a building written off over its life. `power`: neither; energy alone."""
    liquid: ShareEstimate | None = None
    """Part of the servers' heat that liquid takes away, where their files do not say [1]."""
    rents: Identifier = "rents-2026"
    """Catalogue id of the rent book whose offers are set against owning."""
    delay: PerMonth | None = None
    """Value of a month without the cluster; the rent that bridges it if omitted [currency per month]."""


class Rent(Frozen):
    """The cluster is rented: from an offer of a rent book, or at a stated price."""

    book: Identifier = "rents-2026"
    """Catalogue id of the rent book."""
    offer: Identifier | None = None
    """Offer of the book."""
    price: PerHourEstimate | None = None
    """Price of an accelerator-hour in place of an offer [currency per hour]."""
    term: Term | None = None
    """How long that price is paid: the hours in use of `on-demand`, `spot` and `capacity-block`, every hour of `1-year`
    and `3-year`; needed with `price`."""
    upfront: Annotated[float, Field(ge=0, le=1)] | None = None
    """Part of the rent of a 1-year or 3-year term that is paid at its start [1]; the offer's if omitted."""
    extras: PerMonth | None = None
    """Storage, egress and support that the provider bills apart [currency per month]."""
