"""Nodes in repair, spares, and the loss of a job with too few nodes; floats and arrays."""

from __future__ import annotations

import numpy as np

from ffplan.base.array_math import Floats, Number
from ffplan.base.elementary import exp
from ffplan.base.record import record
from ffplan.reliability.poisson import _log_weights, _probabilities, terms
from ffplan.reliability.spare_count import enough

POINTS = 48
"""Interpolation points of a shortage for many expected values [1]."""


@record
class _Shortage:
    chance: Number
    """Probability of missing nodes at any time [1]."""
    missing: Number
    """Mean number of missing nodes over all time [1]."""
    waiting: Number
    """Share of time that a job spends waiting if it waits for its nodes [1]."""
    domains: Number = 0.0
    """Mean number of missing scale-up domains, in addition [1]."""


def nodes_in_repair(removals: Number, repair: Number) -> Number:
    """Return the nodes in repair at any time [1].

    Args:
        removals: nodes removed a second [1/s].
        repair: repair time of a node [s].

    Equation:
        removals * repair

    Source:
        Little's law. 2,048 nodes at 3.79 per 1,000 node-days and 3 days: 23.3.
    """
    nodes: Number = removals * repair
    return nodes


def _short(down: Floats, spares: int) -> Floats:
    """Return chance, missing nodes and waiting by expected nodes in repair, shape [values, 3].

    Each sum has only its value's terms, so that a result does not depend on other values in the array.
    """
    table = np.zeros((len(down), 3))
    lengths = [terms(float(value)) + 1 for value in down]
    chances = _probabilities(down[:, np.newaxis], max(lengths, default=1) - 1)
    lacking = np.maximum(np.arange(chances.shape[1]) - spares, 0)
    for row, length in enumerate(lengths):
        row_chances = chances[row, :length]
        table[row, 0] = row_chances[spares + 1 :].sum()
        table[row, 1] = (row_chances * lacking[:length]).sum()
    late = [row for row, length in enumerate(lengths) if down[row] > 0 and length > spares + 1]
    if late:
        # in logarithms: far from the mean the probabilities underflow
        weights = _log_weights(down[late][:, np.newaxis], spares + 1)
        table[late, 2] = 1 / exp(weights - weights[:, -1:]).sum(axis=1)
    return table


def _shortage(down: Number, spares: int) -> _Shortage:
    """Return how often a job lacks nodes, and the mean number missing.

    Args:
        down: expected nodes in repair [1], any shape.
        spares: spare nodes [1].

    Equation:
        P(X > s); E[max(X - s, 0)]; P(X = s + 1) / P(X <= s + 1), X Poisson with mean `down`

    Source:
        M/G/inf queue: with independent failures and repairs, the number of nodes in repair is Poisson for any
        distribution of the repair. Erlang's loss formula for a job that waits, since its nodes do not fail while it
        is down. For many values, an interpolation between points.
    """
    values = np.asarray(down, dtype=float)
    if values.size <= POINTS:
        columns = _short(values.ravel(), spares).reshape(*values.shape, 3)
    else:
        # even in the square root: denser at small values
        points = np.linspace(np.sqrt(values.min()), np.sqrt(values.max()), POINTS) ** 2
        table = _short(points, spares)
        columns = np.stack([np.interp(values, points, table[:, column]) for column in range(3)], axis=-1)
    if values.ndim == 0:
        return _Shortage(*(float(figure) for figure in columns))
    return _Shortage(columns[..., 0], columns[..., 1], columns[..., 2])


def _domain_shortage(down: Number, domains: Number, spares: int, domain_nodes: int) -> _Shortage:
    """Return how often a job lacks nodes if whole scale-up domains fail too.

    Args:
        down: expected nodes in repair [1], any shape.
        domains: expected domains in repair [1], same shape.
        spares: spare nodes [1].
        domain_nodes: nodes of a domain [1].

    Equation:
        with s = spares, n = nodes of a domain, r = floor(s / n) whole domains among the spares, Y Poisson: sum over y
        <= r of P(Y = y) shortage(down, s - n y), and P(Y > r) with shortage(down, s - n r) and E[max(Y - r, 0)] domains
        besides; waiting: the states with one node or domain too many, over those and the states without

    Source:
        Conditioning on the domains in repair; only a whole spare domain can replace one. Waiting is Erlang's loss of
        two classes, since no node fails while the job is down: 1 / (1 + a + b) without spares.
    """
    mean = np.asarray(domains, dtype=float)
    whole = spares // domain_nodes
    # more domains than these fail with a negligible probability
    most = min(whole, enough(float(mean.max()), 1 - 1e-12))
    chance: Number = 0.0
    missing: Number = 0.0
    up: Number = 0.0
    edge: Number = 0.0
    rest: Number = 1.0
    short = _shortage(down, spares)
    weight: Number = exp(-mean)
    for number in range(most + 1):
        short = _shortage(down, spares - domain_nodes * number)
        runs = weight * (1 - short.chance)
        chance, missing = chance + weight * short.chance, missing + weight * short.missing
        up, edge = up + runs, edge + runs * short.waiting / (1 - short.waiting)
        rest, weight = rest - weight, weight * mean / (number + 1)
    rest = np.maximum(rest, 0.0)
    edge = edge + weight * (1 - short.chance)  # the weight of one domain more
    return _Shortage(
        chance=chance + rest,
        missing=missing + rest * short.missing,
        waiting=1 - up / (up + edge),
        domains=_shortage(domains, whole).missing,
    )


def swapped(short: _Shortage, swapping: Number) -> _Shortage:
    """Add nodes that wait for their spare to be swapped in to a shortage.

    Args:
        swapping: expected nodes that wait for their spare [1].

    Equation:
        P = 1 - (1 - P) exp(-b); missing + b; waiting = 1 - 1 / (1 / (1 - w) + b)

    Source:
        The chance that none is being swapped; Erlang's loss, as in `domain_shortage`.
    """
    return _Shortage(
        chance=1 - (1 - short.chance) * exp(-np.asarray(swapping, dtype=float)),
        missing=short.missing + swapping,
        waiting=1 - 1 / (1 / (1 - short.waiting) + swapping),
        domains=short.domains,
    )


def _kept_rate(
    short: _Shortage, nodes: Number, replica_nodes: Number, *, shrinks: bool, domain_nodes: int = 1
) -> Number:
    """Return the share of its rate that a job keeps despite missing nodes [1].

    Args:
        nodes: nodes of the job [1].
        replica_nodes: nodes of a data-parallel replica, which stop together [1].
        shrinks: the job goes on without the replicas that lack a node; otherwise it waits.
        domain_nodes: nodes of a scale-up domain [1].

    Equation:
        waiting: 1 - part of the time that it stands still; shrinking: the greater of that and 1 - (E[missing] r +
        E[domains] max(r, nodes of a domain)) / N

    Source:
        Definition; every missing node is assumed to stop another replica.
    """
    waits = 1 - short.waiting
    if not shrinks:
        return waits
    rate: Number = np.maximum(
        waits, 1 - (short.missing * replica_nodes + short.domains * np.maximum(replica_nodes, domain_nodes)) / nodes
    )
    return rate
