"""Seeded runs of requests for percentiles of latency: on an attention group, or on separate pools.

Apart, groups that compute prompts and groups that decode each run as in `ffplan.serving.simulate`; events in order of
time join them. A prompt goes to the group with the fewest requests, and so does an answer.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from ffplan.serving.kept import once
from ffplan.serving.load import _tokens_a_step
from ffplan.serving.memory import cached_tokens
from ffplan.serving.pools import slices, transfer_seconds
from ffplan.serving.room import _free_tokens
from ffplan.serving.simulate import Arrivals, Room, Run, _simulate, _StepTable
from ffplan.serving.step import attention_flops, launch_seconds, prompt_seconds, step_time
from ffplan.serving.times import Times, _times_of

if TYPE_CHECKING:
    from ffplan.base.array_math import Floats
    from ffplan.serving.pools import Pools
    from ffplan.serving.requests import Requests
    from ffplan.serving.room import MemoryUse
    from ffplan.serving.step import Served


class _Group(Run):
    """An attention group whose requests come from outside, and leave when they are done."""

    def __init__(self, pace: _StepTable, arrivals: Arrivals, room: Room, chunk: float) -> None:
        super().__init__(pace, arrivals, room, chunk)
        self.done: list[int] = []

    def _complete(self, request: int) -> None:
        self.done.append(request)


class _Prompts(_Group):
    """An attention group that computes prompts."""

    def step(self, now: float) -> float:
        """Begin a step, and return the time of its end [s]."""
        self.now = max(self.now, now)
        self._admit()
        self._prompt_step()
        return self.now


class _Answers(_Group):
    """An attention group that decodes."""

    version = 0
    """Times that its sequences changed, which makes an end that was planned before void."""

    def _enter(self, request: int, prompt: float) -> None:
        """Let a request decode whose keys and values are here; its first token came with its prompt."""
        if not self.made[request]:
            self.first[request] = self.now
        self._decoding(request, prompt, max(self.made[request], 1.0))

    def join(self, request: int, now: float) -> None:
        """Let a request decode from the next step on, once it has room.

        Args:
            request: its position.
            now: time at which its keys and values are here [s].
        """
        while self.ends and self.now < now:
            self._decode(now)
        self.now = max(self.now, now)
        self.waiting.append(request)
        self._settle()

    def _settle(self) -> None:
        """Let requests in, and out that have one token only."""
        self._admit()
        self._end()
        self.version += 1

    def next_end(self) -> float:
        """Return the time at which the next sequence ends if none joins [s]."""
        steps = max(self._to_end(), 1.0)
        token = self.pace.token(len(self.ends))
        flat = self.pace.base[len(self.ends)] + self.context * token
        growth = len(self.ends) * self.pace.yielded * token
        return self.now + flat * steps + growth * steps * (steps - 1) / 2

    def go_on(self) -> None:
        """Run until the next sequence ends, or memory is full."""
        self._decode(float("inf"))
        self._settle()


class _Unit:
    """All groups of a unit, and the events to come."""

    def __init__(
        self, prompts: list[_Prompts], answers: list[_Answers], arrivals: Arrivals, moved: float, *, begun: bool
    ) -> None:
        import numpy as np

        self.prompts, self.answers, self.arrivals, self.moved = prompts, answers, arrivals, moved
        self.size = len(arrivals.prompts)
        self.started = np.zeros(self.size)
        self.end = 0.0
        self.events: list[tuple[float, int, str, int, int]] = []
        self.order = count()
        self.next = 0
        self.prompts_in, self.answers_in = [0] * len(prompts), [0] * len(answers)  # requests of each group
        if arrivals.times is not None:
            for request, time in enumerate(arrivals.times):
                self._plan(float(time), "arrival", request)
        else:
            for _ in range(min(arrivals.concurrency, self.size)):
                self._plan(0.0, "answer" if begun else "arrival", self.next)
                self.next += 1

    def _plan(self, time: float, kind: str, place: int, version: int = 0) -> None:
        heappush(self.events, (time, next(self.order), kind, place, version))

    def _arrive(self, request: int, now: float) -> None:
        self.started[request] = now
        place = self.prompts_in.index(min(self.prompts_in))
        self.prompts[place].waiting.append(request)
        self.prompts_in[place] += 1
        if self.prompts_in[place] == 1:
            self._step(place, now)

    def _step(self, place: int, now: float) -> None:
        """Begin a step of prompts, and plan its end."""
        self._plan(self.prompts[place].step(now), "step", place)

    def _prompts_done(self, place: int, now: float) -> None:
        group = self.prompts[place]
        for request in group.done:
            self._plan(now + self.moved, "answer", request)
        self.prompts_in[place] -= len(group.done)
        group.done.clear()
        if self.prompts_in[place]:
            self._step(place, now)

    def _answers_done(self, place: int) -> None:
        """Let others take the place of what ended, and plan the next end of a group that decodes."""
        group = self.answers[place]
        for request in group.done:
            self.end = max(self.end, group.ended[request])
            if self.arrivals.times is None and self.next < self.size:
                self._plan(group.ended[request], "arrival", self.next)
                self.next += 1
        self.answers_in[place] -= len(group.done)
        group.done.clear()
        if group.ends:
            self._plan(group.next_end(), "end", place, group.version)

    def run(self) -> None:
        """Run until all requests have ended."""
        while self.events:
            now, _, kind, place, version = heappop(self.events)
            if kind == "arrival":
                self._arrive(place, now)
            elif kind == "step":
                self._prompts_done(place, now)
            elif kind == "answer":
                chosen = self.answers_in.index(min(self.answers_in))
                self.answers_in[chosen] += 1
                self.answers[chosen].join(place, now)
                self._answers_done(chosen)
            elif version == self.answers[place].version:
                self.answers[place].go_on()
                self._answers_done(place)


def _simulate_pools(
    paces: tuple[_StepTable, _StepTable],
    groups: tuple[int, int],
    arrivals: Arrivals,
    rooms: tuple[Room, Room],
    *,
    chunk: float,
    first: float,
    moved: float,
    begun: bool = True,
) -> Times:
    """Run requests on a unit with separate prefill and decoding.

    Args:
        paces: times of steps of a group with prompts, and of one that decodes.
        groups: attention groups of both kinds [1].
        arrivals: the requests.
        rooms: what has room at a time in a group of both kinds.
        chunk: most prompt tokens of a step [1].
        first: time of a request outside steps [s].
        moved: time that keys and values still move after a prompt is computed [s].
        begun: in a closed loop, the first requests decode already; else all come at once with their prompts.

    Returns:
        Latencies of each request.
    """
    import numpy as np

    ones = np.ones(len(arrivals.prompts))
    alone = Arrivals(arrivals.prompts, ones, ones)
    answers = Arrivals(arrivals.prompts, arrivals.outputs, ones)
    unit = _Unit(
        [_Prompts(paces[0], alone, rooms[0], chunk) for _ in range(groups[0])],
        [_Answers(paces[1], answers, rooms[1], chunk) for _ in range(groups[1])],
        arrivals,
        moved,
        begun=begun,
    )
    unit.run()
    outside: Floats = first + np.sum([group.beyond for group in unit.prompts], axis=0)
    return _times_of(unit.answers, unit.started, outside, unit.end)


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
        context: tokens of a usual decoding sequence [1]; windows keep fewer.
        drafted: drafted tokens of a step [1].
        draft: time of a drafted token as a fraction of a step [1].
        yielded: tokens that a step yields for each sequence [1].
        cached: tokens in front of every prompt that are cached and read [1].

    Returns:
        Times [s], for step and prompt from `ffplan.serving.step`. A pipeline computes prompts in one stage while the
        others go on, so that a step has one stage's part of them.
    """
    import numpy as np

    stages = float(served.deployment.pipeline)
    counts = np.arange(0.0, most + 1)
    counts[0] = 1.0
    slower = 1 + draft * drafted
    base = step_time(served, counts, cached, 1 + drafted).total * slower
    # what one sequence of as many as stages reads
    far = (step_time(served, stages, cached + context).total - step_time(served, stages, cached).total) / stages
    rate = served.machine.peak16 * served.rates.attention * served.deployment.tensor
    attention = float(attention_flops(served.shape, prompt, cached) / rate)
    square = attention / ((cached + prompt) ** 2 - cached**2)
    return _StepTable(
        base=[float(value) for value in np.broadcast_to(base, counts.shape)],
        context=float(far) / context * slower,
        prompt=(float(prompt_seconds(served, prompt, cached)) - attention) / prompt / stages,
        square=square / stages,
        floor=float(launch_seconds(served)),
        stages=stages,
        yielded=yielded,
        cached=cached,
        mixed=served.mixed,
    )


