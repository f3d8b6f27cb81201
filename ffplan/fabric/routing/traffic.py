"""Traffic: flows between endpoints, with their bytes, and the double binary trees of an allreduce.

A rank r > 0 with lowest set bit b hangs under r with that bit cleared and the next one set, or, where that rank does
not exist, under r with the bit cleared. Rank 0 is the root. In the second tree an even number of ranks is mirrored, an
odd one shifted by one, so that every rank but one is inner in one tree at most; each tree carries half of the data.

Source: Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
Computing 35 (2009), in the form that NCCL uses. The trees of a zone and the pair between zones: derived, for the rule
of An et al., arXiv 2408.14158, section III-B, that only one pair of nodes communicates across zones.

A job is a table of endpoints, one row per rank (node) and one column per rail: the node's NIC ports on this fabric.
Each rail carries an equal part of a collective between the same NICs of two nodes, as rail-aligned libraries do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats, Ints
from ffplan.base.record import record

if TYPE_CHECKING:
    from ffplan.fabric.wiring.network import _EndpointTable


def _binary_tree(ranks: int) -> Ints:
    """Return the parent of every rank in the first tree, -1 for the root, shape (ranks,)."""
    rank = np.arange(ranks)
    bit = rank & -rank
    parent = (rank ^ bit) | (bit << 1)
    # beyond the last rank the bit is cleared only
    parent = np.where(parent >= ranks, rank ^ bit, parent)
    if ranks:
        parent[0] = -1
    return parent


def _double_binary_tree(ranks: int) -> Ints:
    """Return the parent of every rank in both trees, -1 for the roots, shape (2, ranks)."""
    first = _binary_tree(ranks)
    if ranks % 2 == 0:
        # even: the mirror image, whose inner ranks are leaves of the first tree
        second = np.where(first[::-1] < 0, -1, ranks - 1 - first[::-1])
    else:
        # odd: one rank on, for the same reason
        shifted = np.roll(first, 1)
        second = np.where(shifted < 0, -1, (shifted + 1) % max(1, ranks))
    return np.stack([first, second])


def _joined_trees(sizes: list[int]) -> Ints:
    """Return both trees over zones of consecutive ranks, with one pair of ranks between neighbouring zones.

    In the first tree the root b of a zone hangs under a, the root of the second tree of the zone before; in the second
    tree a hangs under b. Both are at the fringe of the other tree, so neither gets more than two children.

    Empty zones are skipped. Returns the parent of every rank in both trees, -1 for the roots, shape (2, ranks).
    """
    parts: list[Ints] = []
    start, before = 0, -1
    for size in (size for size in sizes if size):
        trees = _double_binary_tree(size)
        trees = np.where(trees < 0, -1, trees + start)
        root_one = start + int(np.flatnonzero(trees[0] < 0)[0])
        root_two = start + int(np.flatnonzero(trees[1] < 0)[0])
        if before >= 0:
            trees[0, root_one - start] = before
            # `before` counts over all zones; the array of the zone before starts at its own first rank
            parts[-1][1, before - (start - parts[-1].shape[1])] = root_one
        parts.append(trees)
        before = root_two
        start += size
    return np.concatenate(parts, axis=1) if parts else np.zeros((2, 0), np.int64)


def crossings(parent: Ints, zone: Ints) -> Ints:
    """Return the different pairs of ranks that communicate across zones, shape (pairs, 2).

    Args:
        parent: parent of every rank in each tree, -1 for roots, shape (trees, ranks).
        zone: zone of every rank, shape (ranks,).
    """
    ranks = parent.shape[1]
    child = np.broadcast_to(np.arange(ranks), parent.shape)
    real = parent >= 0
    start, end = child[real], parent[real]
    across = zone[start] != zone[end]
    low, high = np.minimum(start, end)[across], np.maximum(start, end)[across]
    # one number for each unordered pair, so that a pair in both trees counts once
    return np.stack(np.divmod(np.unique(low * ranks + high), ranks), axis=1)


def _crossing_pairs(parent: Ints, zone: Ints) -> int:
    """Return how many different pairs of ranks communicate across zones."""
    return len(crossings(parent, zone))


@record
class Flows:
    """Bytes from endpoint to endpoint."""

    src: Ints
    dst: Ints
    nbytes: Floats

    def __len__(self) -> int:
        return len(self.src)


def _ports_of(endpoints: _EndpointTable, groups: list[int]) -> Ints:
    """Return the endpoints of every node of some groups, shape (nodes, ports), ports in the order of the NICs."""
    ports = np.flatnonzero(np.isin(endpoints.group, groups))
    order = np.lexsort((endpoints.port[ports], endpoints.node[ports], endpoints.group[ports]))
    # nodes are numbered anew in each group
    nodes = len(np.unique(endpoints.group[ports].astype(np.int64) << 32 | endpoints.node[ports]))
    return ports[order].reshape(nodes, -1)


def _pairs(job: Ints, senders: Ints, receivers: Ints, nbytes: float) -> Flows:
    src, dst = job[senders].ravel(), job[receivers].ravel()
    return Flows(src, dst, np.full(len(src), nbytes / job.shape[1]))


def ring(job: Ints, nbytes: float) -> Flows:
    """Return a ring allreduce over the ranks in order.

    Args:
        job: endpoints, shape (ranks, rails).
        nbytes: bytes that each node contributes [byte].

    Equation:
        each rank sends 2 (n - 1) / n bytes per byte to the next

    Source:
        Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms", J. Parallel Distrib. Comput. 69 (2009).
    """
    ranks = len(job)
    rank = np.arange(ranks)
    # the 2: once round to reduce, once round to gather
    return _pairs(job, rank, (rank + 1) % ranks, 2 * (ranks - 1) / ranks * nbytes)


def tree(job: Ints, parent: Ints, nbytes: float) -> Flows:
    """Return an allreduce over trees: each carries its part up to the root and down again.

    Args:
        job: endpoints, shape (ranks, rails).
        parent: parent of every rank in each tree, -1 for roots, shape (trees, ranks).
        nbytes: bytes that each node contributes [byte].

    Equation:
        1 / trees bytes per byte, in each direction, over every edge of every tree

    Source:
        As for `dbtree`: each of two trees carries half.
    """
    child = np.broadcast_to(np.arange(parent.shape[1]), parent.shape)
    real = parent >= 0
    up = _pairs(job, child[real], parent[real], nbytes / len(parent))
    return Flows(
        np.concatenate([up.src, up.dst]), np.concatenate([up.dst, up.src]), np.concatenate([up.nbytes, up.nbytes])
    )


def permutation(job: Ints, nbytes: float, seed: int) -> Flows:
    """Return a random permutation, without fixed points from two ranks on.

    Args:
        job: endpoints, shape (ranks, rails).
        nbytes: bytes that each node sends to one other [byte].
        seed: seed of the permutation.

    Equation:
        along a random cycle through all ranks, each sends to the next

    Source:
        Definition.
    """
    # one cycle through all ranks has no fixed point, unlike a plain permutation
    order = np.random.default_rng(seed).permutation(len(job))
    return _pairs(job, order, np.roll(order, -1), nbytes)


def incast(compute: Ints, storage: Ints, zone: Ints, plane: Ints, nbytes: float) -> Flows:
    """Return the reads of every compute node from all storage nodes that it reaches within its zone and plane.

    Args:
        compute: endpoints of the readers, shape (nodes, rails).
        storage: endpoints of the storage nodes, any shape.
        zone: zone of every endpoint.
        plane: plane of every endpoint.
        nbytes: bytes that each compute node reads [byte].

    Equation:
        each port of a reader gets an equal part from every storage port of its zone and plane

    Source:
        An et al., arXiv 2408.14158, section VI-B3: files are striped over all storage targets.

    Raises:
        ValueError: if a reader reaches no storage port.
    """
    sources, readers = storage.ravel(), compute.ravel()
    place = plane.astype(np.int64) << 16 | zone
    parts = []
    for here in np.unique(place[readers]):
        nodes, near = readers[place[readers] == here], sources[place[sources] == here]
        if not len(near):
            raise ValueError("some compute nodes have no storage port in their zone and plane")
        # files are striped, so every storage port in reach sends an equal part
        share = nbytes / compute.shape[1] / len(near)
        parts.append((np.tile(near, len(nodes)), np.repeat(nodes, len(near)), np.full(len(nodes) * len(near), share)))
    return Flows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _one_by_one(job: Ints, plane: Ints, nbytes: float) -> Flows:
    """Return an all-to-all flow by flow, for fabrics where its loads cannot be counted.

    Args:
        job: endpoints, shape (ranks, rails).
        plane: plane of every endpoint.
        nbytes: bytes that each endpoint sends, over all others of its plane [byte].

    Equation:
        each endpoint sends an equal part to every other endpoint of its plane

    Source:
        Definition of all-to-all.
    """
    parts = []
    for number in np.unique(plane[job]):
        members = job[plane[job] == number]
        src, dst = np.repeat(members, len(members)), np.tile(members, len(members))
        apart = src != dst
        parts.append((src[apart], dst[apart], np.full(int(apart.sum()), nbytes / max(1, len(members) - 1))))
    return Flows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
