"""GPUs with links between pairs, without a switch or a full mesh: rings, cubes, halves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence


@record
class _LinkGraph:
    most: int
    """Links of the GPU that has most [1]."""
    mean: float
    """Links of the mean GPU [1]."""
    rings: int
    """Links of every GPU that rings may use at once, at most [1]."""
    fewest: int
    """Fewest links between two linked GPUs [1]."""
    hops: float
    """Links on the shortest way between two GPUs, mean over pairs [1]."""
    connected: bool
    """True if links join every GPU with every other, be it over others."""


def _distances(first: str, weights: dict[str, dict[str, int]]) -> dict[str, int]:
    """Return the links on the shortest way from a GPU to every GPU within reach."""
    distance, edge = {first: 0}, [first]
    while edge:
        following = []
        for gpu in edge:
            for neighbour in sorted(weights[gpu].keys() - distance.keys()):
                distance[neighbour] = distance[gpu] + 1
                following.append(neighbour)
        edge = following
    return distance


def _smallest_cut(weights: dict[str, dict[str, int]]) -> int:
    """Return the fewest links that part the GPUs of a graph in two.

    Args:
        weights: links of every GPU to each other one [1].

    Returns:
        Links [1]; 0 if some GPUs have no way to others.

    Equation:
        min over cuts (A, B) of the links between A and B

    Source:
        Stoer and Wagner, "A Simple Min-Cut Algorithm", Journal of the ACM 44, 1997.
    """
    left = {gpu: dict(others) for gpu, others in weights.items()}
    # more than any cut has
    best = sum(sum(others.values()) for others in left.values())
    while len(left) > 1:
        tight = dict.fromkeys(left, 0)
        order: list[str] = []
        while tight:
            # the GPU most tightly linked to those before: only this order makes the cut around the last one minimal
            following = max(tight, key=lambda gpu: tight[gpu])
            best = min(best, tight[following]) if len(tight) == 1 else best
            del tight[following]
            order.append(following)
            for neighbour, count in left[following].items():
                if neighbour in tight:
                    tight[neighbour] += count
        # the cut around the last GPU is counted, so it merges with the one before
        kept, gone = order[-2], order[-1]
        for neighbour, count in left.pop(gone).items():
            del left[neighbour][gone]
            if neighbour != kept:
                left[kept][neighbour] = left[neighbour][kept] = left[kept].get(neighbour, 0) + count
    return best


def _link_graph(gpus: Sequence[str], links: Sequence[tuple[str, str]], counts: Sequence[int] = ()) -> _LinkGraph | None:
    """Return the graph of links between GPUs; None without links.

    Args:
        counts: links of each pair [1]; one each if empty.

    Returns:
        Counts of links [1].

    Equation:
        rings = 2 floor(c / 2), c the fewest links that part the GPUs in two, at least 1: a ring crosses there and back

    Source:
        Definition; the count of rings is a bound, which circulant and complete graphs reach.
    """
    if not links:
        return None
    weights: dict[str, dict[str, int]] = {gpu: {} for gpu in gpus}
    for (first, second), count in zip(links, counts or [1] * len(links), strict=True):
        weights[first][second] = weights[second][first] = count
    degrees = [sum(others.values()) for others in weights.values()]
    distances = [_distances(gpu, weights) for gpu in gpus]
    ways = [value for reached in distances for value in reached.values() if value]
    return _LinkGraph(
        most=max(degrees),
        mean=sum(degrees) / len(degrees),
        # a ring takes two links of the cut, and a link serves one ring each way
        rings=max(1, 2 * (_smallest_cut(weights) // 2)),
        fewest=min(counts, default=1),
        hops=sum(ways) / len(ways),
        connected=all(len(reached) == len(gpus) for reached in distances),
    )
