"""Checkpoints: best interval, and goodput after failures, saves and restarts; floats and arrays.

Sources:
    [1] J. W. Young, A first order approximation to the optimum checkpoint interval, CACM 17 (9), 1974.
    [2] J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, FGCS 22 (3), 2006.
"""

from __future__ import annotations

import numpy as np

from ffplan.base.array_math import Number
from ffplan.base.elementary import exp, expm1, log
from ffplan.base.record import record

MOST_EXPONENT = 600.0
"""Largest exponent whose exponential fits a float [1]."""
NEWTON = 12
"""Steps of Newton's method; five reach a float's precision from Young's interval [1]."""


def young(save: Number, mtbf: Number) -> Number:
    """Return Young's interval between checkpoints [s].

    Args:
        save: stop of the job at a checkpoint [s].
        mtbf: mean time between interruptions [s].

    Equation:
        sqrt(2 d M)

    Source:
        [1].
    """
    interval: Number = np.sqrt(2.0 * save * mtbf)
    return interval


def daly(save: Number, mtbf: Number) -> Number:
    """Return Daly's interval between checkpoints [s].

    Args:
        save: stop of the job at a checkpoint [s].
        mtbf: mean time between interruptions [s].

    Equation:
        sqrt(2 d M) (1 + sqrt(d / (2 M)) / 3 + d / (18 M)) - d where d < 2 M, else M

    Source:
        [2], equation 37.
    """
    ratio = np.asarray(save, dtype=float) / mtbf
    inner = young(save, mtbf) * (1 + np.sqrt(ratio / 2) / 3 + ratio / 18) - save
    # the series holds for stops below twice the MTBF; beyond, Daly takes the MTBF itself
    interval = np.where(ratio < 2, inner, mtbf)
    return interval if interval.ndim else float(interval)


def optimum(save: Number, mtbf: Number) -> Number:
    """Return the interval with the greatest goodput [s].

    Args:
        save: stop of the job at a checkpoint [s]; above 0.
        mtbf: mean time between interruptions [s].

    Equation:
        tau with exp(-(tau + d) / M) = 1 - tau / M, whatever a restart takes: M (1 + W0(-exp(-d / M - 1)))

    Source:
        Derivative of `goodput` set to 0; [2] solves the same by series.
    """
    ratio = np.asarray(save, dtype=float) / mtbf
    # Newton's method on exp(-x - d / M) = 1 - x for x = tau / M, from Young's interval
    part = np.minimum(np.sqrt(2 * ratio), 1.0)
    for _ in range(NEWTON):
        decay = exp(-part - ratio)
        part = np.clip(part - (decay - 1 + part) / (1 - decay), 0.0, 1.0)
    interval = part * mtbf
    return interval if np.ndim(interval) else float(interval)


def goodput(interval: Number, save: Number, mtbf: Number, restart: Number) -> Number:
    """Return the share of a job's time spent on lasting progress.

    Args:
        interval: work between two checkpoints [s].
        save: stop of the job at a checkpoint [s].
        mtbf: mean time between interruptions [s].
        restart: from an interruption to the first new step, plus the work since the last finished save [s].

    Returns:
        Effective training time over time, ETTR [1], broadcast shape; queueing before the first start is not in it.

    Equation:
        tau / (M exp(R / M) (exp((tau + d) / M) - 1)): failures strike at any time, in restarts too

    Source:
        [2], equation 20. Worked: M 3.09 h, d 60 s, R 0.25 h, tau 0.31 h give 0.83.
    """
    cycle = np.minimum((interval + save) / mtbf, MOST_EXPONENT)  # beyond it nothing is kept
    ettr: Number = interval / mtbf * exp(-np.minimum(restart / mtbf, MOST_EXPONENT)) / expm1(cycle)
    return ettr


def losses(interval: Number, save: Number, mtbf: Number, restart: Number) -> dict[str, Number]:
    """Return the losses of goodput by kind, to first order.

    Args:
        interval: work between two checkpoints [s].
        save: stop of the job at a checkpoint [s].
        mtbf: mean time between interruptions [s].
        restart: from an interruption to the first new step, plus the work since the last finished save [s].

    Returns:
        Parts of the time [1]: `checkpoints`, `lost_work`, `restarts`, broadcast shapes.

    Equation:
        d / tau; (tau + d) / (2 M); R / M

    Source:
        [1]; first order of `goodput`.
    """
    return {
        "checkpoints": save / interval,
        # a failure strikes in the middle of a cycle on average
        "lost_work": (interval + save) / (2 * mtbf),
        "restarts": restart / mtbf,
    }


