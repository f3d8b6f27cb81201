"""Loads of equal flows under static routing, routed once; after a loss only the flows whose choices change are routed
anew.

Flows are counted, link by link, and a count of equal flows gives their bytes without rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Bools, Ints
from ffplan.base.record import record
from ffplan.fabric.routing.link_loads import BATCH

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats
    from ffplan.fabric.routing.router import Router
    from ffplan.fabric.routing.traffic import Flows

EXACT_BITS = 53
"""Bits of a whole number that a float holds [1]."""


def _countable(flows: Flows) -> bool:
    """Return whether all flows have equal bytes whose sums are free of rounding in any order."""
    if not len(flows):
        return False
    size = float(flows.nbytes[0])
    # sums stay exact while size times count fits the mantissa
    bits = size.as_integer_ratio()[0].bit_length() + len(flows).bit_length()
    return bits <= EXACT_BITS and bool((flows.nbytes == size).all())


@record
class _Routed:
    links: Ints
    """Directed links of each flow, padded with -1, shape (flows, steps)."""
    lost: Bools
    """True if a flow does not arrive, shape (flows,)."""


class _StaticTraffic:
    """Equal flows, and their loads on the links of the whole or the degraded fabric."""

    def __init__(self, router: Router, flows: Flows) -> None:
        """Select the flows between leaves; all others use two endpoint links alone."""
        self.router, self.each = router, float(flows.nbytes[0])
        network = router.fabric.network
        count = len(network.endpoints)
        self.ends = np.stack([np.bincount(end, minlength=count) for end in (flows.src, flows.dst)], axis=1)
        """Flows from and to each endpoint."""
        leaf = network.endpoints.leaf
        away = np.flatnonzero(leaf[flows.src] != leaf[flows.dst])
        self.src, self.dst = flows.src[away], flows.dst[away]
        self.used = np.flatnonzero(self.ends.any(axis=1))
        self._whole: tuple[_Routed, Ints] | None = None

    def loads(self, left: Router) -> tuple[Floats, int]:
        """Return the bytes on every directed link, shape (2 * links,), and how many flows do not arrive."""
        if left.alive is not None and not left.alive[self.used].all():
            raise ValueError("a flow begins or ends at an endpoint without its link")
        if left.alive is None:
            return self._bytes(*self._of_whole())
        if self._whole is None:  # the first loss of these flows may be the last: no second routing for it
            every = np.arange(len(self.src))
            routed = self._routed(left, every)
            return self._bytes(routed, _count(routed.links, self._size))
        before, count = self._of_whole()
        rows = np.flatnonzero(left.disturbed(self.src, self.dst))
        routed, count = self._routed(left, rows), count.copy()
        old, new = before.links[rows], routed.links
        # `at` counts a link that several flows share several times; plain indexing would count it once
        np.subtract.at(count, old[old >= 0], 1)
        np.add.at(count, new[new >= 0], 1)
        lost = before.lost.copy()
        lost[rows] = routed.lost
        return self._bytes(_Routed(new, lost), count)

    @property
    def _size(self) -> int:
        return 2 * len(self.router.fabric.network.links)

    def _of_whole(self) -> tuple[_Routed, Ints]:
        """Return the routes on the whole fabric, and the flows on every directed link between switches."""
        if self._whole is None:
            routed = self._routed(self.router, np.arange(len(self.src)))
            self._whole = routed, _count(routed.links, self._size)
        return self._whole

    def _routed(self, router: Router, rows: Ints) -> _Routed:
        """Return the links between switches that some of the flows take."""
        parts, lost = [], []
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            routes = router.paths(self.src[batch], self.dst[batch])
            parts.append(routes.links[:, 1:-1].astype(np.int32))
            lost.append(~routes.reached)
        if not parts:
            return _Routed(np.zeros((0, 1), np.int32), np.zeros(0, bool))
        return _Routed(np.concatenate(parts), np.concatenate(lost))

    def _bytes(self, routed: _Routed, count: Ints) -> tuple[Floats, int]:
        ends, lost = self.ends, int(routed.lost.sum())
        if lost:
            ends = ends.copy()
            for way, end in enumerate((self.src, self.dst)):
                # a lost flow does not load the links of its endpoints either
                np.subtract.at(ends[:, way], end[routed.lost], 1)
        load = count * self.each
        load[: ends.size] = ends.ravel() * self.each
        return load, lost


def _count(links: Ints, size: int) -> Ints:
    flows: Ints = np.bincount(links[links >= 0], minlength=size)
    return flows
