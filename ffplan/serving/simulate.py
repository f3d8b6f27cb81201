"""Requests on one attention group, step by step: a seeded run for percentiles of latency.

Sequences that decode all advance by one step, so that a sequence ends at a known step. Between arrivals and endings
nothing changes but the context, and the run jumps there at once.

Sources:
    [1] Yu et al., Orca, OSDI 2022: continuous batching.
    [2] Agrawal et al., Sarathi-Serve, arXiv 2403.02310: decoding first, then as much of the prompts as a step holds.
    [3] Kwon et al., PagedAttention, arXiv 2309.06180: a request waits until its tokens have room.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from ffplan.base.array_math import Floats
from ffplan.base.record import record
from ffplan.serving.step import _prompt_floor, _prompt_work, attention_flops, step_time

if TYPE_CHECKING:
    from ffplan.serving.step import Served


@record
class Arrivals:
    """Requests of a run, in order."""

    prompts: Floats
    """Tokens of each prompt that are computed."""
    outputs: Floats
    """Tokens of each answer."""
    times: Floats | None = None
    """Times of arrival [s]; a request starts when another ends if None."""
    concurrency: int = 0
    """Requests under way if there are no times."""


@record
class Room:
    """What an attention group holds at a time."""

    tokens: float
    """Tokens with room [1]."""
    most: int
    """Most sequences [1]."""
    whole: bool = True
    """True if a request starts when its whole answer has room; else with room for its prompt."""


@record
class Times:
    """Latencies of each request [s], in order of arrival."""

    ttft: Floats
    tpot: Floats
    """Time of a token after the first, on average over the request."""
    e2e: Floats
    end: float
    """Time at which the last request ended."""
    running: float
    """Requests that held memory, on average."""
    evicted: int
    """Times that a request lost its memory and was computed again."""

    @property
    def rate(self) -> float:
        """Requests a second of the whole run [1/s]."""
        return len(self.ttft) / max(self.end, 1e-12)

    @property
    def crowded(self) -> bool:
        """True if memory ran out: means by formula do not hold."""
        return self.evicted > 0


@record
class _StepTable:
    """Time of a step as a table over sequences, and what a token of context and of a prompt adds [s]."""

    base: list[float]
    """Step without context, by sequences that decode."""
    context: float
    """Seconds of one cached token."""
    prompt: float
    """Seconds of a prompt token, without its attention."""
    square: float
    """Seconds of attention of a prompt of one token; it grows with the square."""
    floor: float = 0.0
    """Least seconds that prompts add to a step."""
    yielded: float = 1.0
    """Tokens of a step and sequence, with speculation."""
    cached: float = 0.0
    """Tokens in front of every prompt that are cached [1]."""


def _pace_of(
    served: Served,
    most: int,
    *,
    prompt: float,
    context: float,
    drafted: float = 0.0,
    draft: float = 0.0,
    yielded: float = 1.0,
    cached: float = 0.0,
) -> _StepTable:
    """Return the pace of steps of one attention group.

    Args:
        most: most sequences of a step [1].
        prompt: computed tokens of a usual prompt [1], at which attention is taken.
        context: tokens of a usual sequence that decodes [1], by which windows keep fewer.
        drafted: drafted tokens of a step [1].
        draft: time of a drafted token as a fraction of a step [1].
        yielded: tokens that a step yields for each sequence [1].
        cached: tokens in front of every prompt that are cached and read [1].

    Returns:
        Times [s]; those of step and prompt of `ffplan.serving.step`. A pipeline computes prompts in one stage while the
        others go on, so that a step has one stage's part of them.
    """
    import numpy as np

    stages = float(served.deployment.pipeline)
    counts = np.arange(0.0, most + 1)
    counts[0] = 1.0
    slower = 1 + draft * drafted
    base = step_time(served, counts, cached, 1 + drafted).total * slower
    far = step_time(served, 1.0, cached + context).total - step_time(served, 1.0, cached).total
    rate = served.machine.peak16 * served.rates.attention * served.deployment.tensor
    attention = float(attention_flops(served.shape, prompt, cached) / rate)
    square = attention / ((cached + prompt) ** 2 - cached**2)
    return _StepTable(
        base=[float(value) for value in np.broadcast_to(base, counts.shape)],
        context=float(far) / context * slower,
        prompt=(float(_prompt_work(served, prompt, cached)) - attention) / prompt / stages,
        square=square / stages,
        floor=float(_prompt_floor(served)) / stages,
        yielded=yielded,
        cached=cached,
    )


class Run:
    """State of a run."""

    def __init__(self, pace: _StepTable, arrivals: Arrivals, room: Room, chunk: float) -> None:
        import numpy as np

        self.pace, self.arrivals, self.chunk = pace, arrivals, chunk
        self.room, self.most, self.whole = room.tokens, room.most, room.whole
        self.prompts: list[float] = np.asarray(arrivals.prompts, dtype=float).tolist()
        self.outputs: list[float] = np.maximum(np.asarray(arrivals.outputs, dtype=float), 1.0).tolist()
        self.count = len(self.prompts)
        self.started = [0.0] * self.count
        self.first = np.zeros(self.count)
        self.ended = np.zeros(self.count)
        self.now, self.steps, self.context, self.held, self.next = 0.0, 0.0, 0.0, 0.0, 0
        self.waiting: deque[int] = deque()
        self.filling: deque[list[float]] = deque()
        self.ends: list[tuple[float, int]] = []
        self.occupied, self.evicted, self.pending = 0.0, 0, 0.0
        self.made = [0.0] * self.count
        self.turn = [0] * self.count
        self.base = [0.0] * self.count
        self.since = [0.0] * self.count
        self.admitted = 0
        if arrivals.times is None:
            for _ in range(min(arrivals.concurrency, self.count)):
                self._arrive()

    def _arrive(self) -> None:
        """Let the next request arrive now."""
        if self.next < self.count:
            self.started[self.next] = self.now
            self.waiting.append(self.next)
            self.next += 1

    def _admit(self) -> None:
        """Give room to requests that wait, in order."""
        while self.waiting:
            request = self.waiting[0]
            prompt = self.prompts[request] + self.made[request]
            tokens = self.prompts[request] + self.outputs[request]
            busy = len(self.ends) + len(self.filling)
            full = self.held + tokens > self.room if self.whole else self.context + self.pending + prompt > self.room
            if busy and (full or busy >= self.most):
                return
            self.waiting.popleft()
            self.held += tokens
            self.admitted += 1
            self.turn[request] = self.admitted
            self._enter(request, prompt)

    def _enter(self, request: int, prompt: float) -> None:
        """Let a request with room have its prompt computed."""
        self.pending += prompt
        self.filling.append([request, prompt])

    def _decoding(self, request: int, prompt: float, made: float) -> None:
        """Let a request decode from here on.

        Args:
            request: its position.
            prompt: tokens whose keys and values it holds [1].
            made: tokens of its answer so far [1].
        """
        self.context += prompt
        self.base[request], self.since[request] = prompt, self.steps
        heappush(self.ends, (self.steps + max(self.outputs[request] - made, 0.0) / self.pace.yielded, request))

    def _evict(self) -> None:
        """Take the memory of the youngest sequences that decode until the rest has room."""
        while not self.whole and self.context > self.room and len(self.ends) > 1:
            due, request = max(self.ends, key=lambda entry: self.turn[entry[1]])
            self.ends.remove((due, request))
            heapify(self.ends)
            made = self.outputs[request] - (due - self.steps) * self.pace.yielded
            self._leave(request)
            self.made[request] = made
            self.waiting.appendleft(request)
            self.evicted += 1

    def _advance(self, seconds: float, steps: float) -> None:
        """Move on by some steps in which all sequences that decode take part."""
        self.occupied += seconds * (len(self.ends) + len(self.filling))
        self.now += seconds
        self.steps += steps
        self.context += len(self.ends) * steps * self.pace.yielded

    def _prompt_step(self) -> None:
        """Run a step that computes prompt tokens beside decoding."""
        free = max(self.chunk - len(self.ends), 1.0)
        seconds = 0.0
        done = []
        while self.filling and free > 0:
            entry = self.filling[0]
            request, left = int(entry[0]), entry[1]
            taken = min(left, free)
            before = self.pace.cached + self.prompts[request] + self.made[request] - left
            seconds += taken * self.pace.prompt + self.pace.square * ((before + taken) ** 2 - before**2)
            free -= taken
            entry[1] -= taken
            if entry[1] > 0:
                break
            self.filling.popleft()
            done.append(request)
        decoding = self.pace.base[len(self.ends)] + self.context * self.pace.context
        self._advance(decoding + max(seconds, self.pace.floor), 1)
        self._end()
        for request in done:
            if not self.made[request]:
                self.first[request] = self.now
            # the pass over the prompt yields a token itself
            made, prompt = self.made[request] + 1.0, self.prompts[request] + self.made[request]
            self.pending -= prompt
            self._decoding(request, prompt, made)
        self._end()
        self._evict()

    def _to_end(self) -> float:
        """Return the steps until the next sequence ends [1]."""
        from math import ceil

        return max(float(ceil(self.ends[0][0] - self.steps - 1e-9)), 0.0)

    def _decode(self, until: float) -> None:
        """Run steps until the next sequence ends, or a request arrives at `until`."""
        from math import ceil, sqrt

        sequences = len(self.ends)
        steps = self._to_end()
        flat = self.pace.base[sequences] + self.context * self.pace.context
        growth = sequences * self.pace.yielded * self.pace.context
        if until < float("inf"):
            # flat n + growth n^2 / 2 = time left
            left = max(until - self.now, 0.0)
            reach = (sqrt(flat * flat + 2 * growth * left) - flat) / growth if growth > 0 else left / flat
            steps = min(steps, float(ceil(reach)))
        if not self.whole:
            # no further than memory reaches; then the youngest is evicted
            steps = min(steps, float(ceil((self.room - self.context) / (sequences * self.pace.yielded) + 1e-9)))
        steps = max(steps, 1.0)
        self._advance(flat * steps + growth * steps * (steps - 1) / 2, steps)
        self._end()
        self._evict()

    def _leave(self, request: int) -> None:
        """Free what a sequence that decodes holds."""
        self.context -= self.base[request] + (self.steps - self.since[request]) * self.pace.yielded
        self.held -= self.prompts[request] + self.outputs[request]

    def _end(self) -> None:
        """Let sequences end whose answers are complete."""
        while self.ends and self.ends[0][0] <= self.steps + 1e-9:
            _, request = heappop(self.ends)
            self.ended[request] = self.now
            self._leave(request)
            self._complete(request)

    def _complete(self, request: int) -> None:  # noqa: ARG002
        """Let another request take the place of one that ended, in a closed loop."""
        if self.arrivals.times is None:
            self._arrive()

    def run(self) -> None:
        """Run until all requests have ended."""
        times = None if self.arrivals.times is None else [float(time) for time in self.arrivals.times]
        while True:
            if times is not None:
                while self.next < self.count and times[self.next] <= self.now:
                    self._arrive()
                    self.started[self.next - 1] = times[self.next - 1]
            self._admit()
            later = times[self.next] if times is not None and self.next < self.count else float("inf")
            if self.filling:
                self._prompt_step()
            elif self.ends:
                self._decode(later)
            elif later < float("inf"):
                self.now = later
            else:
                return


def _simulate(pace: _StepTable, arrivals: Arrivals, room: Room, *, chunk: float, first: float) -> Times:
    """Run requests on one attention group.

    Args:
        pace: times of its steps, for as many sequences as `room` takes.
        arrivals: the requests.
        room: what has room at a time.
        chunk: most tokens of a step [1].
        first: time of a request outside steps [s].

    Returns:
        Latencies of each request.
    """
    import numpy as np

    run = Run(pace, arrivals, room, chunk)
    run.run()
    started = np.asarray(run.started)
    outputs = np.maximum(np.asarray(run.outputs) - 1, 1.0)
    return Times(
        ttft=run.first - started + first,
        tpot=(run.ended - run.first) / outputs,
        e2e=run.ended - started + first,
        end=run.now,
        running=run.occupied / max(run.now, 1e-12),
        evicted=run.evicted,
    )
