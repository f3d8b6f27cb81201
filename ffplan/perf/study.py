"""A design's collectives: the ranks on its nodes, the links that they cross, a table over sizes and scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.perf import dispatch, nccl
from ffplan.perf.borders import borders, reach, zones_of
from ffplan.perf.collective import Grid, Wish, bus_bandwidth, evaluate
from ffplan.perf.hfreduce import hfreduce
from ffplan.perf.host import host
from ffplan.perf.job import Job
from ffplan.perf.ledgers import LEDGERS
from ffplan.perf.resources import resources
from ffplan.perf.solve import Line, solve
from ffplan.perf.volumes import mean_tree_load
from ffplan.tables import AlgorithmRow, CollectiveRow, Limit

if TYPE_CHECKING:
    from ffplan.design.resolve import ResolvedDesign
    from ffplan.fabric.arrays import Floats
    from ffplan.fabric.plan import FabricPlan
    from ffplan.perf.bounds import Bound


class WishError(ValueError):
    """The design cannot do what is asked."""


def place_ranks(design: ResolvedDesign, plan: FabricPlan, gpus: tuple[int, ...], zones: int | None) -> Job:
    """Return the ranks of jobs on a design's first compute group; numbers are arrays over the jobs.

    Args:
        design: the design.
        plan: its fabric.
        gpus: ranks of each job.
        zones: zones that each job spans; as few as hold it if omitted.

    Raises:
        WishError: where ranks do not fill whole nodes, or more are asked for than there are.
    """
    node = host(design.compute, design.port_gbyte_s * design.stripes)
    most, each = reach(design) * len(node.gpus), len(node.gpus)
    if not node.gpus:
        raise WishError(f"`{node.id}` has no accelerators")
    for count in gpus:
        if count > most:
            raise WishError(f"--gpus {count:,}: one job can span {most:,} accelerators of this design")
        if count > each and count % each:
            low, high = count // each * each, min(most, (count // each + 1) * each)
            raise WishError(f"--gpus {count:,}: not a whole number of nodes of {each}; {low:,} or {high:,} would fit")
    ranks: Floats = np.asarray(gpus, dtype=float)
    boxes = np.ceil(ranks / each)
    domain = node.domain_gpus
    nodes = np.ceil(ranks / domain)
    if bool(((ranks > domain) & (ranks % domain > 0)).any()):
        raise WishError(f"--gpus: one scale-up switch joins {domain} accelerators; write a multiple, or fewer")
    span = zones_of(design, boxes) if zones is None else boxes * 0 + zones
    if zones is not None and (zones > design.spec.fabric.zones or bool((boxes < zones).any())):
        raise WishError(f"--zones {zones}: the fabric has {design.spec.fabric.zones}, and every zone needs a node")
    crossed = borders(design, plan, boxes, span)
    return Job(node, nodes, ranks / nodes, span, crossed)


def _single(job: Job, at: int) -> Job:
    """Return one of the jobs, with plain numbers."""
    from ffplan.perf.resources import Border

    crossed = tuple(
        Border(b.name, b.label, float(np.broadcast_to(b.sets, job.nodes.shape)[at]), b.links, b.gbyte_s)
        for b in job.borders
    )
    return Job(job.host, float(job.nodes[at]), float(job.per_node[at]), float(job.zones[at]), crossed)


def ledger_of(wish: Wish, job: Job, algorithm: str) -> list[Line]:
    """Return the ledger of an algorithm of any library, of plain numbers.

    Args:
        wish: operation and library.
        job: the ranks, plain numbers.
        algorithm: as the grid names it.
    """
    if algorithm == "hfreduce":
        load = mean_tree_load(job.nodes)
        return hfreduce(job, load, nvlink=wish.nvlink, memcpy_async=wish.memcpy_async)[0]
    if algorithm in ("node-limited", "straight"):
        assert wish.routing is not None
        ledger = dispatch.node_limited if algorithm == "node-limited" else dispatch.straight
        return ledger(job, wish.routing)
    return LEDGERS[algorithm](wish.operation, job)


def bound_of(wish: Wish, job: Job, algorithm: str) -> Bound:
    """Return every term of an algorithm, with what long messages reach."""
    share = wish.library.link_share.value if wish.library.link_share else 1.0
    return solve(
        resources(job.host, job.borders, share), ledger_of(wish, job, algorithm), sustained=True,
        trees=algorithm in nccl.TREES,
    )  # fmt: skip


def tabulate(
    wish: Wish, job: Job, gpus: tuple[int, ...], sizes: Floats
) -> tuple[list[CollectiveRow], list[AlgorithmRow]]:
    """Return a row for each number of GPUs and size, and the terms of every algorithm chosen.

    Args:
        wish: operation, library and what is forced.
        job: the ranks; numbers are arrays over `gpus`.
        gpus: ranks of each job.
        sizes: messages [byte].

    Raises:
        WishError: where the library has no such operation, algorithm or protocol here.
    """
    grid = evaluate(wish, job, sizes)
    if grid is None or not bool(grid.possible.all()):
        what = " ".join(filter(None, (wish.algorithm, wish.protocol, wish.operation)))
        at = "" if grid is None else f" over {gpus[int(np.argmin(grid.possible))]:,} accelerators"
        raise WishError(f"`{wish.library.id}` has no {what}{at} of `{job.host.id}`")
    bounds: dict[tuple[int, str], Bound] = {}
    for i in range(len(gpus)):
        for algorithm in sorted({grid.choices[k][0] for k in grid.chosen[i]}):
            bounds[i, algorithm] = bound_of(wish, _single(job, i), algorithm)
    rows = _rows(wish, job, gpus, sizes, grid, bounds)
    terms = [
        AlgorithmRow(gpus[i], algorithm, tuple(Limit(t.name, t.label, t.gbyte_s, t.derivation) for t in item.terms))
        for (i, algorithm), item in bounds.items()
    ]
    return rows, terms


def _rows(
    wish: Wish, job: Job, gpus: tuple[int, ...], sizes: Floats, grid: Grid, bounds: dict[tuple[int, str], Bound]
) -> list[CollectiveRow]:
    time, latency, stream = grid.pick(grid.time), grid.pick(grid.latency), grid.pick(grid.stream)
    algbw = sizes[None, :] / time / 1e9
    busbw: Any = bus_bandwidth(wish.operation, job.ranks, algbw)
    rows = []
    for i, count in enumerate(gpus):
        for j, size in enumerate(sizes):
            algorithm, protocol = grid.choices[int(grid.chosen[i, j])]
            item = bounds[i, algorithm]
            spare = item.runner_up
            parts = (float(latency[i, j]), float(stream[i, j]))
            rows.append(
                CollectiveRow(
                    count, int(job.nodes[i]), int(job.zones[i]), float(size), algorithm, protocol, float(time[i, j]),
                    float(algbw[i, j]), float(busbw[i, j]), *parts, max(0.0, float(time[i, j]) - sum(parts)),
                    item.binding.name, item.binding.label, spare.name if spare else None,
                    float(spare.gbyte_s) if spare else None,
                )
            )  # fmt: skip
    return rows
