"""Any part: the content of a catalogue file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ffplan.catalog.library import Library
from ffplan.catalog.models import Model
from ffplan.catalog.ownership import OwnershipProfile
from ffplan.catalog.parts import Accelerator, Cpu, Link, Nic, Server, StorageServer, Switch
from ffplan.catalog.prices import PriceBook, RentBook

AnyPart = Annotated[
    Accelerator
    | Cpu
    | Library
    | Link
    | Model
    | Nic
    | OwnershipProfile
    | PriceBook
    | RentBook
    | Server
    | StorageServer
    | Switch,
    Field(discriminator="kind"),
]

SCHEMAS = {
    "catalog": (AnyPart, "An ffplan catalogue file"),
}
"""Files and outputs of this module, with their titles."""
