"""Levels of a cluster on the scaling book's rooflines: their bandwidth, and the batch from which computing binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.collectives.switch_hierarchy import sharded_rate
from ffplan.results.design import LevelRow
from ffplan.studies.train.cluster import cluster_of
from ffplan.training.group_collectives import GroupPlacement
from ffplan.training.rooflines import data_parallel_tokens, sharded_tokens

if TYPE_CHECKING:
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.training.group_collectives import Cluster

BELOW = {"leaf_uplinks": "leaf", "zone_links": "zone", "group_links": "group"}
"""Level below a cut, by its name."""
ABOVE = {"leaf_uplinks": "spine", "zone_links": "zones", "group_links": "groups"}
"""Level that joins what lies below a cut, by its name."""
PEAKS = ("bf16", "fp16")
"""Precisions at whose peak a roofline is drawn; the first that an accelerator has."""


@record
class Level:
    """A level of switches."""

    name: str
    """node, leaf, spine, zones or groups; network where nothing is cut above the nodes."""
    size: float
    """Accelerators below it [1]."""
    inner: float
    """Accelerators below one of its members [1]."""
    gbyte_s: float
    """Bandwidth that it passes on [GB/s]."""


def inside_rate(system: Cluster) -> float:
    """Return the rate from an accelerator to the others of its node [GB/s]: the specified scale-up links, or PCIe."""
    host, part = system.host, system.host.accelerator
    if host.joined and part is not None and part.nvlink is not None:
        return float(part.nvlink.range[1])
    return host.pcie[1] if host.pcie else 0.0


def levels_of(system: Cluster, gpus: float) -> list[Level]:
    """Return the levels of switches that a job spans, from the inside out.

    Args:
        gpus: accelerators of the job [1].

    Returns:
        The levels; one of switches between nodes counts half of its ports, as the book does, since a byte enters a
        switch and leaves it.

    Source:
        "How to Scale Your Model", chapter on GPUs, beyond the node level.
    """
    host, domain = system.host, float(min(system.domain, gpus))
    levels = [Level("node", domain, 1.0, domain * inside_rate(system))]
    if gpus <= domain:
        return levels
    nodes, inner = gpus / domain, domain
    every = system.crossed(GroupPlacement(domain, nodes))[1] if system.crossed else ()
    crossed = sorted((cut for cut in every if float(cut.sets) > 1), key=lambda cut: cut.below)
    below = [min(gpus, float(cut.below) / host.domain_nodes * domain) for cut in crossed]
    first = below[0] if below else gpus
    name = BELOW.get(crossed[0].name, "network") if crossed else "network"
    levels.append(Level(name, first, inner, first / domain * sum(host.nic_gbyte_s) * host.domain_nodes))
    for cut, inner, size in zip(crossed, below, (*below, gpus)[1:], strict=True):
        levels.append(Level(ABOVE.get(cut.name, cut.label), size, inner, size / inner * float(cut.gbyte_s) / 2))
    return levels


def level_rooflines(design: ResolvedDesign, catalog: Catalog) -> tuple[LevelRow, ...]:
    """Return the level table of a design's first compute group; nothing without accelerators of a 16-bit peak.

    Args:
        catalog: where its libraries are.
    """
    accelerator = design.compute.accelerator
    precision = next((name for name in PEAKS if accelerator and name in accelerator.peak), None)
    if accelerator is None or precision is None:
        return ()
    flops = accelerator.peak[precision].value * 1e12
    gpus = design.compute.group.count * design.compute.accelerators_per_node
    rows: list[LevelRow] = []
    rate = float("inf")
    for level in levels_of(cluster_of(design, catalog), float(gpus)):
        rate = min(rate, float(sharded_rate(1.0, level.size, level.inner, level.gbyte_s)))
        rows.append(
            LevelRow(
                level=level.name,
                accelerators=round(level.size),
                gbyte_s=level.gbyte_s,
                gbyte_s_each=level.gbyte_s / level.size,
                allreduce_gbyte_s=rate,
                data_tokens=float(data_parallel_tokens(flops, rate)),
                sharded_tokens=float(sharded_tokens(flops, rate)),
            )
        )
    return tuple(rows)
