"""Designs a second of `assess_many` and of a loop over `assess`, in processor time. Printed, not asserted."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import ffplan

if TYPE_CHECKING:
    from collections.abc import Callable

DESIGNS = 200_000
SINGLE = 50
ROUNDS = 5
AIM = 100_000


def rate(run: Callable[[], Any], count: int) -> float:
    """Return what is done a second of processor time."""
    start = time.process_time()
    run()
    return count / (time.process_time() - start)


def main() -> None:
    """Time both and print the table."""
    random = np.random.default_rng(0)
    design = ffplan.load("pcie-a100-three-tier")
    counts = random.integers(100, 1200, DESIGNS)
    cases = {
        "counts": {"nodes[0].count": counts},
        "counts, PUE, price, power": {
            "nodes[0].count": counts,
            "site.pue": 1 + random.random(DESIGNS),
            "prices.qm8700": random.random(DESIGNS),
            "qm8700.power": 300 * random.random(DESIGNS),
        },
        "counts, oversubscription": {
            "nodes[0].count": counts,
            "fabric.oversubscription": 1 + 3 * random.random(DESIGNS),
        },
        "counts, NIC efficiency, root port": {
            "nodes[0].count": counts,
            "connectx-6-200g.line_efficiency": 0.8 + 0.2 * random.random(DESIGNS),
            "epyc-7502.root_port.one_way": 30 + 10 * random.random(DESIGNS),
        },
    }
    taken: dict[str, list[float]] = {name: [] for name in ("a loop over assess", *cases)}
    for _ in range(ROUNDS):
        taken["a loop over assess"].append(rate(lambda: [ffplan.assess(design) for _ in range(SINGLE)], SINGLE))
        for name, axes in cases.items():
            taken[name].append(rate(lambda axes=axes: ffplan.assess_many(design, axes), DESIGNS))  # type: ignore[misc]
    print(f"{'assess_many over arrays':36} {'designs a second':>18} {'aim':>10}")
    for name, rates in taken.items():
        aim = "" if name.startswith("a loop") else f"{AIM:,}"
        print(f"{name:36} {statistics.median(rates):18,.0f} {aim:>10}")


if __name__ == "__main__":
    main()
