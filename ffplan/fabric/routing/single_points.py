"""What the loss of one device cuts off from the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ffplan.base.array_math import Ints


def cut_off(weights: Ints, pairs: Ints) -> Ints:
    """Return the weight that the loss of each device cuts off: all outside the largest part left [1].

    Args:
        weights: weight of each device, lost with it [1].
        pairs: joined devices, each pair once, shape (pairs, 2).

    Equation:
        weight of what was joined - of the largest part without the device; the parts are the subtrees of a search in
        depth that reach no device before it, and the rest

    Source:
        Hopcroft and Tarjan, "Efficient algorithms for graph manipulation", CACM 16 (1973): articulation points.
    """
    both = np.concatenate([pairs, pairs[:, ::-1]])
    ends = both[np.argsort(both[:, 0], kind="stable")]
    first = np.searchsorted(ends[:, 0], np.arange(len(weights) + 1)).tolist()
    search = _Search(ends[:, 1].tolist(), first, weights.tolist())
    for device in range(len(weights)):
        if not search.seen[device]:
            search.run(device)
    return np.array(search.lost, np.int64)


class _Search:
    """A search in depth: when each device was seen, the first that its subtree reaches, and what the subtree weighs."""

    def __init__(self, neighbours: list[int], first: list[int], weights: list[int]) -> None:
        count = len(weights)
        self.neighbours, self.next, self.end = neighbours, first[:-1], first[1:]
        self.seen, self.reached = [0] * count, [0] * count
        self.below = list(weights)
        """Weight of the subtree of each device."""
        self.parted, self.largest = list(weights), [0] * count
        """Weight of each device with the parts that its loss cuts from the root, and of the largest of them."""
        self.lost = [0] * count
        self.clock = 0

    def run(self, root: int) -> None:
        """Search all that is joined to a device, and say what each loss cuts off."""
        path, order = [root], [root]
        self._see(root)
        while path:
            device = path[-1]
            if self.next[device] == self.end[device]:
                path.pop()
                if path:
                    self._return(path[-1], device)
                continue
            other = self.neighbours[self.next[device]]
            self.next[device] += 1
            if not self.seen[other]:
                self._see(other)
                path.append(other)
                order.append(other)
            else:
                self.reached[device] = min(self.reached[device], self.seen[other])
        for device in order:
            total = self.below[root]
            self.lost[device] = total - max(self.largest[device], total - self.parted[device])

    def _see(self, device: int) -> None:
        self.clock += 1
        self.seen[device] = self.reached[device] = self.clock

    def _return(self, device: int, child: int) -> None:
        self.below[device] += self.below[child]
        self.reached[device] = min(self.reached[device], self.reached[child])
        if self.reached[child] >= self.seen[device]:
            self.parted[device] += self.below[child]
            self.largest[device] = max(self.largest[device], self.below[child])
