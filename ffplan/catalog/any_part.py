"""Any part: the content of a catalogue file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ffplan.catalog.engines import Engine
from ffplan.catalog.file_systems import FileSystem
from ffplan.catalog.kernels import AttentionRates
from ffplan.catalog.library import Library
from ffplan.catalog.models import Model
from ffplan.catalog.ownership import OwnershipProfile
from ffplan.catalog.parts import Accelerator, Cpu, Link, Nic, Server, StorageServer, Switch
from ffplan.catalog.prices import PriceBook, RentBook
from ffplan.catalog.reliability import FailureStudy, JobMix, ReliabilityProfile, XidTable
from ffplan.catalog.runtimes import Runtime
from ffplan.catalog.stacks import SoftwareStack

AnyPart = Annotated[
    Accelerator
    | AttentionRates
    | Cpu
    | Engine
    | FailureStudy
    | FileSystem
    | JobMix
    | Library
    | Link
    | Model
    | Nic
    | OwnershipProfile
    | PriceBook
    | ReliabilityProfile
    | RentBook
    | Runtime
    | Server
    | SoftwareStack
    | StorageServer
    | Switch
    | XidTable,
    Field(discriminator="kind"),
]

SCHEMAS = {
    "catalog": (AnyPart, "An ffplan catalogue file"),
}
"""Files and outputs of this module, with their titles."""
