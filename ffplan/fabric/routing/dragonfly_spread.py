"""Loads of a dragonfly when traffic is spread evenly: over minimal paths, over Valiant's, and over the best mixture.

Traffic is kept by router and group, so that the cost grows with routers times groups, never with pairs of routers.
"""

from __future__ import annotations

import numpy as np

from ffplan.base.array_math import Floats, Ints
from ffplan.base.record import record
from ffplan.fabric.sizing.dragonfly import _DragonflyShape
from ffplan.fabric.wiring.dragonfly_links import _global_port


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
        """Return the traffic of flows between routers, numbered through the plane.

        Args:
            src: router that sends, shape (flows,).
            dst: router that receives, same shape.
            nbytes: bytes of each flow, same shape.
        """
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
        """Return the traffic when every member sends to every other.

        Args:
            members: endpoints on each router that take part [1], shape (groups * routers,).
            nbytes: bytes from each to each [byte].
        """
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
