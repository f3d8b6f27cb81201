"""One time of a collective as a row of the report: what is chosen, what it waits for, what would be faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.collectives import expert_dispatch
from ffplan.collectives.bottleneck import Line, solve
from ffplan.collectives.hfreduce import hfreduce
from ffplan.collectives.nccl import ALGORITHMS
from ffplan.collectives.timing import CollectiveQuery, chosen, dispatch_ledger, fastest, time_choices
from ffplan.collectives.volumes import bus_factor
from ffplan.node.resources import resources
from ffplan.results.collective import CollectiveRow

if TYPE_CHECKING:
    from ffplan.collectives.bounds import Bound
    from ffplan.collectives.rank_layout import RankLayout

_MARGIN = 1.01
"""By how much a stream is slower than its resources before its protocol counts as what binds [1]."""


@record
class _Pick:
    size: float
    """Message [byte]."""
    algorithm: str
    protocol: str
    time: float
    """Time [s]."""
    latency: float
    """Part that does not grow with the message [s]."""
    stream: float
    """Part that the tightest resource takes [s]."""
    fastest: str
    """Algorithm and protocol that would take least."""
    fastest_time: float
    """Its time [s]."""


def _choice_name(algorithm: str, protocol: str) -> str:
    return " ".join(filter(None, (algorithm, protocol)))


def _ledger_of(query: CollectiveQuery, job: RankLayout, algorithm: str) -> list[Line]:
    if algorithm == "hfreduce":
        return hfreduce(job, nvlink=query.nvlink, memcpy_async=query.memcpy_async, operation=query.operation)[0]
    if algorithm in ("node-limited", "straight"):
        return dispatch_ledger(query, job, algorithm)
    return ALGORITHMS[algorithm].ledger(query.operation, job)


def _bound_of(query: CollectiveQuery, job: RankLayout, algorithm: str) -> Bound:
    share = query.library.link_share.value if query.library.link_share else 1.0
    return solve(
        resources(job.host, job.cuts, share),
        _ledger_of(query, job, algorithm),
        sustained=True,
        trees=algorithm in ALGORITHMS and ALGORITHMS[algorithm].trees,
    )


def _limit(bound: Bound, pick: _Pick) -> tuple[str, str]:
    if pick.latency > pick.stream:
        return "latency", "latency"
    if pick.stream > pick.size / (float(bound.gbyte_s) * 1e9) * _MARGIN:
        return "protocol", "share or ceiling of the protocol"
    return bound.binding.name, bound.binding.label


def _as_deepep(query: CollectiveQuery, job: RankLayout, algorithm: str, algbw: float) -> float | None:
    """Return the rate as DeepEP counts it, with tokens to a GPU's own node; None of other operations."""
    if query.routing is None:
        return None
    return float(algbw * expert_dispatch.counted_copies(job, query.routing, algorithm))


def _collective_row(query: CollectiveQuery, job: RankLayout, gpus: int, pick: _Pick, bound: Bound) -> CollectiveRow:
    algbw = pick.size / pick.time / 1e9
    name, label = _limit(bound, pick)
    spare = bound.runner_up
    return CollectiveRow(
        library=query.name,
        gpus=gpus,
        nodes=int(job.nodes),
        zones=int(job.zones),
        size_bytes=pick.size,
        algorithm=pick.algorithm,
        protocol=pick.protocol,
        time_s=pick.time,
        algbw_gbyte_s=algbw,
        busbw_gbyte_s=float(algbw * bus_factor(query.operation, job.ranks)),
        latency_s=pick.latency,
        stream_s=pick.stream,
        fill_s=max(0.0, pick.time - pick.latency - pick.stream),
        limited_by=name,
        limited_by_label=label,
        runner_up=spare.name if spare else None,
        runner_up_gbyte_s=float(spare.gbyte_s) if spare else None,
        fastest=pick.fastest,
        fastest_time_s=pick.fastest_time,
        deepep_gbyte_s=_as_deepep(query, job, pick.algorithm, algbw),
    )


def _timed_row(query: CollectiveQuery, job: RankLayout, gpus: int, size: float) -> CollectiveRow | None:
    """Return the row of one message on one job; None if the library cannot run there."""
    times = time_choices(query, job, size)
    if not times:
        return None
    choice, best = chosen(times), fastest(times)
    pick = _Pick(
        size=size,
        algorithm=choice.algorithm,
        protocol=choice.protocol,
        time=choice.time,
        latency=choice.latency,
        stream=choice.stream,
        fastest=_choice_name(best.algorithm, best.protocol),
        fastest_time=best.time,
    )
    return _collective_row(query, job, gpus, pick, _bound_of(query, job, choice.algorithm))
