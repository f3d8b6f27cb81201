"""Which tests run which lines, and for how long: from one run of the suite under coverage.py."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from xml.etree import ElementTree as ET

from coverage import CoverageData

from tests.support import ROOT

FOLDER = ROOT / ".coverage"
_ID = re.compile(r"(tests/\S+?\.py)::(\w+)(\[.*\])?")
_PLAIN = re.compile(r"\[[\w.,:=+/ -]*\]")
"""Parameters that can be named on a command line as they are."""
NEW = 1.0
"""Time of a test that was not there when the lines were recorded [s]."""


def _name(path: str, test: str, parameters: str) -> str:
    """Return how pytest is asked for a test, with its parameters where they are plain."""
    return f"{path}::{test}{parameters if _PLAIN.fullmatch(parameters) else ''}"


def record(jobs: int, tests: str = "not integration") -> None:
    """Run tests once, and note the lines and the time of each.

    Args:
        jobs: processes; 0 is this one alone.
        tests: expression of pytest's marks; those that need no other program if omitted.
    """
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("data*"):
        old.unlink()
    coverage = [sys.executable, "-m", "coverage"]
    command = [
        "run",
        "-m",
        "pytest",
        "-q",
        "-m",
        tests,
        "-n",
        str(jobs),
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.mutation.plugin",
    ]
    processes = {**os.environ, "FFPLAN_DEEP": "1", "COVERAGE_PROCESS_START": str(ROOT / "pyproject.toml")}
    subprocess.run([*coverage, *command, f"--junitxml={FOLDER / 'times.xml'}"], cwd=ROOT, check=False, env=processes)
    for part in FOLDER.glob("data.*"):
        if part.stat().st_size < 1000:  # of a process that a test stopped
            part.unlink()
    subprocess.run([*coverage, "combine", "-q"], cwd=ROOT, check=True)


class Cover:
    """Tests by line; a test is a function with its parameters, as `tests/x/test_y.py::test_z[a]`."""

    def __init__(self, there: set[str]) -> None:
        """Read what was recorded.

        Args:
            there: tests that there are now, as pytest lists them; others are no longer asked for.
        """
        self._there = there | {test.partition("[")[0] for test in there}
        self.seconds: dict[str, float] = defaultdict(float)
        for case in ET.parse(FOLDER / "times.xml").iter("testcase"):
            path = case.get("classname", "").replace(".", "/") + ".py"
            test, bracket, parameters = case.get("name", "").partition("[")
            self.seconds[_name(path, test, bracket + parameters)] += float(case.get("time", 0))
        named = {_name(found[1], found[2], found[3] or "") for test in there if (found := _ID.fullmatch(test))}
        self._new = named - set(self.seconds)
        self.seconds |= dict.fromkeys(self._new, NEW)
        self._lines: dict[str, dict[int, set[str]]] = {}
        self._data = CoverageData(str(FOLDER / "data"))
        self._data.read()

    def _test(self, context: str) -> str | None:
        """Return the test of a context: its name, or that of the test that started a process."""
        found = _ID.search(context)
        return _name(found[1], found[2], found[3] or "") if found else None

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
        """Return the tests of a line: those of its own room first, then what compares whole outputs, then the others,
        the fastest first. A line that runs at import has the tests of its whole file, and of its room: which test was
        the first to import it says nothing. Tests that are newer than what was recorded count as tests of every line
        of their room."""
        by_line, constant = self.lines(file), line not in inside_functions(file)
        room = file.split("/")[1]
        found = set[str]().union(*by_line.values()) if constant else by_line.get(line, set())

        def own(test: str) -> bool:
            return test.startswith(f"tests/unit/{room}/") or f"test_numbers.py::test_numbers[{room}/" in test

        def turn(test: str) -> int:
            if own(test):
                return 0
            return int(not constant) if test.startswith("tests/golden/") else 2

        found = found.union(filter(own, self.seconds if constant else self._new))
        known = (test for test in found if test in self.seconds and test in self._there)
        return sorted(known, key=lambda test: (turn(test), self.seconds[test], test))


@cache
def inside_functions(file: str) -> frozenset[int]:
    """Return the lines of a file in bodies of functions: they run when one is called."""
    bodies = (
        body
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.FunctionDef)
        for body in node.body
    )
    return frozenset(at for body in bodies for at in range(body.lineno, (body.end_lineno or body.lineno) + 1))
