"""Worker processes that end with their parent, however it ends."""

from __future__ import annotations

import os
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
