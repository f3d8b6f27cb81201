"""Which tests run which lines, and for how long: from one run of the suite under coverage.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from xml.etree import ElementTree as ET

from coverage import CoverageData

from tests.support import ROOT

FOLDER = ROOT / ".coverage"
_ID = re.compile(r"(tests/\S+\.py)::(\w+)")


def record() -> None:
    """Run the suite once, and note the lines and the time of each test."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("data*"):
        old.unlink()
    coverage = [sys.executable, "-m", "coverage"]
    tests = [
        "run",
        "-m",
        "pytest",
        "-q",
        "-m",
        "not wheel",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.mutation.plugin",
    ]
    processes = {**os.environ, "COVERAGE_PROCESS_START": str(ROOT / "pyproject.toml")}
    subprocess.run([*coverage, *tests, f"--junitxml={FOLDER / 'times.xml'}"], cwd=ROOT, check=False, env=processes)
    for part in FOLDER.glob("data.*"):
        if part.stat().st_size < 1000:  # of a process that a test stopped
            part.unlink()
    subprocess.run([*coverage, "combine", "-q"], cwd=ROOT, check=True)


class Cover:
    """Tests by line; a test is a function with all its parameters, as `tests/x/test_y.py::test_z`."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        for case in ET.parse(FOLDER / "times.xml").iter("testcase"):
            path = case.get("classname", "").replace(".", "/") + ".py"
            self.seconds[f"{path}::{case.get('name', '').partition('[')[0]}"] += float(case.get("time", 0))
        self._lines: dict[str, dict[int, set[str]]] = {}
        self._data = CoverageData(str(FOLDER / "data"))
        self._data.read()

    def _test(self, context: str) -> str | None:
        """Return the test of a context: its name, or that of the test that started a process."""
        found = _ID.search(context)
        return f"{found[1]}::{found[2]}" if found else None

    def lines(self, file: str) -> dict[int, set[str]]:
        """Return the tests of each line of a file."""
        if file not in self._lines:
            known = self._data.contexts_by_lineno(str(ROOT / file))
            self._lines[file] = {
                line: {test for context in contexts if (test := self._test(context))}
                for line, contexts in known.items()
            }
        return self._lines[file]

    def tests(self, file: str, line: int) -> list[str]:
        """Return the tests of a line: those of its own room first, then the fastest; of the whole file, where the line
        runs at import alone."""
        by_line = self.lines(file)
        found = by_line.get(line, set())
        if not found and line in by_line:
            found = set().union(*by_line.values())
        own = f"tests/unit/{file.split('/')[1]}/"
        known = (test for test in found if test in self.seconds)
        return sorted(known, key=lambda test: (not test.startswith(own), self.seconds[test], test))
