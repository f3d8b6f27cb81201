"""From a design to the machine that a training run takes, and its rooflines.

The machine is a node, libraries, and the links that groups cross; rooflines are those of the scaling book: levels of a
cluster, and the least batch and largest TP size of a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.catalog.library import Library
from ffplan.collectives.switch_reduction import sharded_rate
from ffplan.fabric.family import fabric_cuts, plan_fabric
from ffplan.fabric.sizing.plan import reachable_nodes, zones_of
from ffplan.node.host import host
from ffplan.results.design import LevelRow
from ffplan.results.training import Roofline
from ffplan.studies.basis.job_layout import own_library
from ffplan.training.group_collectives import Cluster, GroupPlacement, cut_fraction
from ffplan.training.mfu import (
    data_parallel_tokens,
    expert_parallel_tokens,
    scattered_tokens,
    sharded_tokens,
    tensor_parallel_ways,
)
from ffplan.training.train_run import inner_stride, placement_of

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats
    from ffplan.catalog.store import Catalog
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import LinkCut
    from ffplan.training.train_run import TrainRun


def _reducer_of(design: ResolvedDesign, reducer: str | None) -> str:
    if reducer is not None:
        return reducer
    communication = design.spec.communication
    return communication.libraries[0] if communication else own_library(design)


def cluster_of(design: ResolvedDesign, catalog: Catalog, reducer: str | None = None) -> Cluster:
    """Return the machine of a design's compute nodes.

    All groups of a node cross the fabric at the same time, each with a fraction of the links; a group takes as many
    nodes as its ranks need.

    Args:
        reducer: library for gradients; the design's first if omitted.
    """
    plan, node = plan_fabric(design), host(design.compute, design.port_gbyte_s * design.stripes)
    name, library_id = _reducer_of(design, reducer), own_library(design)
    names = (library_id, library_id if name == "nccl" else name.removesuffix("-nvlink"))
    libraries = [catalog.get(Library, library, design.document, ()) for library in names]

    def crossed(placement: GroupPlacement) -> tuple[Floats, tuple[LinkCut, ...]]:
        boxes = np.asarray(placement.nodes) * node.domain_nodes
        span = np.minimum(
            boxes * placement.apart, np.maximum(boxes, reachable_nodes(design))
        )  # from its first node to its last
        zones = np.minimum(np.asarray(zones_of(design, span), dtype=float), boxes)
        cuts = []
        held = placement.nodes * np.minimum(
            np.maximum(placement.per_node, 1), node.domain_nodes
        )  # nodes with a rank of the group
        for cut in fabric_cuts(design, plan, span):
            share = cut_fraction(node.domain_gpus, node.domain_nics, placement, cut.below / node.domain_nodes)
            cuts.append(cut.spread_over(held, share))
        return zones, tuple(cuts)

    return Cluster(
        host=node,
        library=libraries[0],
        reducer=libraries[1],
        dispatcher=catalog.get(Library, "deepep", design.document, ()),
        crossed=crossed,
        nvlink=name.endswith("-nvlink"),
        paths=design.stripes,
    )


_BELOW = {"leaf_uplinks": "leaf", "bisection": "spine", "zone_links": "zone", "group_links": "group"}
"""Level below a cut, by its name."""
_ABOVE = {"leaf_uplinks": "spine", "bisection": "core", "zone_links": "zones", "group_links": "groups"}
"""Level that joins what lies below a cut, by its name."""
_PEAKS = ("bf16", "fp16")
"""Precisions at whose peak a roofline is drawn; the first that an accelerator has."""


@record
class _Level:
    name: str
    """node, leaf, spine, core, zones or groups; network if there is no cut above the nodes."""
    size: float
    """Accelerators below it [1]."""
    inner: float
    """Accelerators below one of its members [1]."""
    gbyte_s: float
    """Bandwidth that it passes on [GB/s]."""


def _inside_rate(system: Cluster) -> float:
    """Return the rate from an accelerator to the others of its node [GB/s]: the specified scale-up links, or PCIe."""
    host, part = system.host, system.host.accelerator
    if host.joined and part is not None and part.nvlink is not None:
        return float(part.nvlink.range[1])
    return host.pcie[1] if host.pcie else 0.0


def _levels_of(system: Cluster, gpus: float) -> list[_Level]:
    """Return the levels of switches that a job spans, from the inside out.

    Returns:
        The levels; one of switches between nodes counts half of its ports, as the book does, since a byte enters a
        switch and leaves it.

    Source:
        "How to Scale Your Model", chapter on GPUs, beyond the node level.
    """
    host, domain = system.host, float(min(system.domain, gpus))
    levels = [_Level("node", domain, 1.0, domain * _inside_rate(system))]
    if gpus <= domain:
        return levels
    nodes, inner = gpus / domain, domain
    every = system.crossed(GroupPlacement(domain, nodes))[1] if system.crossed else ()
    crossed = sorted((cut for cut in every if float(cut.sets) > 1), key=lambda cut: float(cut.below))
    below = [min(gpus, float(cut.below) / host.domain_nodes * domain) for cut in crossed]
    first = below[0] if below else gpus
    name = _BELOW.get(crossed[0].name, "network") if crossed else "network"
    levels.append(_Level(name, first, inner, first / domain * sum(host.nic_gbyte_s) * host.domain_nodes))
    for cut, inner, size in zip(crossed, below, (*below, gpus)[1:], strict=True):
        carried = size / inner * float(cut.gbyte_s / cut.lane)
        levels.append(_Level(_ABOVE.get(cut.name, cut.label), size, inner, carried / 2))
    return levels


def level_rooflines(design: ResolvedDesign, catalog: Catalog) -> tuple[LevelRow, ...]:
    """Return the level table of a design's first compute group; nothing without accelerators of a 16-bit peak."""
    accelerator = design.compute.accelerator
    precision = next((name for name in _PEAKS if accelerator and name in accelerator.peak), None)
    if accelerator is None or precision is None:
        return ()
    flops = accelerator.peak[precision].value * 1e12
    gpus = design.job_accelerators
    rows: list[LevelRow] = []
    rate = float("inf")
    for level in _levels_of(cluster_of(design, catalog), float(gpus)):
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


