"""A run of requests on one attention group of a deployment, with its paces and its room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.serving.load import tokens_a_step
from ffplan.serving.memory import cached_tokens
from ffplan.serving.simulate import Room, pace_of, simulate
from ffplan.serving.step import prompt_seconds

if TYPE_CHECKING:
    from ffplan.serving.load import Requests
    from ffplan.serving.room import MemoryUse
    from ffplan.serving.simulate import Arrivals, Times
    from ffplan.serving.step import Served


def run_requests(served: Served, use: MemoryUse, requests: Requests, arrivals: Arrivals) -> Times:
    """Return the latencies of requests on one attention group.

    Args:
        served: the model on its deployment.
        use: memory of an accelerator, and the engine's limit on sequences.
        requests: what speculation and a prefix cache save, and tokens of a step.
        arrivals: the requests.
    """
    most = int(use.most if arrivals.times is not None else min(arrivals.concurrency, use.most))
    prompt, output = float(np.mean(arrivals.prompts)), float(np.mean(arrivals.outputs))
    shared = float(requests.shared)
    pace = pace_of(
        served,
        most,
        prompt=prompt,
        context=prompt + output / 2,
        drafted=float(requests.drafted),
        draft=float(requests.draft),
        yielded=float(tokens_a_step(requests.drafted, requests.accepted)),
        cached=shared,
    )
    # its own prompt passes all stages of a pipeline; `pace` has one stage's part
    stages = float(served.deployment.pipeline)
    beyond = float(prompt_seconds(served, prompt, shared)) * (1 - 1 / stages)
    first = float(served.rates.first) + beyond
    # layers with a window keep fewer tokens, so that room for tokens is for more of them
    kept = float(cached_tokens(served.shape, prompt + output)) / (prompt + output)
    room = Room(max(float(use.tokens) - shared, 0.0) / kept, most, whole=use.whole)
    return simulate(pace, arrivals, room, chunk=float(requests.chunk), first=first)
