"""Requests on one copy of a model: mean running sequences, latency and throughput.

Sources:
    [1] Little, Operations Research 9 (1961): requests in a system are its rate times the time of each.
    [2] Yu et al., Orca, OSDI 2022: a request enters and leaves at any step (continuous batching).
    [3] Kleinrock, Queueing Systems I (1975): mean wait of a single server with constant service time.
    [4] Leviathan et al., arXiv 2211.17192: expected tokens of a speculative step.
"""

from __future__ import annotations

from dataclasses import replace
from math import e
from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, choose, maximum, minimum
from ffplan.base.record import record
from ffplan.serving.least import _least_at
from ffplan.serving.step import Served, _StepTime, launch_seconds, prompt_seconds, step_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from ffplan.serving.requests import Requests

ROUNDS = 50
"""Rounds of the bisection; the logarithm of the interval halves in each."""
_HALVINGS = 40
"""Halvings of an interval of requests under way."""
_NEVER = 1e-6
"""Chance below which a drafted token is never rejected [1]."""


@record
class Steady:
    """Mean values of a load."""

    running: Number
    """Requests that hold keys and values in an attention group."""
    decoding: Number
    """Those of them that decode."""
    waiting: Number
    """Requests of a group that wait for room."""
    rate: Number
    """Requests a second of the whole copy [1/s]."""
    ttft: Number
    """Time to the first token [s]."""
    tpot: Number
    """Time of each further token [s]."""
    step: _StepTime
    """Terms of a decoding step."""
    prompts: Number
    """Time that prompts of others add to a token [s]."""
    lost: Number = 0.0
    """Time that evictions add to a token [s]; nothing by formula."""
    whole: Number | None = None
    """Time of a whole request as a run has it [s]; None by formula."""
    filled: Number | None = None
    """Fraction of the time for prompts as a run has it [1]; None by formula."""

    @property
    def together(self) -> Number:
        """Sequences that decode while any request is under way [1]."""
        return self.decoding / minimum(maximum(self.running, 1e-12), 1.0)

    def latency(self, output: Number) -> Number:
        """Return the time of a whole request [s]."""
        return self.whole if self.whole is not None else self.ttft + maximum(output - 1, 0.0) * self.tpot


def _tokens_a_step(drafted: Number, accepted: Number) -> Number:
    """Return the expected tokens of a step with speculation.

    Args:
        drafted: drafted tokens g [1].
        accepted: chance a that one is accepted, each independently [1].

    Returns:
        Tokens [1]; 1 without a draft.

    Equation:
        (1 - a^(g + 1)) / (1 - a)

    Source:
        [4], equation 1.
    """
    rejected = maximum(1 - accepted, _NEVER)
    sure = 1 - accepted < _NEVER  # the ratio would lose all its digits
    tokens: Number = choose(drafted > 0, choose(sure, drafted + 1.0, (1 - accepted ** (drafted + 1)) / rejected), 1.0)
    return tokens


def _queue_wait(utilisation: Number, service: Number, most: Number, variation: Number = 1.0) -> Number:
    """Return the mean wait of prompts for each other.

    Args:
        utilisation: fraction of the time that prompts take [1].
        service: time of one [s].
        most: other requests that may be ahead [1].
        variation: squared coefficient of variation of the times between arrivals [1]; 1 if they are random.

    Returns:
        Seconds [s].

    Equation:
        min(c u service / (2 (1 - u)), most service / 2)

    Source:
        [3], Kingman's bound of a queue with constant service time, exact for random arrivals; a closed loop cannot
        queue more requests than it has.
    """
    free = maximum(1 - utilisation, 1e-6)
    return minimum(variation * utilisation * service / (2 * free), most * service / 2)


def middle_step(served: Served, requests: Requests, sequences: Number) -> _StepTime:
    """Return a decoding step in the middle of the answers.

    Args:
        served: the model on its deployment.
        requests: lengths of the requests.
        sequences: sequences of one attention group that decode [1].
    """
    return step_time(served, sequences, requests.prompt + requests.output / 2, 1 + requests.drafted)


def token_seconds(step: _StepTime, requests: Requests) -> Number:
    """Return the time of a token without prompts.

    Args:
        step: the step.
        requests: what a draft proposes.

    Returns:
        Seconds [s]: a step and its draft over the tokens that it yields.
    """
    yielded = _tokens_a_step(requests.drafted, requests.accepted)
    return step.total * (1 + requests.draft * requests.drafted) / yielded


