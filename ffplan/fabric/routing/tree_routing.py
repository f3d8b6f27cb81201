"""Routing over trees: paths, even spreading over the links that lead up, and all-to-all by counting.

An all-to-all has E (E - 1) flows between E endpoints, which are not listed. Under destination-modulo routing, all flows
to one endpoint take the same uplink of a leaf and, from one pod, the same link to the cores. So a leaf link carries
(endpoints on the leaf) x (destinations elsewhere with that key), and counting the destinations by key gives every load
in time proportional to endpoints and links.

Ideal adaptive routing spreads traffic evenly over all links that lead on: the uplinks of a leaf, the links of a pod to
the cores, those of a zone to the others. No routing puts less on the busiest link of an evenly wired tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.fabric.routing.router import Router
from ffplan.fabric.routing.routing import Keys

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Floats, Ints
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


def _rows(keys: Keys, chosen: Any) -> Keys:
    return Keys(keys.leaf[chosen], keys.spine[chosen], keys.core[chosen], keys.trunk[chosen])


def _route(paths: _TreePaths, senders: Ints, weight: Floats, leaf: Ints, keys: Keys, load: Floats) -> Ints:
    """Add flows from some leaves to destinations listed, less their first link; return the steps, rows by sender."""
    every = np.tile(np.arange(len(leaf)), len(senders))
    steps, _ = paths.steps(np.repeat(senders, len(leaf)), leaf[every], _rows(keys, every))
    later = steps[:, 1:]
    used = later >= 0
    weights = np.broadcast_to(np.repeat(weight, len(leaf))[:, None], later.shape)[used]
    load += np.bincount(later[used], weights=weights, minlength=len(load))
    return steps


def _one_by_one(paths: _TreePaths, sources: Floats, leaf: Ints, keys: Keys, load: Floats) -> None:
    """Route to every destination listed, for the few that not every core reaches.

    On a healthy tree all leaves of a pod choose alike towards other pods, so one leaf is computed for all.
    """
    leaves, u = np.arange(paths.tree.leaf), paths.uplinks
    pods, home = paths.pod_of(leaves), paths.pod_of(leaf)
    links = 2 * paths.leaf_link(leaves[:, None], np.arange(u)[None])
    for pod in np.unique(home).tolist():
        ends, inside = np.flatnonzero(home == pod), np.flatnonzero((pods == pod) & (sources > 0))
        near = _route(paths, inside, sources[inside], leaf[ends], _rows(keys, ends), load)[:, 0]
        weight = np.repeat(sources[inside], len(ends))[near >= 0]
        load += np.bincount(near[near >= 0], weights=weight, minlength=len(load))
        # leaves of the pod itself were routed above
        sent = np.where(pods == pod, 0.0, sources)
        per_pod = np.bincount(pods, weights=sent, minlength=paths.pods)
        away = np.flatnonzero(per_pod)
        first = _route(paths, away * paths.pod_leaves, per_pod[away], leaf[ends], _rows(keys, ends), load)[:, 0]
        group = (first // 2 - paths.wired.first_leaf_spine) % u
        cell = np.repeat(away, len(ends)) * u + group
        chosen = np.bincount(cell, minlength=paths.pods * u).reshape(paths.pods, u)
        load[links] += sent[:, None] * chosen[pods]


def _classes(paths: _TreePaths) -> list[tuple[Ints, Ints]]:
    """Return (pods, core of each link) of the pods that are wired alike."""
    table = paths.wired.table
    assert table is not None
    full = table.full
    alike: dict[bytes, list[int]] = {}
    if len(full) and (full == full[0]).all():
        alike[b""] = list(range(len(full)))
    else:
        for pod in range(len(full)):
            alike.setdefault(full[pod].tobytes(), []).append(pod)
    classes = [(np.array(pods), full[pods[0]]) for pods in alike.values()]
    if table.last.size:
        classes.append((np.array([len(full)]), table.last))
    return classes


def _over_cores(paths: _TreePaths, sources: Floats, leaf: Ints, group: Ints, keys: Keys, load: Floats) -> None:
    u, first = paths.uplinks, paths.wired.first_spine_core
    pod = paths.pod_of(leaf)
    per_pod = np.bincount(paths.pod_of(np.arange(paths.tree.leaf)), weights=sources, minlength=paths.pods)
    for pods, cores in _classes(paths):
        up = cores.shape[1]
        link = keys.spine % up
        cell = group * up + link
        total = np.bincount(cell, minlength=u * up)
        inside = np.bincount(pod * (u * up) + cell, minlength=paths.pods * u * up).reshape(paths.pods, -1)[pods]
        rows = first + paths.row_of(pods[:, None], np.arange(u).repeat(up)[None], np.tile(np.arange(up), u)[None])
        # destinations in the pod itself are reached below the cores
        load[2 * rows] += per_pod[pods][:, None] * (total - inside)
        senders = np.full(paths.pods, per_pod[pods].sum())
        # the pod's own traffic never comes down from a core
        senders[pods] -= per_pod[pods]
        down = paths._down(cores[group, link], pod, keys.core)
        weight = senders[pod]
        load += np.bincount(2 * (first + down) + 1, weights=weight, minlength=len(load))
        last = 2 * paths.leaf_link(leaf, paths.link_group[down]) + 1
        load += np.bincount(last, weights=weight, minlength=len(load))


def spread(paths: _TreePaths, sources: Floats, leaf: Ints, keys: Keys, load: Floats) -> None:
    """Add the load of one flow from every source endpoint to every destination on another leaf of a healthy tree.

    Args:
        sources: source endpoints on each leaf [1], shape (leaves,).
        leaf: leaf of each destination, shape (destinations,).
        load: loads to add to [flows], shape (2 * links,).
    """
    if not paths.uplinks:
        return
    odd = paths.partial[paths.pod_of(leaf)] if paths.pods > 1 else np.zeros(len(leaf), bool)
    if odd.any():
        _one_by_one(paths, sources, leaf[odd], _rows(keys, odd), load)
        leaf, keys = leaf[~odd], _rows(keys, ~odd)
    u, leaves = paths.uplinks, paths.tree.leaf
    group = keys.leaf % u
    here = np.bincount(leaf * u + group, minlength=leaves * u).reshape(leaves, u)
    links = paths.leaf_link(np.arange(leaves)[:, None], np.arange(u)[None])
    # destinations elsewhere with that key; those on the leaf itself never climb
    load[2 * links] += sources[:, None] * (here.sum(axis=0) - here)
    pod = paths.pod_of(np.arange(leaves))
    # from the pod's other leaves; what comes down from the cores is added there
    in_pod = np.bincount(pod, weights=sources, minlength=paths.pods)[pod] - sources
    load[2 * links + 1] += here * in_pod[:, None]
    if paths.pods > 1:
        _over_cores(paths, sources, leaf, group, keys, load)


def all_to_all_loads(router: Router, member: Bools, nbytes: float) -> Floats:
    """Return the bytes on every directed link when each member sends to every other one of its plane.

    Args:
        router: routes over a healthy fabric, destination-modulo.
        member: endpoints that take part, shape (endpoints,).
        nbytes: bytes from each to each [byte].
    """
    load = np.zeros(2 * len(router.fabric.network.links))
    inside = [np.flatnonzero(member & (router.tree_of == number)) for number in range(len(router.trees))]
    for start, paths in enumerate(router.trees):
        sources = np.bincount(router.leaf[inside[start]], minlength=paths.tree.leaf).astype(float)
        for end, target in enumerate(router.trees):
            if target.plane != paths.plane or not len(inside[end]) or not len(inside[start]):
                continue
            if start == end:
                spread(paths, sources, router.leaf[inside[end]], router.static_keys(inside[end], target), load)
                # all but itself
                met = len(inside[start]) - 1
            else:
                met = len(inside[end]) if _across(router, start, end, sources, inside[end], load) else 0
            load[2 * inside[start]] += met
            load[2 * inside[start] + 1] += met
    # loads are whole flows until here, so that no rounding builds up
    return load * nbytes


def _across(router: Router, start: int, end: int, sources: Floats, dst: Ints, load: Floats) -> bool:
    """Add the traffic from one zone to another; return whether any link joins them."""
    a, b = router.trees[start], router.trees[end]
    keys = router.static_keys(dst, b)
    crossing = router.crossing(start, end, keys)
    if crossing is None:
        return False
    out, back = crossing
    count, keys = sources.sum(), router.across_keys(keys, b)
    spread(a, sources, a.trunk_leaf[out], keys, load)
    load += np.bincount(2 * a.trunk_links[out], minlength=len(load)) * count
    load += np.bincount(2 * b.trunk_links[back] + 1, minlength=len(load)) * count
    steps, _ = b.steps(b.trunk_leaf[back], router.leaf[dst], keys)
    load += np.bincount(steps[steps >= 0], minlength=len(load)) * count
    return True


class TreeRouting(Router):
    """Routes flows over the trees of a fabric."""

    kinds: tuple[str, ...] = ("static", "ecmp", "adaptive")

    def spread(self, src: Ints, dst: Ints, nbytes: Floats) -> Floats:
        """Return the bytes on every directed link when flows are spread evenly over every link that leads on."""
        return _adaptive_loads(self, src, dst, nbytes)

    def all_to_all(self, member: Bools, nbytes: float, kind: str) -> Floats | None:
        """Return the loads of all-to-all on healthy trees, static or adaptive; None otherwise.

        Args:
            member: endpoints that take part, shape (endpoints,).
            nbytes: bytes from each to each [byte].
        """
        if self.alive is not None or kind not in ("static", "adaptive"):
            return None
        if kind == "static":
            return all_to_all_loads(self, member, nbytes)
        inside = [np.flatnonzero(member & (self.tree_of == number)) for number in range(len(self.trees))]
        cuts = _CutTraffic(self)
        cuts.all_to_all(inside, nbytes)
        return cuts.loads()

    def apart(self, ports: Ints) -> int:
        """Return the pairs of these endpoints in one plane without a path, both directions counted."""
        if self.fabric.interzone:
            return 0
        planes = np.bincount(self.fabric.network.endpoints.plane[ports])
        trees = np.bincount(self.tree_of[ports])
        # ordered pairs of a plane less those of one tree; pairs of an endpoint with itself cancel
        return int((planes**2).sum() - (trees**2).sum())
