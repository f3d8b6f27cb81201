"""Union-find: groups connected by pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

K = TypeVar("K", bound="Hashable")


def joined(pairs: Iterable[tuple[K, K]]) -> dict[K, K]:
    """Return the representative of each element's connected group.

    Args:
        pairs: connected elements; repeats are fine.
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
