"""Points a second of `ffplan sweep`, in processor time, its memory, and what more cores and Dask cost. Printed only."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ffplan.studies.choose.sweep import SweepQuery
from ffplan.studies.choose.sweep_axes import Points, axis
from ffplan.studies.choose.sweep_run import SweepJob, here
from tests.support import ROOT

DESIGN = "pcie-a100-three-tier"
NUMBERS = ("nodes[0].count=100..1199", "site.pue=1.1..1.5#200")
MIXED = ("nodes[0].count=100..1199", "fabric.core_policy=minimal,equal-stripe", "site.pue=1.1..1.5#50")
LONG = ("nodes[0].count=100..1099", "site.pue=1.1..1.5#8000")
SIZES = (1, 10, 100, 1_000, 10_000)
"""Values of PUE beside 1,000 counts: points from a thousand to ten million [1]."""
RUNS = 3
"""Runs of each way to work, in turn: the fastest counts, since other programs only slow one down [1]."""


def taken(*vary: str, runs: int = 1) -> tuple[float, int]:
    """Return the least processor time of a sweep over some runs [s], and its points [1]."""
    text = (ROOT / "designs" / f"{DESIGN}.yaml").read_text(encoding="utf-8")
    points = Points(tuple(axis(item) for item in vary))
    query = SweepQuery(text=text, file=DESIGN, overlays=(), points=points, metrics=())
    sweep, found = query.sweep(), []
    for _ in range(runs):
        start = time.process_time()
        for _ in here(SweepJob(query, query.key, None, {}), sweep, 0):
            pass
        found.append(time.process_time() - start)
    return min(found), points.count


def elapsed(*arguments: str) -> tuple[float, float]:
    """Return the time of a sweep in a process of its own, and the processor time of all its processes [s]."""
    with tempfile.TemporaryDirectory() as scratch:
        vary = [word for item in LONG for word in ("--vary", item)]
        words = ["sweep", DESIGN, *vary, "--points", str(Path(scratch) / "p.csv"), *arguments]
        before, start = os.times(), time.monotonic()
        subprocess.run([sys.executable, "-m", "ffplan", *words], check=True, stdout=subprocess.DEVNULL)
        wall, after = time.monotonic() - start, os.times()
        used = after.children_user - before.children_user + after.children_system - before.children_system
        return wall, used


def cost_of_a_point() -> None:
    """Print the cost of a point from a thousand to ten million, without what a sweep of one point costs.

    That is taken off once, whatever the size: each further chunk counts in full.
    """
    taken("nodes[0].count=100..100")  # imports and tables
    once, _ = taken("nodes[0].count=100..100", runs=20)
    each = []
    for values in SIZES:
        pue = f"site.pue=1.1..1.5#{values}" if values > 1 else "site.pue=1.1"
        seconds, count = taken("nodes[0].count=100..1099", pue, runs=max(1, 200 // values))
        each.append((seconds - once) / count * 1e6)
        name = f"a point of {count:,}"
        print(f"{name:34} {each[-1]:12.2f} us, and {once * 1e3:.1f} ms once; {seconds / count * 1e6:.2f} us with them")
    middle = (max(each) + min(each)) / 2
    print(f"{'farthest from the middle':34} {100 * (max(each) / middle - 1):11.0f} %, aim 30 %")


def cores() -> None:
    """Print what a second core and Dask bring, by the clock and by processor time."""
    ways = {"one": ("-j", "1"), "two": ("-j", "2"), "dask": ("--cluster", "local", "-j", "1")}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(RUNS):
        for name, words in ways.items():
            found[name].append(elapsed(*words))
    wall = {name: min(run[0] for run in runs) for name, runs in found.items()}
    used = {name: min(run[1] for run in runs) for name, runs in found.items()}
    idle = 2 * used["one"] / used["two"]
    print(f"{'two cores over one':34} {wall['one'] / wall['two']:12.2f} times as fast, aim 1.7")
    print(f"{'what its processor time allows':34} {idle:12.2f} times as fast on two idle cores")
    print(f"{'Dask on this machine over one core':34} {wall['dask'] / wall['one']:12.2f}, aim 1.3")
    print(f"{'the same in processor time':34} {used['dask'] / used['one']:12.2f}")


def main() -> None:
    """Time all and print the table."""
    for name, vary, aim in (("numbers", NUMBERS, 100_000), ("numbers and choices", MIXED, 20_000)):
        seconds, count = taken(*vary)
        print(f"{name:34} {count / seconds:12,.0f} points a second, aim {aim:,}")
    cost_of_a_point()
    print(f"{'memory after it':34} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:12.2f} GiB, aim 1")
    cores()


if __name__ == "__main__":
    main()
