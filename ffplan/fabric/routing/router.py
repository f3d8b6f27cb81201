"""The path of each flow through a wired fabric: static destination-modulo, or ECMP hashing.

A flow goes up from its leaf only as far as it must, then down. Between zones it goes down to a leaf with a link to the
inter-zone switches first. At every step the links that lead on to the destination are counted, and one is taken by a
key modulo their number. Static routing takes the key from the destination alone, as the forwarding tables of a fat tree
do; ECMP hashes the flow.

A directed link is 2 * link for the way up (from `a` to `b`), 2 * link + 1 for the way down.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from ffplan.fabric.routing.routing import Keys, _hashed, _Routes
from ffplan.fabric.routing.tree_paths import _TreePaths

if TYPE_CHECKING:
    from typing import Self

    from ffplan.base.array_math import Bools, Ints
    from ffplan.fabric.wiring.wiring import WiredFabric


HOPS = 12
"""Most links on a path: to the leaf, up and down in either zone, between the zones, and from the leaf."""


def _way_back(rank: Ints, tree: _TreePaths) -> Ints:
    """Return the keys for the way down from a core: the number of the link that led up, by group, shape (flows,).

    A core that takes the links of several groups then leads down by the same group, so that all of its links to a pod
    carry alike.
    """
    u, pod = max(1, tree.uplinks), tree.tree.pod
    if pod is None or not pod.up:  # no cores
        return rank // u
    keys: Ints = rank % u * pod.up + rank // u % pod.up
    return keys


class Router:
    """Routes flows over a fabric, healthy or with links lost."""

    def __init__(self, fabric: WiredFabric, alive: Bools | None = None) -> None:
        """Prepare the trees.

        Args:
            alive: which links still work, shape (links,); all of them if omitted.
        """
        self.fabric = fabric
        self.alive: Bools | None = None
        endpoints = fabric.network.endpoints
        self.tree_of = endpoints.plane.astype(np.int64) * fabric.zones + endpoints.zone
        self.trees = tuple(_TreePaths(tree) for tree in fabric.trees)
        first = np.array([tree.first_switch for tree in fabric.trees])
        self.leaf = endpoints.leaf - first[self.tree_of]
        self.rank = np.empty(len(endpoints), np.int64)
        for tree in fabric.trees:
            span = slice(tree.first_endpoint, tree.first_endpoint + tree.endpoints)
            # ranks follow leaf and port: static keys are taken from them
            order = np.lexsort((endpoints.slot[span], endpoints.leaf[span]))
            self.rank[span][order] = np.arange(tree.endpoints)
        if alive is not None:
            self._lose(alive)

    def _lose(self, alive: Bools) -> None:
        self.alive = alive
        self.trees = tuple(paths.after(alive) for paths in self.trees)

    def after(self, alive: Bools) -> Self:
        """Return the same fabric with its remaining links; tables that do not depend on links are shared.

        Args:
            alive: which links still work, shape (links,).
        """
        degraded = copy(self)
        degraded._lose(alive)
        return degraded

    def connected(self, src: Ints, dst: Ints) -> Bools:
        """Return whether a path joins two endpoints of a healthy fabric, shape (flows,)."""
        start, end = self.tree_of[src], self.tree_of[dst]
        same_plane = start // self.fabric.zones == end // self.fabric.zones
        joined: Bools = (src != dst) & ((start == end) | (same_plane & bool(self.fabric.interzone)))
        return joined

    def disturbed(self, src: Ints, dst: Ints) -> Bools:
        """Return whether losses may change the paths of flows, shape (flows,); flows between zones always count.

        Args:
            src: endpoint that sends, by number, shape (flows,).
            dst: endpoint that receives, same shape.
        """
        tree = self.tree_of[src]
        changed: Bools = tree != self.tree_of[dst]
        for number, paths in enumerate(self.trees):
            rows = np.flatnonzero((tree == number) & ~changed)
            changed[rows] = paths.disturbed(self.leaf[src[rows]], self.leaf[dst[rows]])
        return changed

    def static_keys(self, dst: Ints, tree: _TreePaths) -> Keys:
        """Return the keys of destination-modulo routing: the rank of the destination in its tree."""
        rank, u = self.rank[dst], max(1, tree.uplinks)
        return Keys(rank, rank // u, _way_back(rank, tree), rank)

    def paths(self, src: Ints, dst: Ints, seed: int | None = None, *, detour: bool = False) -> _Routes:
        """Return the path of each flow.

        Args:
            src: endpoint that sends, by number, shape (flows,).
            dst: endpoint that receives, same shape; in the same plane, or it is not reached.
            seed: hash flows with this seed (ECMP); destination-modulo if omitted.
        """
        assert not detour
        links = np.full((len(src), HOPS), -1, np.int64)
        reached = src != dst
        links[:, 0] = 2 * src
        links[:, -1] = 2 * dst + 1
        if self.alive is not None:
            reached &= self.alive[src] & self.alive[dst]
        pair = self.tree_of[src] * len(self.trees) + self.tree_of[dst]
        for value in np.unique(pair):
            start, end = divmod(int(value), len(self.trees))
            rows = np.flatnonzero(pair == value)
            self._between(start, end, rows, src=src[rows], dst=dst[rows], seed=seed, links=links, reached=reached)
        links[~reached] = -1
        return _Routes(links, reached)

    def _between(
        self, start: int, end: int, rows: Ints, *, src: Ints, dst: Ints, seed: int | None, links: Ints, reached: Bools
    ) -> None:
        tree = self.trees[end]
        if seed is None:
            keys = self.static_keys(dst, tree)
        else:
            keys = Keys(*(_hashed(src, dst, seed, level) for level in range(4)))
        if start == end:
            steps, ok = tree.steps(self.leaf[src], self.leaf[dst], keys)
            links[rows, 1:5] = steps
            reached[rows] &= ok
            return
        crossing = self.crossing(start, end, keys)
        if crossing is None:
            reached[rows] = False
            return
        out, back = crossing
        keys = self.across_keys(keys, tree)
        first, ok_first = self.trees[start].steps(self.leaf[src], self.trees[start].trunk_leaf[out], keys)
        second, ok_second = tree.steps(tree.trunk_leaf[back], self.leaf[dst], keys)
        # columns 1 to 4: through the first zone; 5 and 6: between zones; 7 to 10: through the second
        links[rows, 1:5] = first
        links[rows, 5] = 2 * self.trees[start].trunk_links[out]
        links[rows, 6] = 2 * tree.trunk_links[back] + 1
        links[rows, 7:11] = second
        reached[rows] &= ok_first & ok_second

    def across_keys(self, keys: Keys, tree: _TreePaths) -> Keys:
        """Return keys for the way through either zone: flows that share a link between zones must not share an uplink
        too."""
        leaf = keys.leaf + keys.leaf // max(1, len(tree.trunk_links))
        spine = leaf // max(1, tree.uplinks)
        return Keys(leaf, spine, _way_back(leaf, tree), keys.trunk)

    def crossing(self, start: int, end: int, keys: Keys) -> tuple[Ints, Ints] | None:
        """Return the link out of tree `start` and the link into tree `end` that each flow takes between zones.

        Links are numbered within their tree; link t ends on inter-zone switch t modulo their number.
        """
        a, b = self.trees[start], self.trees[end]
        switches = self.fabric.interzone
        if not switches or a.plane != b.plane:
            return None
        numbers = np.arange(len(a.trunk_links))
        works_out, works_in = a.trunk_alive, b.trunk_alive
        into = np.bincount(numbers[works_in] % switches, minlength=switches)
        out = numbers[works_out & (into[numbers % switches] > 0)]
        if not len(out):
            return None
        chosen = out[keys.trunk % len(out)]
        back = np.zeros_like(chosen)
        for switch in range(switches):
            rows = chosen % switches == switch
            candidates = numbers[works_in & (numbers % switches == switch)]
            if rows.any():
                # the quotient of the key, since its remainder chose the way out
                back[rows] = candidates[keys.trunk[rows] // max(1, len(out)) % len(candidates)]
        return chosen, back
