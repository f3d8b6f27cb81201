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
from dataclasses import KW_ONLY
from heapq import heapify, heappop, heappush
from math import ceil, inf, sqrt

from ffplan.base.array_math import Floats
from ffplan.base.record import record
from ffplan.serving.times import Times, _times_of

_ROUNDING = 1e-9
"""Fraction of a step that a sequence may end early [1]."""


MOST_PASSES = 500_000
"""Passes of a run over its state, each a step with prompts or some steps without: a few seconds [1]."""


class LongRunError(Exception):
    """A run takes more than `MOST_PASSES`."""


class LateError(Exception):
    """A run has more late requests than it may have."""


@record
class Bar:
    """Latencies that a run is held to, which it stops at once it cannot keep them."""

    ttft: float
    """Most time to the first token [s]."""
    tpot: float
    """Most time of a further token, on average over a request [s]."""
    late: int
    """Requests that may be above one of them [1]."""
    skipped: int
    """First requests, which do not count [1]."""


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
    _: KW_ONLY
    poll: int = 1
    """Steps of decoding between looks for new requests [1]; the engine also looks after prompts, and when idle."""
    bar: Bar | None = None
    """What the run is held to."""


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
class _StepTable:
    """Time of a step as a table over sequences, and what a token of context and of a prompt adds [s]."""

    base: list[float]
    """Step without context, by sequences that decode."""
    context: float
    """Seconds of one cached token, of sequences that fill all stages."""
    prompt: float
    """Seconds of a prompt token, without its attention."""
    square: float
    """Seconds of attention in a prompt of one token; it grows with the square."""
    floor: float = 0.0
    """Least seconds of a step with prompts, over all stages."""
    stages: float = 1.0
    """Stages of a pipeline: a step has one's part of prompts, whose first tokens wait for the others too."""
    yielded: float = 1.0
    """Tokens of a step and sequence, with speculation."""
    cached: float = 0.0
    """Tokens in front of every prompt that are cached [1]."""
    mixed: bool = True
    """True if sequences decode in steps that carry prompts; else they wait for those."""

    def token(self, sequences: int) -> float:
        """Return the seconds of one cached token beside some sequences that decode [s].

        With fewer sequences than stages, each is alone in its pass, and reads all that it keeps.
        """
        return self.context * max(self.stages / sequences, 1.0) if sequences else self.context


