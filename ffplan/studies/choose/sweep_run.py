"""The chunks of a sweep, one after the other, on this process or on all cores."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING

from ffplan.base.heap import keep_freed_memory
from ffplan.base.record import record
from ffplan.base.workers import worker_pool
from ffplan.studies.choose.sweep import Sweep, SweepQuery
from ffplan.studies.choose.sweep_rows import Kept, kept

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

AHEAD = 2
"""Chunks that are under way for each worker [1]."""
HELD = 16
"""Most chunks that wait for one before them, as while workers start [1]."""


@record
class SweepJob:
    """A sweep with what is kept of its chunks, in plain data."""

    query: SweepQuery
    key: str
    """What tells it from any other: the key of the query, and the directions."""
    form: str | None
    """csv, jsonl or parquet; None where no points are written."""
    directions: dict[str, str]
    """min or max of each metric of the front."""


def job_key(query: SweepQuery, directions: dict[str, str]) -> str:
    """Return what tells a sweep, with its front, from any other.

    Args:
        directions: min or max of each metric of the front.
    """
    return "-".join([query.key, *(f"{name}:{way}" for name, way in directions.items())])


_READY: dict[str, Sweep] = {}
"""Sweeps that this process has read, by their key; one at a time."""


def work(job: SweepJob, number: int) -> Kept:
    """Return what is kept of a chunk; a process reads a sweep once.

    Args:
        number: number of the chunk.
    """
    if job.key not in _READY:
        keep_freed_memory()
        _READY.clear()
        _READY[job.key] = Sweep(job.query)
    sweep = _READY[job.key]
    return kept(sweep, sweep.chunk(number), sweep.names, job.form, job.directions)


def here(job: SweepJob, sweep: Sweep, first: int) -> Iterator[Kept]:
    """Yield the chunks from `first` on, evaluated in this process."""
    keep_freed_memory()
    for number in range(first, sweep.chunks):
        yield kept(sweep, sweep.chunk(number), sweep.names, job.form, job.directions)


def on_cores(job: SweepJob, sweep: Sweep, first: int, workers: int) -> Iterator[Kept]:
    """Yield the chunks from `first` on, evaluated on several cores; this process is one of the workers.

    It begins while the others start, and takes a chunk whenever none that is done waits: so no core is idle, and only
    what the others evaluate goes from process to process.

    Args:
        sweep: the sweep, read.
        first: number of the first chunk.
        workers: processes, with this one [1].
    """
    keep_freed_memory()
    with worker_pool(workers - 1) as pool:
        yield from _shared(pool, job, sweep, first, AHEAD * (workers - 1))


def _shared(pool: Executor, job: SweepJob, sweep: Sweep, first: int, ahead: int) -> Iterator[Kept]:
    """Yield the chunks from `first` on in their order, some from the pool and some evaluated here."""
    waiting: deque[Future[Kept] | Kept] = deque()
    number = first
    while number < sweep.chunks or waiting:
        under_way = sum(isinstance(item, Future) and not item.done() for item in waiting)
        room = min(ahead - under_way, sweep.chunks - number, HELD + ahead - len(waiting))
        waiting.extend(pool.submit(work, job, at) for at in range(number, number + max(0, room)))
        number += max(0, room)
        head = waiting[0] if waiting else None
        ready = isinstance(head, Kept) or (head is not None and head.done())
        if not ready and number < sweep.chunks and len(waiting) < HELD + ahead:
            waiting.append(kept(sweep, sweep.chunk(number), sweep.names, job.form, job.directions))
            number += 1
        elif head is not None:
            waiting.popleft()
            yield head if isinstance(head, Kept) else head.result()
