"""The chunks of a sweep, on this process, on all cores or on a Dask cluster, and what they come to."""

from __future__ import annotations

from collections import deque
from concurrent.futures import CancelledError, Future
from importlib import import_module
from itertools import islice
from logging import CRITICAL, getLogger
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.errors import UsageError, lacking
from ffplan.base.processes import keep_freed_memory, worker_pool
from ffplan.base.record import record
from ffplan.base.version import __version__
from ffplan.results import sweep as out
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.result import ToolInfo
from ffplan.studies.choose.sweep import SweepQuery
from ffplan.studies.choose.sweep_rows import Kept, _first_of_cells, _merged, front, kept, knee

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor

    from ffplan.results.result import DesignInfo
    from ffplan.studies.choose.sweep import Sweep
    from ffplan.studies.choose.sweep_rows import _GridAxes


_AHEAD = 2
"""Chunks that are under way for each worker [1]."""
_HELD = 16
"""Most chunks that wait for one before them, as while workers start [1]."""


@record
class SweepJob:
    """A sweep with what is kept of its chunks, in plain data."""

    query: SweepQuery
    key: str
    """What tells it from any other: the key of the query, and the directions."""
    form: str | None
    """csv, jsonl or parquet; None if no points are written."""
    directions: dict[str, str]
    """min or max of each metric of the front."""


def job_key(query: SweepQuery, directions: dict[str, str]) -> str:
    """Return the key of a sweep with its front; `directions`: min or max of each metric of the front."""
    return "-".join([query.key, *(f"{name}:{way}" for name, way in directions.items())])


_READY: dict[str, Sweep] = {}
"""Sweeps that this process has read, by their key; one at a time."""


def _work(job: SweepJob, number: int) -> Kept:
    if job.key not in _READY:
        keep_freed_memory()
        _READY.clear()
        _READY[job.key] = job.query.sweep()
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
        workers: processes, with this one [1].
    """
    keep_freed_memory()
    with worker_pool(workers - 1) as pool:
        yield from _shared(pool, job, sweep, first, _AHEAD * (workers - 1))


def _shared(pool: Executor, job: SweepJob, sweep: Sweep, first: int, ahead: int) -> Iterator[Kept]:
    waiting: deque[Future[Kept] | Kept] = deque()
    number = first
    while number < sweep.chunks or waiting:
        under_way = sum(isinstance(future, Future) and not future.done() for future in waiting)
        room = min(ahead - under_way, sweep.chunks - number, _HELD + ahead - len(waiting))
        waiting.extend(pool.submit(_work, job, chunk_number) for chunk_number in range(number, number + max(0, room)))
        number += max(0, room)
        head = waiting[0] if waiting else None
        ready = isinstance(head, Kept) or (head is not None and head.done())
        if not ready and number < sweep.chunks and len(waiting) < _HELD + ahead:
            waiting.append(kept(sweep, sweep.chunk(number), sweep.names, job.form, job.directions))
            number += 1
        elif head is not None:
            waiting.popleft()
            yield head if isinstance(head, Kept) else head.result()


_TOGETHER, _TASKS = 10, 4
"""Most chunks of a task on a cluster, and least tasks of each worker if the chunks suffice [1]."""
_LOCAL = {"DASK_LOGGING__DISTRIBUTED": "critical", "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
"""Environment of local workers: a heartbeat too late at the end is no error, and nobody asks for a profile."""
_KEPT = "the chunks so far are kept: with --points FILE, `--resume` continues them"
"""What a sweep that ends too early has left."""


def _work_together(job: SweepJob, numbers: range) -> list[Kept]:
    return [_work(job, number) for number in numbers]


def _in_order(submit: Callable[[range], Any], tasks: Iterator[range], ahead: int) -> Iterator[Kept]:
    waiting: deque[Any] = deque(submit(numbers) for numbers in islice(tasks, ahead))
    while waiting:
        yield from waiting.popleft().result()
        waiting.extend(submit(numbers) for numbers in islice(tasks, 1))


def _in_tasks(sweep: Sweep, first: int, workers: int) -> Iterator[range]:
    """Yield the chunks from `first` on in tasks of a cluster: several fast chunks together, one where each is slow.

    A task costs a scheduler milliseconds, some part of what a chunk takes that arrays carry.
    """
    per_task = (sweep.chunks - first) // (_TASKS * workers)
    per_task = max(1, min(_TOGETHER, per_task)) if any(sweep.by_array) else 1
    for number in range(first, sweep.chunks, per_task):
        yield range(number, min(number + per_task, sweep.chunks))


def _told(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _client(address: str, security: dict[str, str], workers: int) -> Any:
    try:
        dask: Any = import_module("distributed")
    except ImportError:
        raise UsageError(lacking("--cluster", "Dask", "distributed")) from None
    if address == "local":
        pages = {"dashboard_address": None, "worker_dashboard_address": None}
        cluster = dask.LocalCluster(n_workers=workers, threads_per_worker=1, env=_LOCAL, **pages)
        return dask.Client(cluster, direct_to_workers=True)
    try:
        return dask.Client(address, security=dask.Security(**security) if security else None, timeout=10)
    except (OSError, TypeError, ValueError, TimeoutError) as error:  # TypeError where TLS has no certificate
        raise UsageError(f"--cluster {address}: the scheduler cannot be reached: {_told(error)}") from None


def _refuse_versions(client: Any, address: str) -> None:
    def version() -> str:
        try:
            from ffplan import __version__ as found
        except ImportError:
            return "none"
        return found

    versions = client.run(version)
    if not versions:
        raise UsageError(f"--cluster {address}: the cluster has no workers; start some, then run again")
    for worker, version_there in sorted(versions.items()):
        if version_there != __version__:
            raise UsageError(
                f"--cluster {address}: worker {worker} has ffplan {version_there}, this is {__version__}; "
                "install one version"
            )


def _parts_seen(query: SweepQuery) -> str:
    """Return the key of a sweep as this process sees the user's parts; empty if it cannot read a folder."""
    try:
        return query.key
    except UsageError:
        return ""


