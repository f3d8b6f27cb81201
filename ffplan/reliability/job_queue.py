"""Jobs that wait for a cluster, and the room that leaving jobs make for one of them."""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class _Job:
    __slots__ = ("arrival", "event", "gpus", "left", "nodes", "part", "queued", "since", "spans", "started", "turn")

    def __init__(self, arrival: float, left: float, gpus: int) -> None:
        self.arrival, self.left, self.gpus = arrival, left, gpus
        self.nodes: list[int] = []
        self.part = 0
        """Accelerators of each of its nodes."""
        self.spans = False
        self.started = False
        self.since = 0.0
        self.queued = arrival
        """When it came into the queue for the last time [s]."""
        self.turn = self.event = 0
        """Its place in the queue, and the number of its next event."""


class _Queue:
    """Waiting jobs in order: the first `DEPTH` indexed by size, then the rest."""

    def __init__(self, depth: int) -> None:
        self.room, self.turn = depth, 0
        self.near: dict[int, deque[_Job]] = {}
        self.rest: deque[_Job] = deque()

    def append(self, job: _Job) -> None:
        self.turn += 1
        job.turn = self.turn
        if self.room:
            self.room -= 1
            self._look_at(job)
        else:
            self.rest.append(job)

    def _look_at(self, job: _Job) -> None:
        same = self.near.get(job.gpus)
        if same is None:
            self.near[job.gpus] = deque((job,))
        else:
            same.append(job)

    def first(self, most: int) -> _Job | None:
        """Return the first considered job of at most the given accelerators."""
        first, turn = None, self.turn + 1
        for gpus, jobs in self.near.items():
            if gpus <= most and jobs[0].turn < turn:
                first = jobs[0]
                turn = first.turn
        return first

    def remove(self, job: _Job) -> None:
        """Remove the first job of its size."""
        same = self.near[job.gpus]
        same.popleft()
        if not same:
            del self.near[job.gpus]
        if self.rest:
            self._look_at(self.rest.popleft())
        else:
            self.room += 1

    def __len__(self) -> int:
        return sum(map(len, self.near.values())) + len(self.rest)


class _Room:
    """Nodes that become free for a job as others leave, until one zone, or all where it may span, has enough."""

    def __init__(
        self, gpus: int, each: int, free: list[int], zone_of: list[int], whole: list[int], *, spans: bool
    ) -> None:
        """Begin with what is free.

        Args:
            gpus: accelerators of the job [1].
            each: accelerators of a node [1].
            free: free accelerators of every node [1].
            zone_of: zone of every node.
            whole: completely free nodes of each zone [1].
            spans: the job is larger than any zone.
        """
        self.gpus, self.each, self.nodes = gpus, each, -(-gpus // each)
        self.before, self.zone_of, self.whole = free, zone_of, whole
        self.free: dict[int, int] = {}
        """Free accelerators of nodes that somebody leaves."""
        self.spans = spans
        self.zone: int | None = None
        """The zone that has enough; -1 for all of them together."""

    def add(self, job: _Job) -> None:
        """Let a job leave its nodes."""
        if self.zone is not None:
            return
        for node in job.nodes:
            free = self.free.get(node, self.before[node]) + job.part
            self.free[node] = free
            zone = self.zone_of[node]
            if self.gpus < self.each and free >= self.gpus:
                self.zone = zone
            self.whole[zone] += free == self.each
        if self.spans:
            self.zone = -1 if sum(self.whole) >= self.nodes else None
        elif self.zone is None:
            enough = [zone for zone, whole in enumerate(self.whole) if whole >= self.nodes]
            self.zone = enough[0] if enough else None

    def of_zone(self, job: _Job) -> bool:
        """Return whether a job leaves nodes of the zone that has enough."""
        return self.zone == -1 or any(self.zone_of[node] == self.zone for node in job.nodes)


def _room_at(
    head: _Job,
    running: Iterable[_Job],
    each: int,
    free: list[int],
    zone_of: list[int],
    whole: list[int],
    *,
    spanning: int,
) -> float:
    """Return when running jobs will have left the nodes that a job takes, as it would be placed [s]; never if none do.

    Args:
        each: accelerators of a node [1].
        free: free accelerators of every node now [1].
        zone_of: zone of every node.
        whole: completely free nodes of each zone now [1]; counted up here.
        spanning: jobs that may begin to span zones now [1].
    """
    gpus, needed = head.gpus, -(-head.gpus // each)
    left: dict[int, int] = {}
    ends = [(job.since + job.left, job.event, job) for job in running]
    heapify(ends)
    while ends:
        end, _, job = heappop(ends)
        for node in job.nodes:
            left[node] = now = left.get(node, free[node]) + job.part
            if gpus <= now < each:
                return end
            whole[zone_of[node]] += now == each
        spanning += job.spans
        if max(whole) >= needed or (spanning > 0 and sum(whole) >= needed):
            return end
    return inf
