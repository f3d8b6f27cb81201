"""The protocol of a family's routing, keys that select among links, and loads under forwarding tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from ffplan.base.array_math import Bools, Floats, Ints
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.fabric.routing.traffic import Flows
    from ffplan.fabric.wiring.network import Network
    from ffplan.fabric.wiring.wiring import WiredFabric

ROUTING = ("static", "ecmp", "valiant", "adaptive")
"""Kinds of routing; a family has some of them."""


@record
class _Routes:
    links: Ints
    """Directed links in order, padded with -1, shape (flows, hops); 2 * link from `a` to `b`, 2 * link + 1 back."""
    reached: Bools
    """True if the destination can be reached, shape (flows,)."""


class Routing(Protocol):
    """Routes flows over one wired fabric, healthy or with links lost."""

    fabric: WiredFabric
    alive: Bools | None
    kinds: tuple[str, ...]
    """Kinds of ROUTING that the family has."""

    def paths(self, src: Ints, dst: Ints, seed: int | None = None, *, detour: bool = False) -> _Routes:
        """Return the path of each flow.

        Args:
            src: endpoint that sends, by number, shape (flows,).
            dst: endpoint that receives, same shape.
            seed: hash flows with this seed; by destination if omitted.
            detour: pass a group chosen at random (Valiant).
        """

    def connected(self, src: Ints, dst: Ints) -> Bools:
        """Return whether a path joins two endpoints of a healthy fabric, shape (flows,)."""

    def spread(self, src: Ints, dst: Ints, nbytes: Floats) -> Floats:
        """Return the bytes on every directed link when flows are spread evenly (ideal adaptive routing)."""

    def all_to_all(self, member: Bools, nbytes: float, kind: str) -> Floats | None:
        """Return the loads when each member sends to every other of its plane; None if flows must be listed.

        Args:
            member: endpoints that take part, shape (endpoints,).
            nbytes: bytes from each to each [byte].
        """

    def apart(self, ports: Ints) -> int:
        """Return the pairs of these endpoints in one plane without a path, both directions counted."""


@record
class Keys:
    """Keys that select among the links at each step, one row per flow."""

    leaf: Ints
    spine: Ints
    core: Ints
    trunk: Ints


def _splitmix(value: Ints) -> Ints:
    """Return well-mixed 64-bit hashes [1] of unsigned integers, any shape (Steele, Lea, Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        z = value.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _hashed(src: Ints, dst: Ints, seed: int, level: int) -> Ints:
    """Return hashes [1] of flows for one level of choices, not negative, shape (flows,)."""
    mixed = _splitmix(_splitmix(src) ^ (dst.astype(np.uint64) << np.uint64(20)) ^ np.uint64(seed * 8 + level))
    return (mixed >> np.uint64(1)).astype(np.int64)


WALKERS = 4_000_000
"""Walks followed at once."""


@record
class Forwarding:
    """The tables of some switches for some endpoints."""

    switches: Ints
    """Numbers of the switches, rising, shape (rows,)."""
    endpoints: Ints
    """Numbers of the endpoints, rising, shape (columns,)."""
    port: Ints
    """Port from row to column, counted from 0; -1 without one, shape (rows, columns), int16."""


class Tracer:
    """Follows forwarding tables over the links of a network."""

    def __init__(self, network: Network, tables: Forwarding) -> None:
        self.network, self.tables = network, tables
        k, count = network.links, len(network.switches)
        self.width = network.radix
        self.link = np.full(count * self.width, -1, np.int64)
        """Directed link out of each switch port."""
        self.peer = np.full(count * self.width, -1, np.int64)
        # end `a` may be an endpoint, which forwards nothing
        low = k.a < count
        number = np.arange(len(k))
        self.link[k.a[low].astype(np.int64) * self.width + k.a_port[low]] = 2 * number[low]
        self.peer[k.a[low].astype(np.int64) * self.width + k.a_port[low]] = k.b[low]
        self.link[k.b.astype(np.int64) * self.width + k.b_port] = 2 * number + 1
        self.peer[k.b.astype(np.int64) * self.width + k.b_port] = k.a
        self.row = np.full(count, -1, np.int64)
        self.row[tables.switches] = np.arange(len(tables.switches))
        self.column = np.full(len(network.endpoints), -1, np.int64)
        self.column[tables.endpoints] = np.arange(len(tables.endpoints))

    def walk(self, leaf: Ints, dst: Ints, weight: Floats, most: int) -> tuple[Floats, Ints]:
        """Follow the tables from switches to endpoints.

        Args:
            leaf: switch where each walk starts, shape (walks,).
            dst: intended endpoint of each walk, same shape.
            weight: bytes of each walk, same shape.
            most: switches that a walk may pass [1].

        Returns:
            Bytes on every directed link, and the switches passed by each walk, -1 for a walk that does not arrive.
        """
        load = np.zeros(2 * len(self.network.links))
        passed = np.full(len(leaf), -1, np.int64)
        device, live = leaf.astype(np.int64), np.arange(len(leaf))
        first = len(self.network.switches)
        for hop in range(1, most + 1):
            row = self.row[device]
            port = np.where(row >= 0, self.tables.port[row, self.column[dst[live]]], -1)
            cell = device * self.width + port
            # a walk ends early at a switch without a table, or at a port that leads nowhere
            moved = (port >= 0) & (self.peer[np.where(port >= 0, cell, 0)] >= 0)
            live, cell = live[moved], cell[moved]
            load += np.bincount(self.link[cell], weights=weight[live], minlength=len(load))
            device = self.peer[cell]
            done = device >= first
            passed[live[done & (device - first == dst[live])]] = hop
            live, device = live[~done], device[~done]
            if not len(live):
                break
        return load, passed

    def flow_loads(self, flows: Flows, most: int) -> tuple[Floats, int]:
        """Return the bytes on every directed link under some flows, and how many do not arrive."""
        load = np.zeros(2 * len(self.network.links))
        lost = 0
        for start in range(0, len(flows), WALKERS):
            part = slice(start, start + WALKERS)
            src, dst, nbytes = flows.src[part], flows.dst[part], flows.nbytes[part]
            more, passed = self.walk(self.network.endpoints.leaf[src], dst, nbytes, most)
            # walks start at the leaf: add the link up from the endpoint
            load += more + np.bincount(2 * src, weights=nbytes, minlength=len(load))
            lost += int((passed < 0).sum())
        return load, lost

    def all_to_all_loads(self, members: Ints, nbytes: float, most: int) -> tuple[Floats, int]:
        """Return the same when each member sends to every other one: flows from one leaf to one endpoint go
        together."""
        e = self.network.endpoints
        leaves, count = np.unique(e.leaf[members], return_counts=True)
        load = np.zeros(2 * len(self.network.links))
        lost = 0
        size = max(1, WALKERS // len(leaves))
        for start in range(0, len(members), size):
            dst = np.tile(members[start : start + size], len(leaves))
            leaf = np.repeat(leaves, len(members[start : start + size]))
            # less the flow from the destination to itself
            weight = (np.repeat(count, len(members[start : start + size])) - (e.leaf[dst] == leaf)) * nbytes
            more, passed = self.walk(leaf, dst, weight, most)
            load += more
            lost += int((passed < 0).sum())
        load += np.bincount(2 * members, minlength=len(load)) * (len(members) - 1) * nbytes
        return load, lost
