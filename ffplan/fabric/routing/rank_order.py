"""Rank orders of a job's nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ffplan.base.array_math import Ints
    from ffplan.fabric.wiring.network import Network


ORDERS = ("aligned", "alternating", "random")
"""aligned: zone by zone, pod by pod, leaf by leaf. alternating: as a scheduler deals nodes of all leaves in turn, blind
to zones. random: shuffled."""


def aligned(network: Network, job: Ints) -> Ints:
    """Return the rows of a job zone by zone, pod by pod, leaf by leaf, port by port of the first NIC.

    Args:
        job: endpoints, shape (nodes, rails).
    """
    first = job[:, 0]
    e, s = network.endpoints, network.switches
    leaf = e.leaf[first]
    return np.lexsort((e.slot[first], leaf, s.pod[leaf], e.zone[first]))


def alternating(network: Network, job: Ints) -> Ints:
    """Return the rows of a job with the leaves of all zones taken in turn.

    Args:
        job: endpoints, shape (nodes, rails).
    """
    base = aligned(network, job)
    zone = network.endpoints.zone[job[base, 0]]
    place = np.arange(len(base)) - np.searchsorted(zone, zone, side="left")
    return base[np.lexsort((zone, place))]


def _in_order(network: Network, job: Ints, order: str, seed: int) -> Ints:
    """Return the rows of a job in one of ORDERS.

    Args:
        job: endpoints, shape (nodes, rails).
        order: one of ORDERS.
        seed: seed of the random order.

    Raises:
        ValueError: for any other order.
    """
    if order == "aligned":
        return aligned(network, job)
    if order == "alternating":
        return alternating(network, job)
    if order == "random":
        return np.random.default_rng(seed).permutation(len(job))
    raise ValueError(f"no order `{order}`")


def zone_sizes(network: Network, job: Ints) -> list[int]:
    """Return the ranks in each run of one zone, for a job in aligned order."""
    zone = network.endpoints.zone[job[:, 0]]
    return [int(n) for n in np.bincount(zone) if n]