def _refuse_parts(client: Any, address: str, query: SweepQuery) -> None:
    if not query.overlays:
        return
    folders, remedy = ", ".join(query.overlays), "put the same files there on every machine, or on a shared file system"
    for worker, seen in sorted(client.run(_parts_seen, query).items()):
        if seen != query.key:
            what = "other files in" if seen else "no such folder as"
            raise UsageError(f"--cluster {address}: worker {worker} has {what} --catalog {folders}; {remedy}")


def on_cluster(
    job: SweepJob, sweep: Sweep, first: int, *, address: str, security: dict[str, str], workers: int
) -> Iterator[Kept]:
    """Yield the chunks from `first` on, evaluated on a Dask cluster; a chunk whose worker dies runs again elsewhere.

    Args:
        address: `local`, or the scheduler's, such as tcp://host:8786.
        security: files of TLS, by the name that Dask has for them.

    Raises:
        UsageError: if the cluster cannot be reached, is lost, has no workers, workers with another version or other
            parts, or workers that die one after another.
    """
    client = _client(address, security, workers)
    log = getLogger("distributed.client")
    before = log.level
    log.setLevel(CRITICAL)  # a lost scheduler is told in a line, not in Dask's tracebacks
    try:
        _refuse_versions(client, address)
        _refuse_parts(client, address, job.query)
        count = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        yield from _in_order(
            lambda numbers: client.submit(_work_together, job, numbers, pure=False, retries=3),
            _in_tasks(sweep, first, count),
            _AHEAD * count,
        )
    except (CancelledError, OSError, TimeoutError) as error:  # what Dask raises where its scheduler goes away
        message = f"the connection to the scheduler was lost ({_told(error)})"
        raise UsageError(f"--cluster {address}: {message}; {_KEPT}") from None
    except import_module("distributed").KilledWorker:
        message = "all workers that took one of the chunks died; their logs say of what, such as memory"
        raise UsageError(f"--cluster {address}: {message}; {_KEPT}") from None
    finally:
        client.close()
        if address == "local" and client.cluster is not None:
            client.cluster.close()
        log.setLevel(before)


