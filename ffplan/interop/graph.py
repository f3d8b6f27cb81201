"""The fabric as a graph: GraphML for graph tools, DOT for Graphviz."""

from __future__ import annotations

from collections import Counter
from math import cos, pi, sin
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from ffplan.fabric.wiring.network import ROLES, TIERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.array_math import Bools, Ints
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


_MOST_DRAWN = 100
"""Most switches that are drawn one by one; more are drawn in groups, which graphviz lays out in a second."""
_MOST_LABELS = 60
"""Most edges that each have a label with their links: graphviz gives each label room between the tiers, and 512 labels
make a page of 17,000 points."""
_ACROSS = 10
"""Boxes of the widest tier for each inch between tiers, so that edges do not lie flat [1]."""


def dot(network: Network, names: Names, inside: Bools) -> str:
    """Return the switches that are inside as DOT, parallel links as one edge with their number; endpoints are counted.

    In a large fabric, one box shows a pod's switches of a tier, or a zone's or plane's above pods. If many edges have
    equally many links, the drawing says so once, and only edges that differ have a number.

    Args:
        inside: which devices to list, shape (switches + endpoints,).
    """
    k, first = network.links, len(network.switches)
    kept = inside[k.a] & inside[k.b]
    shown = np.flatnonzero(inside[:first])
    group, titles = _grouped(network, names, shown)
    hosts = np.bincount(group[k.b[kept & (k.a >= first)]], minlength=len(titles))
    between = kept & (k.a < first)
    flat = any(role == "router" for _, role in titles)
    ends = np.column_stack([group[k.a[between]], group[k.b[between]]])
    within = np.bincount(ends[ends[:, 0] == ends[:, 1], 0], minlength=len(titles))  # a loop would cover its neighbours
    lines = ["graph fabric {", f"  {_layout(titles, flat=flat)}", "  node [shape=box];"]
    radius = len(titles) * (0.7 + 0.1 * max((len(title) for title, _ in titles), default=0)) / (2 * pi)  # inches
    for number, (title, role) in enumerate(titles):
        turn = 2 * pi * number / len(titles)
        note = f"\\n{hosts[number]} endpoints" if hosts[number] else ""
        note += f"\\n{within[number]} links inside" if within[number] else ""
        place = f'pos="{radius * sin(turn):.2f},{radius * cos(turn):.2f}!"' if flat else f"group={role}"
        lines.append(f'  "{title}" [label="{title}{note}" {place}];')
    tier = np.array([ROLES.index(role) for _, role in titles])
    ends = ends[ends[:, 0] != ends[:, 1]]
    ends.sort(axis=1)
    down = tier[ends[:, 0]] > tier[ends[:, 1]]  # graphviz sets the first end of an edge below the second
    ends[down] = ends[down, ::-1]
    pairs = ends[:, 0] * len(titles) + ends[:, 1]
    edges = list(zip(*(column.tolist() for column in np.unique(pairs, return_counts=True)), strict=True))
    usual = Counter(count for _, count in edges).most_common(1)[0][0] if flat or len(edges) > _MOST_LABELS else 1
    if usual > 1:
        lines.append(f'  label="{usual} links between two switches, unless an edge says otherwise";')
    for pair, count in edges:
        a, b = divmod(pair, len(titles))
        label = f' [label="{count}"]' if count != usual else ""
        lines.append(f'  "{titles[a][0]}" -- "{titles[b][0]}"{label};')
    return "\n".join([*lines, "}"]) + "\n"


def _layout(titles: list[tuple[str, str]], *, flat: bool) -> str:
    """Return the attributes that let graphviz draw tiers above each other, or a fabric without tiers in a circle.

    Of a flat one, such as a Dragonfly, `dot` would set 50 switches in a row, and both it and `circo` take minutes,
    so that every box has its place.
    """
    if flat:
        return 'layout=neato; outputorder=edgesfirst; node [style=filled fillcolor=white]; edge [color="#00000040"];'
    widest = max(Counter(role for _, role in titles).values(), default=1)
    return f"rankdir=BT; nodesep=0.1; ranksep={max(0.5, widest / _ACROSS):.1f};"


def _grouped(network: Network, names: Names, shown: Ints) -> tuple[Ints, list[tuple[str, str]]]:
    """Return the box of every switch, and name and role of every box."""
    s = network.switches
    group = np.zeros(len(s), np.int64)
    if len(shown) <= _MOST_DRAWN:
        group[shown] = np.arange(len(shown))
        return group, [(names.switch(n), ROLES[s.role[n]]) for n in shown.tolist()]
    keys = np.column_stack([s.plane, s.zone, s.pod, s.role])[shown]
    groups, inverse, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    group[shown] = inverse.ravel()
    titles = []
    for (plane, zone, pod, role), count in zip(groups.tolist(), counts.tolist(), strict=True):
        place = f"p{plane + 1}-" * (names.planes > 1) + f"z{zone + 1}-" * (names.zones > 1 and zone >= 0)
        place += f"{'group' if ROLES[role] == 'router' else 'pod'}-{pod + 1}-" * (
            pod >= 0 and int(s.pod[shown].max()) > 0
        )
        titles.append((f"{place}{ROLES[role]} x {count}", ROLES[role]))
    return group, titles
