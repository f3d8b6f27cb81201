"""Freed memory that is kept: no page is cleared twice."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

CODE = """
import resource, sys
import numpy as np
from ffplan.base.heap import keep_freed_memory

kept = keep_freed_memory() if sys.argv[1] == "kept" else False
def work():
    for _ in range(200):
        first = np.ones(20_000)
        other = first * 2.0 + 1.0
        del first, other
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
work()
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> tuple[str, int]:
    run = subprocess.run([sys.executable, "-c", CODE, how], check=True, capture_output=True, text=True)
    kept, count = run.stdout.split()
    return kept, int(count)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries are left as they are")
def test_arrays_take_the_pages_of_those_before() -> None:
    """Arrays of 160 kB, 400 of them: 40 pages each without, next to none with."""
    kept, few = faults("kept")
    _, many = faults("as it is")
    assert (kept, few < 100) == ("True", True)
    assert many > 10 * max(few, 10)
