"""Disaggregated prefill and decoding, prompts and answers on separate accelerators: mean latency.

A unit has some copies that compute prompts and some that decode; keys and values move from the first to the second.

Sources:
    [1] Zhong et al., DistServe, arXiv 2401.09670: separate prefill and decoding, each with its own plan.
    [2] Patel et al., Splitwise, arXiv 2311.18677: keys and values move layer by layer, or at the end of a prompt.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, choose, maximum, minimum
from ffplan.base.record import record
from ffplan.serving.load import ROUNDS, Steady, _at_rate, _Loop, middle_step, token_seconds
from ffplan.serving.memory import cache_bytes, cache_share, cached_tokens
from ffplan.serving.step import Served, _StepTime, step_time

if TYPE_CHECKING:
    from ffplan.serving.requests import Requests


@record
class Pools:
    """A unit: copies that compute prompts, and copies that decode."""

    prefill: Served
    """A copy that computes prompts."""
    decode: Served
    """A copy that decodes."""
    prefills: Number
    """Copies that compute prompts [1]."""
    decodes: Number
    """Copies that decode [1]."""
    rate: Number
    """Rate at which an accelerator of one pool sends to one of the other [byte/s]."""

    @property
    def prompt_groups(self) -> Number:
        """Attention groups that compute prompts [1]."""
        return self.prefills * self.prefill.deployment.data

    @property
    def decode_groups(self) -> Number:
        """Attention groups that decode [1]."""
        return self.decodes * self.decode.deployment.data


def prompt_pace(served: Served, requests: Requests, busy: Number) -> tuple[Number, Number]:
    """Return how many prompts a group computes, and the time of one among others that arrive at random.

    Args:
        served: a copy that computes prompts.
        requests: the requests.
        busy: part of the time that prompts are computed [1].

    Returns:
        Prompts a second of an attention group at most [1/s], and seconds from arrival to the first token [s].

    Equation:
        1 / (prompt + its part of a step), and wait + prompt + step

    Source:
        As `ffplan.serving.load.Loop`.
    """
    prompts = _prefill(served, requests, 1e9, residual=0.5, random=True)
    return prompts.most, prompts.first(busy * prompts.most)


def prefill_rate(pools: Pools, requests: Requests) -> Number:
    """Return the most prompts that a unit computes and sends.

    Args:
        pools: the unit.
        requests: lengths, and tokens of a step.

    Returns:
        Requests a second [1/s].

    Equation:
        G_p min(1 / (prompt + its part of a step), rate / sent), and at most G_d rate / received

    Source:
        [1]; every accelerator sends and receives at its own rate.
    """
    return _most(pools, _prefill(pools.prefill, requests, 0.0, residual=0.0, random=True))


def _most(pools: Pools, prompts: _Prefill) -> Number:
    """Return the most prompts that a unit computes and sends [1/s]."""
    sent, received = moved_bytes(pools, prompts.loop.requests.computed)
    computed = minimum(prompts.most, pools.rate / sent)
    return minimum(computed * pools.prompt_groups, pools.decode_groups * pools.rate / received)


def slices(pools: Pools) -> int:
    """Return into how many equal parts a unit falls, each with whole groups of both kinds [1].

    Args:
        pools: the unit; of numbers, not arrays.
    """
    return gcd(round(float(pools.prompt_groups)), round(float(pools.decode_groups)))


def moved_bytes(pools: Pools, tokens: Number) -> tuple[Number, Number]:
    """Return the bytes of keys and values that move from prefill to decoding.

    Args:
        pools: the unit.
        tokens: tokens whose keys and values move [1].

    Returns:
        Bytes [byte] that an accelerator with prompts sends, and that one which decodes receives.

    Equation:
        received = kept tokens x bytes of a token x part of them on a rank; all that is received leaves the t_p ranks of
        the group that computed the prompt, sent = received t_d / t_p

    Source:
        [2]; latent attention keeps a copy on every rank, so that t_d copies move.
    """
    shape, decode = pools.decode.shape, pools.decode.deployment
    held = cached_tokens(shape, tokens) * cache_bytes(shape, decode.cache_width)
    received = held * cache_share(shape, decode.tensor) / decode.pipeline
    ranks = decode.tensor * decode.pipeline
    sending = pools.prefill.deployment.tensor * pools.prefill.deployment.pipeline
    return received * ranks / sending, received


def transfer_seconds(pools: Pools, requests: Requests) -> Number:
    """Return the time that keys and values of a prompt still move after it is computed [s].

    Args:
        pools: the unit.
        requests: lengths, and tokens of a step.

    Equation:
        max(sent, received) of the last chunk / rate: earlier chunks move while the next is computed

    Source:
        [2], section 4.2.
    """
    sent, received = moved_bytes(pools, minimum(requests.computed, requests.chunk))
    return maximum(sent, received) / pools.rate


@record
class _Prefill:
    """Prompts of a unit."""

    loop: _Loop
    step: Number
    """Time of the step that carries prompts [s]."""

    @property
    def most(self) -> Number:
        """Prompts a second of an attention group [1/s]."""
        return self.loop.most(self.step)

    def first(self, rate: Number) -> Number:
        """Return the time from arrival to the end of a prompt's step [s], with prompts a second of a group."""
        return self.loop.first(rate, self.most, self.step)


