"""Change the code in many small ways and see whether a test notices.

    python -m tests.mutation --sample 250 --seed 1 --jobs 2

A place of the code is drawn by chance, then a change of it. Each mutant meets the tests that run its line, those of its
room and of whole outputs first, until one fails. The share of mutants that some test notices is printed for each room,
the survivors as diffs.
The first run records which test runs which line; `--record` does so anew.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from tests.mutation.cover import FOLDER, Cover, record
from tests.mutation.spots import ROOMS, Mutant, sample, text_of
from tests.support import ROOT

STARTED = 20.0
"""Time for starting pytest [s]."""
PATIENCE = 4.0
"""A mutant that takes so many times the time of its tests hangs."""


def copies(count: int, folder: Path) -> Queue[Path]:
    """Return copies of the project for mutants to live in."""
    found: Queue[Path] = Queue()
    for number in range(count):
        target = folder / f"copy{number}"
        shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".git", ".venv", ".coverage", "dist", ".*_cache"))
        found.put(target)
    return found


def collected() -> set[str]:
    """Return the tests that there are, with their parameters."""
    asked = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {line for line in found.splitlines() if "::" in line}


def verdict(mutant: Mutant, cover: Cover, free: Queue[Path], most: float) -> tuple[str, str]:
    """Return what became of a mutant, `killed`, `survived` or `not run`, and the test that noticed it."""
    tests: list[str] = []
    seconds = 0.0
    for test in cover.tests(mutant.file, mutant.line):
        if not tests or seconds + cover.seconds[test] <= most:
            tests.append(test)
            seconds += cover.seconds[test]
    if not tests:
        return "not run", ""
    folder = free.get()
    target = folder / mutant.file
    before, stamp = target.read_text(), target.stat().st_mtime
    try:
        target.write_text(mutant.apply())
        os.utime(target, (stamp + 100, stamp + 100))  # so that no compiled module stands for it
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", *tests],
            cwd=folder,
            env={**os.environ, "FFPLAN_DEEP": "1", "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=STARTED + PATIENCE * seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "killed", "it hangs"
    finally:
        target.write_text(before)
        os.utime(target, (stamp, stamp))
        free.put(folder)
    if done.returncode == 0:
        return "survived", ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "killed", failed[0][:150] if failed else done.stdout[-150:] + done.stderr[-150:]


def diff(mutant: Mutant) -> str:
    """Return the change as a diff without context."""
    before, after = text_of(mutant.file).splitlines(), mutant.apply().splitlines()
    lines = difflib.unified_diff(before, after, n=0, lineterm="")
    return "\n".join(line for line in lines if line[:2] not in ("--", "++", "@@"))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=250, help="mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument("--most", type=float, default=120.0, help="most seconds of tests for a mutant")
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(ROOMS), help="rooms to change")
    parser.add_argument("--record", action="store_true", help="note anew which test runs which line")
    given = parser.parse_args()
    if given.record or not (FOLDER / "times.xml").exists():
        record(given.jobs)
    cover, mutants, start = Cover(collected()), sample(given.rooms, given.sample, given.seed), time.monotonic()
    found: dict[str, list[tuple[Mutant, str, str]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(given.jobs) as pool:
        free = copies(given.jobs, Path(scratch))
        for number, (mutant, (result, by)) in enumerate(
            zip(mutants, pool.map(lambda item: verdict(item, cover, free, given.most), mutants), strict=True), start=1
        ):
            found[mutant.room].append((mutant, result, by))
            shown = by if result == "killed" else "\n" + diff(mutant)
            print(f"{number}/{len(mutants)} {result}: {mutant.file}:{mutant.line} {shown}", file=sys.stderr, flush=True)
    for mutant, result, _ in (item for room in found.values() for item in room if item[1] != "killed"):
        print(f"{mutant.file}:{mutant.line} {result}\n{diff(mutant)}\n")
    killed = {room: sum(result == "killed" for _, result, _ in items) for room, items in found.items()}
    for room, items in found.items():
        print(f"{room}: {killed[room]} of {len(items)} killed, {killed[room] / len(items):.1%}")
    total, share = sum(map(len, found.values())), sum(killed.values()) / len(mutants)
    print(f"all: {sum(killed.values())} of {total} killed, {share:.1%}; seed {given.seed}, ", end="")
    print(f"{time.monotonic() - start:.0f} s on {given.jobs} processes")
    rows = [{**vars(mutant), "result": result, "by": by} for items in found.values() for mutant, result, by in items]
    (FOLDER / "mutants.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
