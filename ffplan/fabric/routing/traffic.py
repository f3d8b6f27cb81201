"""Traffic: flows between endpoints, with their bytes.

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
