"""Switches whose loss parts a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.fabric.family import wire

if TYPE_CHECKING:
    import networkx as nx

    from ffplan.base.array_math import Ints
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.sizing.plan import FabricPlan
    from ffplan.fabric.wiring.network import Network


def worst_switch_loss(design: ResolvedDesign, plan: FabricPlan) -> int:
    """Return the accelerators that the loss of the worst switch cuts off: all outside the largest part left [1].

    A node joins its switches: what one rail has lost goes over another. Nodes without accelerators join nothing.

    Equation:
        accelerators of the network - of the lost switch alone - of the largest part without it
    """
    import networkx as nx

    network = wire(design, plan).network
    alone, graph = _joined(network, design)
    worst = int(alone.max())
    for part in nx.connected_components(graph):
        within = graph.subgraph(part)
        total = _weight(within)
        for switch in nx.articulation_points(within):
            if switch < len(network.switches):
                left = (_weight(graph.subgraph(rest)) for rest in nx.connected_components(_without(within, switch)))
                worst = max(worst, total - max(left))
    return worst


def _weight(graph: nx.Graph[int]) -> int:
    return sum(graph.nodes[vertex]["accelerators"] for vertex in graph)


def _without(graph: nx.Graph[int], switch: int) -> nx.Graph[int]:
    return graph.subgraph(set(graph) - {switch})


def _joined(network: Network, design: ResolvedDesign) -> tuple[Ints, nx.Graph[int]]:
    """Return the accelerators whose nodes hang on each switch alone, and what joins the switches.

    The vertices are switches, with the accelerators that hang on them alone, and nodes on the same several switches.
    """
    import networkx as nx

    per_node = np.array([group.accelerators_per_node for group in design.groups])
    first = np.cumsum([0, *(group.group.count for group in design.groups)])
    ends, switches = network.endpoints, len(network.switches)
    computes = per_node[ends.group] > 0
    pairs = np.unique((first[ends.group] + ends.node)[computes].astype(np.int64) * switches + ends.leaf[computes])
    nodes, leaves = pairs // switches, pairs % switches
    node, start, count = np.unique(nodes, return_index=True, return_counts=True)
    accelerators = np.repeat(per_node, np.diff(first))[node]
    alone = np.bincount(leaves[start], weights=accelerators * (count == 1), minlength=switches).astype(np.int64)
    several = count > 1
    column = np.arange(len(leaves)) - np.repeat(start, count)
    sets = np.full((len(node), int(count.max(initial=1))), -1, np.int64)
    sets[np.repeat(np.arange(len(node)), count), column] = leaves
    alike, which = np.unique(sets[several], axis=0, return_inverse=True)
    held = np.bincount(which.ravel(), weights=accelerators[several], minlength=len(alike)).astype(np.int64)
    links = network.links
    between = links.tier > 0
    graph: nx.Graph[int] = nx.Graph()
    weights = np.concatenate([alone, held]).tolist()
    for vertex, weight in enumerate(weights):
        graph.add_node(vertex, accelerators=weight)
    graph.add_edges_from(np.unique(np.column_stack([links.a[between], links.b[between]]), axis=0).tolist())
    row, place = np.nonzero(alike >= 0)
    graph.add_edges_from(np.column_stack([switches + row, alike[row, place]]).tolist())
    return alone, graph
