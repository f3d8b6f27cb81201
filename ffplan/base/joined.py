"""Things that pairs of them join, be it over others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

K = TypeVar("K", bound="Hashable")


def joined(pairs: Iterable[tuple[K, K]]) -> dict[K, K]:
    """Return for everything in a pair the one that stands for all that it is joined with.

    Args:
        pairs: two that are joined, any number of times.
    """
    parent: dict[K, K] = {}

    def root(item: K) -> K:
        while parent.setdefault(item, item) != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    for one, two in pairs:
        parent[root(one)] = root(two)
    return {item: root(item) for item in list(parent)}
