"""Rows of a table from a grid of times: the choice, its limiting resource, every term."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffplan.collectives.nccl import ALGORITHMS
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import CollectiveQuery, TimingGrid, time_grid
from ffplan.results.collective import AlgorithmRow, CollectiveRow, Limit
from ffplan.studies.collective.row import _bound_of, _choice_name, _collective_row, _Pick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Floats, Number
    from ffplan.collectives.bounds import Bound


class QueryError(ValueError):
    """The design cannot run the query."""


def _at(value: Number, job: RankLayout, index: int) -> float:
    return float(np.broadcast_to(value, np.shape(job.nodes))[index])


def _single(job: RankLayout, index: int) -> RankLayout:
    crossed = tuple(
        replace(cut, sets=_at(cut.sets, job, index), gbyte_s=_at(cut.gbyte_s, job, index)) for cut in job.cuts
    )
    return RankLayout(
        host=job.host,
        nodes=_at(job.nodes, job, index),
        per_node=_at(job.per_node, job, index),
        zones=_at(job.zones, job, index),
        cuts=crossed,
        sent_by=None if job.sent_by is None else _at(job.sent_by, job, index),
    )


def _tabulate(
    query: CollectiveQuery, job: RankLayout, gpus: tuple[int, ...], sizes: Floats
) -> tuple[list[CollectiveRow], list[AlgorithmRow]]:
    grid = time_grid(query, job, sizes)
    if grid is None or not bool(grid.possible.all()):
        what = " ".join(filter(None, (query.algorithm, query.protocol, query.operation)))
        over = "" if grid is None else f" over {gpus[int(np.argmin(grid.possible))]:,} accelerators"
        forced = ALGORITHMS.get(query.algorithm or "")
        only = f"; {query.algorithm} runs on {forced.runs_on}" if over and forced and forced.runs_on else ""
        raise QueryError(f"`{query.library.id}` has no {what}{over} of `{job.host.id}`{only}")
    bounds: dict[tuple[int, str], Bound] = {}
    for i in range(len(gpus)):
        for algorithm in dict.fromkeys(grid.choices[k][0] for k in grid.chosen[i]):
            bounds[i, algorithm] = _bound_of(query, _single(job, i), algorithm)
    rows = _rows(query, job, gpus, sizes, grid, bounds)
    terms = [
        AlgorithmRow(query.name, gpus[i], algorithm, tuple(_limits(bound))) for (i, algorithm), bound in bounds.items()
    ]
    return rows, terms


def _limits(bound: Bound) -> Iterator[Limit]:
    for term in bound.terms:
        yield Limit(term.name, term.label, term.gbyte_s, term.derivation)


def _rows(
    query: CollectiveQuery,
    job: RankLayout,
    gpus: tuple[int, ...],
    sizes: Floats,
    grid: TimingGrid,
    bounds: dict[tuple[int, str], Bound],
) -> list[CollectiveRow]:
    time, latency, stream = grid.pick(grid.time), grid.pick(grid.latency), grid.pick(grid.seconds_per_byte) * sizes
    runs = np.where(np.isfinite(grid.estimate), grid.time, np.inf)
    fastest, least = runs.argmin(axis=0), runs.min(axis=0)
    rows = []
    for i, count in enumerate(gpus):
        ranks = _single(job, i)
        for j, size in enumerate(sizes):
            algorithm, protocol = grid.choices[int(grid.chosen[i, j])]
            pick = _Pick(
                size=float(size),
                algorithm=algorithm,
                protocol=protocol,
                time=float(time[i, j]),
                latency=float(latency[i, j]),
                stream=float(stream[i, j]),
                fastest=_choice_name(*grid.choices[int(fastest[i, j])]),
                fastest_time=float(least[i, j]),
            )
            rows.append(_collective_row(query, ranks, count, pick, bounds[i, algorithm]))
    return rows
