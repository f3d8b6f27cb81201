"""Ideal adaptive routing: traffic spread evenly over every link that leads on.

The uplinks of a leaf share its outgoing traffic evenly. The same holds for the links of a pod to the cores, and for the
links of a zone to the others. It is the least that any routing can put on the busiest link of an evenly wired tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats, Ints
    from ffplan.fabric.routing.router import Router
    from ffplan.fabric.routing.tree_paths import TreePaths


class CutTraffic:
    """Bytes that cross the boundaries of leaves, pods and zones."""

    def __init__(self, router: Router) -> None:
        self.router = router
        shapes = [(2, paths.tree.leaf) for paths in router.trees]
        self.leaf = [np.zeros(shape) for shape in shapes]
        self.pod = [np.zeros((2, max(1, paths.pods))) for paths in router.trees]
        self.zone = [np.zeros(shape) for shape in shapes]
        """Bytes from and to other zones, by leaf."""

    def flows(self, src: Ints, dst: Ints, nbytes: Floats) -> None:
        """Add flows given one by one."""
        router = self.router
        one, two = router.tree_of[src], router.tree_of[dst]
        for number, paths in enumerate(router.trees):
            here = (one == number) & (two == number)
            a, b = router.leaf[src[here]], router.leaf[dst[here]]
            self._inside(number, paths, a, b, nbytes[here])
            for way, own, ends in (
                (0, (one == number) & (two != number), src),
                (1, (two == number) & (one != number), dst),
            ):
                leaf = router.leaf[ends[own]]
                self.zone[number][way] += np.bincount(leaf, weights=nbytes[own], minlength=paths.tree.leaf)

    def _inside(self, number: int, paths: TreePaths, a: Ints, b: Ints, weight: Floats) -> None:
        leaves, pods = paths.tree.leaf, max(1, paths.pods)
        away = a != b
        far = paths.pod_of(a) != paths.pod_of(b)
        for way, end in ((0, a), (1, b)):
            self.leaf[number][way] += np.bincount(end[away], weights=weight[away], minlength=leaves)
            self.pod[number][way] += np.bincount(paths.pod_of(end[far]), weights=weight[far], minlength=pods)

    def all_to_all(self, inside: list[Ints], nbytes: float) -> None:
        """Add one flow from each member to every other of its plane."""
        router = self.router
        for number, paths in enumerate(router.trees):
            count = np.bincount(router.leaf[inside[number]], minlength=paths.tree.leaf).astype(float)
            per_pod = np.bincount(paths.pod_of(np.arange(paths.tree.leaf)), weights=count, minlength=max(1, paths.pods))
            total = count.sum()
            elsewhere = sum(
                len(inside[other])
                for other, paths_other in enumerate(router.trees)
                if other != number and paths_other.plane == paths.plane
            )
            joined = elsewhere if len(paths.trunk_links) else 0
            self.leaf[number] += nbytes * count * (total - count)
            self.pod[number] += nbytes * per_pod * (total - per_pod)
            self.zone[number] += nbytes * count * joined

    def loads(self) -> Floats:
        """Return the bytes on every directed link between switches."""
        load = np.zeros(2 * len(self.router.fabric.network.links))
        for number, paths in enumerate(self.router.trees):
            self._add_zone(number, paths, load)
            if not paths.uplinks:
                continue
            leaves, u = paths.tree.leaf, paths.uplinks
            links = paths.leaf_link(np.arange(leaves)[:, None], np.arange(u)[None])
            for way in (0, 1):
                share = paths.leaf_alive / np.maximum(1, paths.leaf_alive.sum(axis=1, keepdims=True))
                load[2 * links + way] += self.leaf[number][way][:, None] * share
                if paths.wired.table is not None:
                    alive = paths.core_link_alive
                    per_pod = np.bincount(paths.link_pod, weights=alive, minlength=paths.pods)
                    rows = paths.wired.first_spine_core + np.arange(len(alive))
                    load[2 * rows + way] += (self.pod[number][way] / np.maximum(1, per_pod))[paths.link_pod] * alive
        return load

    def _add_zone(self, number: int, paths: TreePaths, load: Floats) -> None:
        """Spread the traffic of the zone to others over its links to them, and in the tree to their leaves."""
        count = int(paths.trunk_alive.sum())
        if not count:
            return
        trunks = np.bincount(paths.trunk_leaf[paths.trunk_alive], minlength=paths.tree.leaf) / count
        pods = paths.pod_of(np.arange(paths.tree.leaf))
        for way in (0, 1):
            moved = self.zone[number][way]
            load[2 * paths.trunk_links[paths.trunk_alive] + way] += moved.sum() / count
            self.leaf[number][way] += moved * (1 - trunks)
            self.leaf[number][1 - way] += trunks * (moved.sum() - moved)
            by_pod = np.bincount(pods, weights=moved, minlength=max(1, paths.pods))
            trunk_pods = np.bincount(pods, weights=trunks, minlength=max(1, paths.pods))
            self.pod[number][way] += by_pod * (1 - trunk_pods)
            self.pod[number][1 - way] += trunk_pods * (moved.sum() - by_pod)


def adaptive_loads(router: Router, src: Ints, dst: Ints, nbytes: Floats) -> Floats:
    """Return the bytes on every directed link when flows are spread evenly.

    Args:
        router: the router.
        src: sending endpoints, shape (flows,).
        dst: receiving endpoints, same shape.
        nbytes: bytes of each flow, same shape.
    """
    traffic = CutTraffic(router)
    traffic.flows(src, dst, nbytes)
    load = traffic.loads()
    for end, way in ((src, 0), (dst, 1)):
        load += np.bincount(2 * end + way, weights=nbytes, minlength=len(load))
    return load