def closed_loop(
    served: Served,
    requests: Requests,
    concurrency: Number,
    room: Number,
    *,
    residual: float = 0.0,
    random: bool = False,
) -> Steady:
    """Return the mean of a load with a fixed number of requests under way.

    Args:
        concurrency: requests under way on the whole copy [1].
        room: most requests that an attention group runs at a time, by memory or by the engine [1].
        residual: fraction of a step that a request waits for [1]; 0 if it replaces one that ended.
        random: requests arrive at random, and not each as another ends.

    Returns:
        Means over the requests.

    Equation:
        n = min(C / d, room) = B + X first, by bisection over those that decode, B = X output T; T = step + prompts, at
        most step + a full chunk if the engine mixes both; X at most what prompts leave time for: then T is longer up
        to the full chunk, and what is left of n / X is wait; first token = wait for room + queue + prompt; below a
        request a group, one alone for C / d of the time

    Source:
        [1]; [2]; [3].
    """
    group = concurrency / served.deployment.data
    running = minimum(maximum(group, 1.0), maximum(room, 1.0))
    others = running - 1
    loop = _Loop(
        served=served,
        requests=requests,
        # arrivals at random meet the mean of the others; one that takes another's place, all but itself
        seen=1.0 if random else others / maximum(running, 1.0),
        others=others,
        variation=1.0 if random else requests.variation,
        residual=residual,
    )
    low, high = 1e-12 * running, running + 0.0
    for _ in range(ROUNDS):
        decoding = (low * high) ** 0.5
        point = _balance(loop, decoding)
        rate = minimum(point.rate, point.most)
        # a token waits for prompts, but no longer than a step full of them; then the prompts wait
        beyond = (point.rate > point.most) & (decoding > rate * loop.later * point.longest)
        many = (decoding + rate * point.first > running) | beyond
        high = choose(many, decoding, high)
        low = choose(many, low, decoding)
    tpot = decoding / (rate * loop.later)
    first = maximum(point.first, (running - decoding) / rate)
    queued, busy = maximum(group - running, 0.0), minimum(group, 1.0)  # fewer than groups: one for a part of the time
    return Steady(
        running=running * busy,
        decoding=decoding * busy,
        waiting=queued,
        rate=rate * busy * served.deployment.data,
        ttft=first + queued / maximum(rate, 1e-12),
        tpot=tpot,
        step=point.step,
        prompts=tpot - point.token,
    )


class _Loop:
    """Requests of an attention group: what stays while the sequences that decode are sought."""

    def __init__(
        self, *, served: Served, requests: Requests, seen: Number, others: Number, variation: Number, residual: float
    ) -> None:
        """Take the requests, and time what no number of sequences changes.

        Args:
            seen: part of all prompts that fall into the time of another request [1].
        """
        self.served, self.requests, self.seen = served, requests, seen
        self.others, self.variation, self.residual = others, variation, residual
        self.work: Number = prompt_seconds(served, requests.computed, requests.shared)
        """Arithmetic and collectives of a prompt, over all stages [s]."""
        self.launch: Number = launch_seconds(served)
        """Least time of a step with prompts, over all stages [s]."""
        self._alone = None if served.mixed else step_time(served, 1.0, requests.shared).total

    @property
    def later(self) -> Number:
        """Tokens of an answer after the first [1]; never 0, so that decoding sequences determine the rate."""
        return maximum(self.requests.output - 1, 1e-6)

    @property
    def stages(self) -> Number:
        """Stages of a pipeline [1], which computes prompts of others in its other stages."""
        return self.served.deployment.pipeline

    @property
    def share(self) -> Number:
        """Steps that carry a prompt if each is full [1]."""
        return self.requests.computed / self.requests.chunk

    def beside(self, step: Number) -> Number:
        """Return the time of a prompt step apart from its prompts [s], from the time of a step that decodes [s]."""
        return step if self._alone is None else self._alone

    def added(self, prompts: Number, step: Number) -> Number:
        """Return the time that prompts add to a step.

        Args:
            prompts: prompts that begin in a step, on average [1].
            step: time of a step that decodes [s].

        Returns:
            Seconds of a stage [s].

        Equation:
            max(prompts x work, carried (launch - step)) / p; carried = 1 - e^-(prompts max(prompt / chunk, 1)), the
            steps that carry any; if those are steps of their own, carried x alone more, with alone in place of step

        Source:
            [2]; a step launches its kernels once, whatever prompts it carries; Poisson arrivals.
        """
        carried = 1 - e ** (-prompts * maximum(self.share, 1.0))
        alone = self.beside(step)
        apart = 0.0 if self.served.mixed else carried * alone
        return maximum(prompts * self.work, carried * (self.launch - alone)) / self.stages + apart

    def full(self, step: Number) -> Number:
        """Return the time of a step full of prompts [s], from the time of a step that decodes [s]."""
        beside = self.beside(step)
        return maximum(self.work / self.share, self.launch - beside) / self.stages + beside

    def service(self, step: Number, stages: Number = 1.0) -> Number:
        """Return the time of a prompt with the steps that carry it.

        Args:
            step: time of a step that decodes [s].
            stages: 1 for the way through all stages, theirs for what one stage has of it.

        Returns:
            Seconds [s].
        """
        steps, beside = maximum(self.share, 1.0), self.beside(step)
        return maximum(self.work, steps * (self.launch - beside)) / stages + steps * beside

    def most(self, step: Number) -> Number:
        """Return the prompts a second that a group has time for [1/s], beside full steps of some time [s]."""
        return 1 / (self.share * self.full(step))

    def wait(self, rate: Number, most: Number, service: Number) -> Number:
        """Return the mean wait of a prompt for others [s].

        Args:
            rate: prompts a second of a group [1/s].
            most: the same as they leave time for [1/s].
            service: time that a stage has a prompt, with the steps that carry it [s].
        """
        serial = _queue_wait(minimum(rate * service, 0.99), service, self.others, self.variation)
        # prompts that arrive during a step share the next: half of it to wait, and the others' work beside one's own
        shared = self.variation * (
            minimum(rate * service, 1.0) * service / 2 + rate * service * self.work / self.stages
        )
        crowded = _queue_wait(minimum(rate / most, 0.99), 1 / most, self.others, self.variation)
        return maximum(minimum(serial, shared), crowded)

    def first(self, rate: Number, most: Number, step: Number, decoding: Number = 0.0) -> Number:
        """Return the time from arrival to the first token [s].

        Args:
            rate: prompts a second of a group [1/s].
            most: the same as they leave time for [1/s].
            step: time of a step that carries prompts [s].
            decoding: sequences that decode beside them [1].
        """
        held = self.service(step, self.stages)
        step_wait = self.residual * minimum(rate * held + decoding, 1.0) * step
        return self.served.rates.first + self.wait(rate, most, held) + step_wait + self.service(step)


