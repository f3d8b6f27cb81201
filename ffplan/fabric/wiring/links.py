"""The wires of one fat tree and the links of one balanced dragonfly, as arrays, from closed-form counts.

Within a tree, switches are numbered leaves first, then spines, then cores. A leaf has its downlinks on ports 0 to d-1
and uplink g on port d + g. Uplink g of all leaves of a pod forms group g; a spine takes whole groups, so that every
leaf has as many links to each spine. A spine has the links of its groups to leaf l on the ports from l * groups on,
then those to the cores.

In a dragonfly, the routers of a group are joined each to each. Global port j of a group, of a h in all, belongs to its
router j // h. Every pair of groups is joined by floor(a h / (g - 1)) links, dealt over the global ports in turn. Ports
of a router: first its endpoints, then the other routers of its group, then its global links.

Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 3.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Bools, Ints
from ffplan.base.record import record
from ffplan.fabric.sizing.low_diameter import _DragonflyShape

if TYPE_CHECKING:
    from ffplan.fabric.sizing.fat_tree import Pod, Tree


@record
class _Wires:
    a: Ints
    a_port: Ints
    b: Ints
    b_port: Ints


def _pods(tree: Tree) -> list[tuple[Pod, int, int, int]]:
    """Return (pod, how many, first leaf, first spine): the full pods, then the last one."""
    assert tree.pod is not None  # one tier has no links between switches
    pods = []
    if tree.full_pods:
        pods.append((tree.pod, tree.full_pods, 0, tree.leaf))
    if tree.last_pod is not None:
        rest = tree.full_pods
        pods.append((tree.last_pod, 1, rest * tree.pod.leaves, tree.leaf + rest * tree.pod.spines))
    return pods


def leaf_spine(tree: Tree) -> _Wires:
    """Return the links between leaves and spines, in the order of leaf and uplink."""
    u, d = tree.rule.uplinks, tree.rule.downlinks
    parts = []
    for pod, count, first_leaf, first_spine in _pods(tree):
        groups = u // pod.spines
        p, leaf, g = np.ogrid[0:count, 0 : pod.leaves, 0:u]
        shape = (count, pod.leaves, u)
        parts.append(
            tuple(
                np.broadcast_to(np.asarray(column, kind), shape).ravel()
                for column, kind in (
                    (first_leaf + p * pod.leaves + leaf, np.int32),
                    (d + g, np.int16),
                    (first_spine + p * pod.spines + g // groups, np.int32),
                    (leaf * groups + g % groups, np.int16),
                )
            )
        )
    return _Wires(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


@record
class _CoreTable:
    """Core of each link of a group."""

    full: Ints
    """Core of link t in group g, full pod p, shape (pods, u, U)."""
    full_port: Ints
    """Port there, same shape."""
    last: Ints
    """Core of each link of the partial pod, shape (u, up); no rows without one."""
    last_port: Ints


def _strides(count: int) -> Ints:
    """Return 0 to count - 1 in steps of about 0.38 count, modulo count: neighbours lie far from each other."""
    # coprime to the count, so the steps meet every number once
    step = next((s for s in range(max(1, round(count * 0.382)), count) if math.gcd(s, count) == 1), 1)
    return np.arange(count) * step % max(1, count)


def _core_table(tree: Tree) -> _CoreTable:
    """Return the core of every link of a three-tier tree.

    The links of the full pods are taken in the order of group, link and pod, and cut into equal runs, one per core. A
    run is no shorter than the number of full pods, so every core reaches all of them. Where it is longer, some pods
    have a link more to that core than others; the pods are taken in strides, so that these are spread over the whole
    tree. The links of the last pod are spread evenly over the ports that are left.
    """
    assert tree.pod is not None
    u, cores, k = tree.rule.uplinks, tree.core, tree.rule.core_ports
    up, pods = tree.pod.up, tree.full_pods
    total = pods * u * up
    # rounded up, so that runs differ by one link at most
    first = -(-np.arange(cores + 1) * total // cores)
    core = np.repeat(np.arange(cores, dtype=np.int32), np.diff(first))
    port = (np.arange(total) - np.repeat(first[:-1], np.diff(first))).astype(np.int16)
    last_up = tree.last_pod.up if tree.last_pod else 0
    # the last pod takes the core ports that full pods leave, spread evenly
    free = np.repeat(np.arange(cores), k - np.diff(first))
    needed = u * last_up
    chosen = free[np.arange(needed) * len(free) // max(1, needed)] if needed else free[:0]
    # how many links of the last pod this core has already
    seen = np.arange(needed) - np.searchsorted(chosen, chosen, side="left")
    taken = np.diff(first)
    # the inverse of the strides: pod p is in the place where the strides meet it
    place = np.argsort(_strides(pods))
    return _CoreTable(
        full=core.reshape(u, up, pods).transpose(2, 0, 1)[place],
        full_port=port.reshape(u, up, pods).transpose(2, 0, 1)[place],
        last=chosen.reshape(u, last_up),
        last_port=(taken[chosen] + seen).reshape(u, last_up),
    )


def spine_core(tree: Tree, table: _CoreTable) -> _Wires:
    """Return the links between spines and cores, in the order of pod, group and link."""
    u = tree.rule.uplinks
    first_core = tree.leaf + tree.spine
    parts = []
    for pod, count, _, first_spine in _pods(tree):
        whole = pod is tree.pod
        cores, ports = (table.full, table.full_port) if whole else (table.last[None], table.last_port[None])
        groups = u // pod.spines
        p, g, t = np.ogrid[0:count, 0:u, 0 : pod.up]
        shape = (count, u, pod.up)
        parts.append(
            tuple(
                np.broadcast_to(np.asarray(column, kind), shape).ravel()
                for column, kind in (
                    (first_spine + p * pod.spines + g // groups, np.int32),
                    (groups * pod.leaves + g % groups * pod.up + t, np.int16),
                    (first_core + cores, np.int32),
                    (ports, np.int16),
                )
            )
        )
    return _Wires(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _pods_of_switches(tree: Tree) -> Ints:
    """Return the pod of every switch of the tree, -1 for cores, shape (switches,)."""
    if tree.pod is None:
        return np.zeros(1, np.int32)
    pod = tree.pod
    leaf = np.arange(tree.leaf) // pod.leaves
    spine = np.minimum(np.arange(tree.spine) // pod.spines, tree.full_pods if tree.last_pod else tree.full_pods - 1)
    return np.concatenate([leaf, spine, np.full(tree.core, -1)]).astype(np.int32)


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