_ANY = 10**9
"""Prompts that a group computes at a time: as many as have room [1]."""


def _pace(served: Served, most: int, requests: Requests, arrivals: Arrivals) -> _StepTable:
    """Return the pace of a group at the mean lengths of a run."""
    prompt, output = float(np.mean(arrivals.prompts)), float(np.mean(arrivals.outputs))
    return _pace_of(
        served,
        most,
        prompt=prompt,
        context=prompt + output / 2,
        drafted=float(requests.drafted),
        draft=float(requests.draft),
        yielded=float(_tokens_a_step(requests.drafted, requests.accepted)),
        cached=float(requests.shared),
    )


def _room(served: Served, use: MemoryUse, most: int, requests: Requests, tokens: float) -> Room:
    """Return the sequences and tokens that a group holds.

    Args:
        tokens: tokens of a usual request [1]; layers with a window keep fewer, so that there is room for more.
    """
    kept = float(cached_tokens(served.shape, tokens)) / tokens
    return Room(float(_free_tokens(use, served.shape, requests)) / kept, most, whole=use.whole)


def _most(use: MemoryUse, arrivals: Arrivals) -> int:
    return int(use.most if arrivals.times is not None else min(arrivals.concurrency, use.most))


def run_requests(served: Served, use: MemoryUse, requests: Requests, arrivals: Arrivals) -> Times:
    """Return the latencies of requests on one attention group.

    Args:
        served: the model on its deployment.
        use: memory of an accelerator, and the engine's limit on sequences.
        requests: what speculation and a prefix cache save, and tokens of a step.
        arrivals: the requests.
    """
    most = _most(use, arrivals)
    prompt, output = float(np.mean(arrivals.prompts)), float(np.mean(arrivals.outputs))
    room = _room(served, use, most, requests, prompt + output)
    pace = _pace(served, most, requests, arrivals)
    return once(_simulate, pace, arrivals, room, chunk=float(requests.chunk), first=float(served.rates.first))


