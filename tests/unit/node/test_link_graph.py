"""Links between single GPUs: what rings and exchanges find on them."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from ffplan.node.link_graph import link_graph, smallest_cut


def test_a_ring_of_eight() -> None:
    """Two links each, both used by a ring; mean way of 1, 1, 2, 2, 3, 3 and 4 links: 16 / 7."""
    found = link_graph("abcdefgh", [(a, b) for a, b in zip("abcdefgh", "bcdefgha", strict=True)])
    assert found is not None
    assert (found.most, found.mean, found.rings, found.connected) == (2, 2.0, 2, True)
    assert found.hops == pytest.approx(16 / 7)


def test_a_full_mesh_of_five() -> None:
    """Four links each, all in two rings through all GPUs, and one link between any two."""
    found = link_graph("abcde", list(combinations("abcde", 2)))
    assert found is not None
    assert (found.most, found.rings, found.hops, found.connected) == (4, 4, 1.0, True)


def test_a_cube_leaves_a_link_to_rings() -> None:
    """Three links each: a ring takes two; 1, 1, 1, 2, 2, 2 and 3 links to the others, 12 / 7."""
    names = [f"{n:03b}" for n in range(8)]
    links = [(a, b) for a, b in combinations(names, 2) if sum(x != y for x, y in zip(a, b, strict=True)) == 1]
    found = link_graph(names, links)
    assert found is not None
    assert (found.most, found.rings) == (3, 2)
    assert found.hops == pytest.approx(12 / 7)


def test_two_halves_are_not_joined() -> None:
    found = link_graph("abcdefgh", [*combinations("abcd", 2), *combinations("efgh", 2)])
    assert found is not None
    assert (found.connected, found.hops) == (False, 1.0)
    assert link_graph("abcd", []) is None


def test_links_of_a_pair_count() -> None:
    """A square whose opposite sides are doubled: three links each, of which a cut across the thin sides leaves two."""
    found = link_graph("abcd", ["ab", "bc", "cd", "da"], (2, 1, 2, 1))  # type: ignore[list-item]
    assert found is not None
    assert (found.most, found.mean, found.rings, found.fewest, found.hops) == (3, 3.0, 2, 1, 4 / 3)


def test_rings_cross_the_thinnest_cut() -> None:
    """Two full meshes of four with two links between them: one ring crosses, though each GPU has three links."""
    links = [*combinations("abcd", 2), *combinations("efgh", 2), ("a", "e"), ("b", "f")]
    found = link_graph("abcdefgh", links)
    assert found is not None
    assert (found.most, found.rings, found.connected) == (4, 2, True)


def test_the_cut_is_that_of_every_half() -> None:
    """Brute force over all halves of random graphs of seven."""
    draw = Random(3)
    for _ in range(40):
        weights: dict[str, dict[str, int]] = {name: {} for name in "abcdefg"}
        for one, two in combinations("abcdefg", 2):
            if draw.random() < 0.5:
                weights[one][two] = weights[two][one] = draw.randint(1, 4)
        halves = [half for size in (1, 2, 3) for half in combinations("abcdefg", size)]
        cut = min(sum(n for a in half for b, n in weights[a].items() if b not in half) for half in halves)
        assert smallest_cut(weights) == cut


def test_a_line_of_three_still_has_a_ring() -> None:
    """One link parts it in two: a ring would need it there and back, and gets it once."""
    found = link_graph("abc", [("a", "b"), ("b", "c")])
    assert found is not None
    assert (found.rings, found.hops) == (1, (1 + 2 + 1 + 1 + 2 + 1) / 6)
