"""The process and its workers: signals, memory of freed arrays, and an end with the parent."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import ProcessPoolExecutor


def _end_with_parent() -> None:
    """Watch the parent process from a thread, and exit when it ends."""
    from multiprocessing import parent_process
    from multiprocessing.connection import wait
    from threading import Thread

    parent = parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Hold a pool of new processes; an exception in the block terminates them and drops their work.

    It does not wait for them: a pool thread may be blocked on a pipe that nobody reads any more.

    Args:
        workers: processes [1].
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    before = {child.pid for child in active_children()}
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in active_children():
            if child.pid not in before:
                child.terminate()
        raise
    pool.shutdown()


KEPT = 2**30
"""Free memory that a process keeps before returning any to the kernel [byte]."""
LARGEST = 2**25
"""Largest array taken from the kept memory, at glibc's limit [byte]."""
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""Parameters of `mallopt`, in glibc's malloc.h."""


def keep_freed_memory() -> bool:
    """Let the C library keep the memory of freed arrays; return whether it does.

    Formulas over arrays free and take the same few megabytes hundreds of times a second. By default each array goes
    back to the kernel, which clears its pages anew: a quarter of the time of a sweep, and more on several cores.
    Peak memory stays the same. C libraries other than glibc are left as they are.
    """
    from ctypes import CDLL

    try:
        mallopt = CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return False
    settings = ((TRIM_THRESHOLD, KEPT), (MMAP_THRESHOLD, LARGEST), (ARENA_MAX, 1))
    taken = [mallopt(name, value) for name, value in settings]
    return all(taken)


AGAIN = 2.0
"""Time after which a process that keeps running gets the signal again [s]."""

_REPEATS = hasattr(signal, "setitimer")
_last = signal.SIGINT


def listen() -> None:
    """Raise `KeyboardInterrupt` at Ctrl-C and `SystemExit` at SIGTERM, every two seconds until `heard`.

    Python drops exceptions raised while it frees an object, and numpy exceptions raised while it compares strings: the
    process would go on. A signal that the caller's shell ignores stays ignored.
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
