"""A day or a week of load on a fleet: nodes hour by hour, what lies idle, and what the same hours cost on rent."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.cost.power import HOURS_PER_YEAR
from ffplan.cost.rent import MONTHS
from ffplan.results.cost import benchmark
from ffplan.results.fleet import DayRent, FleetDay, FleetHour, FreeNodes
from ffplan.studies.fleet.recommend import _nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ffplan.results.cost import CostStudy
    from ffplan.studies.fleet.recommend import _SizedFleet

_HOURLY = "on-demand"


@record
class _FreeBlock:
    nodes: int
    start: int
    """First hour, from the first of the file [h]."""
    hours: int


def _free_block(free: Sequence[int]) -> _FreeBlock | None:
    """Return the block with most node-hours that are free in a row, around the end of the file; None without any.

    Equation:
        over starts s and lengths n <= hours: the largest n min(free[s], ..., free[s + n - 1]); of equals the longest

    Source:
        Definition: a job of fixed size holds its nodes from its first hour to its last.
    """
    least = around = np.array(free, dtype=np.int64)
    best = (0, 0, 0)
    for length in range(1, len(free) + 1):
        start = int(np.argmax(least))
        best = max(best, (int(least[start]) * length, length, -start))
        least = np.minimum(least, np.roll(around, -length))
    area, length, start = best
    return _FreeBlock(area // length, -start, length) if area else None


def _reserved_nodes(nodes: Sequence[int], committed: float, hourly: float) -> int:
    """Return the nodes to rent for a term if the rest is rented by the hour.

    Equation:
        the nodes k = 1, 2, ... for which hourly * (hours that need k or more) > committed * hours

    Source:
        Definition: each node is rented the cheaper way, and the hours that need node k fall with k.
    """
    levels = np.arange(1, max(nodes, default=0) + 1)
    used = (np.array(nodes)[None, :] >= levels[:, None]).sum(axis=1)
    return int((hourly * used > committed * len(nodes)).sum())


def _day_of(fleet: _SizedFleet, hours: tuple[float, ...]) -> FleetDay | None:
    if not hours:
        return None
    most, bought = max(hours), int(fleet.built.assessment.nodes["compute"])
    per_node = fleet.built.assessment.accelerators // bought
    rates = [fleet.peak * requests / most for requests in hours]
    copies = [max(ceil(rate / fleet.rate - 1e-9), 1) for rate in rates]
    nodes = [_nodes(count, fleet.setup.gpus, per_node) for count in copies]
    block = _free_block([bought - fleet.spares - count for count in nodes])
    return FleetDay(
        hours=tuple(
            FleetHour(hour=hour, rate_s=rate, copies=count, nodes=taken)
            for hour, (rate, count, taken) in enumerate(zip(rates, copies, nodes, strict=True))
        ),
        used_share=sum(nodes) / (bought * len(nodes)),
        free=FreeNodes(nodes=block.nodes, from_hour=block.start, hours=block.hours) if block else None,
        rents=_rents(fleet.built.study, nodes, per_node),
    )


def _rents(study: CostStudy, nodes: list[int], per_node: int) -> tuple[DayRent, ...]:
    """Return the rent of the nodes: for a term, by the hour, and each the cheaper way; the cheapest first."""
    assert study.tco is not None, "the builder takes parts with prices"
    hourly = next((row for row in study.tco.rents if row.term == _HOURLY and not row.index), None)
    committed = benchmark(study.tco.rents)
    by_hour = hourly.price if hourly is not None else 0.0
    # an hour of a term in use carries those without: what is paid for every hour, with its upfront part
    by_term = committed.hour * study.tco.utilisation if committed is not None else 0.0
    most, ways = max(nodes), dict[int, str]()
    if hourly is not None and committed is not None:
        ways[_reserved_nodes(nodes, by_term, by_hour)] = "mixed"
    if hourly is not None:
        ways[0] = "on-demand"
    if committed is not None:
        ways[most] = "reserved"
    rents = [
        DayRent(
            way=way,
            reserved_nodes=kept,
            reserved_offer=committed.offer if committed is not None and kept else None,
            hourly_offer=hourly.offer if hourly is not None and kept < most else None,
            month=per_node * HOURS_PER_YEAR / MONTHS * (by_term * kept + by_hour * _hourly_nodes(nodes, kept)),
        )
        for kept, way in ways.items()
    ]
    return tuple(sorted(rents, key=lambda rent: rent.month))


def _hourly_nodes(nodes: list[int], kept: int) -> float:
    """Return the nodes beyond those kept, on average over the hours [1]."""
    return sum(max(count - kept, 0) for count in nodes) / len(nodes)
