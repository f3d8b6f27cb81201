"""Speed of collectives: a grid of a million points against a scalar loop over the same formula, in the same run.

The loop takes the same coefficients as plain numbers; it runs over a sample and is scaled up. Printed, not asserted.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ffplan.catalog.library import Library
from ffplan.catalog.store import Catalog
from ffplan.collectives.latency import transfer_time
from ffplan.collectives.rank_layout import RankLayout
from ffplan.collectives.timing import COEFFICIENTS, CollectiveQuery, choices, stack, time_grid
from tests.support import host_named

if TYPE_CHECKING:
    from collections.abc import Callable

SCALES, SIZES, SAMPLE, ROUNDS = 125, 1000, 20_000, 5
AIM = 100


def best(run: Callable[[], object]) -> float:
    """Return the shortest processor time of several runs [s]; other work on the machine moves it little."""
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


def main() -> None:
    """Time the grid, the formula alone, and the loop."""
    library = Catalog().entry("nccl").part
    assert isinstance(library, Library)
    nodes = np.arange(2.0, 2.0 + SCALES)
    job = RankLayout(host=host_named("hgx-h100-8nic"), nodes=nodes, per_node=nodes * 0 + 8)
    sizes = np.geomspace(8, 2.0**34, SIZES)
    query = CollectiveQuery(operation="allreduce", library=library, in_network=True)
    found = choices(query, job)
    points = len(found) * SCALES * SIZES
    at = stack(found, SCALES).columns
    columns = {name: at[name] for name in COEFFICIENTS}
    grid = best(lambda: time_grid(query, job, sizes))
    alone = best(lambda: transfer_time(sizes[None, None, :], **columns))
    flat = [
        np.broadcast_to(column, (len(found), SCALES, SIZES)).ravel()[:: points // SAMPLE] for column in columns.values()
    ]
    size = np.broadcast_to(sizes, (len(found), SCALES, SIZES)).ravel()[:: points // SAMPLE]
    rows = zip(size.tolist(), *[column.tolist() for column in flat], strict=True)
    scalars = [dict(zip(("size", *columns), row, strict=True)) for row in rows]

    def loop() -> None:
        for arguments in scalars:
            transfer_time(**arguments)

    each = best(loop) / len(scalars)
    print(f"{points:,} points: {len(found)} choices x {SCALES} scales x {SIZES} sizes")
    print(f"{'':34} {'points/s':>14} {'times the loop':>15} {'aim':>6}")
    print(f"{'scalar loop over the formula':34} {1 / each:14,.0f} {1:15.0f}x")
    print(f"{'the formula in one call':34} {points / alone:14,.0f} {each * points / alone:15.0f}x {AIM:>5}x")
    print(f"{'whole grid: ledgers, time, choice':34} {points / grid:14,.0f} {each * points / grid:15.0f}x")


if __name__ == "__main__":
    main()
