"""The fabric as a graph: GraphML for graph tools, DOT for Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.fabric.wiring.network import ROLES, TIERS, to_networkx

if TYPE_CHECKING:
    from ffplan.base.array_math import Bools
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network


def graphml(network: Network, names: Names, inside: Bools) -> str:
    """Return the devices that are inside as GraphML; nodes carry role, plane, zone and pod, edges ports, tier and rate.

    Args:
        network: the fabric.
        names: names of its devices.
        inside: which devices to list, shape (switches + endpoints,).
    """
    import networkx as nx

    graph = to_networkx(network).subgraph(np.flatnonzero(inside).tolist())
    titles = names.devices()
    named = nx.relabel_nodes(graph, {number: titles[number] for number in graph})
    for _, _, edge in named.edges(data=True):
        edge["tier"] = TIERS[edge["tier"]]
        edge["a_port"] += 1
        edge["b_port"] += 1
    return "\n".join(nx.generate_graphml(named)) + "\n"


def dot(network: Network, names: Names, inside: Bools) -> str:
    """Return the switches that are inside as DOT, parallel links as one edge with their number; endpoints are counted.

    Args:
        network: the fabric.
        names: names of its devices.
        inside: which devices to list, shape (switches + endpoints,).
    """
    k, s, first = network.links, network.switches, len(network.switches)
    kept = inside[k.a] & inside[k.b]
    hosts = np.bincount(k.b[kept & (k.a >= first)], minlength=first)
    lines = ["graph fabric {", "  rankdir=BT;", "  node [shape=box];"]
    for number in np.flatnonzero(inside[:first]).tolist():
        note = f"\\n{hosts[number]} endpoints" if hosts[number] else ""
        lines.append(
            f'  "{names.switch(number)}" [label="{names.switch(number)}{note}" group={ROLES[s.role[number]]}];'
        )
    between = kept & (k.a < first)
    pairs = k.a[between].astype(np.int64) * first + k.b[between]
    for pair, count in zip(*(column.tolist() for column in np.unique(pairs, return_counts=True)), strict=True):
        a, b = divmod(pair, first)
        label = f' [label="{count}"]' if count > 1 else ""
        lines.append(f'  "{names.switch(a)}" -- "{names.switch(b)}"{label};')
    return "\n".join([*lines, "}"]) + "\n"
