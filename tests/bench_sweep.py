"""Points a second of `ffplan sweep`, in processor time, its memory, and what more cores and Dask cost. Printed only."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ffplan.studies.sweep import Sweep, SweepQuery
from ffplan.studies.sweep_axes import Points, axis
from ffplan.studies.sweep_run import SweepJob, here
from tests.support import ROOT

DESIGN = "pcie-a100-three-tier"
NUMBERS = ("nodes[0].count=100..1199", "site.pue=1.1..1.5#200")
MIXED = ("nodes[0].count=100..1199", "fabric.core_policy=minimal,equal-stripe", "site.pue=1.1..1.5#50")
LONG = ("nodes[0].count=100..1099", "site.pue=1.1..1.5#4000")
LARGE = ("nodes[0].count=100..1099", "site.pue=1.1..1.5#10000")


def taken(*vary: str) -> tuple[float, int]:
    """Return the processor time of a sweep [s], and its points [1]."""
    text = (ROOT / "designs" / f"{DESIGN}.yaml").read_text(encoding="utf-8")
    points = Points(tuple(axis(item) for item in vary))
    query = SweepQuery(text=text, file=DESIGN, overlays=(), points=points, metrics=())
    sweep = Sweep(query)
    start = time.process_time()
    for _ in here(SweepJob(query, query.key, None, {}), sweep, 0):
        pass
    return time.process_time() - start, points.count


def elapsed(*arguments: str) -> float:
    """Return the time of a sweep in a process of its own [s]."""
    with tempfile.TemporaryDirectory() as scratch:
        vary = [word for item in LONG for word in ("--vary", item)]
        words = ["sweep", DESIGN, *vary, "--points", str(Path(scratch) / "p.csv"), *arguments]
        start = time.monotonic()
        subprocess.run([sys.executable, "-m", "ffplan", *words], check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - start


def main() -> None:
    """Time all and print the table."""
    for name, vary, aim in (("numbers", NUMBERS, 100_000), ("numbers and choices", MIXED, 20_000)):
        seconds, count = taken(*vary)
        print(f"{name:34} {count / seconds:12,.0f} points a second, aim {aim:,}")
    small, few = taken("nodes[0].count=100..1099")
    large, many = taken(*LARGE)
    print(f"{'a point of 10,000,000 over one of 1,000':34} {large / many / (small / few):12.2f}")
    print(f"{'memory after it':34} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:12.2f} GiB, aim 1")
    one = elapsed("-j", "1")
    print(f"{'two cores over one':34} {one / elapsed('-j', '2'):12.2f} times as fast, aim 1.7")
    print(f"{'Dask on this machine over one core':34} {elapsed('--cluster', 'local', '-j', '1') / one:12.2f}, aim 1.3")


if __name__ == "__main__":
    main()
