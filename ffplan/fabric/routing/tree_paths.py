"""Paths within one tree, between leaves: uplink, core, and link down."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from ffplan.base.array_math import Bools, Ints
    from ffplan.fabric.routing.routing import Keys
    from ffplan.fabric.wiring.wiring import WiredTree


CHUNK = 1 << 22
"""Most cells of a table of choices held at once."""


def _pick(mask: Bools, key: Ints) -> tuple[Ints, Bools]:
    """Return the (key modulo count)-th true column of each row, and whether there is any."""
    width = mask.shape[1]
    count = mask.sum(axis=1)
    column = key % np.maximum(count, 1)
    some = np.flatnonzero(count < width)  # where all are true, the number is the column
    if len(some):
        chosen = mask[some]
        nth = np.cumsum(chosen, axis=1, dtype=np.int32) == column[some, None] + 1
        column[some] = (nth & chosen).argmax(axis=1)
    return column, count > 0


class _TreePaths:
    def __init__(self, wired: WiredTree) -> None:
        """Index the links of the tree."""
        tree = wired.tree
        self.wired, self.tree = wired, tree
        self.plane = wired.plane
        self.uplinks = tree.rule.uplinks
        self.trunk_links, self.trunk_leaf = wired.trunk_links, wired.trunk_leaf
        self.pod_leaves = tree.pod.leaves if tree.pod else 1
        self.pods = tree.full_pods + (tree.last_pod is not None)
        self.degraded = False
        self.trunk_alive: Bools = np.ones(len(self.trunk_links), bool)
        self.leaf_alive: Bools = np.ones((tree.leaf, self.uplinks), bool)
        self.partial: Bools = np.zeros(1, bool)
        self._spines: Bools | None = None
        self._reached: dict[tuple[int, bytes], Bools] = {}
        if wired.table is not None:
            self._index_cores()

    def after(self, alive: Bools) -> Self:
        """Return the paths of the same tree with the fabric's remaining links."""
        degraded = copy(self)
        # tables of working links depend on the losses and are made anew
        degraded.degraded, degraded._spines, degraded._reached = True, None, {}
        degraded.trunk_alive = alive[self.trunk_links]
        first = self.wired.first_leaf_spine
        degraded.leaf_alive = alive[first : first + self.leaf_alive.size].reshape(self.leaf_alive.shape)
        if self.wired.table is not None:
            first = self.wired.first_spine_core
            degraded._use_cores(alive[first : first + len(self.core)])
        return degraded

    def _index_cores(self) -> None:
        """Sort the links to the cores by (core, pod), so that a core's links to a pod lie together."""
        table = self.wired.table
        assert table is not None
        core = np.concatenate([table.full.ravel(), table.last.ravel()])
        pod = np.concatenate(
            [
                np.repeat(np.arange(len(table.full)), table.full[0].size if len(table.full) else 0),
                np.full(table.last.size, len(table.full)),
            ]
        )
        up_last = table.last.shape[1]
        group = np.concatenate(
            [
                np.tile(np.repeat(np.arange(self.uplinks), table.full.shape[2]), len(table.full)),
                np.repeat(np.arange(self.uplinks), up_last),
            ]
        )
        self.core, self.link_pod, self.link_group = core, pod, group
        self._cells = core * self.pods + pod
        self._by_cell = np.argsort(self._cells, kind="stable")
        self._use_cores(np.ones(len(core), bool))

    def _use_cores(self, alive: Bools) -> None:
        """Note which links to the cores work, shape (links to cores,), and which pods some core does not reach."""
        self.core_link_alive = alive
        self.down_order = self._by_cell[alive[self._by_cell]]
        cells = self.tree.core * self.pods
        count = np.bincount(self._cells[alive], minlength=cells)
        self.down_start = np.concatenate([[0], np.cumsum(count)])
        self.partial = np.logical_not((count > 0).reshape(self.tree.core, self.pods).all(axis=0))

    def pod_of(self, leaf: Ints) -> Ints:
        """Return the pod of leaves."""
        return leaf // self.pod_leaves

    def up_of(self, pod: Ints) -> Ints:
        """Return the links to cores of each group of pods."""
        tree = self.tree
        assert tree.pod is not None
        last = tree.last_pod.up if tree.last_pod else 0
        return np.where(pod < tree.full_pods, tree.pod.up, last)

    def leaf_link(self, leaf: Ints, group: Ints) -> Ints:
        """Return the number of uplink `group` of leaves."""
        return self.wired.first_leaf_spine + leaf * self.uplinks + group

    def row_of(self, pod: Ints, group: Ints, link: Ints) -> Ints:
        """Return the row of a link to the cores in the tables of this tree."""
        tree = self.tree
        assert tree.pod is not None
        full = (pod * self.uplinks + group) * tree.pod.up + link
        if tree.last_pod is None:
            return full
        base = tree.full_pods * self.uplinks * tree.pod.up
        return np.where(pod < tree.full_pods, full, base + group * tree.last_pod.up + link)

    def steps(self, src: Ints, dst: Ints, keys: Keys) -> tuple[Ints, Bools]:
        """Return the directed links between leaves, shape (flows, 4) padded with -1, and which flows arrive."""
        # leaf to spine, spine to core, and back down; a flow within a pod skips the middle two
        steps = np.full((len(src), 4), -1, np.int64)
        ok = np.ones(len(src), bool)
        if not self.uplinks:
            return steps, ok
        hurt = self.disturbed(src, dst) if self.degraded else np.zeros(len(src), bool)
        same_pod = (self.pod_of(src) == self.pod_of(dst)) & (src != dst)
        for rows, some in ((np.flatnonzero(same_pod & hurt), True), (np.flatnonzero(same_pod & ~hurt), False)):
            if len(rows):
                self._in_pod(rows, src[rows], dst[rows], keys, steps, ok=ok, hurt=some)
        # leaves of a pod that no spine joins any more may still meet at a core
        over = self.pod_of(src) != self.pod_of(dst)
        if self.wired.table is not None:
            over |= same_pod & ~ok
        rows = np.flatnonzero(over)
        masked = rows[hurt[rows] | self.partial[self.pod_of(dst[rows])]] if len(rows) else rows
        for part in self._by_pair(masked, src[masked], dst[masked]):
            self._masked_over_cores(part, src[part], dst[part], keys, steps, ok)
        plain = np.setdiff1d(rows, masked, assume_unique=True) if len(masked) else rows
        if len(plain):
            self._over_cores(plain, src[plain], dst[plain], keys, steps)
        return steps, ok

    def disturbed(self, src: Ints, dst: Ints) -> Bools:
        """Return whether flows between leaves choose among other links than on the whole tree, shape (flows,).

        A flow chooses among the uplinks of both leaves and, on its way to another pod, among the links of both pods to
        the cores.
        """
        leaf = np.logical_not(self.leaf_alive.all(axis=1))
        changed: Bools = leaf[src] | leaf[dst]
        if self.wired.table is not None:
            pod = np.zeros(self.pods, bool)
            pod[self.link_pod[~self.core_link_alive]] = True
            start, end = self.pod_of(src), self.pod_of(dst)
            changed |= (start != end) & (pod[start] | pod[end])
        return changed

    def _by_pair(self, rows: Ints, src: Ints, dst: Ints) -> Iterator[Ints]:
        """Yield rows in parts; rows of one pair of leaves stay together, since they choose from one table.

        A part has at most CHUNK cells of tables, and of choices.
        """
        if not len(rows):
            return
        pair = src * self.tree.leaf + dst
        order = np.argsort(pair, kind="stable")
        ranked = pair[order]
        starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
        tables = max(1, CHUNK // (self.uplinks * max(1, self.tree.rule.spine_uplinks)))
        most = max(1, CHUNK // self.uplinks)
        edges = [*starts[::tables].tolist(), len(rows)]
        for first, last in pairwise(edges):
            for start in range(first, last, most):
                yield rows[order[start : min(start + most, last)]]

    def _groups(self, leaf: Ints) -> Ints:
        """Return the number of groups that share a spine in the pod of leaves."""
        tree = self.tree
        assert tree.pod is not None
        last = self.uplinks // tree.last_pod.spines if tree.last_pod else 1
        return np.where(self.pod_of(leaf) < tree.full_pods, self.uplinks // tree.pod.spines, last)

    def spine_reaches(self, leaf: Ints) -> Bools:
        """Return whether the spine of each group still has a link to the leaf, shape (rows, u)."""
        alive = self.leaf_alive[leaf]
        if alive.all():
            return alive
        share = self._groups(leaf)
        if (share == 1).all():
            return alive
        held = np.zeros_like(alive)
        for number in np.unique(share).tolist():
            rows = np.flatnonzero(share == number)
            spines = np.logical_or.reduceat(alive[rows], np.arange(0, self.uplinks, number), axis=1)
            held[rows] = np.repeat(spines, number, axis=1)[:, : self.uplinks]
        return held

    def _down_group(self, dst: Ints, group: Ints, key: Ints) -> Ints:
        """Return a working uplink between the leaf `dst` and the spine of `group`; the uplink of the group first."""
        if not self.degraded:
            return group
        gone = np.flatnonzero(~self.leaf_alive[dst, group])
        if not len(gone):
            return group
        dst, taken = dst[gone], group.copy()
        share = self._groups(dst)
        # only uplinks of the same spine lead to where the flow comes down
        same_spine = np.arange(self.uplinks)[None, :] // share[:, None] == (group[gone] // share)[:, None]
        taken[gone], _ = _pick(same_spine & self.leaf_alive[dst], key[gone])
        return taken

    def _in_pod(self, rows: Ints, src: Ints, dst: Ints, keys: Keys, steps: Ints, *, ok: Bools, hurt: bool) -> None:
        if hurt:
            group, joined = _pick(self.leaf_alive[src] & self.spine_reaches(dst), keys.leaf[rows])
            ok[rows] = joined
        else:
            group = keys.leaf[rows] % self.uplinks
        steps[rows, 0] = 2 * self.leaf_link(src, group)
        steps[rows, 3] = 2 * self.leaf_link(dst, self._down_group(dst, group, keys.core[rows])) + 1

    def _down(self, core: Ints, pod: Ints, key: Ints) -> Ints:
        cell = core * self.pods + pod
        start, count = self.down_start[cell], self.down_start[cell + 1] - self.down_start[cell]
        row: Ints = self.down_order[start + key % np.maximum(count, 1)]
        return row

    def _over_cores(self, rows: Ints, src: Ints, dst: Ints, keys: Keys, steps: Ints) -> None:
        pod = self.pod_of(src)
        group = keys.leaf[rows] % self.uplinks
        up = self.row_of(pod, group, keys.spine[rows] % self.up_of(pod))
        down = self._down(self.core[up], self.pod_of(dst), keys.core[rows])
        first = self.wired.first_spine_core
        steps[rows, 0] = 2 * self.leaf_link(src, group)
        steps[rows, 1] = 2 * (first + up)
        steps[rows, 2] = 2 * (first + down) + 1
        steps[rows, 3] = 2 * self.leaf_link(dst, self.link_group[down]) + 1

    def _core_reaches(self, dst: Ints) -> Bools:
        """Return whether each core can go down to each of the leaves `dst`, shape (rows, cores)."""
        leaves, back = np.unique(dst, return_inverse=True)
        reach = self.spine_reaches(leaves)
        table = np.zeros((len(leaves), self.tree.core), bool)
        pods = self.pod_of(leaves)
        for pod in np.unique(pods).tolist():
            first, last = np.searchsorted(self.link_pod, [pod, pod + 1]).tolist()
            links = first + np.flatnonzero(self.core_link_alive[first:last])
            if not len(links):
                continue
            # `reduceat` needs the links of a core in one run
            links = links[np.argsort(self.core[links], kind="stable")]
            cores, start = np.unique(self.core[links], return_index=True)
            members = np.flatnonzero(pods == pod)
            hit = reach[members][:, self.link_group[links]]
            by_core = hit if len(cores) == len(links) else np.logical_or.reduceat(hit, start, axis=1)
            table[np.ix_(members, cores)] = by_core
        return table[back]

    def reaches(self, leaf: int) -> Bools:
        """Return which leaves of the tree a leaf can reach, as `steps` finds, shape (leaves,)."""
        leaves = self.tree.leaf
        if not self.uplinks:
            return np.ones(leaves, bool)
        if self._spines is None:
            self._spines = self.spine_reaches(np.arange(leaves))
        spine, pods = self._spines, self.pod_of(np.arange(leaves))
        pod = leaf // self.pod_leaves
        kept = pod, self.leaf_alive[leaf].tobytes()  # leaves of a pod with the same uplinks reach the same
        if kept not in self._reached:
            reached: Bools = (pods == pod) & (spine & self.leaf_alive[leaf]).any(axis=1)
            if self.wired.table is not None:
                reached |= (spine & self._groups_over_cores(pod, spine[leaf])[pods]).any(axis=1)
            self._reached[kept] = reached
        result = self._reached[kept].copy()
        result[leaf] = True
        return result

    def _groups_over_cores(self, pod: int, up: Bools) -> Bools:
        """Return which groups of each pod the cores above some groups of one pod reach, shape (pods, u)."""
        table = self.wired.table
        assert table is not None
        links = np.flatnonzero(self.link_pod == pod)
        cores = np.zeros(self.tree.core, bool)
        cores[self.core[links[self.core_link_alive[links] & up[self.link_group[links]]]]] = True
        down = self.core_link_alive & cores[self.core]
        full = down[: table.full.size].reshape(table.full.shape).any(axis=2)
        last = down[table.full.size :].reshape(-1, *table.last.shape).any(axis=2) if table.last.size else full[:0]
        return np.concatenate([full, last])

    def _masked_over_cores(self, rows: Ints, src: Ints, dst: Ints, keys: Keys, steps: Ints, ok: Bools) -> None:
        """Choose among the links that still lead to the destination."""
        tree, u = self.tree, self.uplinks
        assert tree.pod is not None
        if not len(self.down_order):
            ok[rows] = False
            return
        width = max(tree.pod.up, tree.last_pod.up if tree.last_pod else 0)
        pairs, pair = np.unique(src * tree.leaf + dst, return_inverse=True)
        start, end = np.divmod(pairs, tree.leaf)
        reach = self._core_reaches(end)
        group, link = np.meshgrid(np.arange(u), np.arange(width), indexing="ij")
        usable, here = np.zeros((len(pairs), u, width), bool), self.pod_of(start)
        for pod in np.unique(here).tolist():  # the links that lead up are those of the pod
            exists = link < self.up_of(pod)
            up, members = self.row_of(pod, group, np.where(exists, link, 0)), np.flatnonzero(here == pod)
            usable[members] = exists & self.core_link_alive[up] & reach[members][:, self.core[up]]
        # an uplink of another group leads on too, where both groups share a spine
        chosen, leads_up = _pick((self.spine_reaches(start) & usable.any(axis=2))[pair], keys.leaf[rows])
        t, _ = _pick(usable[pair, chosen], keys.spine[rows])
        taken = self.row_of(here[pair], chosen, t)
        down, leads_down = self._masked_down(self.core[taken], dst, keys.core[rows])
        ok[rows] = leads_up & leads_down
        first = self.wired.first_spine_core
        steps[rows, 0] = 2 * self.leaf_link(src, self._down_group(src, chosen, keys.leaf[rows]))
        steps[rows, 1] = 2 * (first + taken)
        steps[rows, 2] = 2 * (first + down) + 1
        last = self._down_group(dst, self.link_group[down], keys.core[rows])
        steps[rows, 3] = 2 * self.leaf_link(dst, last) + 1

    def _masked_down(self, core: Ints, dst: Ints, key: Ints) -> tuple[Ints, Bools]:
        """Return the row of a link from each core to the pod of `dst` whose spine reaches that leaf."""
        cell = core * self.pods + self.pod_of(dst)
        start, count = self.down_start[cell], self.down_start[cell + 1] - self.down_start[cell]
        place = np.arange(max(1, int(count.max(initial=1))))
        inside = place[None, :] < count[:, None]
        row = self.down_order[np.where(inside, start[:, None] + place[None, :], 0)]
        reach = self.spine_reaches(dst)
        usable = inside & reach[np.arange(len(dst))[:, None], self.link_group[row]]
        column, joined = _pick(usable, key)
        return row[np.arange(len(dst)), column], joined
