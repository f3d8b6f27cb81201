"""Runtimes of frameworks: their device memory besides a model's tensors."""

from __future__ import annotations

from typing import ClassVar, Literal

from ffplan.catalog.evidence import CountFigure, DataFigure, FractionFigure
from ffplan.catalog.parts import Part

DEFAULT_RUNTIME = "pytorch"
"""Default runtime of plans and stacks."""


class Runtime(Part):
    """A runtime with its margins of device memory."""

    kind_words: ClassVar[str] = "runtime"

    kind: Literal["runtime"]
    device: DataFigure
    """Device memory of driver, libraries and fragments, unavailable to tensors."""
    reserved: FractionFigure | None = None
    """Memory reserved by the allocator beyond tensors, as a fraction of theirs; unknown if omitted."""
    temporary: CountFigure | None = None
    """Temporary bytes per parameter while Adam updates its shard; unknown if omitted."""