@record
class _TwoLevels:
    """Checkpoints in the memory of other nodes, every n-th also in storage."""

    goodput: Number
    """Effective training time over time, ETTR [1]."""
    parts: dict[str, Number]
    """Losses by kind, as in `losses`, to first order [1]."""
    interval: Number
    """Work between two checkpoints in memory [s]."""
    every: Number
    """Checkpoints in memory for one in storage [1]."""


def _two_level_goodput(
    fast: tuple[Number, Number, Number],
    slow: tuple[Number, Number],
    mtbf: Number,
    fraction: Number,
    interval: Number | None = None,
) -> _TwoLevels:
    """Return the goodput with checkpoints in the memory of other nodes, some of them also in storage.

    Args:
        fast: for a checkpoint in memory its stop, least interval, and restart with the lost work [s].
        slow: time until storage has a copy, without further stop and equal to its least interval, and restart [s].
        mtbf: mean time between interruptions [s].
        fraction: share of interruptions that leave a copy in memory; above 0 and below 1 [1].
        interval: work between two copies in memory [s]; the best if None.

    Returns:
        Goodput with the intervals, broadcast shapes.

    Equation:
        (1 - w) k t / (((e (1 - f u) + f u)^k - 1) ((1 / l + f B) / (1 - f u) + (exp(l R2) - 1) / l)), with l = 1 / M, t
        the interval, e = exp(l (t + d)), b the time until storage has a copy, k = ceil(b / (t + d)), r = exp(-l R1), u
        = r / (1 - (1 - r) f) the chance that a restart from memory ends in one, B = (1 - r) / (l (1 - (1 - r) f)) its
        time, and w = (1 - f)(1 - exp(-l b)) the chance to lose a copy on its way with all memory

    Source:
        Renewal of the two levels of Vaidya, A case for two-level distributed recovery schemes, 1995; failures strike in
        restarts too. Without f it is `goodput` of k t. The best t is exact where every copy goes to storage, else that
        of failures that memory survives.
    """
    stop, least, near = fast
    behind, far = slow
    rate = 1.0 / mtbf
    if interval is None:
        # if not every copy can go to storage, only failures that leave a copy decide: M / f
        every_copy = optimum(stop, mtbf)
        interval = np.where(every_copy + stop >= behind, every_copy, np.minimum(optimum(stop, mtbf / fraction), behind))
    first = np.maximum(interval, least)
    # 1e-9 forgives float noise if storage takes a whole number of cycles
    every = np.maximum(np.ceil(behind / (first + stop) - 1e-9), 1.0)
    fails = -expm1(-np.minimum(near * rate, MOST_EXPONENT))
    ends = (1 - fails) / (1 - fails * fraction)
    spent = fails / (rate * (1 - fails * fraction))
    growth = expm1(np.minimum((first + stop) * rate, MOST_EXPONENT)) * (1 - fraction * ends)
    cycles = np.minimum(every * log(1 + growth), MOST_EXPONENT)
    cost = (1 / rate + fraction * spent) / (1 - fraction * ends) + expm1(np.minimum(far * rate, MOST_EXPONENT)) / rate
    # a failure that takes memory too, while a copy is on its way to storage
    twice = -(1 - fraction) * expm1(-np.minimum(behind * rate, MOST_EXPONENT))
    kept = (1 - twice) * every * first / (expm1(cycles) * cost)
    second = every * (first + stop)
    parts = {
        "checkpoints": stop / first,
        "lost_work": (fraction * (first + stop) + (1 - fraction) * second) / (2 * mtbf),
        "restarts": (fraction * near + (1 - fraction) * (far + behind)) / mtbf,
    }
    return _TwoLevels(goodput=_plain(kept), parts=parts, interval=_plain(first), every=_plain(every))


def _plain(value: Number) -> Number:
    return value if np.ndim(value) else float(value)
