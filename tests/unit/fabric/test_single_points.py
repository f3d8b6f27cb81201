"""What the loss of one device cuts off, against removing each in turn."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ffplan.fabric.routing.single_points import cut_off


@given(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(0, 20), min_size=n, max_size=n),
            st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] < pair[1])),
        )
    )
)
def test_a_loss_cuts_off_all_but_the_largest_part_left(case: tuple[list[int], set[tuple[int, int]]]) -> None:
    weights, pairs = case
    graph: nx.Graph[int] = nx.Graph(list(pairs))
    graph.add_nodes_from(range(len(weights)))
    wanted = []
    for device in range(len(weights)):
        part = nx.node_connected_component(graph, device)
        rest = graph.subgraph(part - {device})
        left = max((sum(weights[one] for one in piece) for piece in nx.connected_components(rest)), default=0)
        wanted.append(sum(weights[one] for one in part) - left)
    joined = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    assert cut_off(np.array(weights, np.int64), joined).tolist() == wanted


def test_a_chain_and_a_ring() -> None:
    """In a chain the middle parts two from two; in a ring each loses itself alone."""
    ones, chain = np.ones(5, np.int64), np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    assert cut_off(ones, chain).tolist() == [1, 2, 3, 2, 1]
    assert cut_off(ones, np.concatenate([chain, [[0, 4]]])).tolist() == [1] * 5
