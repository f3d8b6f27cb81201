"""Rows of a table from a grid of times: the choice, its limiting resource, every term."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.collectives import expert_dispatch
from ffplan.collectives.algorithms import ALGORITHMS
from ffplan.collectives.bottleneck import Line, solve
from ffplan.collectives.hfreduce import hfreduce
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, TimingGrid, bus_bandwidth, time_grid
from ffplan.collectives.volumes import mean_tree_load
from ffplan.node.resources import resources
from ffplan.results.collective import AlgorithmRow, CollectiveRow, Limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Floats, Number
    from ffplan.collectives.bounds import Bound


class QueryError(ValueError):
    """The design cannot run the query."""


MARGIN = 1.01
"""By how much a stream is slower than its resources before its protocol counts as what binds [1]."""


def _at(value: Number, job: RankLayout, at: int) -> float:
    return float(np.broadcast_to(value, np.shape(job.nodes))[at])


def _single(job: RankLayout, at: int) -> RankLayout:
    """Return one of the jobs, with plain numbers."""
    crossed = tuple(replace(cut, sets=_at(cut.sets, job, at), gbyte_s=_at(cut.gbyte_s, job, at)) for cut in job.cuts)
    return RankLayout(
        host=job.host,
        nodes=_at(job.nodes, job, at),
        per_node=_at(job.per_node, job, at),
        zones=_at(job.zones, job, at),
        cuts=crossed,
    )


def ledger_of(wish: CollectiveQuery, job: RankLayout, algorithm: str) -> list[Line]:
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
        ledger = expert_dispatch.node_limited if algorithm == "node-limited" else expert_dispatch.straight
        return ledger(job, wish.routing)
    return ALGORITHMS[algorithm].ledger(wish.operation, job)


def bound_of(wish: CollectiveQuery, job: RankLayout, algorithm: str) -> Bound:
    """Return every term of an algorithm, at the rates of long messages."""
    share = wish.library.link_share.value if wish.library.link_share else 1.0
    return solve(
        resources(job.host, job.cuts, share),
        ledger_of(wish, job, algorithm),
        sustained=True,
        trees=algorithm in ALGORITHMS and ALGORITHMS[algorithm].trees,
    )


def tabulate(
    wish: CollectiveQuery, job: RankLayout, gpus: tuple[int, ...], sizes: Floats
) -> tuple[list[CollectiveRow], list[AlgorithmRow]]:
    """Return a row for each number of GPUs and size, and the terms of every algorithm chosen.

    Args:
        wish: operation, library and forced choices.
        job: the ranks; numbers are arrays over `gpus`.
        gpus: ranks of each job.
        sizes: messages [byte].

    Raises:
        QueryError: where the library has no such operation, algorithm or protocol here.
    """
    grid = time_grid(wish, job, sizes)
    if grid is None or not bool(grid.possible.all()):
        what = " ".join(filter(None, (wish.algorithm, wish.protocol, wish.operation)))
        at = "" if grid is None else f" over {gpus[int(np.argmin(grid.possible))]:,} accelerators"
        forced = ALGORITHMS.get(wish.algorithm or "")
        only = f"; {wish.algorithm} runs on {forced.runs_on}" if at and forced and forced.runs_on else ""
        raise QueryError(f"`{wish.library.id}` has no {what}{at} of `{job.host.id}`{only}")
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
    """Return the limit of a row: latency, its protocol, or the tightest resource."""
    latency, stream = parts
    if latency > stream:
        return "latency", "latency"
    if stream > size / (float(item.gbyte_s) * 1e9) * MARGIN:
        return "protocol", "share or ceiling of the protocol"
    return item.binding.name, item.binding.label


def _as_deepep(wish: CollectiveQuery, job: RankLayout, algorithm: str, at: int, algbw: float) -> float | None:
    """Return the rate as DeepEP counts it, with tokens to a GPU's own node; None of other operations."""
    if wish.routing is None:
        return None
    return algbw * _at(expert_dispatch.counted_copies(job, wish.routing, algorithm), job, at)


def _limits(item: Bound) -> Iterator[Limit]:
    for term in item.terms:
        yield Limit(term.name, term.label, term.gbyte_s, term.derivation)


def _rows(
    wish: CollectiveQuery,
    job: RankLayout,
    gpus: tuple[int, ...],
    sizes: Floats,
    grid: TimingGrid,
    bounds: dict[tuple[int, str], Bound],
) -> list[CollectiveRow]:
    time, latency, stream = grid.pick(grid.time), grid.pick(grid.latency), grid.pick(grid.seconds_per_byte) * sizes
    algbw = sizes[None, :] / time / 1e9
    busbw = bus_bandwidth(wish.operation, job.ranks, algbw)
    runs = np.where(np.isfinite(grid.estimate), grid.time, np.inf)
    fastest, least = runs.argmin(axis=0), runs.min(axis=0)
    rows = []
    for i, count in enumerate(gpus):
        nodes, zones = int(_at(job.nodes, job, i)), int(_at(job.zones, job, i))
        for j, size in enumerate(sizes):
            algorithm, protocol = grid.choices[int(grid.chosen[i, j])]
            item = bounds[i, algorithm]
            spare = item.runner_up
            parts = (float(latency[i, j]), float(stream[i, j]))
            limit = _limit(item, parts, float(size))
            rows.append(
                CollectiveRow(
                    library=wish.name,
                    gpus=count,
                    nodes=nodes,
                    zones=zones,
                    size_bytes=float(size),
                    algorithm=algorithm,
                    protocol=protocol,
                    time_s=float(time[i, j]),
                    algbw_gbyte_s=float(algbw[i, j]),
                    busbw_gbyte_s=float(busbw[i, j]),
                    latency_s=parts[0],
                    stream_s=parts[1],
                    fill_s=max(0.0, float(time[i, j]) - sum(parts)),
                    limited_by=limit[0],
                    limited_by_label=limit[1],
                    runner_up=spare.name if spare else None,
                    runner_up_gbyte_s=float(spare.gbyte_s) if spare else None,
                    fastest=" ".join(filter(None, grid.choices[int(fastest[i, j])])),
                    fastest_time_s=float(least[i, j]),
                    deepep_gbyte_s=_as_deepep(wish, job, algorithm, i, float(algbw[i, j])),
                )
            )
    return rows
