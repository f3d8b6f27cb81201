"""Give ffplan inputs made by chance, and see that it never crashes, hangs or fills the memory.

    python -m tests.fuzz --count 100000 --commands 5000 --seed 1 --jobs 2

An execution is one input to one reader, or one command line. It ends with an exit code: 0 fine, 1 findings, 2 refused.
Whatever else happens is a fault, whose seed and files are kept: exit 70, a warning, more than 5 s, more than 1 GB.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

LONGEST = 5.0
"""Most processor time of an execution [s]."""
LARGEST = 1000
"""Most memory of a process that runs them [MB]."""
CHUNK = 2000
"""Executions of a reader that one process does before the next."""


class Hang(BaseException):
    """An execution took too long."""


@dataclass
class Tally:
    """What became of some executions."""

    codes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    memory: float = 0.0

    def add(self, other: Tally) -> None:
        """Take in another tally."""
        self.codes += other.codes
        self.faults += other.faults
        self.slowest, self.memory = max(self.slowest, other.slowest), max(self.memory, other.memory)


def _stop(*_: object) -> None:
    raise Hang


def command(words: list[str]) -> int:
    """Run a command line in this process; return its exit code."""
    from ffplan.cli import app

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["ffplan", *words]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = app.run()
    finally:
        sys.argv = before
    if code not in (0, 1, 2):
        raise AssertionError(f"exit {code}: {err.getvalue()[:300]}")
    if code == 2 and not (out.getvalue() + err.getvalue()).strip():
        raise AssertionError("exit 2 in silence")
    return code


def execute(kind: str, seed: str, folder: Path) -> tuple[int, str]:
    """Run one execution; return its exit code, and the command line if it was one."""
    chance = Random(f"{kind} {seed}")
    if kind != "command":
        from tests.fuzz.readers import execute as read

        return read(kind, chance), ""
    from tests.fuzz.commands import line

    words = line(chance, folder)
    return command(words), " ".join(words)


def chunk(task: tuple[str, int, range, str]) -> Tally:
    """Run executions of one kind in this process; return what became of them."""
    kind, seed, numbers, keep = task
    os.environ["FFPLAN_DEBUG"] = "1"
    warnings.simplefilter("error")
    signal.signal(signal.SIGPROF, _stop)
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="ffplan-fuzz-") as scratch:
        for number in numbers:
            name, start = f"{kind} {seed}-{number}", time.process_time()
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            words = ""
            try:
                code, words = execute(kind, f"{seed}-{number}", Path(scratch))
                tally.codes[f"{kind} {code}"] += 1
            except Hang:
                tally.faults.append(f"{name}: longer than {LONGEST:g} s\n{traceback.format_exc()[-1500:]}")
            except BaseException:
                tally.faults.append(f"{name}\n{traceback.format_exc()[-3000:]}")
            signal.setitimer(signal.ITIMER_PROF, 0)
            took = time.process_time() - start
            tally.slowest = max(tally.slowest, (took, f"{name} {words}"))
            before, tally.memory = tally.memory, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
            if tally.memory > LARGEST > before:
                tally.faults.append(f"{name}: {tally.memory:.0f} MB {words}")
            if keep and tally.faults and tally.faults[-1].startswith(name):
                shutil.copytree(scratch, Path(keep) / name.replace(" ", "-"), dirs_exist_ok=True)
    return tally


def tasks(count: int, commands: int, seed: int, keep: str) -> list[tuple[str, int, range, str]]:
    """Return the work in chunks: `count` inputs shared by the readers, then the command lines."""
    from tests.fuzz.readers import READERS

    each = -(-count // len(READERS))
    found = [
        (kind, seed, range(start, min(start + CHUNK, each)), keep)
        for kind in READERS
        for start in range(0, each, CHUNK)
    ]
    lines = CHUNK // 20
    return found + [
        ("command", seed, range(start, min(start + lines, commands)), keep) for start in range(0, commands, lines)
    ]


def main() -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="inputs to readers")
    parser.add_argument("--commands", type=int, default=5_000, help="command lines")
    parser.add_argument("--seed", type=int, default=1, help="seed of everything")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--keep", default="", help="folder for the files of faults")
    given = parser.parse_args()
    whole, start = Tally(), time.monotonic()
    work: list[Any] = tasks(given.count, given.commands, given.seed, given.keep)
    with get_context("spawn").Pool(given.jobs, maxtasksperchild=8) as pool:
        for done, tally in enumerate(pool.imap_unordered(chunk, work), start=1):
            whole.add(tally)
            for fault in tally.faults:
                print(fault, flush=True)
            print(f"\r{done}/{len(work)} chunks, {len(whole.faults)} faults", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for kind in sorted({name.split()[0] for name in whole.codes}):
        print(f"{kind}: " + ", ".join(f"{whole.codes[f'{kind} {code}']:,} with exit {code}" for code in (0, 1, 2)))
    print(f"slowest: {whole.slowest[0]:.2f} s, {whole.slowest[1][:200]}")
    print(f"{sum(whole.codes.values()) + len(whole.faults):,} executions, {len(whole.faults)} faults, ", end="")
    print(f"{whole.memory:.0f} MB at most, {time.monotonic() - start:.0f} s, seed {given.seed}")
    return 1 if whole.faults else 0
