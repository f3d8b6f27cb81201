"""Training constants of accelerators that nothing was calibrated on: those of the nearest calibrated relative."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from ffplan.catalog.parts import Accelerator

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog

SIXTEEN = ("bf16", "fp16")
"""Precisions of 16 bits, the first that a part has counts."""


def _peak(part: Accelerator) -> float | None:
    return next((part.peak[name].value for name in SIXTEEN if name in part.peak), None)


def distance(one: Accelerator, two: Accelerator) -> float:
    """Return how unlike two accelerators are [1].

    Args:
        one: an accelerator.
        two: another.

    Equation:
        |ln (16-bit peak ratio)| + |ln (memory bandwidth ratio)|; infinite where one has no 16-bit peak

    Source:
        Definition: the two rates that most of a training step rests on.
    """
    peaks = _peak(one), _peak(two)
    if peaks[0] is None or peaks[1] is None:
        return float("inf")
    return abs(log(peaks[0] / peaks[1])) + abs(log(one.memory_bandwidth.value / two.memory_bandwidth.value))


def nearest_relative(part: Accelerator, catalog: Catalog) -> Accelerator | None:
    """Return the calibrated accelerator that is nearest; None where there is none.

    Args:
        part: an accelerator.
        catalog: the parts; those that are looked at only count as not read.
    """
    seen = catalog.fork()
    known = [seen.entry(name).part for name in seen.ids_of("accelerator") if name != part.id]
    found = [item for item in known if isinstance(item, Accelerator) and item.training is not None]
    near = [item for item in found if distance(part, item) < float("inf")]
    return min(near, key=lambda item: (distance(part, item), item.id), default=None)


def with_relative(part: Accelerator, catalog: Catalog) -> tuple[Accelerator, str | None]:
    """Return an accelerator with training constants, and the id of the relative that they are of.

    Peaks and memory bandwidth stay its own; efficiencies, latencies and multiprocessors are the relative's, and at a
    precision that the relative lacks its efficiency at 16 bits.

    Args:
        part: an accelerator.
        catalog: the parts.
    """
    if part.training is not None:
        return part, None
    relative = nearest_relative(part, catalog)
    if relative is None or relative.training is None:
        return part, None
    catalog.entry(relative.id)  # the result rests on its file
    rates = relative.training
    filled = {name: getattr(rates, name) or rates.matrix for name in ("matrix_fp8", "matrix_tf32")}
    training = rates.model_copy(update=filled)
    sources = {**relative.sources, **part.sources, rates.matrix.source: relative.sources[rates.matrix.source]}
    return part.model_copy(update={"training": training, "sources": sources}), relative.id
