"""The fabric as a graph: GraphML for graph tools, DOT for Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from ffplan.fabric.wiring.network import ROLES, TIERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Bools
    from ffplan.fabric.wiring.names import Names
    from ffplan.fabric.wiring.network import Network

_KEYS = {
    "role": ("node", "string"),
    "plane": ("node", "long"),
    "zone": ("node", "long"),
    "pod": ("node", "long"),
    "a_port": ("edge", "long"),
    "b_port": ("edge", "long"),
    "tier": ("edge", "string"),
    "gbyte_s": ("edge", "double"),
}
"""What nodes and edges carry, each with its type."""


def _data(**values: object) -> str:
    return "".join(f'<data key="{name}">{value}</data>' for name, value in values.items())


def graphml(network: Network, names: Names, inside: Bools) -> Iterator[str]:
    """Yield the devices that are inside as GraphML; nodes carry role, plane, zone and pod, edges ports, tier and rate.

    The text is written as it is made: as a graph in memory, a fabric would take a hundred times its arrays.

    Args:
        network: the fabric.
        names: names of its devices.
        inside: which devices to list, shape (switches + endpoints,).
    """
    s, e, k, first = network.switches, network.endpoints, network.links, len(network.switches)
    title = names.devices()
    yield '<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for name, (kind, form) in _KEYS.items():
        yield f'  <key id="{name}" for="{kind}" attr.name="{name}" attr.type="{form}"/>\n'
    yield '  <graph edgedefault="undirected">\n'
    for number in np.flatnonzero(inside[:first]).tolist():
        carried = _data(role=ROLES[s.role[number]], plane=s.plane[number], zone=s.zone[number], pod=s.pod[number])
        yield f"    <node id={quoteattr(title[number])}>{carried}</node>\n"
    for number in np.flatnonzero(inside[first:]).tolist():
        carried = _data(role="endpoint", plane=e.plane[number], zone=e.zone[number])
        yield f"    <node id={quoteattr(title[first + number])}>{carried}</node>\n"
    kept = np.flatnonzero(inside[k.a] & inside[k.b])
    carried_by = ("a", "b", "a_port", "b_port", "tier", "gbyte_s")
    for a, b, a_port, b_port, tier, rate in k.rows(kept, *carried_by):
        carried = _data(a_port=a_port + 1, b_port=b_port + 1, tier=TIERS[tier], gbyte_s=rate)
        yield f"    <edge source={quoteattr(title[a])} target={quoteattr(title[b])}>{carried}</edge>\n"
    yield "  </graph>\n</graphml>\n"


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
