"""Coverage of lines and branches, by the tests of this process and of those that it starts.

    python -m tests.coverage [--report]

Prints what is missing, and fails where branches or the lines of the formula rooms are below their limits.
"""

from __future__ import annotations

import json
import subprocess
import sys

from tests.mutation.cover import FOLDER, record
from tests.support import ROOT

LEAST = 95.0
"""Least coverage of lines and branches together [%]."""
FORMULA_ROOMS = ("fabric", "node", "collectives", "training", "cost")


def main() -> int:
    """Run the command; return the exit code."""
    if "--report" not in sys.argv:
        record(0, "not wheel")
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "report"], cwd=ROOT, check=True)
    target = FOLDER / "report.json"
    subprocess.run([*coverage, "json", "-q", "-o", str(target)], cwd=ROOT, check=True)
    found = json.loads(target.read_text())
    share = found["totals"]["percent_covered"]
    missed = {
        name: data["missing_lines"]
        for name, data in found["files"].items()
        if name.split("/")[1] in FORMULA_ROOMS and data["missing_lines"]
    }
    print(f"lines and branches: {share:.1f} %, of at least {LEAST:g} %")
    print(f"formula rooms: {sum(map(len, missed.values()))} lines missed: {missed}")
    return 1 if share < LEAST or missed else 0


if __name__ == "__main__":
    sys.exit(main())
