"""A signal whose exception is dropped is told again."""

from __future__ import annotations

import subprocess
import sys

import pytest

DROPPED = """
import os, signal, sys, time
from ffplan.base import interrupts
interrupts.AGAIN = 0.2
interrupts.listen()
sys.unraisablehook = lambda _: None

class Busy:
    def __del__(self):
        os.kill(os.getpid(), signal.{0})
        for _ in range(1000): pass

Busy()
try:
    time.sleep(20)
except BaseException as error:
    interrupts.heard()
    time.sleep(0.5)  # nothing more comes
    print(type(error).__name__)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no timer that interrupts")
@pytest.mark.parametrize(("sent", "raised"), [("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "SystemExit")])
def test_a_dropped_signal_comes_again(sent: str, raised: str) -> None:
    done = subprocess.run([sys.executable, "-c", DROPPED.format(sent)], capture_output=True, text=True, timeout=30)
    assert (done.stdout.strip(), done.returncode) == (raised, 0)
