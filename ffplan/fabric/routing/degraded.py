"""The remaining fabric after a loss of switches or links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.fabric.routing.double_binary_tree import joined_trees
from ffplan.fabric.routing.job_loads import loads_of
from ffplan.fabric.routing.link_loads import outcome
from ffplan.fabric.routing.rank_order import aligned, zone_sizes
from ffplan.fabric.routing.traffic import tree
from ffplan.fabric.routing.tree_routing import TreeRouting
from ffplan.fabric.wiring.network import CORE, INTERZONE, LEAF, SPINE

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Floats, Ints
    from ffplan.fabric.wiring.network import Network
    from ffplan.fabric.wiring.wiring import WiredFabric


ROLE_NUMBERS = {"leaf": LEAF, "spine": SPINE, "core": CORE, "interzone": INTERZONE}
"""Roles whose switches can be lost."""


@record
class Remaining:
    """The remaining fabric."""

    endpoints_lost: int
    endpoints_cut_off: int
    nodes_left: int
    zone_gbyte_s: tuple[float, ...]
    """Bandwidth across an even split of each zone by itself, over all planes [GB/s]."""
    bisection_gbyte_s: float
    allreduce_gbyte_s: float


def links_alive(network: Network, switches: Ints, links: Ints) -> Bools:
    """Return which links still work, shape (links,).

    Args:
        network: the fabric.
        switches: numbers of the switches lost.
        links: numbers of the links lost.
    """
    alive = np.ones(len(network.links), bool)
    alive[links] = False
    dead = np.zeros(len(network.switches) + len(network.endpoints), bool)
    dead[switches] = True
    alive &= ~dead[network.links.a] & ~dead[network.links.b]
    return alive


def zone_cuts(fabric: WiredFabric, alive: Bools) -> Floats:
    """Return the bandwidth across an even split of each zone by itself [GB/s], shape (planes, zones).

    Args:
        fabric: the wired fabric.
        alive: which links work, shape (links,).

    Equation:
        min(leaf level, pod level) / 2, each the sum over leaves or pods of min(bandwidth below, bandwidth above)

    Source:
        Derived: half of the bandwidth out of the leaves, or the pods, crosses an even split that cuts none of them.
    """
    network, zones = fabric.network, fabric.zones
    k, s = network.links, network.switches
    count = len(s)
    rate = k.gbyte_s * alive
    below = np.bincount(k.b[k.tier == 0], weights=rate[k.tier == 0], minlength=count)
    above = np.bincount(k.a[k.tier == 1], weights=rate[k.tier == 1], minlength=count)
    leaf = s.role == LEAF
    tiers = fabric.trees[0].tree.rule.tiers
    through = np.minimum(below, above) if tiers > 1 else below
    cuts = np.zeros((fabric.planes, zones))
    for tree_ in fabric.trees:
        own = np.flatnonzero(leaf & (s.plane == tree_.plane) & (s.zone == tree_.zone))
        total = through[own].sum()
        if tiers == 3:
            pods = int(s.pod[own].max()) + 1
            inside = np.bincount(s.pod[own], weights=through[own], minlength=pods)
            rows = (k.tier == 2) & (s.plane[k.a % count] == tree_.plane) & (s.zone[k.a % count] == tree_.zone)
            up = np.bincount(s.pod[k.a[rows]], weights=rate[rows], minlength=pods)
            total = np.minimum(inside, up).sum() if pods > 1 else total
        cuts[tree_.plane, tree_.zone] = total / 2
    return cuts


def bisection(fabric: WiredFabric, alive: Bools) -> Floats:
    """Return the bandwidth across an even split of the endpoints, by plane [GB/s], shape (planes,).

    Args:
        fabric: the wired fabric.
        alive: which links work, shape (links,).

    Equation:
        the sum of `zone_cuts` in one zone, or where zones work side by side; several zones as in
        `formulas.zone_bisection`

    Source:
        Derived: the worst even split follows the boundaries of zones where there are several.
    """
    return _across(fabric, alive, zone_cuts(fabric, alive))


def _across(fabric: WiredFabric, alive: Bools, cuts: Floats) -> Floats:
    """Return the bisection by plane, given the bandwidth across a split of each zone."""
    zones, network = fabric.zones, fabric.network
    k, s = network.links, network.switches
    if zones == 1 or fabric.side_by_side:
        result: Floats = cuts.sum(axis=1)
        return result
    if not fabric.interzone:
        apart: Floats = (zones % 2) * cuts.min(axis=1)
        return apart
    trunk = k.tier == 3
    rate = k.gbyte_s * alive
    plane = s.plane[k.b[trunk]]
    zone = s.zone[k.a[trunk]]
    zone_rate = np.bincount(plane * zones + zone, weights=rate[trunk], minlength=fabric.planes * zones)
    half = np.sort(zone_rate.reshape(fabric.planes, zones), axis=1)[:, : zones // 2].sum(axis=1)
    joined: Floats = np.minimum(cuts.sum(axis=1), half + (zones % 2) * cuts.min(axis=1))
    return joined


def _survivors(every: Ints, alive: Bools) -> Ints:
    """Return the ports of the nodes left.

    Planes that most nodes lost are given up, but for the one that most nodes still have; then nodes without a port
    left.
    """
    works = alive[every]
    share = works.mean(axis=0)
    columns = share >= min(0.5, float(share.max()))
    left: Ints = every[works[:, columns].all(axis=1)][:, columns]
    return left


def _allreduce(fabric: WiredFabric, every: Ints, alive: Bools | None, routing: str) -> tuple[float, int]:
    """Return the rate of a tree allreduce over the nodes left [GB/s], and the number of these nodes."""
    network = fabric.network
    ports = every if alive is None else _survivors(every, alive)
    if len(ports) < 2:
        return 0.0, len(ports)
    router = TreeRouting(fabric, alive)
    ports = ports[aligned(network, ports)]
    if alive is not None or not (fabric.zones == 1 or fabric.interzone or fabric.side_by_side):
        ports = ports[_joined(router, ports)]
    if len(ports) < 2:
        return 0.0, len(ports)
    flows = tree(ports, joined_trees(zone_sizes(network, ports)), 1e9)
    load, lost = loads_of(router, flows, routing, 0)
    if lost:
        return 0.0, len(ports)
    return 1.0 / outcome(network, load).time_s, len(ports)


def _joined(router: TreeRouting, ports: Ints) -> Bools:
    """Return which nodes the largest set around one of them can reach, on every rail, both ways."""
    best = np.zeros(len(ports), bool)
    for start in range(0, len(ports), max(1, len(ports) // 8)):
        found = np.ones(len(ports), bool)
        for rail in range(ports.shape[1]):
            found &= _reached(router, int(ports[start, rail]), ports[:, rail])
        if found.sum() > best.sum():
            best = found
        if best.all():
            break
    return best


def _reached(router: TreeRouting, here: int, ends: Ints) -> Bools:
    """Return which endpoints one of them can reach; in its own tree, those of one leaf are as good as each other."""
    found: Bools = ends == here
    works = np.ones(len(ends), bool) if router.alive is None else router.alive[ends]
    near = works & (router.tree_of[ends] == router.tree_of[here])
    found[near] |= router.trees[router.tree_of[here]].reaches(int(router.leaf[here]))[router.leaf[ends[near]]]
    far = np.flatnonzero(works & ~near)
    found[far] |= router.paths(np.full(len(far), here), ends[far]).reached
    return found


def remaining(fabric: WiredFabric, every: Ints, switches: Ints, links: Ints, routing: str = "adaptive") -> Remaining:
    """Return the remaining fabric after losses.

    Args:
        fabric: the wired fabric.
        every: endpoints of the job's nodes, shape (nodes, rails).
        switches: numbers of the switches lost.
        links: numbers of the links lost.
        routing: of the allreduce: `adaptive`, or `static`, whose collisions come and go with the links it avoids.
    """
    network = fabric.network
    alive = links_alive(network, switches, links)
    count = len(network.endpoints)
    works = alive[:count]
    ways = np.bincount(network.links.a[(network.links.tier == 1) & alive], minlength=len(network.switches))
    one_tier = fabric.trees[0].tree.rule.tiers == 1
    cut_off = 0 if one_tier else int((works & (ways[network.endpoints.leaf] == 0)).sum())
    rate, nodes = _allreduce(fabric, every, alive if not alive.all() else None, routing)
    cuts = zone_cuts(fabric, alive)
    inside = tuple(float(cut) for cut in cuts.sum(axis=0))
    return Remaining(
        endpoints_lost=int((~works).sum()),
        endpoints_cut_off=cut_off,
        nodes_left=nodes,
        zone_gbyte_s=inside,
        bisection_gbyte_s=float(_across(fabric, alive, cuts).sum()),
        allreduce_gbyte_s=rate,
    )
