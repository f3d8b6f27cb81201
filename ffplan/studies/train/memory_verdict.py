"""Whether a plan fits into device memory: what is allocated, and what the runtime may take beyond that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ffplan.base.formatting import GIB, gib, percent

if TYPE_CHECKING:
    from ffplan.training.memory_margins import MemoryMargins

FITS, EDGE = "fits", "edge"
"""Verdicts on plans that are not refused."""


def memory_fields(
    margins: MemoryMargins, limit: float, allocated: float, worst: float, temporary: float
) -> dict[str, Any]:
    """Return the fields of a row that judge its memory.

    Args:
        margins: what the runtime takes beyond tensors.
        limit: device memory that a rank may fill [byte].
        allocated: what tensors have on the fullest stage [byte].
        worst: up to what the runtime may go [byte].
        temporary: what the optimizer takes for a moment [byte].
    """
    low, high = ((1.0 + share) * allocated / GIB for share in margins.reserved or (0.0, 0.0))
    edge = max(worst, allocated) > limit
    return {
        "memory_verdict": EDGE if edge else FITS,
        "memory_words": edge_words(margins, limit, allocated, temporary) if edge else None,
        "reserved_low_gib": low if margins.reserved else None,
        "reserved_high_gib": high if margins.reserved else None,
        "transient_gib": temporary / GIB,
    }


def edge_words(margins: MemoryMargins, limit: float, allocated: float, temporary: float) -> str:
    """Return why a plan may run out of memory, in words."""
    if allocated > limit:
        return (
            f"tensors are counted at {gib(allocated)}, {gib(allocated - limit)} more than the {gib(limit)} there are; "
            f"a published run of this stack, which did fit, is counted up to {percent(margins.counted_over)} over"
        )
    words = f"tensors take {gib(allocated)} of {gib(limit)}"
    if margins.reserved:
        low, high = (gib((1.0 + share) * allocated) for share in margins.reserved)
        words += f"; the allocator of {margins.runtime} was seen to reserve {low} to {high} for as much"
    return words + (f", and Adam takes {gib(temporary)} for a moment" if temporary else "")
