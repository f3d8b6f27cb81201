"""Device memory that a runtime takes beyond the tensors of a plan; takes floats and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.training.memory import largest

if TYPE_CHECKING:
    from ffplan.base.array_math import Number
    from ffplan.catalog.models import Transformer
    from ffplan.training.axes import ParallelPlans


@record
class MemoryMargins:
    """Device memory of a runtime beyond the tensors that are counted here."""

    runtime: str
    """Catalogue id of the runtime."""
    device: float
    """Memory of driver, libraries and fragments, lost to tensors [byte]."""
    reserved: tuple[float, float] | None
    """Extra reserve of the runtime's allocator, as a fraction of them, at least and at most [1]; None if unknown."""
    temporary: float
    """Adam's temporary memory for each parameter of its shard [byte]; 0 if unknown."""
    counted_over: float
    """Excess of published runs of the stack over their room, as a fraction of it, at most [1]."""


UNKNOWN_MARGINS = MemoryMargins(runtime="", device=0.0, reserved=None, temporary=0.0, counted_over=0.0)
"""Margins of runs that are timed and not judged."""


def temporary_of(states: Number, plans: ParallelPlans, margins: MemoryMargins) -> Number:
    """Return the optimizer's temporary memory on a stage.

    Args:
        states: states of the optimizer on the device O [byte].
        plans: the plans: o bytes of states a parameter.
        margins: t bytes of each parameter of a shard.

    Returns:
        Memory [byte].

    Equation:
        t O / o

    Source:
        Adam's temporary of a model of 6.74 billion parameters, ZeRO 2 on eight ranks: 3.14 GiB, 4 bytes of a parameter.
    """
    return margins.temporary * states / plans.optimizer_bytes


def _peak_and_temporary(shape: Transformer, plans: ParallelPlans, margins: MemoryMargins) -> tuple[Number, Number]:
    """Return `peak_bytes`, and the most of `temporary_of` over the stages, from one evaluation of them [byte]."""
    peak, temporary = largest(
        shape, plans, lambda parts: parts.total, lambda parts: temporary_of(parts.optimizer, plans, margins)
    )
    return peak, temporary


def worst_of(allocated: Number, temporary: Number, margins: MemoryMargins) -> Number:
    """Return the memory that a runtime may reach.

    Args:
        allocated: memory of tensors M [byte].
        temporary: temporary memory of the optimizer t [byte].
        margins: margins of the runtime: a fraction r reserved beyond the allocation, at most.

    Returns:
        Memory [byte].

    Equation:
        (1 + r) M + t

    Source:
        Definition: blocks that activations leave stay reserved, in pieces that may have no room for a larger tensor.
    """
    reserved = margins.reserved[1] if margins.reserved else 0.0
    return (1.0 + reserved) * allocated + temporary
