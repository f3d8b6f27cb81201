"""Runtimes of frameworks: the device memory that they take beyond the tensors of a model."""

from __future__ import annotations

from typing import ClassVar, Literal

from ffplan.catalog.evidence import CountFigure, DataFigure, FractionFigure
from ffplan.catalog.parts import Part

USUAL = "pytorch"
"""Runtime of plans and stacks that name none."""


class Runtime(Part):
    """A runtime with its margins of device memory."""

    kind_words: ClassVar[str] = "runtime"

    kind: Literal["runtime"]
    device: DataFigure
    """Device memory of driver, libraries and fragments, which no tensor can have."""
    reserved: FractionFigure | None = None
    """Memory that the allocator reserves beyond what tensors have, as a fraction of that; unknown if omitted."""
    temporary: CountFigure | None = None
    """Bytes of a parameter that Adam takes for a moment while it updates its shard; unknown if omitted."""
