"""Ctrl-C and SIGTERM, told again until the process has heard them."""

from __future__ import annotations

import signal
import sys

AGAIN = 2.0
"""Time after which a process that goes on is told again [s]."""

_REPEATS = hasattr(signal, "setitimer")
_last = signal.SIGINT


def listen() -> None:
    """Raise `KeyboardInterrupt` at Ctrl-C and `SystemExit` at SIGTERM, every two seconds until `heard`.

    Python drops what is raised while it takes an object apart, and numpy what is raised while it compares texts: the
    process would go on. A signal that the caller's shell has set to be ignored stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _tell)
    signal.signal(signal.SIGTERM, _tell)  # so that files half written, and workers, are cleaned up
    if _REPEATS:
        signal.signal(signal.SIGALRM, lambda *_: _tell(_last, None))


def heard() -> None:
    """Stop telling: what is under way cleans up, or reports what it has."""
    if _REPEATS:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _tell(number: int, _frame: object) -> None:
    global _last
    if _REPEATS:
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
    _last = signal.Signals(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)
