"""A run of requests on an attention group, or on a unit with prefill and decoding apart, with its paces and rooms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.serving.load import _tokens_a_step
from ffplan.serving.memory import cached_tokens
from ffplan.serving.pools import slices, transfer_seconds
from ffplan.serving.pools_run import _simulate_pools
from ffplan.serving.simulate import Room, _pace_of, _simulate
from ffplan.serving.step import prompt_seconds

if TYPE_CHECKING:
    from ffplan.serving.load import Requests
    from ffplan.serving.pools import Pools
    from ffplan.serving.room import MemoryUse
    from ffplan.serving.simulate import Arrivals, Times, _StepTable
    from ffplan.serving.step import Served

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
    """Return what a group holds.

    Args:
        tokens: tokens of a usual request [1]; layers with a window keep fewer, so that there is room for more.
    """
    kept = float(cached_tokens(served.shape, tokens)) / tokens
    return Room(max(float(use.tokens) - float(requests.shared), 0.0) / kept, most, whole=use.whole)


def _beyond(served: Served, requests: Requests, prompt: float) -> float:
    """Return the time of a prompt in the other stages of a pipeline [s]; a pace has one stage's part."""
    stages = float(served.deployment.pipeline)
    return float(prompt_seconds(served, prompt, float(requests.shared))) * (1 - 1 / stages)


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
    first = float(served.rates.first) + _beyond(served, requests, prompt)
    room = _room(served, use, most, requests, prompt + output)
    pace = _pace(served, most, requests, arrivals)
    return _simulate(pace, arrivals, room, chunk=float(requests.chunk), first=first)


def run_pools(
    pools: Pools, uses: tuple[MemoryUse, MemoryUse], requests: Requests, arrivals: Arrivals, *, begun: bool = True
) -> Times:
    """Return the latencies of requests on one of the `slices` of a unit with prefill and decoding apart.

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
    return _simulate_pools(
        (_pace(pools.prefill, 1, requests, arrivals), _pace(pools.decode, most, requests, arrivals)),
        (round(float(pools.prompt_groups)) // parts, round(float(pools.decode_groups)) // parts),
        arrivals,
        rooms,
        chunk=float(requests.chunk),
        first=float(pools.prefill.rates.first) + _beyond(pools.prefill, requests, prompt),
        moved=float(transfer_seconds(pools, requests)),
        begun=begun,
    )
