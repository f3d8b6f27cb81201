"""Storage service of servers: file system and copies."""

from __future__ import annotations

from ffplan.catalog.evidence import CountFigure, EfficiencyFigure
from ffplan.inputs.model import Frozen, Identifier

DEFAULT_FILE_SYSTEM = "parallel-file-system"
"""Default file system of storage servers."""


class StorageService(Frozen):
    """File system and copies of storage servers."""

    file_system: Identifier = DEFAULT_FILE_SYSTEM
    """Catalogue id of the file system or object store."""
    copies: CountFigure
    """Copies of all data; each write multiplies drive writes and NIC traffic by it."""
    usable: EfficiencyFigure | None = None
    """Share of the capacity left for data after copies; all if omitted [1]."""
    efficiency: EfficiencyFigure | None = None
    """Achieved rate over its NICs' rate, in place of the file system's [1]."""
