"""File systems and object stores: rates of a client, the servers' NICs, a checkpoint, and all clients."""

from __future__ import annotations

from typing import ClassVar, Literal

from ffplan.catalog.evidence import BandwidthFigure, EfficiencyFigure
from ffplan.catalog.parts import Part
from ffplan.inputs.model import Frozen


class WayRates(Frozen):
    """Rates of reading and writing."""

    read: BandwidthFigure
    """Reading [GB/s]."""
    write: BandwidthFigure
    """Writing data, copies not counted [GB/s]."""


class FileSystem(Part):
    """A file system or object store, as its clients see it."""

    kind_words: ClassVar[str] = "file system"

    kind: Literal["file-system"]
    client: WayRates
    """Rate of one compute node's client, regardless of its NICs [GB/s]."""
    efficiency: EfficiencyFigure
    """Achieved rate over the NICs' rate [1]."""
    whole: WayRates | None = None
    """Largest rate of all clients together, for any number of servers [GB/s]; left out if only the servers
    bind."""
    checkpoint: WayRates | None = None
    """Rates at which one checkpoint was loaded (`read`) and saved (`write`) [GB/s]; left out if only clients
    bind."""


__all__ = ["FileSystem", "WayRates"]
