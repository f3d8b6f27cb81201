"""The links of a balanced dragonfly.

Routers of a group are joined each to each. Global port j of a group, of a h in all, belongs to its router j // h. Every
pair of groups is joined by floor(a h / (g - 1)) links, dealt over the global ports in turn. Ports of a router: first
its endpoints, then the other routers of its group, then its global links.

Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 3.
"""

from __future__ import annotations

import numpy as np

from ffplan.base.array_math import Bools, Ints
from ffplan.base.record import record
from ffplan.fabric.sizing.dragonfly import _DragonflyShape


@record
class _DragonflyLinks:
    """Links between routers, local ones first; router r of group G is G a + r."""

    a: Ints
    a_port: Ints
    b: Ints
    b_port: Ints
    inter_group: Bools


@record
class _WiredDragonfly:
    """One plane of a wired dragonfly, with the tables that routing needs."""

    shape: _DragonflyShape
    first_switch: int
    first_link: int
    """Number of its first link between routers: links inside groups by pair of routers, then between groups by pair."""


def _global_port(shape: _DragonflyShape, here: Ints, there: Ints, turn: Ints) -> Ints:
    """Return the global port, numbered through its group, of link `turn` of those between two groups.

    Args:
        here: group of the port, any shape.
        there: group at the other end.
        turn: number of the link, from 0 to `each` - 1 [1].

    Equation:
        j = (there - here) mod g - 1 + turn (g - 1)

    Source:
        Kim et al., ISCA 2008: consecutive global ports lead to consecutive groups.
    """
    port: Ints = (there - here) % shape.groups - 1 + turn * (shape.groups - 1)
    return port


def _dragonfly_links(shape: _DragonflyShape) -> _DragonflyLinks:
    """Return the links between routers: links inside groups by pair of routers, then between groups by pair."""
    p, a, h, g = shape.endpoints, shape.routers, shape.global_links, shape.groups
    lower, upper = np.triu_indices(a, 1)
    first = np.arange(g)[:, None] * a
    low, high = np.triu_indices(g, 1)
    low, high = np.repeat(low, shape.pair_links), np.repeat(high, shape.pair_links)
    turn = np.tile(np.arange(shape.pair_links), g * (g - 1) // 2)
    down, up = _global_port(shape, low, high, turn), _global_port(shape, high, low, turn)
    local = g * len(lower)
    return _DragonflyLinks(
        a=np.concatenate([(first + lower).ravel(), low * a + down // h]),
        # a router skips itself: those above it are one port lower
        a_port=np.concatenate([np.tile(p + upper - 1, g), p + a - 1 + down % h]),
        b=np.concatenate([(first + upper).ravel(), high * a + up // h]),
        b_port=np.concatenate([np.tile(p + lower, g), p + a - 1 + up % h]),
        inter_group=np.arange(local + len(low)) >= local,
    )