class Total:
    """Sums over chunks, taken in their order."""

    def __init__(self, directions: dict[str, str], grid: _GridAxes | None = None) -> None:
        self.directions = directions
        self.chunks: int = 0
        self.points: int = 0
        self.built: int = 0
        self.stats: dict[str, list[Any]] = {}
        self.refused: dict[str, list[int]] = {}
        self.unpriced: dict[str, int] = {}
        self.front: list[tuple[int, list[float], dict[str, float]]] = []
        self.sample: list[tuple[int, dict[str, float]]] = []
        self.cells: Any = np.zeros((0, 0))
        self.grid = grid

    def take(self, part: Kept) -> None:
        """Add a chunk."""
        self.chunks += 1
        self.points += part.count
        self.built += part.built
        for name, (count, total, low, low_at, high, high_at) in part.stats.items():
            stats = self.stats.setdefault(name, [0, 0.0, low, low_at, high, high_at])
            stats[0] += count
            stats[1] += total
            if low < stats[2]:
                stats[2:4] = low, low_at
            if high > stats[4]:
                stats[4:6] = high, high_at
        for reason, (points, first) in part.refused.items():
            known = self.refused.setdefault(reason, [0, first])
            known[0] += points
        for name, points in part.unpriced.items():
            self.unpriced[name] = self.unpriced.get(name, 0) + points
        self.cells = _merged(self.cells, part.cells, self.grid)
        for position, number in enumerate(part.sample_points.tolist()):
            metrics = {name: float(column[position]) for name, column in part.sample_metrics.items()}
            self.sample.append((number, {name: value for name, value in metrics.items() if value == value}))
        if not len(part.front_points):
            return
        for position, number in enumerate(part.front_points.tolist()):
            metrics = {name: float(column[position]) for name, column in part.front_metrics.items()}
            said = {name: value for name, value in metrics.items() if value == value}
            self.front.append((number, part.front_values[position].tolist(), said))
        values = np.array([point[1] for point in self.front])
        self.front = [self.front[at] for at in front(values).tolist()]

    def state(self) -> dict[str, Any]:
        """Return it as plain data, exactly."""
        names = ("chunks", "points", "built", "stats", "refused", "unpriced", "front", "sample")
        cells = [[None if value != value else value for value in row] for row in self.cells.tolist()]
        return {name: getattr(self, name) for name in names} | {"cells": cells}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from plain data; raise `KeyError, TypeError, ValueError` if it is no state."""
        self.chunks, self.points, self.built = int(state["chunks"]), int(state["points"]), int(state["built"])
        self.stats, self.refused = dict(state["stats"]), dict(state["refused"])
        self.unpriced = dict(state["unpriced"])
        self.front = [(int(number), list(values), dict(metrics)) for number, values, metrics in state["front"]]
        self.sample = [(int(number), dict(metrics)) for number, metrics in state["sample"]]
        self.cells = np.array(state["cells"], float) if state["cells"] else np.zeros((0, 0))


def sweep_report(sweep: Sweep, design: DesignInfo, total: Total, *, stopped: bool) -> out.SweepReport:
    """Return the report of a sweep; `design`: what its points vary."""
    points = sweep.points

    def values_at(number: int) -> dict[str, str]:
        indices = points.indices(number, number + 1)
        return {axis.path: axis.text(int(column[0])) for axis, column in zip(points.axes, indices, strict=True)}

    best = knee(np.array([axis[1] for axis in total.front])) if total.front else None
    refused = sorted(total.refused.items(), key=lambda entry: (-entry[1][0], entry[1][1]))
    return out.SweepReport(
        schema_version=SCHEMA_VERSION,
        tool=ToolInfo("ffplan", __version__),
        design=design,
        axes=tuple(
            out.SweepAxis(path=axis.path, count=len(axis), first=axis.text(0), last=axis.text(len(axis) - 1))
            for axis in points.axes
        ),
        spanned="sample" if points.sample is not None else "zip" if points.zipped else "all",
        points=total.points,
        built=total.built,
        metrics=tuple(
            out.SweepMetric(
                path=name,
                least=low,
                least_at=values_at(low_at),
                mean=whole / count,
                most=high,
                most_at=values_at(high_at),
            )
            for name, (count, whole, low, low_at, high, high_at) in total.stats.items()
        ),
        refused=tuple(
            out.SweepRefusal(reason=reason, points=count, example=values_at(first))
            for reason, (count, first) in refused
        ),
        unpriced=total.unpriced,
        directions=total.directions,
        front=tuple(
            out.SweepPoint(number=number, values=values_at(number), metrics=metrics, knee=place == best)
            for place, (number, _, metrics) in enumerate(total.front)
        ),
        sample=tuple(
            out.SweepPoint(number=number, values=values_at(number), metrics=metrics, knee=False)
            for number, metrics in total.sample
        ),
        grid=_grid(sweep, total),
        stopped=stopped,
    )


def _grid(sweep: Sweep, total: Total) -> out.SweepGrid | None:
    if total.grid is None or not total.cells.size:
        return None
    across, down = (sweep.points.axes[index] for index in (total.grid.across, total.grid.down))
    return out.SweepGrid(
        metric=total.grid.metric,
        shown="most" if total.grid.largest else "least",
        across=across.path,
        across_values=tuple(across.text(index) for index in _first_of_cells(len(across))),
        down=down.path,
        down_values=tuple(down.text(index) for index in _first_of_cells(len(down))),
        values=tuple(tuple(None if value != value else value for value in row) for row in total.cells.tolist()),
    )
