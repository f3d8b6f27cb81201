"""Numbers of nodes: the smallest that is in time, and round ones on which a model trains as fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from ffplan.base.array_math import round_up
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.design import Assessment

_CLOSE = 0.02
"""Nodes between the largest size that is too small and the smallest that is not, over the latter, at the end [1]."""
_MOST_TRIALS = 9
_SMALLEST = 0.8
"""Smallest round size that is tried, over the size found [1]."""
_ROUND_SIZES = 4
"""Round sizes tried, at most [1]."""


@record
class Sizes:
    """Sizes to search, and how long a run takes on each."""

    days: Callable[[int], float | None]
    """Days of the run with some nodes; None if it cannot run there."""
    step: int
    """Sizes are multiples of it [1]."""
    most: int
    """Most nodes [1]."""


def _smallest(sizes: Sizes, first: float, days: float) -> tuple[int | None, int | None]:
    """Return the smallest size found that takes no more than some days, and the largest tried that takes more [1]."""
    step = sizes.step
    low, nodes = 0, min(max(step, round_up(first / step) * step), sizes.most)
    fitting: int | None = None
    slow: int | None = None
    high = sizes.most + step
    for _ in range(_MOST_TRIALS):
        taken = sizes.days(nodes)
        if taken is not None and taken <= days:
            fitting = high = nodes
        else:
            slow, low = (nodes if taken is not None else slow), nodes
        if high - low <= max(step, _CLOSE * high) or low >= sizes.most:
            break
        guess = nodes * taken / days if taken is not None else 2.0 * nodes
        next_size = round_up(guess * (1.002 if low == nodes else 1.0) / step) * step
        # days fall nearly as 1 / nodes: without a guess left, only a size that divides badly hides a smaller one
        less = max(step, int(_CLOSE * high))
        below = (high - less if fitting else (low + high) // 2) // step * step
        nodes = next_size if low < next_size < high else max(below, low + step)
    return fitting, slow


def _rounder_size(sizes: Sizes, size: int, days: float) -> int | None:
    """Return the smallest round size below a given one that is in time too [1]; None without one.

    A search by halves may stop at a size that divides badly.
    """
    unit = sizes.step
    while (1 - _SMALLEST) * size > _ROUND_SIZES * unit:
        unit *= 2
    first = -(-int(_SMALLEST * size) // unit) * unit
    for nodes in range(max(first, unit), size, unit):
        taken = sizes.days(nodes)
        if taken is not None and taken <= days:
            return nodes
    return None


class _Sized(Protocol):
    @property
    def design(self) -> ResolvedDesign:
        """The design."""

    @property
    def assessment(self) -> Assessment:
        """Its assessment."""

    @property
    def purchase(self) -> float:
        """Median of its purchase [currency]."""


_AnySized = TypeVar("_AnySized", bound=_Sized)

_ROUND = (4, 16, 64)
"""Numbers of nodes, or of scale-up domains, whose multiples are tried in place of the most [1]."""
_LEAST_PART, _AS_FAST = 0.85, 0.99
"""Fewest nodes tried, over the most; share of the highest token rate that still counts as the fastest."""
_GAIN = 1.01
"""Least tokens per cost of a smaller number of nodes, over the most nodes' tokens per cost [1]."""


def _tokens_s(built: _Sized, catalog: Catalog) -> float | None:
    """Return the tokens a second of a design's workload with its fastest plan; None if it cannot run."""
    from ffplan.studies.train.default_job import workload_report
    from ffplan.training.accelerator_rates import UncalibratedError
    from ffplan.training.constraints import RefusedError

    try:
        return workload_report(built.design, catalog.fresh(), built.design.stated_workload).rows[0].tokens_s
    except (RefusedError, UncalibratedError):
        return None


def _rounder_design(
    most: _AnySized, build: Callable[[int], _AnySized | None], step: int, catalog: Catalog
) -> tuple[_AnySized, str]:
    """Return a design of a rounder number of nodes where the model trains as fast on it, and words for that.

    A number of nodes with large factors of two divides into more plans. Of the numbers tried, one is taken that trains
    within `_AS_FAST` of the fastest and gains at least `_GAIN` in tokens for its cost; the cheapest of several.
    """
    nodes = most.assessment.nodes["compute"]
    fewer = {nodes // (unit * step) * unit * step for unit in _ROUND}
    tried = [most, *(build(count) for count in sorted(fewer, reverse=True) if _LEAST_PART * nodes <= count < nodes)]
    rates = [
        (rate, design) for design in tried if design is not None and (rate := _tokens_s(design, catalog)) is not None
    ]
    fastest = max((rate for rate, _ in rates), default=0.0)
    least = next((_GAIN * rate / design.purchase for rate, design in rates if design is most), 0.0)
    better = [design for rate, design in rates if rate >= _AS_FAST * fastest and rate / design.purchase >= least]
    chosen = min(better, key=lambda candidate: candidate.purchase, default=most)
    if chosen is most:
        return most, ""
    on_all = next((f"{rate:,.0f}" for rate, design in rates if design is most), "none")
    reached = next(rate for rate, design in rates if design is chosen)
    return chosen, (
        f"{most.assessment.accelerators:,} accelerators would fit the wishes; "
        f"{chosen.design.stated_workload.model} has "
        f"{reached:,.0f} tokens/s on {chosen.assessment.accelerators:,}, and {on_all} on all"
    )
