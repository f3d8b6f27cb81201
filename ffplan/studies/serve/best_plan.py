"""The plan of most tokens a second whose percentiles meet the targets: means bound it, runs of requests decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.studies.serve.serve import _meets, _most_within, _saturation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ffplan.results.serving import ServeChoice
    from ffplan.studies.serve.serve import ServeTask
    from ffplan.studies.serve.setup import ServeSetup

_MOST_TRIED = 24
"""Plans that are run at most [1]."""
_GRID = 200
"""Loads of a plan at which tokens a second are known [1]."""


def _best_plan(
    bests: Sequence[ServeChoice], set_up: Callable[[ServeChoice], tuple[ServeSetup, ServeTask]]
) -> ServeChoice:
    """Return the plan whose copies together serve most tokens a second within its task's targets.

    Plans come by what they serve within the targets by means, which a percentile only lowers: the search ends at the
    first one that could serve no more than the best so far. A plan is run at the load at which it would beat that one,
    and to its largest load only if it meets the targets there.

    Args:
        bests: plans, each at the load of most tokens within the targets by means, the best first.
        set_up: makes the setup of a plan, and its task.

    Returns:
        The plan; the first one if no percentile meets the targets.
    """
    best, most = bests[0], 0.0
    for choice in bests[:_MOST_TRIED]:
        if choice.output_tokens_s_gpu <= most:
            break
        setup, task = set_up(choice)
        top = max(int(_saturation(setup, task.load).concurrency), 1)
        loads = np.unique(np.geomspace(1, top, _GRID).astype(int))
        tokens = _tokens_s(setup, task, loads)
        beating = np.flatnonzero(tokens > most)
        if not len(beating) or not _meets(setup, task, float(loads[beating[0]])):
            continue
        reached = _most_within(setup, task, top)
        served = float(_tokens_s(setup, task, np.array([float(reached)]))[0])
        if served > most and _meets(setup, task, float(reached)):
            best, most = choice, served
    return best


def _tokens_s(setup: ServeSetup, task: ServeTask, loads: np.ndarray) -> np.ndarray:
    """Return output tokens a second of all copies over the accelerators, idle ones too, at concurrencies [1/s]."""
    rate = np.asarray(setup.means(task.load.requests, loads.astype(float)).rate)
    return rate * float(task.load.requests.output) / setup.held
