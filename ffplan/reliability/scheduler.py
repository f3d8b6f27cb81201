"""Jobs on a cluster, event by event: a queue, gangs of whole nodes, zones, and time-sharing by checkpoints."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from itertools import count, islice
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.array_math import Floats, Ints
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Callable


POLICIES = ("fifo", "backfill", "time-sharing")
DEPTH = 200
"""Waiting jobs that a placement looks at [1]."""


@record
class JobTable:
    """Jobs in the order of their arrival."""

    arrival_s: Floats
    run_s: Floats
    gpus: Ints
    running: int = 0
    """How many of the first run already when the time begins [1]."""


@record
class ClusterRules:
    """A cluster and how it is shared."""

    zones: tuple[int, ...]
    """Nodes of each zone."""
    gpus_per_node: int
    spanning: int
    """Jobs that may span zones at a time [1]."""
    policy: str
    quantum_s: float
    """Time that a job keeps its nodes at least, under time-sharing [s]."""
    save_s: float
    """Time to save and leave [s]."""
    load_s: float
    """Time to load and go on [s]."""


@record
class Shared:
    """What a simulation came to, after its warm-up."""

    utilisation: float
    """Accelerators at work over all [1]."""
    occupied: float
    """Accelerators held, saving and loading included, over all [1]."""
    fragmentation: float
    """Accelerators idle while a job waits, over all [1]."""
    wait_s: Floats
    """Wait of each job that started, before its first start [s]."""
    wait_gpus: Ints
    """Its accelerators."""
    preemptions: int
    unfinished: int
    """Jobs that wait at the end."""


class _Job:
    __slots__ = ("arrival", "event", "gpus", "left", "nodes", "part", "since", "spans", "started", "turn")

    def __init__(self, arrival: float, left: float, gpus: int) -> None:
        self.arrival, self.left, self.gpus = arrival, left, gpus
        self.nodes: list[int] = []
        self.part = 0
        """Accelerators of each of its nodes."""
        self.spans = False
        self.started = False
        self.since = 0.0
        self.turn = self.event = 0
        """Its place in the queue, and the number of its next event."""


class _Queue:
    """Waiting jobs in order: those that a placement looks at by size, the rest behind them."""

    def __init__(self, depth: int) -> None:
        self.room, self.turn = depth, 0
        self.near: dict[int, deque[_Job]] = {}
        self.rest: deque[_Job] = deque()

    def append(self, job: _Job) -> None:
        """Let a job wait behind the others."""
        self.turn += 1
        job.turn = self.turn
        if self.room:
            self.room -= 1
            self._look_at(job)
        else:
            self.rest.append(job)

    def _look_at(self, job: _Job) -> None:
        self.near.setdefault(job.gpus, deque()).append(job)

    def first(self, below: int) -> _Job | None:
        """Return the first job with fewer accelerators than `below` that a placement looks at."""
        heads = [jobs[0] for gpus, jobs in self.near.items() if gpus < below]
        return min(heads, key=lambda job: job.turn) if heads else None

    def remove(self, job: _Job) -> None:
        """Take out the first job of its size."""
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

    def __bool__(self) -> bool:
        return bool(self.near)


class _Cluster:
    """Nodes, the queue, what runs, and what happens next."""

    def __init__(self, rules: ClusterRules, table: JobTable, warm_s: float) -> None:
        self.rules, self.warm = rules, warm_s
        self.each = rules.gpus_per_node
        self.zone_of = np.repeat(np.arange(len(rules.zones)), rules.zones).tolist()
        self.free = [self.each] * len(self.zone_of)
        self.pools: list[list[set[int]]] = [[set() for _ in range(self.each + 1)] for _ in rules.zones]
        for node, zone in enumerate(self.zone_of):
            self.pools[zone][self.each].add(node)
        self.total = len(self.zone_of) * self.each
        self.held = self.at_work = self.spanning = self.preemptions = 0
        self.arriving = map(_Job, table.arrival_s.tolist(), table.run_s.tolist(), table.gpus.tolist())
        self.queue = _Queue(1 if rules.policy == "fifo" else DEPTH)
        self.too_large = self.total + 1
        """Size from which on no job fits, as far as placements since the last return of nodes showed."""
        self.running: dict[_Job, None] = {}
        self.now = self.last = 0.0
        self.events: list[tuple[float, int, Callable[[_Job], None], _Job]] = []
        self.numbers = count(1)
        self.at_once: list[tuple[Callable[[_Job], None], _Job]] = []
        """What follows the event of the moment, before the next one."""
        self.clock = _Job(0.0, 0.0, 0)
        """Stands for the looks at the queue, which belong to no job."""
        self.looks, self.asleep = 0, False
        self.sums = [0.0, 0.0, 0.0]
        self.waits: list[tuple[float, int]] = []

    def after(self, seconds: float, act: Callable[[_Job], None], job: _Job) -> None:
        """Let a job's next event come after some time; the one before no longer comes."""
        job.event = next(self.numbers)
        heappush(self.events, (self.now + seconds, job.event, act, job))

    def simulate(self, seconds: float) -> None:
        """Let the time pass."""
        self.arrivals()
        if self.rules.policy == "time-sharing":
            self.next_look()
        self._finish_moment()
        while self.events and self.events[0][0] < seconds:
            now, number, act, job = heappop(self.events)
            if job.event == number:
                self.now = now
                self.tick()
                act(job)
                self._finish_moment()
        self.now = seconds
        self.tick()

    def _finish_moment(self) -> None:
        for act, job in self.at_once:
            act(job)
        self.at_once.clear()

    def tick(self) -> None:
        """Add the time since the last change to the sums, after the warm-up."""
        span = self.now - max(self.last, self.warm)
        if span > 0:
            self.sums[0] += span * self.at_work
            self.sums[1] += span * self.held
            self.sums[2] += span * (self.total - self.held) * bool(self.queue)
        self.last = self.now

    def _move(self, node: int, free: int) -> None:
        pool = self.pools[self.zone_of[node]]
        pool[self.free[node]].discard(node)
        self.free[node] = free
        pool[free].add(node)

    def place(self, job: _Job) -> bool:
        """Give a job its nodes, in one zone where that is possible; return whether it has them."""
        if job.gpus <= self.each:
            for pool in self.pools:
                for free in range(job.gpus, self.each + 1):
                    if pool[free]:
                        self._take(job, [next(iter(pool[free]))], job.gpus, spans=False)
                        return True
            return False
        wanted = -(-job.gpus // self.each)
        empty = [pool[self.each] for pool in self.pools]
        fitting = [nodes for nodes in empty if len(nodes) >= wanted]
        if fitting:
            self._take(job, list(islice(min(fitting, key=len), wanted)), self.each, spans=False)
            return True
        if self.spanning < self.rules.spanning and sum(map(len, empty)) >= wanted:
            every = [node for nodes in sorted(empty, key=len, reverse=True) for node in nodes]
            self._take(job, every[:wanted], self.each, spans=True)
            return True
        return False

    def _take(self, job: _Job, nodes: list[int], part: int, *, spans: bool) -> None:
        for node in nodes:
            self._move(node, self.free[node] - part)
        job.nodes, job.part, job.spans = nodes, part, spans
        self.spanning += spans
        self.held += part * len(nodes)

    def give(self, job: _Job) -> None:
        """Take a job's nodes back, and start what fits then."""
        for node in job.nodes:
            self._move(node, self.free[node] + job.part)
        self.held -= job.part * len(job.nodes)
        self.spanning -= job.spans
        job.nodes, job.spans = [], False
        self.too_large = self.total + 1
        self.schedule()

    def begin(self, job: _Job) -> None:
        """Start a job that has its nodes, or load it where it ran before."""
        if job.started:
            self.after(self.rules.load_s, self.work, job)
            return
        job.started = True
        if job.arrival >= self.warm:
            self.waits.append((self.now - job.arrival, job.gpus))
        self.work(job)

    def work(self, job: _Job) -> None:
        """Let a job work until it ends or has to leave."""
        self.at_work += job.gpus
        job.since = self.now
        self.running[job] = None
        self.after(job.left, self.end, job)

    def end(self, job: _Job) -> None:
        """End a job."""
        self.at_work -= job.gpus
        del self.running[job]
        self.give(job)

    def save(self, job: _Job) -> None:
        """Let a job save that has to leave."""
        self.at_work -= job.gpus
        job.left = max(0.0, job.left - (self.now - job.since))
        self.after(self.rules.save_s, self.leave, job)

    def leave(self, job: _Job) -> None:
        """Let a job that has saved wait again."""
        self.wait(job)
        self.give(job)

    def schedule(self) -> None:
        """Start what fits, by the policy."""
        while (job := self.queue.first(self.too_large)) is not None:
            if self.place(job):
                self.queue.remove(job)
                self.at_once.append((self.begin, job))
            else:
                self.too_large = job.gpus  # what is larger does not fit either
        if self.rules.policy == "time-sharing":
            self._make_room()

    def _make_room(self) -> None:
        """Let jobs leave that have had their time, the longest first, until the head of the queue would fit."""
        head = self.queue.first(self.total + 1)
        if head is None:
            return
        need = -(-head.gpus // self.each) * self.each
        room = self.total - self.held
        leaving = []
        for job in self.running:  # in the order of their `since`, as they were put in
            if room >= need or self.now - job.since < self.rules.quantum_s:
                break
            leaving.append(job)
            room += job.part * len(job.nodes)
        for job in leaving:
            del self.running[job]
            self.at_once.append((self.save, job))
        self.preemptions += len(leaving)

    def arrivals(self) -> None:
        """Let the jobs of this moment arrive, and set the next one."""
        for job in self.arriving:
            if job.arrival > self.now:
                self.after(job.arrival - self.now, self.arrive, job)
                return
            self.wait(job)
            self.schedule()

    def arrive(self, job: _Job) -> None:
        """Let a job arrive, and those that come with it."""
        self.wait(job)
        self.schedule()
        self.arrivals()

    def next_look(self) -> None:
        """Look at the queue at every multiple of a quantum while a job waits, so that each gets its turn."""
        self.asleep = not self.queue
        if not self.asleep:
            self.set_look(self.clock)

    def set_look(self, clock: _Job) -> None:
        """Set the next look at the queue."""
        quantum = self.rules.quantum_s
        self.looks = max(self.looks, int(self.now // quantum)) + 1
        self.after(max(0.0, self.looks * quantum - self.now), self.look, clock)

    def look(self, _: _Job) -> None:
        """Look at the queue."""
        self.schedule()
        self.next_look()

    def wait(self, job: _Job) -> None:
        """Put a job at the end of the queue, and see that the queue is looked at again."""
        self.queue.append(job)
        if self.asleep:
            self.asleep = False
            self.after(0.0, self.set_look, self.clock)


def share_cluster(rules: ClusterRules, table: JobTable, seconds: float, warm_s: float) -> Shared:
    """Return how a cluster is used by jobs.

    Args:
        rules: the cluster and its policy.
        table: jobs by arrival; none larger than the cluster.
        seconds: time to simulate [s].
        warm_s: time at the start that no figure counts [s].

    Returns:
        Utilisation, waits and fragmentation after the warm-up.
    """
    cluster = _Cluster(rules, table, warm_s)
    cluster.simulate(seconds)
    span = (seconds - warm_s) * cluster.total
    waits = np.array([wait for wait, _ in cluster.waits])
    return Shared(
        utilisation=cluster.sums[0] / span,
        occupied=cluster.sums[1] / span,
        fragmentation=cluster.sums[2] / span,
        wait_s=waits,
        wait_gpus=np.array([gpus for _, gpus in cluster.waits], dtype=int),
        preemptions=cluster.preemptions,
        unfinished=len(cluster.queue),
    )
