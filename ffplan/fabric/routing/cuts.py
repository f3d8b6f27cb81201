"""Bandwidth across cuts of a fabric with losses: an even split of a zone, and between zones.

A switch that joins parts of a fabric passes on no more of one part than the others take: a core of pods, an inter-zone
switch of zones. A link to it counts only as far as links of the other parts are left there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Ints
    from ffplan.fabric.wiring.network import _LinkTable
    from ffplan.fabric.wiring.wiring import WiredFabric, WiredTree


def _tier_rows(links: _LinkTable, tier: int) -> slice:
    """Return the slice of a tier's links; links of wired trees are sorted by tier."""
    first, last = np.searchsorted(links.tier, [tier, tier + 1]).tolist()
    return slice(first, last)


def met(rates: Floats) -> Floats:
    """Return what the links of every part carry to the others over switches that join them [GB/s].

    Args:
        rates: links that are left of every part to each switch [GB/s], shape (parts, switches).

    Equation:
        min(rate of the part, rate of all others), for each switch

    Source:
        Derived: the maximum flow from a part to all others through one switch.
    """
    result: Floats = np.minimum(rates, np.maximum(rates.sum(axis=0) - rates, 0.0))
    return result


def between_zones(rates: Floats) -> float:
    """Return the bandwidth across the worst split that leaves half of the zones of a plane on one side [GB/s].

    Args:
        rates: links that are left of every zone to each inter-zone switch [GB/s], shape (zones, switches).

    Equation:
        the sum over the floor(Z/2) zones that send least to the others

    Source:
        Derived; between two zones it is the maximum flow from one to the other.
    """
    sent = np.sort(met(rates).sum(axis=1))
    return float(sent[: len(sent) // 2].sum())


@record
class _Pods:
    """What pods pass on, over links that are left [GB/s], shape (pods,)."""

    carried: Floats
    """The smaller of what leaves the leaves and what leaves the spines."""
    flow: Floats
    """The part of it that other pods take."""


def _pods(fabric: WiredFabric, wired: WiredTree, alive: Bools, through: Floats) -> _Pods:
    """Return what the pods of three tiers pass on.

    Args:
        alive: which links work, shape (links,).
        through: what every leaf passes on [GB/s], shape (switches,).
    """
    k, s, tree = fabric.network.links, fabric.network.switches, wired.tree
    first = wired.first_switch + tree.leaf
    leaves, spines = slice(wired.first_switch, first), slice(first, first + tree.spine)
    down, up = (_own(k.b, _tier_rows(k, 1), spines), _own(k.a, _tier_rows(k, 2), spines))
    below = np.bincount(k.b[down] - first, weights=k.gbyte_s[down] * alive[down], minlength=tree.spine)
    spine, core = k.a[up] - first, k.b[up] - spines.stop
    # a spine without a link to any leaf brings its cores nothing
    kept = k.gbyte_s[up] * (alive[up] & (below[spine] > 0)).astype(np.float64)
    pods = int(s.pod[leaves].max()) + 1
    cell = s.pod[spines][spine].astype(np.int64) * tree.core + core
    left = np.bincount(cell, weights=kept, minlength=pods * tree.core).reshape(pods, tree.core)
    share = np.divide(met(left), left, out=np.zeros_like(left), where=left > 0).ravel()
    out, taken = (np.bincount(spine, weights=rate, minlength=tree.spine) for rate in (kept, kept * share[cell]))
    inside = np.bincount(s.pod[leaves], weights=through[leaves], minlength=pods)
    carried = np.minimum(inside, np.bincount(s.pod[spines], weights=out, minlength=pods))
    reached = np.bincount(s.pod[spines], weights=np.minimum(taken, below), minlength=pods)
    return _Pods(carried=carried, flow=np.minimum.reduce([carried, reached, carried.sum() - carried]))


def _own(ends: Ints, rows: slice, switches: slice) -> Ints:
    """Return the rows of a tier's links that end at some switches."""
    result: Ints = np.flatnonzero((ends[rows] >= switches.start) & (ends[rows] < switches.stop)) + rows.start
    return result


def _through(fabric: WiredFabric, ends: Bools, trunks: Bools) -> Floats:
    """Return what every leaf passes on: the weaker of its two sides [GB/s], shape (switches,).

    Args:
        ends: which links work below the leaves, shape (links,).
        trunks: which work above them, same shape.
    """
    k, switches = fabric.network.links, len(fabric.network.switches)
    below, above = (
        np.bincount(end[rows], weights=k.gbyte_s[rows] * alive[rows], minlength=switches)
        for end, rows, alive in ((k.b, _tier_rows(k, 0), ends), (k.a, _tier_rows(k, 1), trunks))
    )
    result: Floats = np.minimum(below, above) if fabric.trees[0].tree.rule.tiers > 1 else below
    return result


def _zone_cuts(fabric: WiredFabric, alive: Bools) -> Floats:
    """Return the bandwidth across an even split of each zone by itself [GB/s], shape (planes, zones).

    Equation:
        the sum over leaves of min(bandwidth below, bandwidth above) / 2; with several pods, the sum over pods of
        min(carried, flow + s) / 2, where carried is the bandwidth out of a pod, flow the part that the other pods
        take, and s = carried - flow before any loss between switches

    Source:
        Derived: half of the bandwidth out of leaves, or pods, crosses an even split that cuts no leaf, or no pod. The
        flow out of a pod is the maximum flow from its leaves to those of the other pods. A split cuts a pod that is
        larger than all others together, so what they cannot take passes between its own halves.
    """
    pod = fabric.network.switches.pod
    through, healthy = _through(fabric, alive, alive), np.ones_like(alive)
    # endpoints that are lost make their pod smaller
    before = _through(fabric, alive, healthy) if fabric.trees[0].tree.rule.tiers == 3 else through
    cuts = np.zeros((fabric.planes, fabric.zones))
    for wired in fabric.trees:
        leaves = slice(wired.first_switch, wired.first_switch + wired.tree.leaf)
        total = through[leaves].sum()
        # a single pod is split below its cores
        if wired.tree.rule.tiers == 3 and pod[leaves].max() > 0:
            now, once = _pods(fabric, wired, alive, through), _pods(fabric, wired, healthy, before)
            total = np.minimum(now.carried, now.flow + (once.carried - once.flow)).sum()
        cuts[wired.plane, wired.zone] = total / 2
    return cuts


def across(fabric: WiredFabric, alive: Bools, cuts: Floats) -> Floats:
    """Return the bisection by plane [GB/s], shape (planes,).

    Args:
        alive: which links work, shape (links,).
        cuts: bandwidth across a split of each zone [GB/s], shape (planes, zones).
    """
    zones, network = fabric.zones, fabric.network
    k, s = network.links, network.switches
    if zones == 1 or fabric.side_by_side:
        result: Floats = cuts.sum(axis=1)
        return result
    if not fabric.interzone:
        # zones without links: an even number falls into halves at no cost, an odd one splits one zone
        apart: Floats = (zones % 2) * cuts.min(axis=1)
        return apart
    rows = _tier_rows(k, 3)
    plane, zone, switch = s.plane[k.b[rows]].astype(np.int64), s.zone[k.a[rows]], s.index[k.b[rows]]
    shape = fabric.planes, zones, fabric.interzone
    cell = (plane * zones + zone) * fabric.interzone + switch
    rates = np.bincount(cell, weights=k.gbyte_s[rows] * alive[rows], minlength=shape[0] * shape[1] * shape[2])
    half = np.array([between_zones(own) for own in rates.reshape(shape)])
    # an odd number of zones splits one of them too: the one that is cheapest to cut
    joined: Floats = np.minimum(cuts.sum(axis=1), half + (zones % 2) * cuts.min(axis=1))
    return joined