_NEAR = 0.01
"""Relative difference from which the plan's own roofline is listed next to the book's [1]."""


def _reduces_at(run: TrainRun, ways: float) -> tuple[float, bool]:
    """Return the bandwidth at which gradients are reduced [GB/s], and whether a switch inside the node does it."""
    p, host = run.plans, run.system.host
    ranks = p.sharing if p.zero else p.reducing
    nodes = placement_of(run, ranks, inner_stride(p)).nodes
    if float(nodes) <= 1:
        return _inside_rate(run.system), host.joined and host.rates is not None and host.rates.nvls is not None
    levels = _levels_of(run.system, float(p.gpus))
    spanned = [level for level in levels if ways < level.size] or levels[-1:]
    return float(min(sharded_rate(ways, level.size, level.inner, level.gbyte_s) for level in spanned)), False


def _critical(run: TrainRun, plain: float, needed: float, rate: float) -> float:
    """Return the tokens from which computing binds; for a model with experts, the tokens of its experts [1]."""
    experts = run.shape.experts
    if experts is None:
        return needed
    book = float(expert_parallel_tokens(experts.routed, experts.top_k, run.speeds.peak, rate))
    return book * needed / plain


def _here(run: TrainRun, rate: float, *, switched: bool) -> float:
    p, peak, gradient = run.plans, run.speeds.peak, float(run.plans.wire_bytes)
    if p.zero == 3:
        return float(sharded_tokens(peak, rate, gradient, p.width))
    if p.zero and run.system.scatters:
        return float(scattered_tokens(peak, rate, gradient, p.width if p.zero == 1 else 0.0))
    return float(data_parallel_tokens(peak, rate, gradient, in_network=switched))


def _data(run: TrainRun) -> list[Roofline]:
    p, shape = run.plans, run.shape
    ways = float(p.tensor * p.pipeline * (p.expert if shape.experts is not None else 1))
    rate, switched = _reduces_at(run, ways)
    if p.reducing <= 1 or rate <= 0:
        return []
    often = float(p.micro_batches) if p.zero >= 2 else 1.0  # reduces, or gathers, for every micro-batch
    tokens = float(p.batch * shape.sequence / p.gpus) / often
    name, label = ("fsdp", "sharded data parallelism") if p.zero == 3 else ("data", "data parallelism")
    if shape.experts is not None:
        name, label = "experts", "experts and data"
    plain = float(data_parallel_tokens(run.speeds.peak, rate))
    book = _critical(run, plain, float(sharded_tokens(run.speeds.peak, rate)) if p.zero == 3 else plain, rate)
    here = _critical(run, plain, _here(run, rate, switched=switched), rate)
    rooflines = [(name, "book", book)]
    if abs(here / book - 1) > _NEAR:
        rooflines.append((f"{name}-here", "here", here))
    return [
        Roofline(
            name=name,
            label=f"{label}, {whose}",
            unit="tokens a GPU",
            value=tokens,
            critical=critical,
            computing_binds=tokens >= critical,
        )
        for name, whose, critical in rooflines
    ]


def _plan_rooflines(run: TrainRun) -> tuple[Roofline, ...]:
    p, shape, peak, rooflines = run.plans, run.shape, run.speeds.peak, _data(run)
    if p.tensor > 1:
        width = shape.ffn if shape.experts is None else max(shape.ffn, shape.experts.ffn)
        most = float(tensor_parallel_ways(width, peak, _inside_rate(run.system), run.system.domain))
        rooflines.append(
            Roofline(
                name="tensor",
                label="tensor parallelism",
                unit="ways",
                value=float(p.tensor),
                critical=most,
                computing_binds=float(p.tensor) <= most,
            )
        )
    return tuple(rooflines)
