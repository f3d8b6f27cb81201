"""Ideal adaptive routing: traffic spread evenly over every link that leads on.

The uplinks of a leaf share its outgoing traffic evenly. The same holds for the links of a pod to the cores, and for the
links of a zone to the others. No routing puts less on the busiest link of an evenly wired tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Ints
    from ffplan.fabric.routing.router import Router
    from ffplan.fabric.routing.tree_paths import _TreePaths


class _CutTraffic:
    """Bytes of endpoints, and bytes that cross the boundaries of leaves, pods and zones: the same whatever is lost."""

    def __init__(self, router: Router) -> None:
        self.router = router
        network, trees = router.fabric.network, [(paths.wired, max(1, paths.pods)) for paths in router.trees]
        self.ends = np.zeros((2, len(network.endpoints)))
        """Bytes from and to each endpoint."""
        leaf, zone = np.zeros((2, 2, len(network.switches)))
        places = [slice(tree.first_switch, tree.first_switch + tree.tree.leaf) for tree, _ in trees]
        first = np.cumsum([0, *(pods for _, pods in trees)]).tolist()
        pod = np.zeros((2, first[-1]))
        self._all = leaf, pod, zone
        self.leaf = [leaf[:, place] for place in places]
        self.pod = [pod[:, start : start + pods] for start, (_, pods) in zip(first, trees, strict=False)]
        self.zone = [zone[:, place] for place in places]
        """Bytes from and to other zones, by leaf."""
        self._tree_of, self._pod_of = np.zeros((2, len(network.switches)), np.int32)
        for number, (place, paths) in enumerate(zip(places, router.trees, strict=True)):
            self._tree_of[place] = number
            self._pod_of[place] = first[number] + paths.pod_of(np.arange(paths.tree.leaf))

    def flows(self, src: Ints, dst: Ints, nbytes: Floats) -> None:
        """Add single flows."""
        _count(self.ends, src, dst, nbytes)
        leaf_of = self.router.fabric.network.endpoints.leaf
        start, end = leaf_of[src], leaf_of[dst]
        away = np.flatnonzero(start != end)
        start, end, nbytes = start[away], end[away], nbytes[away]
        inside = self._tree_of[start] == self._tree_of[end]
        if not inside.all():
            # kept by leaf alone: how far it climbs depends on which links between zones are left
            _count(self._all[2], start[~inside], end[~inside], nbytes[~inside])
            start, end, nbytes = start[inside], end[inside], nbytes[inside]
        _count(self._all[0], start, end, nbytes)
        start, end = self._pod_of[start], self._pod_of[end]
        far = np.flatnonzero(start != end)
        _count(self._all[1], start[far], end[far], nbytes[far])

    def all_to_all(self, inside: list[Ints], nbytes: float) -> None:
        """Add one flow from each member to every other of its plane."""
        router = self.router
        for number, paths in enumerate(router.trees):
            count = np.bincount(router.leaf[inside[number]], minlength=paths.tree.leaf).astype(float)
            per_pod = np.bincount(paths.pod_of(np.arange(paths.tree.leaf)), weights=count, minlength=max(1, paths.pods))
            total = count.sum()
            # planes share no links, so traffic never leaves its plane
            elsewhere = sum(
                len(inside[tree])
                for tree, paths_other in enumerate(router.trees)
                if tree != number and paths_other.plane == paths.plane
            )
            joined = elsewhere if len(paths.trunk_links) else 0
            # less the flow to itself
            self.ends[:, inside[number]] += nbytes * (total + joined - 1)
            # what stays on its leaf, or in its pod, does not climb
            self.leaf[number] += nbytes * count * (total - count)
            self.pod[number] += nbytes * per_pod * (total - per_pod)
            self.zone[number] += nbytes * count * joined

    def loads(self, left: Router | None = None) -> Floats:
        """Return the bytes on every directed link, shape (2 * links,).

        `left`: router over the remaining links of the same fabric; the router of this traffic if omitted.
        """
        router = left or self.router
        load = np.zeros((len(router.fabric.network.links), 2))
        # link i is the link of endpoint i: endpoint links come first
        load[: self.ends.shape[1]] = self.ends.T
        for number, paths in enumerate(router.trees):
            leaf, pod = self._with_zone(number, paths, load)
            if not paths.uplinks:
                continue
            first = paths.wired.first_leaf_spine
            up = load[first : first + paths.leaf_alive.size].reshape(*paths.leaf_alive.shape, 2)
            # 1 avoids 0 / 0 at a leaf without working uplinks, which the mask drops
            per_link = leaf / np.maximum(1, paths.leaf_alive.sum(axis=1))
            up += paths.leaf_alive[:, :, None] * per_link.T[:, None, :]
            if paths.wired.table is not None:
                first, alive = paths.wired.first_spine_core, paths.core_link_alive
                per_link = pod / np.maximum(1, np.bincount(paths.link_pod[alive], minlength=paths.pods))
                load[first : first + len(alive)] += per_link.T[paths.link_pod] * alive[:, None]
        result: Floats = load.ravel()
        return result

    def _with_zone(self, number: int, paths: _TreePaths, load: Floats) -> tuple[Floats, Floats]:
        """Spread the zone's outside traffic over its links; return the traffic of leaves and pods including it."""
        leaf, pod = self.leaf[number].copy(), self.pod[number].copy()
        count = int(paths.trunk_alive.sum())
        if not count:
            return leaf, pod
        trunks = np.bincount(paths.trunk_leaf[paths.trunk_alive], minlength=paths.tree.leaf) / count
        pods = paths.pod_of(np.arange(paths.tree.leaf))
        for way in (0, 1):
            moved = self.zone[number][way]
            load[paths.trunk_links[paths.trunk_alive], way] += moved.sum() / count
            # traffic that finds a zone link on its own leaf does not climb the tree
            leaf[way] += moved * (1 - trunks)
            leaf[1 - way] += trunks * (moved.sum() - moved)
            by_pod = np.bincount(pods, weights=moved, minlength=max(1, paths.pods))
            trunk_pods = np.bincount(pods, weights=trunks, minlength=max(1, paths.pods))
            # likewise within a pod
            pod[way] += by_pod * (1 - trunk_pods)
            pod[1 - way] += trunk_pods * (moved.sum() - by_pod)
        return leaf, pod


def _count(total: Floats, start: Ints, end: Ints, nbytes: Floats) -> None:
    for way, places in ((0, start), (1, end)):
        total[way] += np.bincount(places, weights=nbytes, minlength=total.shape[1])


def _adaptive_loads(router: Router, src: Ints, dst: Ints, nbytes: Floats) -> Floats:
    """Return the bytes on every directed link when flows are spread evenly."""
    traffic = _CutTraffic(router)
    traffic.flows(src, dst, nbytes)
    return traffic.loads()
