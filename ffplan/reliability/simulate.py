"""Event simulation of a job, with the same failures, checkpoints, restarts and repairs as the formulas.

It cross-checks `reliability.job`: failures are drawn one by one, and kept work is counted.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Generator

    from ffplan.base.array_math import Floats

MOST_EVENTS = 1_000
"""Most interruptions in a run's timeline, and most harmless events per hazard [1]."""


@record
class SimulatedMemory:
    """Checkpoints in the memory of other nodes."""

    together: float
    """Share of interruptions that leave no copy there [1]."""
    behind_s: float
    """From the end of a checkpoint's stop until another node has it [s]."""
    restart_s: float
    """Restart from a copy in memory, until the first new step [s]."""
    every: int
    """Checkpoints in memory for one in storage [1]."""


@record
class SimulatedJob:
    """Numbers of a job for its simulation."""

    rates: dict[str, float]
    """Interruptions a second, by hazard [1/s]."""
    removes: dict[str, float]
    """Share of interruptions that remove a node, by hazard [1]."""
    harmless: dict[str, float]
    """Harmless events a second, by hazard [1/s]."""
    removals: float
    """Nodes a second removed by harmless events [1/s]."""
    interval_s: float
    save_s: float
    behind_s: float
    """From the end of a checkpoint's stop until storage has it [s]."""
    restart_s: float
    """Restart that finds no spare free [s]."""
    repair_s: float
    nodes: int
    spares: int
    replica_nodes: float
    shrinks: bool
    paths: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Hazards of paths that the job survives: events a second [1/s] and repair time [s]."""
    path_lost: float = 1.0
    """Share of its rate kept while a path is lost [1]."""
    drains: dict[str, float] = field(default_factory=dict)
    """Hazards that remove a whole scale-up domain, with its repair [s]."""
    domain_nodes: int = 1
    """Nodes of a scale-up domain [1]."""
    spare_domains: int = 0
    """Whole domains among the spares that replace failed ones."""
    swap_s: float = 0.0
    """Time to swap a spare node in [s]; 0 if at once, or without spares."""
    standby_saves_s: float = 0.0
    """What a restart is shorter by if the failure finds a spare free [s]."""
    waits: bool = False
    """Whether it stands still while it lacks a node."""
    pace: float = 1.0
    """Share of its rate kept despite stragglers [1]."""
    memory: SimulatedMemory | None = None
    """Copies in the memory of other nodes; `behind_s` and `restart_s` then refer to storage."""


@record
class Interruption:
    """An event of a run."""

    at_s: float
    hazard: str
    pick: float
    """Unit of the hazard, as a fraction of all [1]."""
    lost_s: float
    """Work lost [s]."""
    down_s: float
    """Time until the job ran again [s]."""
    missing: int
    """Nodes missing then."""


@record
class _SimulatedRun:
    goodput: float
    interruptions: int
    events: list[Interruption]


def _kept_work(run_s: float, job: SimulatedJob) -> float:
    """Return the work saved in a stretch without failures.

    Args:
        run_s: time since the last restart [s].

    Returns:
        Work [s], of a job with all its nodes.

    Equation:
        tau * floor((t - behind) / (tau + d)), at least 0: a checkpoint counts once storage has it

    Source:
        Definition of an asynchronous checkpoint.
    """
    cycle = job.interval_s + job.save_s
    return job.interval_s * max(0.0, (run_s - job.behind_s) // cycle)


class _Run:
    def __init__(self, job: SimulatedJob, seconds: float, seed: int) -> None:
        import simpy

        self.job, self.seconds = job, seconds
        self.random = np.random.Generator(np.random.PCG64(seed))
        self.env = simpy.Environment()
        self.names = list(job.rates)
        self.weights: Floats = np.array([job.rates[name] for name in self.names])
        self.rate = float(self.weights.sum())
        self.down = self.domains = self.swapping = self.lost_paths = 0
        self.kept = 0.0
        self.unsafe = 0.0
        """Kept work in memory but not yet in storage [s]."""
        self.phase = 0
        """Checkpoints in memory since the last one in storage [1]."""
        self.count = 0
        self.noted: dict[str, int] = {}
        """Harmless events in the timeline, by hazard [1]."""
        self.events: list[Interruption] = []
        self.repaired: Any = self.env.event()
        self.stretch: tuple[float, list[tuple[float, float]]] | None = None
        """Start of the current stretch, and its paces; None during a restart."""

    @property
    def lacks(self) -> tuple[int, int]:
        """Missing nodes and whole scale-up domains of the job."""
        # whole domains take their spares first, single nodes the rest
        return max(self.down - self.left, 0) + self.swapping, max(self.domains - self.job.spare_domains, 0)

    @property
    def left(self) -> int:
        """Spares that replace single nodes."""
        return self.job.spares - self.job.domain_nodes * min(self.domains, self.job.spare_domains)

    @property
    def missing(self) -> int:
        """Missing nodes of the job, including missing domains."""
        nodes, domains = self.lacks
        return nodes + domains * self.job.domain_nodes

    @property
    def pace(self) -> float:
        """Current share of the job's full rate."""
        pace = self.job.pace * (self.job.path_lost if self.lost_paths else 1.0)
        if not self.missing:
            return pace
        if not self.job.shrinks:
            return 0.0
        nodes, domains = self.lacks
        stopped = nodes * self.job.replica_nodes + domains * max(self.job.replica_nodes, self.job.domain_nodes)
        return pace * max(0.0, 1.0 - stopped / self.job.nodes)

    def back(self) -> None:
        """Signal a return from repair."""
        self.repaired.succeed()
        self.repaired = self.env.event()

    def repair(self) -> Generator[Any, Any, None]:
        """Bring a node back."""
        yield self.env.timeout(self.random.exponential(self.job.repair_s))
        left, lacking = self.left, self.down > self.left
        self.down -= 1
        # one that a spare replaced is itself the spare of one that lacks
        if lacking and self.job.swap_s and self.random.random() * (self.down + 1) < left:
            self.carry()
        self.back()

    def carry(self) -> None:
        """Send a spare on its way."""
        self.swapping += 1
        self.env.process(self.swap())

    def swap(self) -> Generator[Any, Any, None]:
        """Move a spare node to its place."""
        yield self.env.timeout(self.random.exponential(self.job.swap_s))
        self.swapping -= 1
        self.back()

    def drained(self, seconds: float) -> Generator[Any, Any, None]:
        """Bring a scale-up domain back."""
        yield self.env.timeout(self.random.exponential(seconds))
        self.domains -= 1
        self.back()

    def path_back(self, seconds: float) -> Generator[Any, Any, None]:
        """Bring a path back."""
        yield self.env.timeout(self.random.exponential(seconds))
        self.lost_paths -= 1
        self.back()

    def paths(self, name: str, rate: float, seconds: float) -> Generator[Any, Any, None]:
        """Lose paths that the job survives; the start has the long-run mean number of lost paths."""
        for _ in range(int(self.random.poisson(rate * seconds))):
            self.lost_paths += 1
            self.env.process(self.path_back(seconds))
        self.mark()
        while True:
            yield self.env.timeout(self.random.exponential(1 / rate))
            self.lost_paths += 1
            self.env.process(self.path_back(seconds))
            self.mark()
            self.note(name)

    def note(self, name: str, time_s: float | None = None) -> None:
        """Add a harmless event to the timeline."""
        if self.noted.get(name, 0) >= MOST_EVENTS:
            return
        self.noted[name] = self.noted.get(name, 0) + 1
        event = Interruption(
            at_s=self.env.now if time_s is None else time_s,
            hazard=name,
            pick=float(self.random.random()),
            lost_s=0.0,
            down_s=0.0,
            missing=0,
        )
        self.events.append(event)

    def mark(self) -> None:
        """Record the pace from now on in the current stretch, if any."""
        if self.stretch is not None:
            self.stretch[1].append((self.env.now - self.stretch[0], self.pace))

    def take_out(self) -> None:
        self.down += 1
        self.env.process(self.repair())
        if self.job.swap_s and self.down <= self.left:
            self.carry()

    def begin(self) -> None:
        """Begin with as many nodes in repair as at any time; a job that waits has no more than its spares replace."""
        stops = sum(rate * self.job.removes[name] for name, rate in self.job.rates.items())
        down = int(self.random.poisson((stops + self.job.removals) * self.job.repair_s))
        for _ in range(min(down, self.job.spares) if self.job.waits else down):
            self.down += 1
            self.env.process(self.repair())

    def strike(self) -> tuple[str, bool, bool]:
        """Draw a hazard, remove its node if it does; return its name, if memory has a copy, and if a spare is free."""
        name = self.names[int(self.random.choice(len(self.names), p=self.weights / self.rate))]
        free = self.domains < self.job.spare_domains if name in self.job.drains else self.down < self.left
        if self.random.random() < self.job.removes[name]:
            self.take_out()
        if name in self.job.drains:
            self.domains += 1
            self.env.process(self.drained(self.job.drains[name]))
        self.count += 1
        memory = self.job.memory
        return name, memory is not None and float(self.random.random()) >= memory.together, free

    def restart(self, near: bool, free: bool) -> Generator[Any, Any, None]:
        """Restart until no failure interrupts it, from storage once no copy is left in memory."""
        while True:
            memory = self.job.memory
            seconds = memory.restart_s if near and memory is not None else self.job.restart_s
            seconds -= self.job.standby_saves_s if free else 0.0
            # memoryless: the time to the next failure may be drawn anew
            ahead = self.random.exponential(1 / self.rate)
            if ahead >= seconds:
                yield self.env.timeout(seconds)
                return
            yield self.env.timeout(ahead)
            _, held, free = self.strike()
            near = held and near
            if not near:
                self.forget()

    def forget(self) -> None:
        """Lose the work not yet in storage."""
        self.kept -= self.unsafe
        self.unsafe, self.phase = 0.0, 0

    def whole(self) -> Generator[Any, Any, None]:
        """Wait for nodes if the job cannot run without them."""
        while self.pace <= 0.0:
            yield self.repaired

    def live(self) -> Generator[Any, Any, None]:
        while True:
            yield from self.whole()
            start, paces = self.env.now, [(0.0, self.pace)]
            self.stretch = start, paces
            failure = self.env.timeout(self.random.exponential(1 / self.rate))
            while not failure.triggered or not failure.processed:
                repaired = self.repaired
                yield failure | repaired
                if failure.processed:
                    break
                paces.append((self.env.now - start, self.pace))
            struck_s = self.env.now
            name, near, free = self.strike()
            lost = self.finish(near)
            missing = self.missing
            yield from self.restart(near, free)
            yield from self.whole()
            if self.count <= MOST_EVENTS:
                event = Interruption(
                    at_s=struck_s,
                    hazard=name,
                    pick=float(self.random.random()),
                    lost_s=lost,
                    down_s=self.env.now - struck_s,
                    missing=missing,
                )
                self.events.append(event)

    def finish(self, near: bool) -> float:
        """Count the current stretch, if any, and return its lost work [s]."""
        if self.stretch is None:
            return 0.0
        start, paces = self.stretch
        self.stretch = None
        ran, memory = self.env.now - start, self.job.memory
        cycle = self.job.interval_s + self.job.save_s
        # work over interval is a whole number but for float noise
        stored = round(_kept_work(ran, self.job) / self.job.interval_s)
        if memory is None:
            self.kept += self.paced(stored * cycle, paces)
            return ran - stored * cycle
        if near:
            held = int(max(0.0, (ran - memory.behind_s) // cycle))
            work = self.paced(held * cycle, paces)
            sent = held - (self.phase + held) % memory.every  # one on its way to storage comes from memory again
            self.unsafe = work - self.paced(sent * cycle, paces) if sent > 0 else self.unsafe + work
            self.phase = (self.phase + held) % memory.every
            self.kept += work
            return ran - held * cycle
        # only every n-th checkpoint goes to storage
        stored -= (self.phase + stored) % memory.every
        if stored > 0:
            self.unsafe, self.phase = 0.0, 0
            self.kept += self.paced(stored * cycle, paces)
            return ran - stored * cycle
        lost = ran + self.unsafe
        self.forget()
        return lost

    def removals(self, rate: float) -> Generator[Any, Any, None]:
        """Remove nodes by harmless failures."""
        while True:
            yield self.env.timeout(self.random.exponential(1 / rate))
            self.take_out()
            self.mark()

    def paced(self, end: float, paces: list[tuple[float, float]]) -> float:
        """Return the work of a stretch up to a time, each part at its pace [s]."""
        cycle = (self.job.interval_s + self.job.save_s) / self.job.interval_s
        marks = [min(time, end) for time, _ in paces] + [end]
        share = sum((after - time) * pace for (_, pace), time, after in zip(paces, marks, marks[1:], strict=False))
        return share / cycle

    def noise(self) -> None:
        for name, rate in self.job.harmless.items():
            for time_s in np.sort(self.random.uniform(0, self.seconds, int(self.random.poisson(rate * self.seconds)))):
                self.note(name, float(time_s))
        self.events.sort(key=lambda event: event.at_s)


def simulate_run(job: SimulatedJob, seconds: float, seed: int) -> _SimulatedRun:
    """Return one simulated run.

    Args:
        seconds: time to simulate [s].

    Returns:
        Kept work over time, with the interruptions.
    """
    run = _Run(job, seconds, seed)
    run.begin()
    run.env.process(run.live())
    if job.removals > 0:
        run.env.process(run.removals(job.removals))
    for name, (rate, back) in job.paths.items():
        run.env.process(run.paths(name, rate, back))
    run.env.run(until=seconds)
    # the end of time is no failure: work in memory counts
    run.finish(near=True)
    # last, so that draws for the timeline never change the result
    run.noise()
    return _SimulatedRun(run.kept / seconds, run.count, run.events)


FEW_RUNS = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 6: 2.4469, 7: 2.3646}
"""Two-sided 95 % quantiles of Student's distribution for few degrees of freedom, where the expansion is too small."""


def mean_interval(values: list[float]) -> tuple[float, float, float]:
    """Return a mean with its standard error and the half width of its 95 % confidence interval.

    Args:
        values: one of each run [any unit].

    Returns:
        Mean, standard error and half width [same unit]; infinite for a single run.

    Equation:
        s / sqrt(n); that times `student`

    Source:
        Student's distribution; its expansion is within 0.5 % from nine runs on.
    """
    sample = np.asarray(values, dtype=float)
    if len(sample) < 2:
        return float(sample.mean()), float("inf"), float("inf")
    error = float(sample.std(ddof=1) / np.sqrt(len(sample)))
    return float(sample.mean()), error, student(len(sample)) * error


def student(runs: int) -> float:
    """Return the half width of a mean's 95 % confidence interval in standard errors [1].

    Args:
        runs: values of the mean; at least two [1].

    Equation:
        t(n - 1), from the table for few runs, otherwise by its expansion around 1.96

    Source:
        Student's distribution; Cornish and Fisher's expansion.
    """
    free, z = runs - 1, 1.959964
    t = z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
    return FEW_RUNS.get(free, t)
