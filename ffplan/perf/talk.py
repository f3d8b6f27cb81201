"""Times of the collectives of training, for many groups and sizes in one call each."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.catalog.library import Library
from ffplan.elementwise import maximum
from ffplan.fabric.arrays import Floats
from ffplan.perf.collective import Wish, evaluate
from ffplan.perf.host import Host
from ffplan.perf.job import Job
from ffplan.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.perf.resources import Border

    Crossed = Callable[[Any, Any], tuple[Any, tuple[Border, ...]]]

MOST = 2_000_000
"""Largest grid of groups and sizes evaluated at once."""


@record
class System:
    """The machine that plans run on."""

    host: Host
    """A node."""
    library: Library
    """The library of every collective but those named below."""
    reducer: Library
    """The library that reduces gradients."""
    crossed: Crossed | None = None
    """Zones, and links between leaves and zones, of jobs by nodes and ranks on each."""
    nvlink: bool = False
    """HFReduce reduces over NVLink first."""
    known: dict[tuple[Any, ...], Floats] = field(default_factory=dict)
    """Times found before, by collective, groups and sizes."""

    @property
    def reducer_name(self) -> str:
        """The library that reduces gradients, as a plan names it."""
        return f"{self.reducer.id}-nvlink" if self.nvlink else self.reducer.id

    @property
    def domain(self) -> int:
        """Accelerators that one scale-up switch joins, or those of a node [1]."""
        return self.host.domain_gpus


def contention(gpus: Any, nics: Any, per_node: Any, nodes: Any) -> Any:
    """Return how many groups share a NIC while each is reckoned to have at least one.

    Args:
        gpus: accelerators of a node G [1].
        nics: NICs of a node [1].
        per_node: ranks of a group on each node r [1].
        nodes: nodes of a group [1].

    Returns:
        Factor [1] by which a message counts.

    Equation:
        max(1, G / (NICs r)) over several nodes, else 1

    Source:
        All groups of a node run the same collective at the same time; each has NICs r / G of its NICs.
    """
    shared = maximum(1.0, gpus / (maximum(nics, 1) * per_node))
    return 1.0 + (nodes > 1) * (shared - 1.0)


def border_share(gpus: int, nics: int, per_node: Any, nodes: Any) -> Any:
    """Return the share of a border's links that a group has while all groups of a node cross it.

    Messages count as often as groups share a NIC, so the share counts as often too.
    """
    return np.minimum(1.0, per_node / gpus) * contention(gpus, nics, per_node, nodes)


def group_time(
    system: System, operation: str, per_node: Any, nodes: Any, size: Any, *, reducing: bool = False
) -> Floats:
    """Return the time of a collective that every group of the job runs at once; 0 over a single rank [s].

    The call itself is not counted: what the host launches has a figure of its own.

    Args:
        system: the machine.
        operation: allreduce, reduce-scatter, all-gather, all-to-all or sendrecv.
        per_node: ranks on each node, any shape.
        nodes: nodes, any shape.
        size: message as nccl-tests counts it [byte], any shape.
        reducing: the library for gradients does it.

    Raises:
        ValueError: where the library has no such operation.
    """
    library, host = system.reducer if reducing else system.library, system.host
    scaled = np.asarray(size * contention(system.domain, len(host.nics) * host.domain_nodes, per_node, nodes))
    each, boxes, sizes = np.broadcast_arrays(
        np.asarray(per_node, dtype=float), np.asarray(nodes, dtype=float), scaled.astype(float)
    )
    mark = (operation, reducing, sizes.shape, each.tobytes(), boxes.tobytes(), sizes.tobytes())
    if mark not in system.known:
        system.known[mark] = _group_times(system, library, operation, each, boxes, sizes)
    return system.known[mark]


def _group_times(
    system: System, library: Library, operation: str, each: Floats, boxes: Floats, sizes: Floats
) -> Floats:
    """Return times in the shape of the three arrays [s].

    Raises:
        ValueError: where the library has no such operation.
    """
    keys, key = np.unique(np.stack([each.ravel(), boxes.ravel()]), axis=1, return_inverse=True)
    values, at = np.unique(sizes.ravel(), return_inverse=True)
    key = key.ravel()
    time = np.zeros((keys.shape[1], len(values)))
    stride = max(1, MOST // max(1, len(values)))
    for first in range(0, keys.shape[1], stride):
        part = slice(first, first + stride)
        time[part] = _grid(system, library, operation, keys[0, part], keys[1, part], values)
    alone = keys[0] * keys[1] < 2
    time[alone] = 0.0
    found: Floats = time[key, at.ravel()].reshape(sizes.shape)
    return np.where(sizes > 0, np.maximum(found - system.host.launch_s, 0.0), 0.0)


def _grid(system: System, library: Library, operation: str, per_node: Floats, nodes: Floats, sizes: Floats) -> Floats:
    """Return times of group x size [s].

    Raises:
        ValueError: where the library has no such operation.
    """
    zones, borders = system.crossed(nodes, per_node) if system.crossed else (nodes * 0 + 1, ())
    safe = np.where(per_node * nodes < 2, 2.0, per_node)
    job = Job(system.host, nodes, safe, zones, borders)
    grid = evaluate(Wish(operation, library, nvlink=system.nvlink), job, np.maximum(sizes, 1.0))
    if grid is None:
        raise ValueError(f"{library.id} has no {operation}")
    found = np.asarray(grid.pick(grid.time))
    if library is not system.library and not grid.possible.all():  # HFReduce takes whole nodes; NCCL does the rest
        return np.where(grid.possible[:, None], found, _grid(system, system.library, operation, per_node, nodes, sizes))
    return found


def send_time(system: System, size: Any, inside: Any) -> Any:
    """Return the time in which every rank sends a message to one of the next stage.

    Args:
        system: the machine.
        size: message of a rank [byte].
        inside: True where stages that follow one another are joined by NVLink, or sit in one node.

    Returns:
        Time [s].

    Equation:
        size / NVLink inside, else latency + size / (NICs / GPUs)

    Source:
        [1] of `layer`: every rank has its share of the node's NICs.
    """
    host = system.host
    rates, part = host.rates, host.accelerator
    peer = rates.peer.value if rates and rates.peer else (rates.ring.value if rates and rates.ring else None)
    if peer is None or not host.switched:
        linked = part.nvlink.value if part and part.nvlink and host.switched else None
        peer = linked or (host.pcie[1] if host.pcie else float("inf"))
    nics = host.payload_gbyte_s * host.domain_nodes / max(1, system.domain)
    known: object = system.library.latency.get("network", {}).get("ring", {}).get("simple")
    latency = getattr(known, "value", 0.0)
    away = latency + size / (max(nics, 1e-9) * 1e9)
    return np.where(inside, size / (peer * 1e9), away)
