"""Processor time of the commands, as ratios to `python -c pass` in the same run. Printed, not asserted.

Each round runs every command once, in turn, so that a slow moment of the machine falls on all of them; the median
over the rounds counts. Processor time of user and system, of the command and what it starts: other work on the machine
moves it little. Bytecode is written first, as an installed wheel has it; without, every command compiles ffplan
anew, which costs it about four times `python -c pass`.
"""

from __future__ import annotations

import compileall
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT

ROUNDS = 21
COMMAND = str(Path(sys.executable).parent / "ffplan")
CASES: dict[str, tuple[list[str], float | None]] = {
    "python -c pass": ([sys.executable, "-c", "pass"], None),
    "bare imports: typer": ([sys.executable, "-c", "import typer"], None),
    "bare imports: typer, pydantic, yaml": (
        [sys.executable, "-c", "import typer, yaml, pydantic; pydantic.BaseModel"],
        None,
    ),
    "ffplan --version": ([COMMAND, "--version"], 8),
    "ffplan --help": ([COMMAND, "--help"], 16),
    "ffplan check fire-flyer-2": ([COMMAND, "check", "fire-flyer-2"], 18),
    "ffplan design fire-flyer-2": ([COMMAND, "design", "fire-flyer-2"], 22),
    "ffplan compare fire-flyer-2 dgx-a100-10k": ([COMMAND, "compare", "fire-flyer-2", "dgx-a100-10k"], None),
}


def seconds(command: list[str]) -> float:
    """Return the processor time of one run [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, cwd=ROOT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compared(cases: dict[str, list[str]], rounds: int) -> None:
    """Time commands of ffplan in turn, and print each with its ratio to `design`.

    Args:
        cases: arguments by name; `design` is among them.
        rounds: how often each is run.
    """
    command = str(Path(sys.executable).parent / "ffplan")
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, arguments in cases.items():
            taken[name].append(seconds([command, *arguments]))
    base = statistics.median(taken["design"])
    for name, found in taken.items():
        median = statistics.median(found)
        print(f"{name:40} {median * 1e3:6.0f} ms {median / base:6.2f} x design")


def main() -> None:
    """Time every command and print the table."""
    compileall.compile_dir(str(ROOT / "ffplan"), quiet=1)
    for command, _ in CASES.values():
        seconds(command)
    taken: dict[str, list[float]] = {name: [] for name in CASES}
    for number in range(ROUNDS):
        print(f"\rround {number + 1} of {ROUNDS}", end="", file=sys.stderr, flush=True)
        for name, (command, _) in CASES.items():
            taken[name].append(seconds(command))
    print(file=sys.stderr)
    base = statistics.median(taken["python -c pass"])
    print(f"{'command':42} {'median':>8} {'ratio':>7} {'aim':>6}")
    for name, (_, aim) in CASES.items():
        median = statistics.median(taken[name])
        print(f"{name:42} {median * 1e3:6.0f}ms {median / base:6.1f}x {f'{aim:.0f}x' if aim else '':>6}")


if __name__ == "__main__":
    main()
