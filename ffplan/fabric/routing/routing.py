"""The protocol of a family's routing, and the keys that select among the links that lead on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from ffplan.base.array_math import Bools, Floats, Ints
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.fabric.wiring.wiring import WiredFabric


ROUTING = ("static", "ecmp", "valiant", "adaptive")
"""Kinds of routing; a family has some of them."""


@record
class _Routes:
    links: Ints
    """Directed links in order, padded with -1, shape (flows, hops); 2 * link from `a` to `b`, 2 * link + 1 back."""
    reached: Bools
    """True if the destination can be reached, shape (flows,)."""


class Routing(Protocol):
    """Routes flows over one wired fabric, healthy or with links lost."""

    fabric: WiredFabric
    alive: Bools | None
    kinds: tuple[str, ...]
    """Kinds of ROUTING that the family has."""

    def paths(self, src: Ints, dst: Ints, seed: int | None = None, *, detour: bool = False) -> _Routes:
        """Return the path of each flow.

        Args:
            src: endpoint that sends, by number, shape (flows,).
            dst: endpoint that receives, same shape.
            seed: hash flows with this seed; by destination if omitted.
            detour: pass a group chosen at random (Valiant).
        """

    def connected(self, src: Ints, dst: Ints) -> Bools:
        """Return whether a path joins two endpoints of a healthy fabric, shape (flows,)."""

    def spread(self, src: Ints, dst: Ints, nbytes: Floats) -> Floats:
        """Return the bytes on every directed link when flows are spread evenly (ideal adaptive routing)."""

    def all_to_all(self, member: Bools, nbytes: float, kind: str) -> Floats | None:
        """Return the loads when each member sends to every other of its plane; None if flows must be listed.

        Args:
            member: endpoints that take part, shape (endpoints,).
            nbytes: bytes from each to each [byte].
        """

    def apart(self, ports: Ints) -> int:
        """Return the pairs of these endpoints in one plane without a path, both directions counted."""


@record
class Keys:
    """Keys that select among the links at each step, one row per flow."""

    leaf: Ints
    spine: Ints
    core: Ints
    trunk: Ints


def _splitmix(value: Ints) -> Ints:
    """Return well-mixed 64-bit hashes [1] of unsigned integers, any shape (Steele, Lea, Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        z = value.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _hashed(src: Ints, dst: Ints, seed: int, level: int) -> Ints:
    """Return hashes [1] of flows for one level of choices, not negative, shape (flows,)."""
    mixed = _splitmix(_splitmix(src) ^ (dst.astype(np.uint64) << np.uint64(20)) ^ np.uint64(seed * 8 + level))
    return (mixed >> np.uint64(1)).astype(np.int64)
