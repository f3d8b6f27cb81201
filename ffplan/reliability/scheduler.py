"""Event simulation of a cluster's jobs: a queue, gangs of whole nodes, zones, and time-sharing by checkpoints."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import chain, islice
from math import inf
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ffplan.base.array_math import Floats, Ints
from ffplan.base.record import record
from ffplan.reliability.job_queue import _Job, _Queue, _Room, _room_at

if TYPE_CHECKING:
    from collections.abc import Callable


POLICIES = ("fifo", "backfill", "time-sharing")
DEPTH = 200
"""Waiting jobs considered by a placement [1]."""
_TRIES = 50.0
"""Times in a quantum that room is sought for a job that found none [1]."""
_LAST_S = 1e300
"""End of a simulation that all jobs see their own end of, before the arrival of none at infinity [s]."""


@record
class JobTable:
    """Jobs in the order of their arrival."""

    arrival_s: Floats
    run_s: Floats
    gpus: Ints
    running: int = 0
    """Number of first jobs already running at the start [1]."""


@record
class ClusterRules:
    """A cluster with its sharing policy."""

    zones: tuple[int, ...]
    """Nodes of each zone."""
    gpus_per_node: int
    spanning: int
    """Most jobs that span zones at a time [1]."""
    policy: str
    quantum_s: float
    """Least time that a job keeps its nodes under time-sharing [s]."""
    save_s: float
    """Time to save and leave [s]."""
    load_s: float
    """Time to load and go on [s]."""


@record
class Shared:
    """Result of a simulation, after its warm-up."""

    utilisation: float
    """Accelerators at work over all [1]."""
    occupied: float
    """Accelerators held, saving and loading included, over all [1]."""
    fragmentation: float
    """Accelerators idle while a job waits, over all [1]."""
    wait_s: Floats
    """Wait of each job that started, before its first start [s]."""
    wait_gpus: Ints
    """Accelerators of each of these jobs."""
    preemptions: int
    unfinished: int
    """Jobs waiting at the end."""


_Event: TypeAlias = "tuple[float, int, Callable[[_Job], None], _Job]"
"""Time [s], number, what happens, and to which job."""


class _Cluster:
    """State of the simulation: nodes, queue, running jobs and next events.

    Between events, no considered waiting job fits that may start: where one is next, it alone.
    """

    def __init__(self, rules: ClusterRules, table: JobTable, warm_s: float) -> None:
        self.rules, self.warm = rules, warm_s
        self.each = rules.gpus_per_node
        self.pools: list[list[set[int]]] = [[set() for _ in range(self.each + 1)] for _ in rules.zones]
        """Nodes of each zone by free accelerators."""
        self.pool_of = [pool for pool, nodes in zip(self.pools, rules.zones, strict=True) for _ in range(nodes)]
        self.zone_of = [zone for zone, nodes in enumerate(rules.zones) for _ in range(nodes)]
        self.free = [self.each] * len(self.pool_of)
        for node, pool in enumerate(self.pool_of):
            pool[-1].add(node)
        self.empty = [pool[-1] for pool in self.pools]
        """Completely free nodes of each zone."""
        self.partly = [(free, [pool[free] for pool in self.pools]) for free in range(self.each - 1, 0, -1)]
        """Free accelerators of partly free nodes, most first, with these nodes by zone."""
        self.tightest = [[same for pool in self.pools for same in pool[gpus:]] for gpus in range(self.each + 1)]
        """Nodes that hold a job of some accelerators: zone by zone, the tightest fit first."""
        self.total = len(self.pool_of) * self.each
        self.held = self.at_work = self.spanning = self.preemptions = 0
        self.arriving = map(_Job, table.arrival_s.tolist(), table.run_s.tolist(), table.gpus.tolist())
        # first in, first out: only the head is considered
        self.queue = _Queue(1 if rules.policy == "fifo" else DEPTH)
        self.sharing, self.reserving = (rules.policy == name for name in ("time-sharing", "backfill"))
        self.running: dict[_Job, None] = {}
        self.saving: dict[_Job, None] = {}
        """Preempted jobs that still hold their nodes."""
        self.next: _Job | None = None
        """The head of the queue once no other job may start before it."""
        self.head: _Job | None = None
        self.failed: _Job | None = None
        """The head for which no room could be made."""
        self.again = 0.0
        """When to try again for it [s]."""
        self.latest = inf
        """Time that is reserved for the head of the queue under backfill, from which no job passes it [s]."""
        self.now = 0.0
        self.events: list[_Event] = []
        self.number = 0
        self.clock = _Job(0.0, 0.0, 0)
        """Pseudo-job for looks at the queue."""
        self.arrival: _Event = (inf, 0, self.arrive, self.clock)
        """The next arrival, which no other event replaces: kept out of the heap."""
        self.looks, self.asleep = 0, False
        self.work_s = self.held_s = self.idle_s = 0.0
        self.waits: list[tuple[float, int]] = []

    def after(self, seconds: float, act: Callable[[_Job], None], job: _Job) -> None:
        """Schedule a job's next event after some time, in place of any pending one."""
        self.number = job.event = number = self.number + 1
        heappush(self.events, (self.now + seconds, number, act, job))

    def simulate(self, seconds: float) -> None:
        self._end(seconds)
        first = self._arrivals([])
        if self.sharing:
            self.set_look(self.clock)
        for job in first:
            self.join(job)
        if not self.queue.near:
            self.looks = 0
            self._sleep()
        self._pass(self.warm)

    def drain(self) -> None:
        """Let all jobs run to their end, which changes waits alone."""
        counted, preemptions = (self.work_s, self.held_s, self.idle_s), self.preemptions
        self._end(_LAST_S)
        self._pass(_LAST_S)
        (self.work_s, self.held_s, self.idle_s), self.preemptions = counted, preemptions

    def _end(self, seconds: float) -> None:
        end = _Job(seconds, 0.0, 0)
        heappush(self.events, (seconds, end.event, self.look, end))  # the end comes before all else at its time

    def _pass(self, last: float) -> None:
        """Process events until the end, and sum up held accelerators between them."""
        events, near, total = self.events, self.queue.near, self.total
        work_s = held_s = idle_s = 0.0
        while True:
            arrival = self.arrival
            now, number, act, job = arrival if arrival < events[0] else heappop(events)
            # replaced by a later event of the job
            if job.event != number:
                continue
            if now > last:
                span, held, last = now - last, self.held, now
                work_s += span * self.at_work
                held_s += span * held
                if near:
                    idle_s += span * (total - held)
            # only the end has number 0
            if not number:
                break
            self.now = now
            act(job)
        self.work_s, self.held_s, self.idle_s = work_s, held_s, idle_s

    def largest(self) -> int:
        """Return the accelerators of the largest job that fits [1]."""
        empty = self.empty
        if len(empty) == 1:
            nodes = len(empty[0])
        elif self.spanning < self.rules.spanning:
            nodes = sum(map(len, empty))
        else:
            nodes = max(map(len, empty))
        if nodes:
            return nodes * self.each
        for free, same in self.partly:
            if any(same):
                return free
        return 0

    def place(self, job: _Job) -> bool:
        """Start a job, in one zone if possible; return whether it fits."""
        gpus, part = job.gpus, self.each
        if gpus <= part:
            for same in self.tightest[gpus]:
                if same:
                    self._start(job, [next(iter(same))], gpus)
                    return True
            return False
        nodes_needed = -(-gpus // part)
        empty = self.empty
        fitting = [nodes for nodes in empty if len(nodes) >= nodes_needed]
        if fitting:
            # the fullest zone that fits, which leaves the emptier ones to larger jobs
            fullest = min(fitting, key=len)
            self._start(job, list(islice(fullest, nodes_needed)), part)
            return True
        if self.spanning < self.rules.spanning and sum(map(len, empty)) >= nodes_needed:
            job.spans = True
            self.spanning += 1
            # the emptiest zones first, so that a job spans as few as possible
            self._start(job, list(islice(chain(*sorted(empty, key=len, reverse=True)), nodes_needed)), part)
            return True
        return False

    def _start(self, job: _Job, nodes: list[int], part: int) -> None:
        job.nodes, job.part = nodes, part
        self._shift(nodes, -part)
        if job.started:
            self.after(self.rules.load_s, self.work, job)
            return
        job.started = True
        if job.arrival >= self.warm:
            self.waits.append((self.now - job.arrival, job.gpus))
        self.work(job)

    def _shift(self, nodes: list[int], change: int) -> None:
        free, pool_of = self.free, self.pool_of
        for node in nodes:
            pool, before = pool_of[node], free[node]
            free[node] = after = before + change
            if before:
                pool[before].remove(node)
            if after:
                pool[after].add(node)
        self.held -= change * len(nodes)

    def give(self, job: _Job) -> None:
        """Take a job's nodes back, and start jobs that then fit."""
        self._shift(job.nodes, job.part)
        if job.spans:
            job.spans = False
            self.spanning -= 1
        if self.queue.near:
            self.schedule()

    def work(self, job: _Job) -> None:
        """Run a job until it ends or has to leave."""
        self.at_work += job.gpus
        job.since = self.now
        self.running[job] = None
        self.after(job.left, self.end, job)

    def end(self, job: _Job) -> None:
        self.at_work -= job.gpus
        del self.running[job]
        self.give(job)

    def save(self, job: _Job) -> None:
        self.at_work -= job.gpus
        del self.running[job]
        self.saving[job] = None
        self.preemptions += 1
        job.left = max(0.0, job.left - (self.now - job.since))
        self.after(self.rules.save_s, self.leave, job)

    def leave(self, job: _Job) -> None:
        """Queue a saved job again."""
        if self.asleep:
            self._wake()
        del self.saving[job]
        job.queued = self.now
        self.queue.append(job)
        self.give(job)

    def schedule(self) -> None:
        queue = self.queue
        if self.reserving:
            self._hold()
        while job := self.next or queue.first(self.largest()):
            if job is self.next and not self.place(job):
                break
            queue.remove(job)
            if job is not self.next:
                self.place(job)
            self.next = None
        if self.reserving:
            self._reserve()
        if self.sharing and queue.near:
            self._make_room()

    def _hold(self) -> None:
        """Let no job pass the head of the queue from the time that is reserved for it."""
        if self.now >= self.latest:
            self.next = self.head

    def _reserve(self) -> None:
        """Note for a new head of the queue when the jobs that now run will have made room for it.

        Until then others may pass it, and may still run then: the programs that reserve know limits of run times, and
        not runs.
        """
        head = self.queue.first(self.total)
        if head is self.head:
            return
        self.head, self.latest = head, inf
        if head is not None:
            whole, spanning = [len(nodes) for nodes in self.empty], self.rules.spanning - self.spanning
            self.latest = _room_at(head, self.running, self.each, self.free, self.zone_of, whole, spanning=spanning)

    def _make_room(self) -> None:
        """Preempt jobs past their quantum, longest first, where the head of the queue then fits, and let none pass it.

        Jobs that started when the head had waited for a quantum are on time that is not theirs: they leave at once.
        """
        quantum = self.rules.quantum_s
        head = self.queue.first(self.total)
        if head is None or not self.running:
            return
        if self.now - next(iter(self.running)).since < quantum and self.now < head.queued + quantum:
            return
        if head is self.failed and self.now < self.again:
            return
        self.failed, self.again = head, self.now + quantum / _TRIES
        turn, started = head.queued + quantum, self.now - quantum
        leaving: list[_Job] = []
        free = self.total - self.held + sum(job.part * len(job.nodes) for job in self.saving)
        for job in self.running:  # in the order of their `since`, as they were put in
            if job.since <= started or job.since >= turn:
                leaving.append(job)
                free += job.part * len(job.nodes)
        spans = head.gpus > max(self.rules.zones) * self.each
        if free < head.gpus or (spans and self.spanning >= self.rules.spanning):
            return  # only so many jobs may span zones at a time
        self._preempt_for(head, leaving, spans=spans)

    def _preempt_for(self, head: _Job, leaving: list[_Job], *, spans: bool) -> None:
        """Preempt as many of some jobs as make room for another, which is then next; none if all do not."""
        whole = [len(nodes) for nodes in self.empty]
        room = _Room(head.gpus, self.each, self.free, self.zone_of, whole, spans=spans)
        for job in self.saving:
            room.add(job)
        count = 0
        while count < len(leaving) and room.zone is None:
            room.add(leaving[count])
            count += 1
        if room.zone is not None:
            self.next = head
            for job in leaving[:count]:
                if room.of_zone(job):
                    self.save(job)

    def _arrivals(self, arrived: list[_Job]) -> list[_Job]:
        """Append all jobs that arrive now, and note the next arrival."""
        now = self.now
        for job in self.arriving:
            if job.arrival > now:
                self.number = job.event = number = self.number + 1
                self.arrival = (now + (job.arrival - now), number, self.arrive, job)
                return arrived
            arrived.append(job)
        self.arrival = (inf, 0, self.arrive, self.clock)
        return arrived

    def arrive(self, job: _Job) -> None:
        for arrival in self._arrivals([job]):
            self.join(arrival)

    def join(self, job: _Job) -> None:
        """Start a job if it fits and none is queued before it, else queue it."""
        if self.asleep:
            self._wake()
        if self.reserving:
            self._hold()
        if not (self.queue.room and self.next is None and self.place(job)):
            self.queue.append(job)
            if self.reserving:
                self._reserve()
        if self.sharing and self.queue.near:
            self._make_room()

    def set_look(self, clock: _Job) -> None:
        """Schedule the next look at the queue at a multiple of the quantum, so that each waiting job gets its turn."""
        quantum = self.rules.quantum_s
        self.looks = max(self.looks, int(self.now // quantum)) + 1
        self.after(max(0.0, self.looks * quantum - self.now), self.look, clock)

    def look(self, clock: _Job) -> None:
        if self.queue.near:
            self.set_look(clock)
            self._make_room()
        else:
            self._sleep()

    def _sleep(self) -> None:
        # event 0 cancels a pending look
        self.asleep, self.clock.event = self.sharing, 0

    def _wake(self) -> None:
        self.asleep = False
        self.after(0.0, self.set_look, self.clock)


def share_cluster(
    rules: ClusterRules, table: JobTable, seconds: float, warm_s: float, *, drain: bool = False
) -> Shared:
    """Simulate the use of a cluster by jobs.

    Args:
        table: jobs by arrival; none larger than the cluster.
        seconds: time to simulate [s].
        warm_s: warm-up without counting [s].
        drain: let jobs that wait at the end run, so that every wait counts.

    Returns:
        Utilisation, waits and fragmentation after the warm-up.
    """
    cluster = _Cluster(rules, table, warm_s)
    cluster.simulate(seconds)
    if drain:
        cluster.drain()
    span = (seconds - warm_s) * cluster.total
    waits = np.array([wait for wait, _ in cluster.waits])
    return Shared(
        utilisation=cluster.work_s / span,
        occupied=cluster.held_s / span,
        fragmentation=cluster.idle_s / span,
        wait_s=waits,
        wait_gpus=np.array([gpus for _, gpus in cluster.waits], dtype=int),
        preemptions=cluster.preemptions,
        unfinished=len(cluster.queue),
    )
