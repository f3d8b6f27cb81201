"""From a grid of times to the rows of a table: what is chosen, what it waits for, every term."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.collectives import expert_dispatch as dispatch
from ffplan.collectives import nccl
from ffplan.collectives.algorithms import LEDGERS
from ffplan.collectives.bottleneck import Line, solve
from ffplan.collectives.hfreduce import hfreduce
from ffplan.collectives.rank_layout import Job
from ffplan.collectives.timing import Grid, Wish, bus_bandwidth, evaluate
from ffplan.collectives.volumes import mean_tree_load
from ffplan.node.resources import resources
from ffplan.results.collective import AlgorithmRow, CollectiveRow, Limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.arrays import Floats
    from ffplan.collectives.bounds import Bound


class WishError(ValueError):
    """The design cannot do what is asked."""


MARGIN = 1.01
"""By how much a stream is slower than its resources before its protocol counts as what binds [1]."""


def _at(value: Any, job: Job, at: int) -> float:
    return float(np.broadcast_to(value, job.nodes.shape)[at])


def _single(job: Job, at: int) -> Job:
    """Return one of the jobs, with plain numbers."""
    crossed = tuple(
        replace(border, sets=_at(border.sets, job, at), gbyte_s=_at(border.gbyte_s, job, at)) for border in job.borders
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
        for algorithm in dict.fromkeys(grid.choices[k][0] for k in grid.chosen[i]):
            bounds[i, algorithm] = bound_of(wish, _single(job, i), algorithm)
    rows = _rows(wish, job, gpus, sizes, grid, bounds)
    terms = [
        AlgorithmRow(wish.name, gpus[i], algorithm, tuple(_limits(item))) for (i, algorithm), item in bounds.items()
    ]
    return rows, terms


def _limit(item: Bound, parts: tuple[float, float], size: float) -> tuple[str, str]:
    """Return what a row waits for most: latency, its protocol, or the tightest resource."""
    latency, stream = parts
    if latency > stream:
        return "latency", "latency"
    if stream > size / (float(item.gbyte_s) * 1e9) * MARGIN:
        return "protocol", "share or ceiling of the protocol"
    return item.binding.name, item.binding.label


def _as_deepep(wish: Wish, job: Job, algorithm: str, at: int, algbw: float) -> float | None:
    """Return the rate as DeepEP counts it, with tokens to a GPU's own node; None of other operations."""
    if wish.routing is None:
        return None
    return algbw * float(dispatch.counted_copies(job, wish.routing, algorithm)[at])


def _limits(item: Bound) -> Iterator[Limit]:
    for term in item.terms:
        yield Limit(term.name, term.label, term.gbyte_s, term.derivation)


def _rows(
    wish: Wish, job: Job, gpus: tuple[int, ...], sizes: Floats, grid: Grid, bounds: dict[tuple[int, str], Bound]
) -> list[CollectiveRow]:
    time, latency, stream = grid.pick(grid.time), grid.pick(grid.latency), grid.pick(grid.seconds_per_byte) * sizes
    algbw = sizes[None, :] / time / 1e9
    busbw: Any = bus_bandwidth(wish.operation, job.ranks, algbw)
    runs = np.where(np.isfinite(grid.estimate), grid.time, np.inf)
    fastest, least = runs.argmin(axis=0), runs.min(axis=0)
    rows = []
    for i, count in enumerate(gpus):
        for j, size in enumerate(sizes):
            algorithm, protocol = grid.choices[int(grid.chosen[i, j])]
            item = bounds[i, algorithm]
            spare = item.runner_up
            parts = (float(latency[i, j]), float(stream[i, j]))
            rows.append(
                CollectiveRow(
                    wish.name, count, int(job.nodes[i]), int(job.zones[i]), float(size), algorithm, protocol,
                    float(time[i, j]), float(algbw[i, j]), float(busbw[i, j]), *parts,
                    max(0.0, float(time[i, j]) - sum(parts)),
                    *_limit(item, parts, float(size)), spare.name if spare else None,
                    float(spare.gbyte_s) if spare else None,
                    " ".join(filter(None, grid.choices[int(fastest[i, j])])), float(least[i, j]),
                    _as_deepep(wish, job, algorithm, i, float(algbw[i, j])),
                )
            )  # fmt: skip
    return rows
