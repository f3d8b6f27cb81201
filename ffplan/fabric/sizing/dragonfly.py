"""The links of a balanced dragonfly.

Routers of a group are joined each to each. Global port j of a group, of a h in all, belongs to its router j // h. Every
pair of groups is joined by floor(a h / (g - 1)) links, dealt over the global ports in turn.

Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.fabric.sizing.families import dragonfly_shape

if TYPE_CHECKING:
    from ffplan.base.array_math import Ints


def dragonfly_links(groups: int, radix: int) -> tuple[Ints, Ints, Ints]:
    """Return the links between routers, each of two routers and whether it is global; router r of group g is g a + r.

    Args:
        groups: groups [1], from 2 to a h + 1.
        radix: ports of a router [1].

    Raises:
        ValueError: for any other number of groups.
    """
    _, a, h = (int(value) for value in dragonfly_shape(radix))
    if not 2 <= groups <= a * h + 1:
        raise ValueError(f"a dragonfly of {radix}-port routers has 2 to {a * h + 1} groups")
    one, two = np.triu_indices(a, 1)
    group = np.arange(groups)[:, None] * a
    local_a, local_b = (group + one).ravel(), (group + two).ravel()
    each = a * h // (groups - 1)
    low, high = np.triu_indices(groups, 1)
    low, high, turn = np.repeat(low, each), np.repeat(high, each), np.tile(np.arange(each), len(low))
    # the peer at distance d of a group takes its global ports d - 1, d - 1 + (g - 1), ...
    from_low = (high - low - 1) + turn * (groups - 1)
    from_high = (low - high) % groups - 1 + turn * (groups - 1)
    global_a, global_b = low * a + from_low // h, high * a + from_high // h
    return (
        np.concatenate([local_a, global_a]),
        np.concatenate([local_b, global_b]),
        np.concatenate([np.zeros(len(local_a), bool), np.ones(len(global_a), bool)]),
    )
