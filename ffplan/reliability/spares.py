"""Nodes in repair, spares, and what a job loses where too few are left; floats and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ffplan.base.array_math import Number
from ffplan.base.elementary import exp
from ffplan.base.record import record
from ffplan.reliability.poisson import log_weights, probabilities

POINTS = 48
"""Points on which a shortage is worked out where there are many expected values [1]."""


@record
class Shortage:
    """Nodes that a job lacks."""

    chance: Number
    """Probability that it lacks any at a time [1]."""
    missing: Number
    """Nodes that it lacks in the mean over all time [1]."""
    waiting: Number
    """Part of the time that a job which waits for its nodes stands still [1]."""


def nodes_in_repair(removals: Any, repair: Any) -> Number:
    """Return the nodes in repair at any time.

    Args:
        removals: nodes taken out a second [1/s].
        repair: until one is back [s].

    Returns:
        Expected nodes [1], broadcast shape.

    Equation:
        removals * repair

    Source:
        Little's law. 2,048 nodes at 3.79 per 1,000 node-days and 3 days: 23.3.
    """
    found: Number = removals * repair
    return found


def _short(down: float, spares: int) -> tuple[float, float, float]:
    chances = probabilities(down)
    numbers = np.arange(len(chances))
    lacking = np.maximum(numbers - spares, 0)
    blocked = 0.0
    if down > 0 and len(chances) > spares + 1:
        weights = log_weights(down, spares + 1)  # in logarithms: far from the mean the probabilities underflow
        blocked = float(1 / exp(weights - weights[-1]).sum())
    return float(chances[numbers > spares].sum()), float((chances * lacking).sum()), blocked


def shortage(down: Any, spares: int) -> Shortage:
    """Return how often a job lacks nodes, and how many.

    Args:
        down: expected nodes in repair [1], any shape.
        spares: nodes that can stand in [1].

    Equation:
        P(X > s); E[max(X - s, 0)]; P(X = s + 1) / P(X <= s + 1), X Poisson with mean `down`

    Source:
        M/G/inf queue: where nodes fail and are repaired independently, those in repair are Poisson, whatever the
        distribution of the repair. Erlang's loss formula for a job that waits, since its nodes do not fail while it
        stands. Of many values, those between points are interpolated.
    """
    values = np.asarray(down, dtype=float)
    if values.size <= POINTS:
        found = np.array([_short(float(value), spares) for value in values.ravel()]).reshape(*values.shape, 3)
    else:
        points = np.linspace(np.sqrt(values.min()), np.sqrt(values.max()), POINTS) ** 2
        table = np.array([_short(float(point), spares) for point in points])
        found = np.stack([np.interp(values, points, table[:, column]) for column in range(3)], axis=-1)
    if values.ndim == 0:
        return Shortage(*(float(item) for item in found))
    return Shortage(found[..., 0], found[..., 1], found[..., 2])


def kept_rate(short: Shortage, nodes: Any, replica_nodes: Any, *, shrinks: bool) -> Number:
    """Return the part of its rate that a job keeps beside its shortage of nodes.

    Args:
        short: its shortage.
        nodes: nodes of the job [1].
        replica_nodes: nodes that stop with one of them: those of a data-parallel replica [1].
        shrinks: the job goes on without the replicas that lack a node; otherwise it waits.

    Returns:
        [1], broadcast shape.

    Equation:
        waiting: 1 - part of the time that it stands still; shrinking: the greater of that and 1 - E[missing] r / N

    Source:
        Definition; every missing node is taken to stop a replica of its own.
    """
    waits = 1 - short.waiting
    if not shrinks:
        return waits
    found: Number = np.maximum(waits, 1 - short.missing * replica_nodes / nodes)
    return found
