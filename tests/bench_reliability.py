"""Speed of goodput and of simulations. Printed, not asserted."""

from __future__ import annotations

import time

import numpy as np

from ffplan.reliability.checkpoint import goodput, optimum
from tests.bench import compared

ROUNDS = 3
MODEL = ["-m", "llama3-70b"]
CASES = {
    "design": ["design", "superpod-h100-4su"],
    "goodput": ["goodput", "superpod-h100-4su", *MODEL],
    "storage": ["storage", "superpod-h100-4su"],
    "acceptance": ["acceptance", "superpod-h100-4su"],
    "a year of 10,000 nodes": ["goodput", "site-h100-100k", *MODEL, "-g", "80000", "--simulate", "--runs", "1"],
    "half a day of 10,000 accelerators' jobs": ["utilization", "fire-flyer-2", "--days", "0.5", "--runs", "1"],
    "utilization": ["utilization", "fire-flyer-2"],
}
POINTS = (100, 50, 20)


def main() -> None:
    """Time every command in turn, and the formulas over a grid."""
    compared(CASES, ROUNDS)
    rates = np.geomspace(600, 1e7, POINTS[0])[:, None, None]
    intervals = np.geomspace(10, 36_000, POINTS[1])[None, :, None]
    restarts = np.geomspace(10, 3_600, POINTS[2])[None, None, :]
    start = time.perf_counter()
    goodput(np.maximum(intervals, optimum(1.0, rates)), 1.0, rates, restarts)
    print(f"{np.prod(POINTS):,} points of goodput {1e3 * (time.perf_counter() - start):.1f} ms")


if __name__ == "__main__":
    main()
