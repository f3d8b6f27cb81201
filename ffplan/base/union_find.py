"""Union-find: groups connected by pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

K = TypeVar("K", bound="Hashable")


def union_find(pairs: Iterable[tuple[K, K]]) -> dict[K, K]:
    """Return the representative of each element's connected group.

    Args:
        pairs: connected elements; repeats are fine.
    """
    parent: dict[K, K] = {}

    def root(element: K) -> K:
        while parent.setdefault(element, element) != element:
            parent[element] = parent[parent[element]]
            element = parent[element]
        return element

    for first, second in pairs:
        parent[root(first)] = root(second)
    return {element: root(element) for element in list(parent)}
