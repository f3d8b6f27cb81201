"""The ranks of a collective, and the record of an algorithm: ledger, latency and protocols.

A new algorithm is a module with its ledger and its record, a line in `algorithms.ALGORITHMS`, and its latency constants
in the library's catalogue file. Solver, resources, time model, command line and case files read the record.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from ffplan.base.array_math import Number, maximum, real
from ffplan.base.record import record
from ffplan.collectives.inside_node import _bridged_hops
from ffplan.collectives.volumes import _nics_of
from ffplan.fabric.sizing.plan import LinkCut
from ffplan.node.host import Host

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.base.array_math import Truth
    from ffplan.catalog.library import Library
    from ffplan.collectives.bottleneck import Line


@record
class RankLayout:
    """Layout of the ranks on nodes; numbers may be arrays of one shape."""

    host: Host
    """The inside of a node."""
    nodes: Number
    """Nodes, or scale-up domains where one switch joins several nodes [1]."""
    per_node: Number
    """Ranks on each of them [1]."""
    zones: Number = 1
    """Zones that the job spans [1]."""
    cuts: tuple[LinkCut, ...] = ()
    """Link cuts between leaves and between zones that it crosses."""

    sent_by: Number | None = None
    """NICs that the ranks of each of them use [1]; by the number of ranks if omitted."""
    adjacent: Number = 1.0
    """1 if neighbouring ranks of a node sit on neighbouring GPUs, 0 if other groups sit between them [1]."""
    last: Number | None = None
    """Ranks on the last node, if it may hold fewer than the others [1]."""

    @property
    def ranks(self) -> Number:
        """Ranks altogether [1]."""
        if self.last is None:
            return self.nodes * self.per_node
        return (self.nodes - 1) * self.per_node + self.last

    @property
    def fewest(self) -> Number:
        """Ranks on the node that holds the fewest [1]."""
        return self.per_node if self.last is None else self.last

    @property
    def fewest_nics(self) -> Number:
        """NICs in use on the node with the fewest ranks: together they carry as much as any other node's [1]."""
        return _nics_of(len(self.host.nics), len(self.host.gpus), self.fewest)

    @property
    def several(self) -> Number:
        """1 for a job over several nodes, else 0."""
        return (self.nodes > 1) * 1.0

    @property
    def shared(self) -> Number:
        """1 if a node holds several ranks, else 0."""
        return (self.per_node > 1) * 1.0

    @property
    def detour(self) -> Number:
        """1 if a ring must leave a node by a NIC that its last GPU there reaches through the CPU alone, else 0.

        A ring leaves by the NIC that it came in by. Without forwarding over NVLink that takes two GPUs at one PCIe
        switch, and a group of r ranks on a node of G GPUs, spread evenly, has none where G / r is at least the GPUs at
        a switch. Where every GPU has a NIC, rings pass from rail to rail instead.
        """
        if self.host.forwarding or not self.host.joined or len(self.host.nics) >= len(self.host.gpus):
            return 0.0
        apart = self.per_node * self.host.beside <= len(self.host.gpus)
        return self.several * self.shared * apart

    @property
    def nics(self) -> Number:
        """NICs it uses on each node but one with fewer ranks [1]."""
        if self.sent_by is not None:
            return self.sent_by
        return _nics_of(len(self.host.nics), len(self.host.gpus), self.per_node)


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
