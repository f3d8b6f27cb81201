"""How storage servers keep data: the file system that runs on them, and how many copies they write."""

from __future__ import annotations

from ffplan.catalog.evidence import CountFigure, EfficiencyFigure
from ffplan.inputs.model import Frozen, Identifier

DEFAULT_FILE_SYSTEM = "parallel-file-system"
"""File system of storage servers that name none."""


class StorageService(Frozen):
    """How storage servers keep data."""

    file_system: Identifier = DEFAULT_FILE_SYSTEM
    """Catalogue id of the file system or object store."""
    copies: CountFigure
    """Copies of all data; a write costs as many drive writes, and crosses the servers' NICs as often."""
    usable: EfficiencyFigure | None = None
    """Part of the capacity left for data after copies; all of it if omitted [1]."""
    efficiency: EfficiencyFigure | None = None
    """Rate it reaches over what its NICs carry, in place of the file system's [1]."""
