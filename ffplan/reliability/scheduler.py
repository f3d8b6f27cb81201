"""Jobs on a cluster, event by event: a queue, gangs of whole nodes, zones, and time-sharing by checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.array_math import Floats, Ints
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Generator


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
    __slots__ = ("arrival", "gpus", "left", "nodes", "part", "process", "since", "spans", "started")

    def __init__(self, arrival: float, left: float, gpus: int) -> None:
        self.arrival, self.left, self.gpus = arrival, left, gpus
        self.nodes: list[int] = []
        self.part = 0
        """Accelerators of each of its nodes."""
        self.spans = False
        self.started = False
        self.since = 0.0
        self.process: Any = None


class _Cluster:
    """Nodes, the queue, and what runs."""

    def __init__(self, rules: ClusterRules, table: JobTable, seconds: float, warm_s: float) -> None:
        import simpy

        self.simpy, self.env = simpy, simpy.Environment()
        self.rules, self.table, self.seconds, self.warm = rules, table, seconds, warm_s
        self.each = rules.gpus_per_node
        self.zone_of = np.repeat(np.arange(len(rules.zones)), rules.zones).tolist()
        self.free = [self.each] * len(self.zone_of)
        self.pools: list[list[set[int]]] = [[set() for _ in range(self.each + 1)] for _ in rules.zones]
        for node, zone in enumerate(self.zone_of):
            self.pools[zone][self.each].add(node)
        self.queue: list[_Job] = []
        self.queued: Any = None
        """Happens when a job joins an empty queue."""
        self.running: dict[_Job, None] = {}
        self.spanning = 0
        self.total = len(self.zone_of) * self.each
        self.held = self.at_work = 0
        self.last = 0.0
        self.sums = [0.0, 0.0, 0.0]
        self.waits: list[tuple[float, int]] = []
        self.preemptions = 0

    def tick(self) -> None:
        """Add the time since the last change to the sums, after the warm-up."""
        now = self.env.now
        span = now - max(self.last, self.warm)
        if span > 0:
            self.sums[0] += span * self.at_work
            self.sums[1] += span * self.held
            self.sums[2] += span * (self.total - self.held) * bool(self.queue)
        self.last = now

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
            nodes = min(fitting, key=len)
            self._take(job, [node for node, _ in zip(nodes, range(wanted), strict=False)], self.each, spans=False)
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
        """Take a job's nodes back."""
        for node in job.nodes:
            self._move(node, self.free[node] + job.part)
        self.held -= job.part * len(job.nodes)
        self.spanning -= job.spans
        job.nodes, job.spans = [], False

    def run(self, job: _Job) -> Generator[Any, Any, None]:
        """Run a job until it ends or has to leave."""
        first = not job.started
        if first:
            job.started = True
            if job.arrival >= self.warm:
                self.waits.append((self.env.now - job.arrival, job.gpus))
        else:
            yield self.env.timeout(self.rules.load_s)
        self.tick()
        self.at_work += job.gpus
        job.since = self.env.now
        self.running[job] = None
        ended = True
        try:
            yield self.env.timeout(job.left)
            job.left = 0.0
        except self.simpy.Interrupt:
            ended = False
            job.left = max(0.0, job.left - (self.env.now - job.since))
        self.tick()
        self.at_work -= job.gpus
        self.running.pop(job, None)
        if not ended:
            yield self.env.timeout(self.rules.save_s)
            self.tick()
            self.wait(job)
        self.give(job)
        self.schedule()

    def start(self, job: _Job) -> None:
        job.process = self.env.process(self.run(job))

    def schedule(self) -> None:
        """Start what fits, by the policy."""
        self.tick()
        waiting, at, failed = self.queue, 0, self.total + 1
        while at < min(len(waiting), DEPTH):
            job = waiting[at]
            if job.gpus < failed:
                if self.place(job):
                    self.start(waiting.pop(at))
                    continue
                failed = job.gpus  # what is larger does not fit either
                if self.rules.policy == "fifo" or failed <= 1:
                    break
            at += 1
        if self.rules.policy == "time-sharing" and waiting:
            self._make_room(waiting[0])

    def _make_room(self, head: _Job) -> None:
        """Let jobs leave that have had their time, the longest first, until the head of the queue would fit."""
        now = self.env.now
        need = -(-head.gpus // self.each) * self.each
        room = self.total - self.held
        for job in sorted(self.running, key=lambda item: item.since):
            if room >= need or now - job.since < self.rules.quantum_s:
                return
            if job.process is not None and job.process.is_alive:
                self.running.pop(job)
                self.preemptions += 1
                job.process.interrupt()
                room += job.part * len(job.nodes)

    def arrivals(self) -> Generator[Any, Any, None]:
        """Let jobs arrive."""
        table = self.table
        for arrival, left, gpus in zip(
            table.arrival_s.tolist(), table.run_s.tolist(), table.gpus.tolist(), strict=True
        ):
            if arrival > self.env.now:
                yield self.env.timeout(arrival - self.env.now)
            self.tick()
            self.wait(_Job(arrival, left, gpus))
            self.schedule()

    def ticks(self) -> Generator[Any, Any, None]:
        """Look at the queue at every multiple of a quantum while a job waits, so that each gets its turn."""
        quantum, number = self.rules.quantum_s, 0
        while True:
            if not self.queue:
                self.queued = self.env.event()
                yield self.queued
            number = max(number, int(self.env.now // quantum)) + 1
            yield self.env.timeout(max(0.0, number * quantum - self.env.now))
            self.schedule()

    def wait(self, job: _Job) -> None:
        """Put a job at the end of the queue, and see that the queue is looked at again."""
        self.queue.append(job)
        if self.queued is not None and not self.queued.triggered:
            self.queued.succeed()


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
    cluster = _Cluster(rules, table, seconds, warm_s)
    cluster.env.process(cluster.arrivals())
    if rules.policy == "time-sharing":
        cluster.env.process(cluster.ticks())
    cluster.env.run(until=seconds)
    cluster.tick()
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