class Run:
    """State of a run."""

    def __init__(self, pace: _StepTable, arrivals: Arrivals, room: Room, chunk: float, first: float = 0.0) -> None:
        import numpy as np

        self.pace, self.arrivals, self.chunk, self.outside = pace, arrivals, chunk, first
        self.room, self.most, self.whole = room.tokens, room.most, room.whole
        self.prompts: list[float] = np.asarray(arrivals.prompts, dtype=float).tolist()
        self.outputs: list[float] = np.maximum(np.asarray(arrivals.outputs, dtype=float), 1.0).tolist()
        self.count = len(self.prompts)
        self.started = [0.0] * self.count
        self.first, self.beyond = [0.0] * self.count, [0.0] * self.count
        self.ended = [0.0] * self.count
        self.late = [0, 0]
        self.now, self.steps, self.context, self.held, self.next = 0.0, 0.0, 0.0, 0.0, 0
        self.waiting: deque[int] = deque()
        self.unseen: deque[int] = deque()
        self.look = 0.0
        self.filling: deque[list[float]] = deque()
        self.ends: list[tuple[float, int]] = []
        self.occupied, self.evicted, self.pending = 0.0, 0, 0.0
        self.passes = 0
        self.plain, self.filled = 0.0, 0.0  # seconds of steps apart from prompts, and for prompts
        self.entered, self.stayed = [0.0] * self.count, [0.0] * self.count
        self.joined, self.decoded = [(0.0, 0.0)] * self.count, [0.0] * self.count
        self.stepped = [0.0] * self.count
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
            self.unseen.append(self.next)
            self.next += 1

    def _see(self) -> None:
        """Let the scheduler see requests that arrived, if it looks now."""
        self.look += ceil(max(self.steps - self.look, 0.0) / self.arrivals.poll) * self.arrivals.poll
        if self.look == self.steps or not self.ends:
            self.waiting.extend(self.unseen)
            self.unseen.clear()
            self.look = self.steps + self.arrivals.poll

    def _admit(self) -> None:
        """Give room to requests that wait, in order."""
        waiting, ends, filling = self.waiting, self.ends, self.filling
        while waiting:
            request = waiting[0]
            prompt = self.prompts[request] + self.made[request]
            tokens = self.prompts[request] + self.outputs[request]
            busy = len(ends) + len(filling)
            if busy:
                if busy >= self.most:
                    return
                if self.held + tokens > self.room if self.whole else self.context + self.pending + prompt > self.room:
                    return
            waiting.popleft()
            self.held += tokens
            self.admitted += 1
            self.turn[request] = self.admitted
            self.entered[request] = self.now
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
        self.joined[request] = (self.now, self.plain)
        heappush(self.ends, (self.steps + max(self.outputs[request] - made, 0.0) / self.pace.yielded, request))

    def _evict(self) -> None:
        """Take the memory of the youngest sequences that decode until the rest has room."""
        while self.context > self.room and len(self.ends) > 1:
            due, request = max(self.ends, key=lambda entry: self.turn[entry[1]])
            self.ends.remove((due, request))
            heapify(self.ends)
            made = self.outputs[request] - (due - self.steps) * self.pace.yielded
            self._leave(request)
            self.made[request] = made
            self.waiting.appendleft(request)
            self.evicted += 1

    def _advance(self, seconds: float, steps: float, prompts: float = 0.0) -> None:
        """Advance all decoding sequences by some steps, and end complete ones.

        Args:
            seconds: time of the steps [s].
            steps: how many sequences decode in [1].
            prompts: part of the time that is for prompts [s].

        Raises:
            LongRunError: if the run has had too many passes.
        """
        sequences = len(self.ends)
        self.passes += 1
        if self.passes > MOST_PASSES:
            raise LongRunError
        self.plain += seconds - prompts
        self.filled += prompts
        self.occupied += seconds * (sequences + len(self.filling))
        self.now += seconds
        self.steps += steps
        self.context += sequences * steps * self.pace.yielded
        if sequences and self.ends[0][0] <= self.steps + _ROUNDING:
            self._end()

    def _prompt_step(self) -> None:
        """Run a step that computes prompt tokens, beside decoding if the engine mixes both."""
        pace, filling, prompts, made = self.pace, self.filling, self.prompts, self.made
        free = max(self.chunk - len(self.ends) * pace.mixed, 1.0)
        parts: list[tuple[int, float]] = []
        done = []
        while filling and free > 0:
            entry = filling[0]
            request, left = int(entry[0]), entry[1]
            taken = min(left, free)
            before = pace.cached + prompts[request] + made[request] - left
            parts.append((request, taken * pace.prompt + pace.square * ((before + taken) ** 2 - before**2)))
            free -= taken
            entry[1] -= taken
            if entry[1] > 0:
                break
            filling.popleft()
            done.append(request)
        decoding = pace.base[len(self.ends)] + self.context * pace.token(len(self.ends)) if pace.mixed else pace.base[0]
        least = (pace.floor - decoding) / pace.stages
        added = max(sum(part for _, part in parts), least)
        self._advance(decoding + added, float(pace.mixed), added if pace.mixed else decoding + added)
        self.look = self.steps
        for request, part in parts:
            if not made[request]:
                self.beyond[request] += (pace.stages - 1) * max(part, least)
        for request in done:
            before = made[request]
            if not before:
                self._begin(request)
            # the pass over the prompt yields a token itself
            self.pending -= prompts[request] + before
            self._decoding(request, prompts[request] + before, before + 1.0)
        self._end()
        if not self.whole:
            self._evict()

    def _begin(self, request: int) -> None:
        """Note the first token of a request.

        Raises:
            LateError: if too many were late.
        """
        self.first[request] = self.now
        bar = self.arrivals.bar
        outside = self.outside + self.beyond[request]
        if bar is not None and self.now - self.started[request] + outside > bar.ttft:
            self._miss(request, 0, bar)

    def _miss(self, request: int, which: int, bar: Bar) -> None:
        """Count a late request.

        Args:
            request: its position.
            which: 0 for its first token, 1 for the others.
            bar: what the run is held to.

        Raises:
            LateError: if there are too many.
        """
        self.late[which] += request >= bar.skipped
        if self.late[which] > bar.late:
            raise LateError

    def _to_end(self) -> float:
        """Return the steps until the next sequence ends [1]."""
        return max(ceil(self.ends[0][0] - self.steps - _ROUNDING), 0)

    def _decode(self, until: float) -> None:
        """Run steps until the next sequence ends, or a request arrives at `until`."""
        sequences, pace = len(self.ends), self.pace
        steps = self._to_end()
        token = pace.token(sequences)
        flat = pace.base[sequences] + self.context * token
        growth = sequences * pace.yielded * token
        if until < inf:
            # flat n + growth n^2 / 2 = time left
            left = max(until - self.now, 0.0)
            reach = (sqrt(flat * flat + 2 * growth * left) - flat) / growth if growth > 0 else left / flat
            steps = min(steps, ceil(reach))
        if self.unseen:
            steps = min(steps, self.look - self.steps)
        if not self.whole:
            # no further than memory reaches; then the youngest is evicted
            steps = min(steps, ceil((self.room - self.context) / (sequences * pace.yielded) + 1e-9))
        steps = max(steps, 1)
        self._advance(flat * steps + growth * steps * (steps - 1) / 2, steps)
        if not self.whole:
            self._evict()

    def _leave(self, request: int) -> None:
        """Free what a sequence that decodes holds."""
        self.context -= self.base[request] + (self.steps - self.since[request]) * self.pace.yielded
        self.held -= self.prompts[request] + self.outputs[request]
        since, plain = self.joined[request]
        self.stayed[request] += self.now - self.entered[request]
        self.decoded[request] += self.now - since
        self.stepped[request] += self.plain - plain

    def _end(self) -> None:
        """Let sequences end whose answers are complete."""
        ends, bar, due = self.ends, self.arrivals.bar, self.steps + _ROUNDING
        while ends and ends[0][0] <= due:
            _, request = heappop(ends)
            self.ended[request] = self.now
            if bar is not None and (self.now - self.first[request]) / max(self.outputs[request] - 1, 1.0) > bar.tpot:
                self._miss(request, 1, bar)
            self._leave(request)
            self._complete(request)

    def _complete(self, request: int) -> None:  # noqa: ARG002
        """Let another request take the place of one that ended, in a closed loop."""
        if self.arrivals.times is None:
            self._arrive()

    def run(self) -> None:
        """Run until all requests have ended.

        Raises:
            LateError: if more are late than may be.
        """
        times = None if self.arrivals.times is None else [*(float(time) for time in self.arrivals.times), inf]
        later = inf
        while True:
            if times is not None:
                while (later := times[self.next]) <= self.now:
                    self._arrive()
                    self.started[self.next - 1] = later
            if self.unseen:
                self._see()
            if self.waiting:
                self._admit()
            if self.filling:
                self._prompt_step()
            elif self.ends:
                self._decode(later)
            elif later < inf:
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

    Raises:
        LateError: if more are late than `arrivals` may have.
    """
    import numpy as np

    run = Run(pace, arrivals, room, chunk, first)
    run.run()
    return _times_of([run], np.asarray(run.started), first + np.asarray(run.beyond), run.now)
