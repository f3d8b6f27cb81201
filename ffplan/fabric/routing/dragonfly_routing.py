"""Routing over a dragonfly: minimal, Valiant, and the best mixture of both.

A minimal path is local, global, local: to the router that holds a link to the other group, over it, and to the
destination's router. Static routing picks among the links of two groups by the destination, ECMP by a hash of the
flow. Valiant routing passes a third group, drawn for each flow, which halves what uniform traffic gets and spreads any
other over all global links.

Spread traffic is kept by router and group, so that the cost grows with routers times groups, never with pairs of
routers.

Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats, Ints
from ffplan.base.record import record
from ffplan.fabric.routing.routing import _hashed, _Routes
from ffplan.fabric.sizing.low_diameter import _DragonflyShape
from ffplan.fabric.wiring.links import _global_port

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools
    from ffplan.fabric.wiring.wiring import WiredFabric


@record
class _GroupTraffic:
    """Traffic of one plane [byte]."""

    shape: _DragonflyShape
    out: Floats
    """From each router to each other group, shape (groups, routers, groups)."""
    back: Floats
    """To each router from each other group, shape (groups, routers, groups)."""
    inside: Floats
    """Between routers of one group, shape (groups, routers, routers)."""

    @classmethod
    def of_flows(cls, shape: _DragonflyShape, src: Ints, dst: Ints, nbytes: Floats) -> _GroupTraffic:
        """Return the traffic of flows between routers, numbered through the plane."""
        g, a = shape.groups, shape.routers
        here, there = src // a, dst // a
        far = here != there
        count = g * a
        out = np.bincount(src[far] * g + there[far], weights=nbytes[far], minlength=count * g)
        back = np.bincount(dst[far] * g + here[far], weights=nbytes[far], minlength=count * g)
        inside = np.bincount(src[~far] * a + dst[~far] % a, weights=nbytes[~far], minlength=count * a)
        return cls(shape, out.reshape(g, a, g), back.reshape(g, a, g), inside.reshape(g, a, a))

    @classmethod
    def all_to_all(cls, shape: _DragonflyShape, members: Ints, nbytes: float) -> _GroupTraffic:
        """Return the traffic when every member sends to every other; `nbytes` [byte]."""
        count = members.reshape(shape.groups, shape.routers).astype(float)
        links = nbytes * count[:, :, None] * count.sum(axis=1)
        links[np.arange(shape.groups), :, np.arange(shape.groups)] = 0.0
        return cls(shape, links, links, nbytes * count[:, :, None] * count[:, None, :])


def _holders(shape: _DragonflyShape) -> Floats:
    """Return the fraction of the links of two groups that each router holds, shape (groups, routers, groups)."""
    g, a, h, links = shape.groups, shape.routers, shape.global_links, shape.pair_links
    here, there, turn = (array.ravel() for array in np.indices((g, g, links)))
    apart = here != there
    router = _global_port(shape, here, there, turn)[apart] // h
    cell = (here[apart] * a + router) * g + there[apart]
    held: Floats = np.bincount(cell, minlength=g * a * g).reshape(g, a, g) / links
    return held


def _vector(shape: _DragonflyShape, local: Floats, between: Floats) -> Floats:
    """Return loads by directed link: of routers (groups, routers, routers), then of groups (groups, groups)."""
    first, second = np.triu_indices(shape.routers, 1)
    low, high = np.triu_indices(shape.groups, 1)
    inside = np.stack([local[:, first, second], local[:, second, first]], axis=2).ravel()
    across = np.stack([between[low, high], between[high, low]], axis=1) / shape.pair_links
    return np.concatenate([inside, np.repeat(across, shape.pair_links, axis=0).ravel()])


def _minimal_loads(traffic: _GroupTraffic) -> Floats:
    """Return the bytes on every directed link between routers when all links of two groups share their traffic.

    Args:
        traffic: the traffic [byte].

    Equation:
        local (r, x) = inside + sum over groups B of out (r, B) held (x, B) + back (x, B) held (r, B)

    Source:
        Definition of minimal paths: to the router that holds the link, and from the one at its other end.
    """
    held = _holders(traffic.shape)
    local = traffic.inside + traffic.out @ held.transpose(0, 2, 1) + held @ traffic.back.transpose(0, 2, 1)
    return _vector(traffic.shape, local, traffic.out.sum(axis=1))


def _valiant_loads(traffic: _GroupTraffic) -> Floats:
    """Return the same when traffic between groups passes each of the others in equal parts.

    Args:
        traffic: the traffic [byte]; of two groups only, it stays on minimal paths.

    Equation:
        first leg from A to I: (sum over B of F (A, B) - F (A, I)) / (g - 2); second leg likewise; at I from the holder
        of a link to A to the holder of one to B

    Source:
        Kim et al., ISCA 2008, section 4; the mean over all choices of the third group.
    """
    shape, g = traffic.shape, traffic.shape.groups
    if g < 3:
        return _minimal_loads(traffic)
    held, parts = _holders(shape), g - 2
    groups = np.arange(g)
    out = (traffic.out.sum(axis=2, keepdims=True) - traffic.out) / parts
    back = (traffic.back.sum(axis=2, keepdims=True) - traffic.back) / parts
    # no detour leads back into the group it left
    out[groups, :, groups] = back[groups, :, groups] = 0.0
    flow = traffic.out.sum(axis=1) / parts
    local = traffic.inside + out @ held.transpose(0, 2, 1) + held @ back.transpose(0, 2, 1)
    # held (i, x, i) is 0, so a third group is never one of the two ends
    local += held @ flow @ held.transpose(0, 2, 1)
    first = flow.sum(axis=1, keepdims=True) - flow
    second = flow.sum(axis=0, keepdims=True) - flow
    between = first + second
    between[groups, groups] = 0.0
    return _vector(shape, local, between)


def _best_mixture(traffic: _GroupTraffic) -> Floats:
    """Return the loads with the fraction of detours that leaves the least on the busiest link.

    Equation:
        min over f in [0, 1] of max over links of (1 - f) minimal + f Valiant, by halving where its slope changes sign

    Source:
        Ideal of adaptive routing that mixes minimal and Valiant paths (UGAL), Kim et al., ISCA 2008, section 4.
    """
    short, long = _minimal_loads(traffic), _valiant_loads(traffic)
    low, high = 0.0, 1.0
    for _ in range(50):
        # the maximum of lines is convex: the slope of the busiest link says which half holds the minimum
        middle = (low + high) / 2
        busiest = int((short + middle * (long - short)).argmax())
        low, high = (middle, high) if long[busiest] < short[busiest] else (low, middle)
    ends = [short + f * (long - short) for f in (low, high)]
    return min(ends, key=lambda load: float(load.max()))


HOPS = 7
"""Most links on a path: the ends, and local, global, local, global, local."""


class _DragonflyRouting:
    kinds: tuple[str, ...] = ("static", "ecmp", "valiant", "adaptive")

    def __init__(self, fabric: WiredFabric, alive: Bools | None = None) -> None:
        """Prepare the planes. `alive`: must be omitted: ways round lost links are not modelled."""
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

        `dst`: endpoint that receives, same shape; in the same plane, or it is not reached. `seed`: hash flows with this
        seed; by destination if omitted.
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
        """Return the loads of adaptive all-to-all; None for other routing, whose flows are listed; `nbytes` [byte]."""
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
