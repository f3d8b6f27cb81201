"""Fewer nodes than some wishes allow, where a model trains as fast on a number that more plans divide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.results.design import Assessment


class Sized(Protocol):
    """A design as built."""

    @property
    def design(self) -> ResolvedDesign:
        """The design."""

    @property
    def assessment(self) -> Assessment:
        """Its assessment."""

    @property
    def cost(self) -> float:
        """Its bill of materials [currency]."""


AnySized = TypeVar("AnySized", bound=Sized)

ROUND = (4, 16, 64)
"""Numbers of nodes, or of scale-up domains, whose multiples are tried in place of the most [1]."""
LEAST_PART, AS_FAST = 0.85, 0.99
"""Fewest nodes that are tried, over the most; tokens a second that count as the fastest, over those of the fastest."""
GAIN = 1.01
"""Tokens for its cost that a smaller number has, over those of the most [1]."""


def _tokens_s(built: Sized, catalog: Catalog) -> float | None:
    """Return the tokens a second of a design's workload with its fastest plan; None where it cannot run."""
    from ffplan.studies.train.workload import workload_report
    from ffplan.training.accelerator_rates import UncalibratedError
    from ffplan.training.constraints import RefusedError

    try:
        return workload_report(built.design, catalog.fresh(), built.design.stated_workload).rows[0].tokens_s
    except (RefusedError, UncalibratedError):
        return None


def rounder(
    most: AnySized, build: Callable[[int], AnySized | None], step: int, catalog: Catalog
) -> tuple[AnySized, str]:
    """Return a design of a rounder number of nodes where the model trains as fast on it, and words for that.

    A number of nodes with large factors of two divides into more plans. Of the numbers tried, one is taken that trains
    within `AS_FAST` of the fastest and gains at least `GAIN` in tokens for its cost; the cheapest of several.

    Args:
        most: the design with the most nodes that the wishes allow.
        build: returns the design of some nodes.
        step: nodes of a scale-up domain [1].
    """
    nodes = most.assessment.nodes["compute"]
    fewer = {nodes // (unit * step) * unit * step for unit in ROUND}
    tried = [most, *(build(count) for count in sorted(fewer, reverse=True) if LEAST_PART * nodes <= count < nodes)]
    rates = [(rate, item) for item in tried if item is not None and (rate := _tokens_s(item, catalog)) is not None]
    fastest = max((rate for rate, _ in rates), default=0.0)
    least = next((GAIN * rate / item.cost for rate, item in rates if item is most), 0.0)
    better = [item for rate, item in rates if rate >= AS_FAST * fastest and rate / item.cost >= least]
    found = min(better, key=lambda item: item.cost, default=most)
    if found is most:
        return most, ""
    own = next((f"{rate:,.0f}" for rate, item in rates if item is most), "none")
    reached = next(rate for rate, item in rates if item is found)
    return found, (
        f"{most.assessment.accelerators:,} accelerators would fit the wishes; {found.design.stated_workload.model} has "
        f"{reached:,.0f} tokens/s on {found.assessment.accelerators:,}, and {own} on all"
    )
