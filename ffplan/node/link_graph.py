"""GPUs that links join two by two, where neither a switch nor a full mesh does: rings, cubes, halves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.record import record

if TYPE_CHECKING:
    from collections.abc import Sequence


@record
class LinkGraph:
    """What rings and exchanges find on the links between the GPUs of a node."""

    most: int
    """Links of the GPU that has most [1]."""
    mean: float
    """Links of the mean GPU [1]."""
    rings: int
    """Links of every GPU that rings may use at once, at most [1]."""
    hops: float
    """Links on the shortest way between two GPUs, in the mean over pairs [1]."""
    connected: bool
    """True where links join every GPU with every other, be it over others."""


def _distances(first: str, beside: dict[str, set[str]]) -> dict[str, int]:
    """Return the links on the shortest way from a GPU to every one that it reaches."""
    found, edge = {first: 0}, [first]
    while edge:
        following = []
        for gpu in edge:
            for other in sorted(beside[gpu] - found.keys()):
                found[other] = found[gpu] + 1
                following.append(other)
        edge = following
    return found


def link_graph(gpus: Sequence[str], links: Sequence[tuple[str, str]]) -> LinkGraph | None:
    """Return the graph of links between GPUs; None without links.

    Args:
        gpus: all GPUs of the node.
        links: two GPUs each, that a link joins.

    Returns:
        Counts of links [1].

    Equation:
        rings = 2 floor(d / 2), d the links of the GPU that has fewest, at least 1: a ring enters and leaves every GPU

    Source:
        Definition; the count of rings is a bound, which circulant and complete graphs reach.
    """
    if not links:
        return None
    beside: dict[str, set[str]] = {gpu: set() for gpu in gpus}
    for one, two in links:
        beside[one].add(two)
        beside[two].add(one)
    counts = [len(others) for others in beside.values()]
    distances = [_distances(gpu, beside) for gpu in gpus]
    ways = [value for found in distances for value in found.values() if value]
    return LinkGraph(
        most=max(counts),
        mean=sum(counts) / len(counts),
        rings=max(1, 2 * (min(counts) // 2)),
        hops=sum(ways) / len(ways),
        connected=all(len(found) == len(gpus) for found in distances),
    )
