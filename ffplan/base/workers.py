"""Worker processes that end with the process that started them, whatever ends it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import ProcessPoolExecutor


def end_with_parent() -> None:
    """Watch the parent of this process from a thread, and leave when it is gone."""
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
    """Hold a pool of new processes; where the block is left by an exception, what they do is dropped and they end.

    Nothing waits for them then: a thread of the pool may stand before a pipe that nobody reads any more.

    Args:
        workers: processes [1].
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    before = {child.pid for child in active_children()}
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in active_children():
            if child.pid not in before:
                child.terminate()
        raise
    pool.shutdown()
