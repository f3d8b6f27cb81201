"""Loads of measured serving runs as the model replays them, and the reasons why a run cannot be fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record
from ffplan.calibration.serving_fit import _Observation, _observed
from ffplan.calibration.serving_runs import _StatedRun
from ffplan.serving.requests import Requests
from ffplan.serving.room import requests_with_room
from ffplan.validation.serving_replay import ServedPoint, ServedRun, points_of

if TYPE_CHECKING:
    from ffplan.calibration.serving_runs import _MeasuredSetup

_UNSATURATED = 0.9
"""Least share of the rate of arrival that completes where requests do not queue up [1]."""
_SLACK = 1.1
"""Running requests over the engine's room, up to which a run is not saturated [1]: engines reserve differently."""
_ROUNDS = 2
"""Requests for each that is under way from which a run has a steady state [1]."""


class _RunRefusedError(ValueError):
    """A run cannot be fitted; the message says why."""


@record
class _FittedRun:
    stated: _StatedRun
    served: ServedRun
    point: ServedPoint
    observations: tuple[_Observation, ...]


def _latency(stated: _StatedRun) -> float:
    """Return the mean time of a whole request [s]."""
    run = stated.run
    if run.latency_ms is not None:
        return run.latency_ms / 1e3
    if run.ttft_ms is None or run.tpot_ms is None:
        raise _RunRefusedError("without the time of whole requests, its rate tells no number of requests under way")
    return (run.ttft_ms + (stated.output - 1) * run.tpot_ms) / 1e3


def _arriving(stated: _StatedRun) -> float:
    """Return the mean number of requests under way of a run whose requests arrive at a rate.

    Raises:
        RunRefusedError: if they queue up.

    Equation:
        rate x time of a request

    Source:
        Little, Operations Research 9 (1961).
    """
    run, seconds = stated.run, _latency(stated)
    if run.rate is None:
        raise _RunRefusedError("it does not say at which rate requests arrived")
    arrived = run.rate
    if run.requests is not None:
        # the last requests of a run complete after its arrivals end
        arrived = run.requests / (run.requests / run.rate + seconds)
    completed = run.requests_s
    if completed is None and run.requests is not None and run.seconds is not None:
        completed = run.requests / run.seconds
    if completed is not None and completed < _UNSATURATED * arrived:
        raise _RunRefusedError(
            f"above saturation: {run.rate:.4g} requests/s arrived and {completed:.4g} completed, so that they queued up"
        )
    return run.rate * seconds


def _times(stated: _StatedRun) -> dict[str, float]:
    run = stated.run
    times = {"ttft_ms": run.ttft_ms, "tpot_ms": run.tpot_ms}
    measured = {name: value for name, value in times.items() if value is not None}
    if not measured:
        raise _RunRefusedError("it has neither a time to the first token nor one of the further ones")
    if stated.output <= 1:
        raise _RunRefusedError("answers of one token have no further tokens to time")
    return measured


def _served(setup: _MeasuredSetup, stated: _StatedRun, load: str, numbers: dict[str, float]) -> ServedRun:
    try:
        return stated.served(setup, load, numbers)
    except ValueError:
        raise _RunRefusedError("a length, a time or a way of its plan is beyond what can be measured") from None


def _room(setup: _MeasuredSetup, stated: _StatedRun) -> float:
    """Return how many requests have room on the whole copy [1]."""
    served = _served(setup, stated, "closed", {"concurrency": 1.0, "tpot_ms": 1.0})
    requests = Requests(prompt=stated.prompt, output=stated.output)
    held = requests_with_room(served.use, served.served.shape, requests)
    room = float(held) * served.run.data
    if room < 1:
        name, gpus = setup.accelerator.id, int(served.served.deployment.gpus)
        raise _RunRefusedError(f"`{stated.model.id}` at {served.run.precision} has no room on {gpus} x {name}")
    return room


def _queued(stated: _StatedRun, room: float) -> tuple[str, dict[str, float]]:
    """Return load and numbers of a run whose requests were all sent at once."""
    run = stated.run
    if run.tokens_s is None:
        raise _RunRefusedError("all requests were sent at once, and it has no output tokens per second")
    if run.requests is not None and run.requests <= room:
        return "static", {"batch": run.requests, "tokens_s": run.tokens_s}
    if run.requests is not None and run.requests < _ROUNDS * room:
        raise _RunRefusedError(
            f"too short: {run.requests:,.0f} requests sent at once, and {room:,.0f} have room at a time"
        )
    return "offline", {"tokens_s": run.tokens_s}


def _fitted_run(setup: _MeasuredSetup, stated: _StatedRun, source: str) -> _FittedRun:
    """Return a run with its measurements."""
    run, under_way = stated.run, 0.0
    if run.refused:
        raise _RunRefusedError(run.refused)
    room = _room(setup, stated)
    if run.load == "queued":
        load, numbers = _queued(stated, room)
    else:
        load, numbers = "closed", _times(stated)
        under_way = run.concurrency if run.concurrency is not None else _arriving(stated)
        if under_way > _SLACK * room:
            raise _RunRefusedError(
                f"above saturation: {under_way:,.0f} requests under way, and {room:,.0f} have room, so that they queued"
            )
        if run.concurrency is not None and run.requests is not None and run.requests < _ROUNDS * under_way:
            raise _RunRefusedError(
                f"too short: {run.requests:,.0f} requests in all at {under_way:,.0f} under way is not a steady load"
            )
        numbers = {"concurrency": under_way, **numbers}
    served = _served(setup, stated, load, numbers)
    point = next(points_of(served))
    seen = tuple(_observed(served, point, source))
    if run.concurrency is not None and stated.shortest == 1 and under_way > served.run.data:
        # answers of one length end together, and the next prompts then wait for each other
        seen = tuple(one for one in seen if not one.terms["first"])
    if not seen:
        raise _RunRefusedError("its first tokens wait for each other, and it has no time of the further ones")
    return _FittedRun(stated, served, point, seen)
