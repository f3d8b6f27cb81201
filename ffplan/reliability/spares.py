"""Nodes in repair, spares, and the loss of a job with too few nodes; floats and arrays."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from ffplan.base.array_math import Floats, Number
from ffplan.base.elementary import exp, log
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
    free: Number = 0.0
    """Share of failures that find a spare free: at any time, or while a job runs that waits for its nodes [1]."""
    log_fits: Number = 0.0
    """Logarithm of the probability that the spares replace all nodes in repair."""
    domains: Number = 0.0
    """Mean number of missing scale-up domains, in addition [1]."""
    free_domains: Number = 0.0
    """Share of failures of a whole domain that find a spare one free [1]."""
    spare_domains: Number = 0.0
    """Whole domains among the spares that replace failed ones [1]."""


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
    """Return six columns by expected nodes in repair, shape [values, 6].

    Each sum has only its value's terms, so that a result does not depend on other values in the array. Columns: chance,
    missing nodes and waiting; failures that find a spare free, at any time and while a waiting job runs; `log_fits`.
    """
    table = np.zeros((len(down), 6))
    lengths = [terms(float(value)) + 1 for value in down]
    chances = _probabilities(down[:, np.newaxis], max(lengths, default=1) - 1)
    lacking = np.maximum(np.arange(chances.shape[1]) - spares, 0)
    for row, length in enumerate(lengths):
        row_chances = chances[row, :length]
        table[row, 0] = row_chances[spares + 1 :].sum()
        table[row, 1] = (row_chances * lacking[:length]).sum()
        table[row, 3] = row_chances[:spares].sum()
    table[:, 4] = 1.0 if spares else 0.0
    late = [row for row, length in enumerate(lengths) if down[row] > 0 and length > spares + 1]
    if late:
        # in logarithms: far from the mean the probabilities underflow
        weights = _log_weights(down[late][:, np.newaxis], spares + 1)
        table[late, 2] = 1 / exp(weights - weights[:, -1:]).sum(axis=1)
        fits = exp(weights[:, :-1] - weights[:, -2:-1]).sum(axis=1)  # P(X <= s) / P(X = s)
        table[late, 4] = 1 - 1 / fits
        table[late, 5] = log(fits) + weights[:, -2] - down[late]
    return table


def _columns(down: Number, spares: int) -> list[Any]:
    """Return the columns of `_short` in the shape of the values; for many values, an interpolation between points."""
    values = np.asarray(down, dtype=float)
    if values.size <= POINTS:
        columns = _short(values.ravel(), spares).reshape(*values.shape, 6)
    else:
        # even in the square root: denser at small values
        points = np.linspace(np.sqrt(values.min()), np.sqrt(values.max()), POINTS) ** 2
        table = _short(points, spares)
        columns = np.stack([np.interp(values, points, table[:, column]) for column in range(6)], axis=-1)
    return [float(figure) for figure in columns] if values.ndim == 0 else list(np.moveaxis(columns, -1, 0))


def _shortage(down: Number, spares: int, *, swap: Number = 0.0, waits: bool = False) -> _Shortage:
    """Return how often a job lacks nodes, the mean number missing, and how often a failure finds a spare free.

    Args:
        down: expected nodes in repair [1], any shape.
        spares: spare nodes [1].
        swap: time until a spare is in the place of a node, over the repair of a node, at most 1 [1].
        waits: the job waits for its nodes, and `free` counts while it runs.

    Equation:
        P(X > s); E[max(X - s, 0)]; P(X = s + 1) / P(X <= s + 1); P(X < s), of a job that waits P(X < s) / P(X <= s), X
        Poisson with mean `down`

    Source:
        M/G/inf queue: with independent failures and repairs, the number of nodes in repair is Poisson for any
        distribution of the repair, and a failure finds what there is at any time. Erlang's loss formula for a job that
        waits, since its nodes do not fail while it is down.
    """
    chance, missing, waiting, free, running, fits = _columns(down, spares)
    short = _Shortage(chance=chance, missing=missing, waiting=waiting, free=running if waits else free, log_fits=fits)
    return _swapped(short, down, spares, swap) if spares and np.any(swap) else short


def _swapped(short: _Shortage, down: Number, spares: int, swap: Number) -> _Shortage:
    """Add the nodes whose spare is on its way to their place to a shortage.

    Args:
        down: expected nodes in repair [1].
        spares: spare nodes, above 0 [1].
        swap: time until a spare is in the place of a node, over the repair of a node, at most 1 [1].

    Equation:
        each of min(X, s) spares serves one node for a repair, and spends c of it on its way: missing + c E[min(X, s)],
        E[min(X, s)] = a - missing; P = 1 - exp(-a c) P(X' <= s), X' Poisson with mean a (1 - c); w / (1 - w) = c a + (1
        - c) of the same without

    Source:
        Little's law. A node that no spare replaces is back after its own repair, so that a spare more never adds to
        what is missing, and none leaves the shortage as it is. Nodes on their way are a share of the Poisson ones.
    """
    ratio = short.waiting / (1 - short.waiting)
    apart = _columns(down * (1 - swap), spares)[0]
    return replace(
        short,
        chance=1 - (1 - apart) * exp(-np.asarray(down * swap, dtype=float)),
        missing=short.missing + swap * (down - short.missing),
        waiting=1 - 1 / (1 + swap * down + (1 - swap) * ratio),
    )


def _domain_shortages(
    down: Number, domains: Number, spares: int, domain_nodes: int, *, swap: Number = 0.0, waits: bool = False
) -> list[_Shortage]:
    """Return how often a job lacks nodes if whole scale-up domains fail too, by the spare domains that replace them.

    Args:
        down: expected nodes in repair [1], any shape.
        domains: expected domains in repair [1], same shape.
        spares: spare nodes [1].
        domain_nodes: nodes of a domain [1].
        swap: time until a spare is in the place of a node, over the repair of a node [1].
        waits: the job waits for its nodes.

    Returns:
        A shortage for none, one, ... of the whole domains among the spares that replace failed ones; the other spares
        replace nodes alone.

    Equation:
        with s = spares, n = nodes of a domain, r <= floor(s / n) whole domains, Y Poisson: sum over y <= r of P(Y = y)
        shortage(down, s - n y), and P(Y > r) with shortage(down, s - n r) and E[max(Y - r, 0)] domains besides;
        waiting: the states with a node or domain too many that a running job can fall into, over those and the running
        ones

    Source:
        Conditioning on the domains in repair; only a whole spare domain can replace one. Waiting is Erlang's loss of
        two classes, since no node fails while the job is down: 1 / (1 + a + b) without spares.
    """
    mean, whole = np.asarray(domains, dtype=float), spares // domain_nodes
    # more domains than these fail with a negligible probability
    most = min(whole, enough(float(mean.max()), 1 - 1e-12))
    shorts = [_shortage(down, spares - domain_nodes * number, swap=swap, waits=waits) for number in range(most + 1)]
    return [
        _beside_domains(shorts[: number + 1], mean, whole if number == most else number, waits=waits)
        for number in range(most + 1)
    ]


def _beside_domains(shorts: list[_Shortage], mean: Floats, whole: int, *, waits: bool) -> _Shortage:
    """Return a shortage of nodes and domains, from the shortages of nodes beside 0, 1, ... domains in repair."""
    first, last = shorts[0], shorts[-1]
    chance, missing, free, replaced = (np.zeros_like(mean) for _ in range(4))
    runs, running_free, running_replaced, falls = (np.zeros_like(mean) for _ in range(4))
    rest, weight, part = np.ones_like(mean), exp(-mean), np.ones_like(mean)
    for number, short in enumerate(shorts):
        chance, missing = chance + weight * short.chance, missing + weight * short.missing
        free, replaced = free + weight * short.free, replaced + weight * (short is not last)
        # running states over those without a domain in repair, in logarithms
        beside = part * exp(np.asarray(short.log_fits - first.log_fits, dtype=float))
        runs, falls = runs + beside, falls + beside * mean / (number + 1)
        running_free, running_replaced = (
            running_free + beside * short.free,
            running_replaced + beside * (short is not last),
        )
        rest, weight, part = rest - weight, weight * mean / (number + 1), part * mean / (number + 1)
    rest = np.maximum(rest, 0.0)
    return _Shortage(
        chance=chance + rest,
        missing=missing + rest * last.missing,
        waiting=1 - runs / (1 / (1 - first.waiting) + falls),
        free=running_free / runs if waits else free + rest * last.free,
        domains=_shortage(mean, whole).missing,
        free_domains=running_replaced / runs if waits else replaced,
        spare_domains=float(whole),
    )


def _best_way(ways: list[_Shortage], values: list[Number]) -> _Shortage:
    """Return the shortage with the greatest value, by element; of equal ones, the one with most spare domains."""
    if len(ways) == 1:
        return ways[0]
    stacked = np.stack(np.broadcast_arrays(*values)[::-1])
    best = np.argmax(stacked, axis=0)[np.newaxis]
    found = {}
    for field in fields(_Shortage):
        figures = [np.broadcast_to(getattr(way, field.name), best.shape[1:]) for way in ways[::-1]]
        found[field.name] = np.take_along_axis(np.stack(figures), best, axis=0)[0]
    return _Shortage(**found)


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
