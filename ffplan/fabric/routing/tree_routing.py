"""Routing over trees: paths, even spreading over the links that lead up, and all-to-all by counting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.fabric.routing.adaptive import _adaptive_loads, _CutTraffic
from ffplan.fabric.routing.all_to_all import all_to_all_loads
from ffplan.fabric.routing.router import Router

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools, Floats, Ints


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
            kind: kind of routing.
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
