"""Routing over a dragonfly: minimal, Valiant, and the best mixture of both.

A minimal path is local, global, local: to the router that holds a link to the other group, over it, and to the
destination's router. Static routing picks among the links of two groups by the destination, ECMP by a hash of the
flow. Valiant routing passes a third group, drawn for each flow, which halves what uniform traffic gets and spreads any
other over all global links.

Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.fabric.routing.dragonfly_spread import _best_mixture, _GroupTraffic
from ffplan.fabric.routing.keys import _hashed
from ffplan.fabric.routing.routing import _Routes
from ffplan.fabric.wiring.dragonfly_links import _global_port

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Floats, Ints
    from ffplan.fabric.wiring.wiring import WiredFabric

HOPS = 7
"""Most links on a path: the ends, and local, global, local, global, local."""


class _DragonflyRouting:
    """Routes flows over the planes of a healthy dragonfly."""

    kinds: tuple[str, ...] = ("static", "ecmp", "valiant", "adaptive")

    def __init__(self, fabric: WiredFabric, alive: Bools | None = None) -> None:
        """Prepare the planes.

        Args:
            alive: must be omitted: ways round lost links are not modelled.
        """
        if alive is not None:
            raise ValueError("a dragonfly is routed with all of its links")
        self.fabric = fabric
        self.alive: Bools | None = None
        self.shape = fabric.dragonflies[0].shape
        endpoints = fabric.network.endpoints
        self.plane = endpoints.plane.astype(np.int64)
        first = np.array([part.first_switch for part in fabric.dragonflies])
        self.first_link = np.array([part.first_link for part in fabric.dragonflies])
        self.router = endpoints.leaf - first[self.plane]
        """Router of each endpoint, numbered through its plane."""
        self.rank = np.arange(len(endpoints)) % max(1, len(endpoints) // fabric.planes)

    def connected(self, src: Ints, dst: Ints) -> Bools:
        """Return whether a path joins two endpoints: true within one plane, shape (flows,)."""
        reached: Bools = (src != dst) & (self.plane[src] == self.plane[dst])
        return reached

    def apart(self, ports: Ints) -> int:  # noqa: ARG002
        """Return 0: all endpoints of a plane are joined."""
        return 0

    def _local(self, here: Ints, there: Ints) -> Ints:
        """Return the directed local link of a plane between routers of one group; -1 for the same router."""
        a = self.shape.routers
        low, high = np.minimum(here, there) % a, np.maximum(here, there) % a
        # pairs of routers are numbered row by row in the upper triangle of their group
        pair = low * (2 * a - low - 1) // 2 + high - low - 1
        link = here // a * (a * (a - 1) // 2) + pair
        return np.where(here == there, -1, 2 * link + (here > there))

    def _global(self, here: Ints, there: Ints, turn: Ints) -> Ints:
        """Return the directed global link of a plane from group to group."""
        g, a, links = self.shape.groups, self.shape.routers, self.shape.pair_links
        low, high = np.minimum(here, there), np.maximum(here, there)
        # pairs of groups are numbered row by row in the upper triangle
        pair = low * (2 * g - low - 1) // 2 + high - low - 1
        link: Ints = g * (a * (a - 1) // 2) + pair * links + turn
        return 2 * link + (here > there)

    def _exit(self, here: Ints, there: Ints, turn: Ints) -> Ints:
        """Return the router of group `here` that holds link `turn` to group `there`."""
        router: Ints = (
            here * self.shape.routers + _global_port(self.shape, here, there, turn) // self.shape.global_links
        )
        return router

    def _leg(self, start: Ints, group: Ints, key: Ints) -> tuple[Ints, Ints]:
        """Return the links (local, global) from routers to other groups, shape (flows, 2), and the routers there."""
        here, turn = start // self.shape.routers, key % self.shape.pair_links
        out = self._exit(here, group, turn)
        links = np.stack([self._local(start, out), self._global(here, group, turn)], axis=1)
        return links, self._exit(group, here, turn)

    def paths(self, src: Ints, dst: Ints, seed: int | None = None, *, detour: bool = False) -> _Routes:
        """Return the path of each flow.

        Args:
            src: endpoint that sends, by number, shape (flows,).
            dst: endpoint that receives, same shape; in the same plane, or it is not reached.
            seed: hash flows with this seed; by destination if omitted.
            detour: pass a third group, drawn by the hash of the flow (Valiant).
        """
        a, g = self.shape.routers, self.shape.groups
        inner = np.full((len(src), HOPS - 2), -1, np.int64)
        reached = self.connected(src, dst)
        position, end = self.router[src].astype(np.int64), self.router[dst].astype(np.int64)
        here, there = position // a, end // a
        # static tables know the destination alone, so all three legs share one key
        keys = [self.rank[dst] if seed is None else _hashed(src, dst, seed, level) for level in range(3)]
        far = here != there
        if detour and g > 2:
            # level 3: independent of the hashes 0 to 2 that choose links
            third = _hashed(src, dst, seed or 0, 3) % (g - 2)
            low, high = np.minimum(here, there), np.maximum(here, there)
            # skip both groups of the flow, the lower first, so all others are equally likely
            third = third + (third >= low)
            third = third + (third >= high)
            rows = np.flatnonzero(far)
            inner[rows, 0:2], position[rows] = self._leg(position[rows], third[rows], keys[0][rows])
        rows = np.flatnonzero(far)
        inner[rows, 2:4], position[rows] = self._leg(position[rows], there[rows], keys[1][rows])
        inner[:, 4] = self._local(position, end)
        first = 2 * self.first_link[self.plane[src]][:, None]
        links = np.full((len(src), HOPS), -1, np.int64)
        links[:, 0], links[:, -1] = 2 * src, 2 * dst + 1
        links[:, 1:-1] = np.where(inner >= 0, inner + first, -1)
        links[~reached] = -1
        return _Routes(links, reached)

    def _spread(self, traffic: list[_GroupTraffic], ends: Floats) -> Floats:
        """Return loads of traffic given plane by plane, with the bytes that its endpoints send and receive."""
        load = np.zeros(2 * len(self.fabric.network.links))
        load[: len(ends)] = ends
        for part, sent in zip(self.fabric.dragonflies, traffic, strict=True):
            inner = _best_mixture(sent)
            load[2 * part.first_link : 2 * part.first_link + len(inner)] = inner
        return load

    def spread(self, src: Ints, dst: Ints, nbytes: Floats) -> Floats:
        """Return the bytes on every directed link when flows take the best mixture of minimal and Valiant paths."""
        planes, count = self.fabric.planes, len(self.fabric.network.endpoints)
        traffic = []
        for plane in range(planes):
            rows = self.plane[src] == plane
            traffic.append(
                _GroupTraffic.of_flows(self.shape, self.router[src[rows]], self.router[dst[rows]], nbytes[rows])
            )
        ends = np.bincount(2 * src, weights=nbytes, minlength=2 * count)
        return self._spread(traffic, ends + np.bincount(2 * dst + 1, weights=nbytes, minlength=2 * count))

    def all_to_all(self, member: Bools, nbytes: float, kind: str) -> Floats | None:
        """Return the loads of adaptive all-to-all; None for other routing, whose flows are listed.

        Args:
            member: endpoints that take part, shape (endpoints,).
            nbytes: bytes from each to each [byte].
            kind: kind of routing.
        """
        if kind != "adaptive":
            return None
        count, size = (
            self.shape.groups * self.shape.routers,
            np.bincount(self.plane[member], minlength=self.fabric.planes),
        )
        traffic = []
        for plane in range(self.fabric.planes):
            routers = self.router[member & (self.plane == plane)]
            traffic.append(_GroupTraffic.all_to_all(self.shape, np.bincount(routers, minlength=count), nbytes))
        sent = np.where(member, nbytes * (size[self.plane] - 1), 0.0)
        # every member receives as much as it sends
        return self._spread(traffic, np.repeat(sent, 2))