def _prefill(served: Served, requests: Requests, others: Number, *, residual: float, random: bool) -> _Prefill:
    loop = _Loop(
        served=served,
        requests=requests,
        seen=1.0,
        others=others,
        variation=1.0 if random else requests.variation,
        residual=residual,
    )
    # hardly a sequence decodes beside prompts
    return _Prefill(loop, step_time(served, 1.0, requests.prompt).total)


def pools_loop(
    pools: Pools,
    requests: Requests,
    concurrency: Number,
    room: Number,
    *,
    residual: float = 0.0,
    random: bool = False,
) -> Steady:
    """Return the mean of a load with a fixed number of requests under way on a unit.

    Args:
        pools: the unit.
        requests: the requests.
        concurrency: requests under way on the whole unit [1].
        room: most requests that an attention group decodes at a time [1].
        residual: fraction of a step that a prompt waits for [1].
        random: requests arrive at random, and not each as another ends.

    Returns:
        Means; running and decoding sequences refer to a decoding group.

    Equation:
        C = X (first + moved) + n G by bisection over n, the sequences of each of G groups that decode, with X = n G /
        (later T(n)), T the step over its tokens; X at most what the groups with prompts compute, n at most room; what
        is left of C / X is wait

    Source:
        [1], section 3; Little, Operations Research 9 (1961).
    """
    groups = pools.decode_groups
    others = maximum(concurrency / pools.prompt_groups - 1, 0.0)
    prompts = _prefill(pools.prefill, requests, others, residual=residual, random=random)
    moved = transfer_seconds(pools, requests)
    top = minimum(maximum(concurrency / groups, 1e-9), maximum(room, 1.0))

    most = _most(pools, prompts)
    low: Number = 1e-12 * top
    high: Number = top + 0.0
    for _ in range(ROUNDS):
        decoding = (low * high) ** 0.5
        _, rate, first = _state(pools, prompts, moved, decoding)
        many = (rate * first + decoding * groups > concurrency) | (rate > most)
        high = choose(many, decoding, high)
        low = choose(many, low, decoding)
    step, rate, first = _state(pools, prompts, moved, high)
    rate = minimum(rate, most)
    tpot = token_seconds(step, requests)
    first = maximum(first, concurrency / rate - prompts.loop.later * tpot)
    queued = maximum(concurrency / groups - maximum(room, 1.0), 0.0)
    return Steady(
        running=high,
        decoding=high,
        waiting=choose(high >= 0.999 * room, queued, 0.0),
        rate=rate,
        ttft=first,
        tpot=tpot,
        step=step,
        prompts=0.0 * tpot,
    )


def _state(pools: Pools, prompts: _Prefill, moved: Number, sequences: Number) -> tuple[_StepTime, Number, Number]:
    """Return the step, the requests a second of the unit, and the time to the first token.

    Args:
        moved: time that keys and values of a prompt still move after it is computed [s].
        sequences: sequences of each group that decodes [1].
    """
    requests = prompts.loop.requests
    step = middle_step(pools.decode, requests, maximum(sequences, 1.0))
    rate = sequences * pools.decode_groups / (prompts.loop.later * token_seconds(step, requests))
    each = minimum(rate / pools.prompt_groups, prompts.most)
    return step, rate, prompts.first(each) + moved


def pools_open_loop(pools: Pools, requests: Requests, rate: Number, room: Number) -> Steady:
    """Return the mean of a load that arrives at a rate at a unit, below saturation.

    Args:
        pools: the unit.
        requests: the requests.
        rate: requests a second on the whole unit [1/s].
        room: most requests that an attention group decodes at a time [1].

    Equation:
        the requests under way at which the closed loop runs at the rate

    Source:
        Little, Operations Research 9 (1961).
    """

    def loop(concurrency: Number) -> Steady:
        return pools_loop(pools, requests, concurrency, room, residual=0.5, random=True)

    # as many again may be at their prompts
    most = 2 * maximum(room, 1.0) * pools.decode_groups + 4 * pools.prompt_groups
    steady = _at_rate(loop, rate, 0.0 * rate + 1.0, most + 0.0 * rate)
    part = minimum(rate / steady.rate, 1.0)
    decoding = part * steady.decoding
    return replace(steady, rate=part * steady.rate, running=decoding, decoding=decoding)
