"""Forwarding tables: each switch's port towards each endpoint; tracing and loads under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Ints
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats
    from ffplan.fabric.routing.traffic import Flows
    from ffplan.fabric.wiring.network import Network


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
