"""File systems and object stores: what a node's client, the servers' NICs, a checkpoint and the whole of them reach."""

from __future__ import annotations

from typing import ClassVar, Literal

from ffplan.catalog.evidence import BandwidthFigure, EfficiencyFigure
from ffplan.catalog.parts import Part
from ffplan.inputs.model import Frozen


class WayRates(Frozen):
    """Rates both ways."""

    read: BandwidthFigure
    """Reading [GB/s]."""
    write: BandwidthFigure
    """Writing data, copies not counted [GB/s]."""


class FileSystem(Part):
    """A file system or object store, as its clients see it."""

    kind_words: ClassVar[str] = "file system"

    kind: Literal["file-system"]
    client: WayRates
    """What the client of one compute node moves, whatever its NICs carry [GB/s]."""
    efficiency: EfficiencyFigure
    """Rate that it reaches over what NICs carry [1]."""
    whole: WayRates | None = None
    """The most that all clients together move, however many servers there are [GB/s]; left out where its servers alone
    bind."""
    checkpoint: WayRates | None = None
    """Rates at which one checkpoint was loaded (`read`) and saved (`write`) [GB/s]; left out where clients alone
    bind."""


__all__ = ["FileSystem", "WayRates"]
