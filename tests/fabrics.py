"""Fabrics without a design: a tree wired alone, a balanced dragonfly, and the graphs of Slim Fly link by link."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ffplan.fabric.routing.cuts import _zone_cuts, across
from ffplan.fabric.sizing.leaf_ports import _LeafPorts, _packed
from ffplan.fabric.sizing.low_diameter import _delta_of, _dragonfly_shape, _DragonflyShape, _prime_power
from ffplan.fabric.wiring.wiring import WiredFabric, _Builder

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Floats, Ints
    from ffplan.fabric.sizing.fat_tree import Tree
    from ffplan.fabric.wiring.network import Network


def wire_tree(tree: Tree, endpoints: int, gbyte_s: float = 1.0) -> WiredFabric:
    """Return one tree wired for nodes with one NIC each, without a design.

    Args:
        endpoints: endpoint ports in use [1].
        gbyte_s: rate of every link [GB/s].
    """
    leaf, slot, trunk_leaf, trunk_slot = _packed(endpoints, 0, tree.leaf, tree.rule.downlinks)
    seat = _LeafPorts(
        group=np.zeros(endpoints, np.int16),
        node=np.arange(endpoints, dtype=np.int32),
        rail=np.zeros(endpoints, np.int16),
        leaf=leaf.astype(np.int32),
        slot=slot.astype(np.int16),
        trunk_leaf=trunk_leaf.astype(np.int32),
        trunk_slot=trunk_slot.astype(np.int16),
    )
    builder = _Builder(gbyte_s)
    builder.tree(tree, 0, 0, seat, seat.rail, gbyte_s)
    rule = tree.rule
    network, wired = builder.finish((rule.radix, rule.spine_ports, rule.core_ports, rule.radix, rule.radix))
    return WiredFabric(family="fat-tree", network=network, trees=wired, zones=1, planes=1)


def bisection(fabric: WiredFabric, alive: Bools) -> Floats:
    """Return the bandwidth across an even split of the endpoints, by plane [GB/s], shape (planes,).

    Args:
        alive: which links work, shape (links,).

    Equation:
        the sum of `_zone_cuts` in one zone, or where zones work side by side; several zones as in
        `formulas.zone_bisection`

    Source:
        Derived: with several zones, the worst even split follows their boundaries.
    """
    return across(fabric, alive, _zone_cuts(fabric, alive))


def dragonfly_of(groups: int, radix: int) -> _DragonflyShape:
    """Return the balanced dragonfly of some groups.

    Args:
        groups: groups [1], from 2 to a h + 1.
        radix: ports of a router [1].

    Raises:
        ValueError: for any other number of groups.
    """
    p, a, h = (int(value) for value in _dragonfly_shape(radix))
    if not 2 <= groups <= a * h + 1:
        raise ValueError(f"a dragonfly of {radix}-port routers has 2 to {a * h + 1} groups")
    return _DragonflyShape(groups=groups, endpoints=p, routers=a, global_links=h, pair_links=a * h // (groups - 1))


def field(q: int) -> tuple[Ints, Ints]:
    """Return the addition and multiplication tables of the field with q elements, each of shape (q, q).

    Args:
        q: a prime power [1].

    Raises:
        ValueError: if q is no prime power.
    """
    power = _prime_power(q)
    if power is None:
        raise ValueError(f"{q} is no prime power, so there is no field of that size")
    p, m = power
    digits = np.array(list(product(range(p), repeat=m)))  # digit 0 first
    weights = p ** np.arange(m - 1, -1, -1)
    add = ((digits[:, None] + digits[None]) % p) @ weights
    tables = (_multiplication(digits, np.array(tail), p, m, weights) for tail in product(range(p), repeat=m))
    # every field size has an irreducible polynomial, with which each row but that of 0 holds every element
    return add, next(times for times in tables if all(len(set(row)) == q for row in times[1:].tolist()))


def _multiplication(digits: Ints, tail: Ints, p: int, m: int, weights: Ints) -> Ints:
    """Return the products of polynomials modulo x^m - tail, coefficients modulo p."""
    q = len(digits)
    low = digits[:, ::-1]  # coefficient of x^0 first
    product_ = np.zeros((q, q, 2 * m - 1), np.int64)
    for i, j in product(range(m), repeat=2):
        product_[:, :, i + j] += low[:, None, i] * low[None, :, j]
    reduction = tail[::-1]
    for power in range(2 * m - 2, m - 1, -1):
        product_[:, :, power - m : power] += product_[:, :, power : power + 1] * reduction
        product_[:, :, power] = 0
    result: Ints = (product_[:, :, :m] % p)[:, :, ::-1] @ weights
    return result


def _generators(q: int, delta: int, times: Ints) -> tuple[Ints, Ints]:
    """Return X and X' as powers of a primitive element."""
    for root in range(2, q) if q > 2 else [1]:
        powers = [1]
        while len(powers) < q - 1:
            powers.append(int(times[powers[-1], root]))
        # a primitive element: its powers are all elements but 0
        if len(set(powers)) == q - 1:
            break
    w = (q - delta) // 4
    if delta >= 0:
        count = (q - delta) // 2
        first, second = range(0, 2 * count, 2), range(1, 2 * count, 2)
    else:
        first = [*range(0, 2 * w - 1, 2), *range(2 * w - 1, 4 * w - 2, 2)]  # type: ignore[assignment]
        second = [*range(1, 2 * w, 2), *range(2 * w, 4 * w - 1, 2)]  # type: ignore[assignment]
    pick = np.array(powers)
    return pick[np.array(first) % (q - 1)], pick[np.array(second) % (q - 1)]


def mms_links(q: int) -> tuple[Ints, Ints]:
    """Return the links of the graph, each of two routers, lower number first; (0, x, y) is x q + y, (1, m, c) follows.

    Args:
        q: a prime power that is not 2 modulo 4 [1].

    Raises:
        ValueError: if q is 2 modulo 4, or no prime power.
    """
    delta = _delta_of(q)
    if delta is None:
        raise ValueError(f"{q} is 2 modulo 4")
    add, times = field(q)
    x_set, y_set = _generators(q, delta, times)
    first, second = np.meshgrid(np.arange(q), np.arange(q), indexing="ij")
    a, b = [], []
    for kind, generators in ((0, x_set), (1, y_set)):
        for step in generators:
            a.append((kind * q * q + first * q + second).ravel())
            b.append((kind * q * q + first * q + add[second, step]).ravel())
    x, m, c = np.meshgrid(np.arange(q), np.arange(q), np.arange(q), indexing="ij")
    a.append((x * q + add[times[m, x], c]).ravel())
    b.append((q * q + m * q + c).ravel())
    start, end = np.concatenate(a), np.concatenate(b)
    low, high = np.minimum(start, end), np.maximum(start, end)
    pairs = np.unique(low * 2 * q * q + high)
    result = np.divmod(pairs, 2 * q * q)
    return result[0], result[1]


def ports_used(network: Network) -> Ints:
    """Return the ports in use on each switch, shape (S,)."""
    both = np.concatenate([network.links.a, network.links.b])
    return np.bincount(both[both < len(network.switches)], minlength=len(network.switches))