def run_pools(
    pools: Pools, uses: tuple[MemoryUse, MemoryUse], requests: Requests, arrivals: Arrivals, *, begun: bool = True
) -> Times:
    """Return the latencies of requests on one of the `slices` of a unit of pools.

    Args:
        pools: the unit.
        uses: memory of an accelerator that computes prompts, and of one that decodes.
        requests: what speculation and a prefix cache save, and tokens of a step.
        arrivals: the requests of the slice.
        begun: in a closed loop, the first requests decode already; else all come at once with their prompts.
    """
    most, parts = _most(uses[1], arrivals), slices(pools)
    prompt, output = float(np.mean(arrivals.prompts)), float(np.mean(arrivals.outputs))
    rooms = (
        _room(pools.prefill, uses[0], _ANY, requests, prompt + 1),
        _room(pools.decode, uses[1], most, requests, prompt + output),
    )
    return once(
        _simulate_pools,
        (_pace(pools.prefill, 1, requests, arrivals), _pace(pools.decode, most, requests, arrivals)),
        (round(float(pools.prompt_groups)) // parts, round(float(pools.decode_groups)) // parts),
        arrivals,
        rooms,
        chunk=float(requests.chunk),
        first=float(pools.prefill.rates.first),
        moved=float(transfer_seconds(pools, requests)),
        begun=begun,
    )