@record
class _Balance:
    """Rates and times with some sequences that decode."""

    step: _StepTime
    token: Number
    rate: Number
    """Requests a second of a group [1/s]."""
    most: Number
    """The same as prompts leave time for."""
    longest: Number
    """Most time of a token [s]: beside a full chunk, or after the prompts of all others if those go first."""
    first: Number


def _balance(loop: _Loop, decoding: Number) -> _Balance:
    """Return rates and times with a number of sequences that decode."""
    later, requests = loop.later, loop.requests
    step = middle_step(loop.served, loop.requests, maximum(decoding, 1.0))
    token = token_seconds(step, loop.requests)
    yielded = _tokens_a_step(requests.drafted, requests.accepted)
    added = loop.added(decoding * loop.seen / later * yielded, step.total) / yielded
    longest = token + loop.others * loop.service(step.total, loop.stages)
    if loop.served.mixed:
        longest = token + (loop.full(step.total) - step.total) / yielded
        added = minimum(added, longest - token)
    rate = decoding / (later * (token + added))
    most = loop.most(token)
    first = loop.first(rate, most, step.total, decoding)
    return _Balance(step=step, token=token, rate=rate, most=most, longest=longest, first=first)


def prompt_share(served: Served, requests: Requests, steady: Steady) -> Number:
    """Return the fraction of the time that an accelerator computes prompts.

    Args:
        steady: a load of the requests.

    Returns:
        Fraction [1].

    Equation:
        min(1, X / d x what prompts add to a step / prompts that begin in a step), X requests a second

    Source:
        [1].
    """
    loop = _Loop(served=served, requests=requests, seen=1.0, others=0.0, variation=1.0, residual=0.0)
    begun = steady.together / loop.later * _tokens_a_step(requests.drafted, requests.accepted)
    return minimum(steady.rate / served.deployment.data * loop.added(begun, steady.step.total) / begun, 1.0)


def _at_rate(loop: Callable[[Number], Steady], rate: Number, low: Number, high: Number) -> Steady:
    """Return a closed loop with as many requests under way as it takes to run at a rate.

    Args:
        loop: the loop with some requests under way.
        rate: requests a second [1/s].
        low: fewest requests [1].
        high: most requests [1].
    """
    if isinstance(rate, float):
        return loop(_least_at(lambda requests: float(loop(requests).rate) - rate, float(low), float(high), _HALVINGS))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = loop(middle).rate >= rate
        high = choose(reached, middle, high)
        low = choose(reached, low, middle)
    return loop(high)


def open_loop(served: Served, requests: Requests, rate: Number, room: Number) -> Steady:
    """Return the mean of a load that arrives at a rate, below saturation.

    Args:
        rate: requests a second on the whole copy [1/s].
        room: most requests that an attention group runs at a time [1].

    Returns:
        Means over the requests; beyond saturation, means at the largest rate.

    Equation:
        the concurrency at which the closed loop runs at the rate

    Source:
        [1]: requests under way are the rate times the time of each.
    """

    def loop(concurrency: Number) -> Steady:
        return closed_loop(served, requests, concurrency, room, residual=0.5, random=True)

    data = served.deployment.data
    steady = _at_rate(loop, rate, 0.0 * rate + data, maximum(room, 1.0) * data + 0.0 * rate)
    # at low rates fewer than one request is under way, and each is alone
    part = minimum(rate / steady.rate, 1.0)
    rate = part * steady.rate
    under_way = rate / served.deployment.data * steady.latency(requests.output)
    # the step in progress is waited for only while there is one
    spared = 0.5 * steady.step.total * maximum(1 - under_way, 0.0)
    running, decoding = minimum(steady.running, under_way), part * steady.decoding
    return replace(steady, rate=rate, running=running, decoding=decoding, ttft=steady.ttft - spared)
