"""Backfill against a simulation that keeps whole lists and looks at every node and job, and hand-worked schedules."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import inf

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ffplan.reliability.scheduler import ClusterRules, JobTable, share_cluster
from tests.support import examples

RULES = ClusterRules(
    zones=(2,), gpus_per_node=8, spanning=0, policy="backfill", quantum_s=100.0, save_s=10.0, load_s=20.0
)


@dataclass
class _Running:
    end: float
    nodes: list[int]
    part: int
    spans: bool


@dataclass
class _Slow:
    """A cluster as lists: free accelerators of each node, jobs that run, and jobs that wait by their places."""

    rules: ClusterRules
    jobs: list[tuple[float, float, int]]
    free: list[int] = field(init=False)
    zone: list[int] = field(init=False)
    running: list[_Running] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    waits: dict[int, float] = field(default_factory=dict)
    head: int | None = None
    reserved: float = inf

    def __post_init__(self) -> None:
        self.zone = [zone for zone, nodes in enumerate(self.rules.zones) for _ in range(nodes)]
        self.free = [self.rules.gpus_per_node for _ in self.zone]

    def room(self, gpus: int, running: list[_Running]) -> tuple[list[int], bool] | None:
        """Return the nodes that a job takes beside some others, and whether they span zones; None without room."""
        each = self.rules.gpus_per_node
        free = [each - sum(job.part for job in running if node in job.nodes) for node in range(len(self.zone))]
        if gpus <= each:
            fitting = [node for node in range(len(free)) if free[node] >= gpus]
            return ([min(fitting, key=lambda node: (self.zone[node], free[node]))], False) if fitting else None
        needed = -(-gpus // each)
        whole = [
            [node for node in range(len(free)) if self.zone[node] == zone and free[node] == each]
            for zone in range(len(self.rules.zones))
        ]
        zones = [nodes for nodes in whole if len(nodes) >= needed]
        if zones:
            return min(zones, key=len)[:needed], False
        every = [node for nodes in sorted(whole, key=len, reverse=True) for node in nodes]
        if sum(job.spans for job in running) < self.rules.spanning and len(every) >= needed:
            return every[:needed], True
        return None

    def start(self, job: int, now: float) -> bool:
        arrival, run, gpus = self.jobs[job]
        found = self.room(gpus, self.running)
        if found is None:
            return False
        nodes, spans = found
        self.running.append(_Running(now + run, nodes, min(gpus, self.rules.gpus_per_node), spans))
        self.waits[job] = now - arrival
        return True

    def reserve(self) -> None:
        """Let a new head of the queue have the first time at which it fits, were nothing else to start."""
        head = self.waiting[0] if self.waiting else None
        if head == self.head:
            return
        self.head, self.reserved = head, inf
        if head is not None:
            ends = sorted(job.end for job in self.running)
            self.reserved = next(
                end for end in ends if self.room(self.jobs[head][2], [job for job in self.running if job.end > end])
            )

    def simulate(self) -> list[tuple[int, float]]:
        coming = list(range(len(self.jobs)))
        while coming or self.running:
            now = min([self.jobs[job][0] for job in coming[:1]] + [job.end for job in self.running])
            if coming and self.jobs[coming[0]][0] == now:
                job = coming.pop(0)
                if now >= self.reserved or not self.start(job, now):
                    self.waiting.append(job)
            else:
                self.running = [job for job in self.running if job.end > now]
                self.pass_over(now)
            self.reserve()
        return sorted((self.jobs[job][2], wait) for job, wait in self.waits.items())

    def pass_over(self, now: float) -> None:
        """Start waiting jobs, the first that fits first; none before a head whose time has come."""
        held = now >= self.reserved
        while self.waiting:
            able = self.waiting[:1] if held else self.waiting
            started = next((job for job in able if self.start(job, now)), None)
            if started is None:
                return
            self.waiting.remove(started)
            held = False


def waits_of(rules: ClusterRules, jobs: list[tuple[float, float, int]]) -> list[tuple[int, float]]:
    """Return the accelerators and the wait of every job, sorted."""
    arrivals, runs, gpus = (np.array(column) for column in zip(*jobs, strict=True))
    table = JobTable(arrivals.astype(float), runs.astype(float), gpus.astype(int))
    found = share_cluster(rules, table, 1.0, 0.0, drain=True)
    assert found.unfinished == 0
    assert len(found.wait_s) == len(jobs)
    return sorted(zip(found.wait_gpus.tolist(), found.wait_s.tolist(), strict=True))


@examples(1_000)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.integers(0, 1),
    st.sampled_from([2, 4, 8]),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 200), st.floats(0, 1)), min_size=1, max_size=25),
)
def test_backfill_does_what_a_slow_simulation_does(
    zones: list[int], spanning: int, each: int, drawn: list[tuple[int, int, float]]
) -> None:
    """No two events come at once: times differ in their fractions."""
    rules = replace(RULES, zones=tuple(zones[:2] if sum(zones) > 8 else zones), gpus_per_node=each, spanning=spanning)
    most = each * (sum(rules.zones) if spanning else max(rules.zones))
    arrivals = accumulate(gap + 0.001 for gap, _, _ in drawn)
    jobs = [
        (arrival, run + 0.0137 * (place + 1) ** 0.5, 1 + int(share**2 * (most - 1)))
        for place, (arrival, (_, run, share)) in enumerate(zip(arrivals, drawn, strict=True))
    ]
    assert waits_of(rules, jobs) == _Slow(rules, jobs).simulate()


TRACE = [(0.0, 1000.0, 5), (1.0, 3000.0, 5), (2.0, 5000.0, 3), (10.0, 100.0, 8), (1500.0, 200.0, 1)]


def test_half_empty_nodes_are_no_room_for_a_whole_one() -> None:
    """From 1,000 s on eight accelerators are free, on two nodes; a whole node is free at 3,001 s and no earlier.

    The small job starts when it comes, on the node that the head will not have, and the head waits 2,991 s.
    """
    assert waits_of(RULES, TRACE) == [(1, 0.0), (3, 0.0), (5, 0.0), (5, 0.0), (8, 2991.0)]


def test_zones_that_are_not_joined_are_no_room_together() -> None:
    """Two zones of two nodes; a job of two nodes comes at 10 s, when one node of each zone is taken.

    One node of the first zone is free all along, and of the second from 100 s on both are: the head starts then. What
    comes at 50 s for one node passes it, since no time before 100 s is reserved.
    """
    rules = replace(RULES, zones=(2, 2))
    jobs = [(0.0, 1000.0, 8), (1.0, 999.0, 8), (2.0, 98.0, 8), (3.0, 47.0, 8), (10.0, 100.0, 16), (60.0, 30.0, 8)]
    # nodes: 0 until 1,000; 1 until 1,000; 2 until 100; 3 until 50: two free ones in a zone at 100
    assert waits_of(rules, jobs) == [*[(8, 0.0)] * 5, (16, 90.0)]
    apart = [(0.0, 1000.0, 8), (1.0, 49.0, 8), (2.0, 98.0, 8), (3.0, 1997.0, 8), (10.0, 100.0, 16), (110.0, 10.0, 8)]
    # nodes: 0 until 1,000; 1 until 50; 2 until 100; 3 until 2,000: two are free at 100 in two zones, at 1,000 in one
    assert waits_of(rules, apart) == [*[(8, 0.0)] * 5, (16, 990.0)]
