"""The record of an algorithm between accelerators: ledger, latency, protocols, and the ranks on which it runs.

A new algorithm is a module with its ledger and its record, a line in `algorithms.ALGORITHMS`, and its latency constants
in the library's catalogue file. Solver, resources, time model, command line and case files read the record.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import Number, maximum, real
from ffplan.collectives.inside_node import _bridged_hops

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.base.array_math import Truth
    from ffplan.catalog.library import Library
    from ffplan.collectives.bottleneck import Line
    from ffplan.collectives.rank_layout import RankLayout

SIMPLE = ("simple",)
"""Protocols of an algorithm that has only Simple."""
Latency = tuple[Number, Number]
"""Latency of a call, and the part of it inside a node [s]."""


class _LatencyFigures:
    """The constants of one library for one algorithm with one protocol, on the nodes of a job."""

    def __init__(
        self, library: Library, job: RankLayout, operation: str, key: str, protocol: str, *, measured: bool
    ) -> None:
        self.library, self.job, self.operation, self.protocol = library, job, operation, protocol
        self.measured = measured
        """True for the time, False for the library's own estimate, its basis of choice."""
        self._key = key

    def _figure(self, place: str) -> float:
        """Return a constant [s]; 0 if the library has none."""
        # a library chooses by its own constants, whatever was measured since
        tables = (self.library.measured, self.library.latency) if self.measured else (self.library.latency,)
        for table in tables:
            figures: Any = table.get(place, {}).get(self._key, {})  # type: ignore[call-overload]
            if self.protocol in figures:
                return float(figures[self.protocol].value)
        return 0.0

    @property
    def base(self) -> float:
        """Latency of the call [s]."""
        return self._figure("base")

    @property
    def inside(self) -> Number:
        """Latency of a hop inside a node, the mean of hops across bridges and over PCIe [s]."""
        if self.job.host.joined:
            return self._figure("nvlink")
        fraction = _bridged_hops(self.job)
        return fraction * self._figure("nvlink") + (1.0 - fraction) * self._figure("pcie")

    @property
    def between(self) -> float:
        """Latency of a hop between nodes, including the NIC's [s]."""
        extra = [nic.hop_latency.value for nic in self.job.host.nics if nic.hop_latency]
        return self._figure("network") + (real(maximum(*extra)) if extra else 0.0)


def _always_possible(job: RankLayout) -> Truth:
    return job.ranks > 0


def _always_allowed(library: Library, job: RankLayout) -> Truth:  # noqa: ARG001
    return job.ranks > 0


def half(operation: str, ranks: Number) -> Number:  # noqa: ARG001
    """Return 2: bus bandwidth counts a message twice."""
    return 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Algorithm:
    """One algorithm."""

    name: str
    """Name, as the command line takes it."""
    operations: tuple[str, ...]
    """Collectives that it can do."""
    ledger: Callable[[str, RankLayout], list[Line]]
    """Its ledger, given operation and ranks."""
    latency: Callable[[_LatencyFigures], Latency]
    """Its latency, in addition to the stream."""
    _: KW_ONLY
    possible: Callable[[RankLayout], Truth] = _always_possible
    """True for ranks that it can run on."""
    allowed: Callable[[Library, RankLayout], Truth] = _always_allowed
    """True if the library lets it run."""
    channels: bool = False
    """True if the number of channels grows with the message."""
    runs_on: str = ""
    """Ranks on which it can run, in words, for error messages."""
    protocols: tuple[str, ...] = SIMPLE
    """Protocols that it runs."""
    figures: str = ""
    """Algorithm whose latency constants it takes; its own if empty."""
    trees: bool = False
    """True if several flows meet at a NIC, and pieces pass nodes one after the other."""
    rings: bool = False
    """True if pieces pass the ranks of a node one after the other, which fills a pipeline slot by slot."""
    on_request: bool = False
    """True if it is timed on request only."""
    in_network: bool = False
    """True if the network's switches reduce (SHARP)."""
    bus_per_ll: Callable[[str, Number], Number] = half
    """Bus bandwidth over message rate, for the ceiling of protocol LL."""
    as_estimated: Callable[[Library, RankLayout], tuple[RankLayout, float]] | None = None
    """Ranks in the library's own estimate, and its correction; the true ranks if omitted."""

    @property
    def key(self) -> str:
        """Algorithm whose latency constants it takes."""
        return self.figures or self.name
