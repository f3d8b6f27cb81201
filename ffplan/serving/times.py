"""Latencies of the requests of a run, and what they held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ffplan.base.array_math import Floats
from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence


EACH = ("ttft", "tpot", "e2e", "held", "decoded", "plain", "lost")
"""Figures of `Times` for each request."""


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
    held: Floats
    """Time of each request in memory; where prompts are apart, in the memory of a group that decodes."""
    decoded: Floats
    """Time in which each request decoded."""
    plain: Floats
    """Time of a token apart from prompts, as `tpot`."""
    lost: Floats
    """Time of a token that evictions took, as `tpot`."""
    prompts: float
    """Part of the time that steps took for prompts [1]."""

    @property
    def rate(self) -> float:
        """Requests a second of the whole run [1/s]."""
        return len(self.ttft) / max(self.end, 1e-12)

    @property
    def crowded(self) -> bool:
        """True if memory ran out: means by formula do not hold."""
        return self.evicted > 0


class _Ran(Protocol):
    """A group that has answered requests; figures of each are read by name."""

    outputs: list[float]
    occupied: float
    """Requests in memory times seconds."""
    evicted: int
    filled: float
    """Seconds for prompts."""


def _times_of(runs: Sequence[_Ran], started: Floats, outside: Floats, end: float) -> Times:
    """Return the latencies of requests that some groups answered.

    Args:
        runs: the groups, each with zeros for requests of others.
        started: times of arrival [s].
        outside: time outside the groups' steps [s].
        end: time at which the last request ended [s].
    """
    import numpy as np

    def summed(name: str) -> Floats:
        total: Floats = np.sum([getattr(run, name) for run in runs], axis=0)
        return total

    begun, ended, decoded = summed("first"), summed("ended"), summed("decoded")
    later = np.maximum(np.asarray(runs[0].outputs) - 1, 1.0)
    return Times(
        ttft=begun - started + outside,
        tpot=(ended - begun) / later,
        e2e=ended - started + outside,
        end=end,
        running=sum(run.occupied for run in runs) / max(end, 1e-12),
        evicted=sum(run.evicted for run in runs),
        held=summed("stayed"),
        decoded=decoded,
        plain=summed("stepped") / later,
        lost=(ended - begun - decoded) / later,
        prompts=sum(run.filled for run in runs) / len(runs) / max(end, 1e-12),
    )


def joined(runs: Sequence[Times]) -> Times:
    """Return the latencies of runs of several groups; what a group held is their mean, by time."""
    import numpy as np

    ends = np.array([run.end for run in runs])
    weights = ends / max(float(ends.sum()), 1e-12)
    return Times(
        **{name: np.concatenate([getattr(run, name) for run in runs]) for name in EACH},
        end=float(ends.max()),
        running=float(weights @ [run.running for run in runs]),
        evicted=sum(run.evicted for run in runs),
        prompts=float(weights @ [run.prompts for run in runs]),
    )
