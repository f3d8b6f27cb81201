"""The fabric as an SVG drawing: a square for each switch, nodes below their leaves, links as bundles.

One plane is drawn, since planes are equal. Zones are drawn in a row, with their pods inside; where a zone has many
equal pods, a few are drawn and the rest are counted. Groups of a dragonfly form a circle. Links are drawn as bundles,
since single links of a thousand switches cannot be read.
"""

from __future__ import annotations

from math import cos, pi, sin
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import listed, plural
from ffplan.base.record import record
from ffplan.fabric.wiring.network import LEAF, ROLES, SPINE
from ffplan.interop.canvas import COLOURS, COLUMNS, GAP, LETTER, PAD, SQUARE, _Canvas

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.wiring.wiring import WiredFabric, WiredTree

_MOST_GROUPS = 12
"""Groups drawn one by one."""
_ROUTERS_ACROSS = 10
"""Routers in a row of a group."""
_GROUP_WIDTH = 150.0
_LEAST_WIDTH = 420
"""Least width of a caption [px]."""


def _draw_groups(canvas: _Canvas, fabric: WiredFabric, top: float) -> None:
    part = fabric.dragonflies[0]
    shape = part.shape
    endpoints = fabric.network.endpoints
    held = np.bincount(fabric.network.switches.pod[endpoints.leaf[endpoints.plane == 0]], minlength=shape.groups)
    shown = min(shape.groups, _MOST_GROUPS)
    height = 44.0 + -(-shape.routers // _ROUTERS_ACROSS) * (SQUARE + GAP)
    inside = shape.routers * (shape.routers - 1) // 2
    join = "links join" if shape.pair_links > 1 else "link joins"
    canvas.text(PAD, top + 6, f"{inside:,} links inside a group; {shape.pair_links} {join} two groups", "s")
    radius_x = max(_GROUP_WIDTH, shown * (_GROUP_WIDTH + 60) / (2 * pi)) if shown > 2 else _GROUP_WIDTH
    radius_y = max(height, shown * (height + 60) / (2 * pi)) if shown > 2 else 0.0
    middle = (PAD + radius_x + _GROUP_WIDTH / 2, top + 34 + radius_y + height / 2)
    turns = [2 * pi * number / shown - (pi / 2 if shown > 2 else 0.0) for number in range(shown)]
    places = [(middle[0] + radius_x * cos(turn), middle[1] + radius_y * sin(turn)) for turn in turns]
    for number, (x, y) in enumerate(places):
        for u, v in places[:number]:
            canvas.items.append(f'<path class="l" stroke-width="1.5" d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}"/>')
    for number, (x, y) in enumerate(places):
        left, upper = x - _GROUP_WIDTH / 2, y - height / 2
        canvas.box(left, upper, _GROUP_WIDTH, height)
        canvas.text(left + 10, upper + 18, f"group {number + 1}")
        canvas.squares(left + 10, upper + 25, shape.routers, "router", _ROUTERS_ACROSS)
        canvas.text(left + 10, upper + height - 6, f"{int(held[number]):,} endpoints", "s")
    if shown < shape.groups:
        note = f"and {shape.groups - shown} groups more, joined alike"
        canvas.text(PAD, max(y for _, y in places) + height / 2 + 24, note)


_MOST_PODS = 5
"""Pods of a zone drawn one by one."""


@record
class _Pod:
    leaves: int
    spines: int
    endpoints: int
    down: int
    """Links between its leaves and spines."""
    up: int
    """Links to the cores."""
    nodes: tuple[tuple[int, int, int], ...]
    """Position of each group of nodes with endpoints here, how many nodes these are, and their endpoints."""


def _pods(fabric: WiredFabric, wired: WiredTree) -> list[_Pod]:
    """Return the pods of a tree; a two-tier tree is one."""
    s, k, tree = fabric.network.switches, fabric.network.links, wired.tree
    first, last = wired.first_switch, wired.first_switch + tree.leaf + tree.spine
    pods = int(s.pod[first:last].max()) + 1
    switches = np.arange(first, last)
    leaf, spine = switches[s.role[switches] == LEAF], switches[s.role[switches] == SPINE]
    e = fabric.network.endpoints
    ends = np.bincount(e.leaf, minlength=len(s))
    lower = np.bincount(k.a[k.tier == 1], minlength=len(s))
    upper = np.bincount(k.a[k.tier == 2], minlength=len(s))
    columns = {
        "leaves": np.bincount(s.pod[leaf], minlength=pods),
        "spines": np.bincount(s.pod[spine], minlength=pods),
        "endpoints": np.bincount(s.pod[leaf], weights=ends[leaf], minlength=pods),
        "down": np.bincount(s.pod[leaf], weights=lower[leaf], minlength=pods),
        "up": np.bincount(s.pod[spine], weights=upper[spine], minlength=pods),
    }
    here = slice(wired.first_endpoint, wired.first_endpoint + wired.endpoints)
    triples = np.unique(np.stack([s.pod[e.leaf[here]], e.group[here], e.node[here]]).astype(np.int64), axis=1)
    nodes: list[list[tuple[int, int, int]]] = [[] for _ in range(pods)]
    for group in np.unique(triples[1]):
        ports = np.bincount(s.pod[e.leaf[here]][e.group[here] == group], minlength=pods)
        for pod, count in enumerate(np.bincount(triples[0][triples[1] == group], minlength=pods)):
            nodes[pod] += [(int(group), int(count), int(ports[pod]))] * bool(count)
    return [
        _Pod(**{name: int(column[pod]) for name, column in columns.items()}, nodes=tuple(nodes[pod]))
        for pod in range(pods)
    ]


def _shown(pods: list[_Pod]) -> list[tuple[_Pod, str]]:
    names = [f"pod {number + 1}" if len(pods) > 1 else "" for number in range(len(pods))]
    if len(pods) <= _MOST_PODS + 1:
        return list(zip(pods, names, strict=True))
    kept = [*range(_MOST_PODS - 1), len(pods) - 1]
    return [(pods[number], names[number]) for number in kept]


def _switches(count: int, role: str) -> str:
    return plural(count, f"{role} switch", f"{role} switches")


def _node_words(design: ResolvedDesign, position: int, count: int, ports: int) -> str:
    group = design.groups[position]
    gpus, nics = group.accelerators_per_node, len(group.fabric_nics) * design.stripes
    role = f"{group.group.role} " if group.group.role != "compute" else ""
    label = plural(count, f"{role}node") + (f" of {plural(gpus, 'GPU')}" if gpus else "")
    here = ports / count * design.planes
    return label if here == nics else f"{label}, {here:.2g} of their {plural(nics, 'NIC')}"


def _pod_width(design: ResolvedDesign, pod: _Pod) -> float:
    squares = min(COLUMNS, max(pod.leaves, pod.spines)) * (SQUARE + GAP) - GAP
    text_width = max((len(_node_words(design, *node)) for node in pod.nodes), default=0) * 6.2
    return max(squares, text_width, 150) + 2 * PAD


def _draw_pod(
    canvas: _Canvas, place: tuple[float, float], width: float, design: ResolvedDesign, pod: _Pod, name: str
) -> float:
    """Draw a pod; return its height."""
    x, y = place
    most = max(pod.down, pod.endpoints)
    bottom, middle, start = y + 18, x + width / 2, len(canvas.items)
    if name:
        canvas.text(x + PAD, bottom, name)
        bottom += 18
    if pod.spines:
        canvas.text(x + PAD, bottom, _switches(pod.spines, "spine"), "s")
        bottom += 6 + canvas.squares(x + PAD, bottom + 6, pod.spines, "spine")
        canvas.bundle(middle, bottom, middle, bottom + 30, pod.down, most)
        canvas.text(middle + 12, bottom + 18, plural(pod.down, "link"), "s")
        bottom += 44
    canvas.text(x + PAD, bottom, _switches(pod.leaves, "leaf"), "s")
    bottom += 6 + canvas.squares(x + PAD, bottom + 6, pod.leaves, "leaf")
    canvas.bundle(middle, bottom, middle, bottom + 30, pod.endpoints, most)
    canvas.text(middle + 12, bottom + 18, plural(pod.endpoints, "endpoint"), "s")
    bottom += 32
    for position, count, ports in pod.nodes:
        canvas.nodes(x + PAD, bottom, min(count, int((width - 2 * PAD + GAP) // (SQUARE + GAP))))
        canvas.text(x + PAD, bottom + 22, _node_words(design, position, count, ports), "s")
        bottom += 32
    canvas.box(x, y, width, bottom - y, under=start)
    return bottom - y


def _draw_zone(
    canvas: _Canvas,
    place: tuple[float, float],
    design: ResolvedDesign,
    fabric: WiredFabric,
    wired: WiredTree,
    title: str,
) -> float:
    """Draw a zone with its cores and pods; return its width."""
    x, y = place
    pods = _pods(fabric, wired)
    shown, start, core = _shown(pods), len(canvas.items), wired.tree.core
    inner = PAD if title else 0
    widths = [_pod_width(design, pod) for pod, _ in shown]
    left = [x + inner + sum(widths[:number]) + number * PAD for number in range(len(shown))]
    width = left[-1] + widths[-1] - x - inner
    bottom = y
    if title:
        canvas.text(x + PAD, y + 20, title, "h")
        bottom += 32
    if core:
        columns = max(1, int((width - 2 * PAD) // (SQUARE + GAP)))
        rows = -(-core // columns) * (SQUARE + GAP)
        canvas.box(x + inner, bottom, width, rows + 34)
        canvas.text(x + inner + PAD, bottom + 18, _switches(core, "core"), "s")
        canvas.squares(x + inner + PAD, bottom + 25, core, "core", columns)
        bottom += rows + 34
        most = max(pod.up for pod, _ in shown)
        for (pod, _), first, wide in zip(shown, left, widths, strict=True):
            canvas.bundle(first + wide / 2, bottom, first + wide / 2, bottom + 40, pod.up, most)
            canvas.text(first + wide / 2 + 12, bottom + 24, plural(pod.up, "link"), "s")
        bottom += 40
    heights = [
        _draw_pod(canvas, (first, bottom), wide, design, pod, name)
        for (pod, name), first, wide in zip(shown, left, widths, strict=True)
    ]
    bottom += max(heights)
    if len(shown) < len(pods):
        canvas.text(x + inner, bottom + 20, f"and {len(pods) - len(shown)} pods more, wired alike, before the last")
        bottom += 26
    if title:
        canvas.box(x, y, width + 2 * inner, bottom - y + PAD, under=start, kind="z")
    return width + 2 * inner


def _rails(design: ResolvedDesign, fabric: WiredFabric) -> str:
    unit = design.spec.fabric.scalable_unit
    if fabric.family == "rail-optimised":
        size = f" of its {unit} nodes" if unit else " of all its nodes"
        shared = design.spec.fabric.leaf.rails or 1
        nics = "NIC r" if shared == 1 else f"NICs {shared}r to {shared}r + {shared - 1}"
        return f"; rail-optimised: leaf r of a scalable unit joins {nics}{size}"
    if fabric.family == "top-of-rack":
        return f"; top-of-rack: a leaf joins all NICs of {unit} nodes" if unit else "; top-of-rack"
    if fabric.family != "rail-only":
        return ""
    rails = design.rails // fabric.planes
    return "; each plane is one rail" if rails == 1 else f"; each plane carries {rails} rails"


def _legend(canvas: _Canvas, fabric: WiredFabric, y: float) -> None:
    x, s = float(PAD), fabric.network.switches
    for role in COLOURS:
        if role in ROLES and (s.role == ROLES.index(role)).any():
            canvas.squares(x, y - 9, 1, role)
            canvas.text(x + 14, y, _LABELS.get(role, role))
            x += 30 + 8 * len(_LABELS.get(role, role))
    canvas.nodes(x, y - 9, 1)
    canvas.text(x + 14, y, "node")


_LABELS = {"interzone": "between zones"}
"""Words of roles whose names are not words."""


def _draw_between(canvas: _Canvas, fabric: WiredFabric, y: float, spans: list[tuple[float, float]]) -> None:
    """Draw the switches between zones, over all of them, with a bundle to each."""
    left, right = spans[0][0], spans[-1][0] + spans[-1][1]
    canvas.box(left, y, right - left, 44)
    canvas.text(left + PAD, y + 18, _switches(fabric.interzone, "inter-zone"), "s")
    canvas.squares(left + PAD, y + 25, fabric.interzone, "interzone", max(1, int((right - left) // (SQUARE + GAP)) - 3))
    most = 4 * max(len(wired.trunk_links) for wired in fabric.trees[: fabric.zones])
    for wired, (x, width) in zip(fabric.trees[: fabric.zones], spans, strict=True):
        links = len(wired.trunk_links)
        canvas.bundle(x + width / 2, y + 44, x + width / 2, y + 84, links, most)
        canvas.text(x + width / 2 + 12, y + 68, f"{plural(links, 'link')} to leaves", "s")


def caption(design: ResolvedDesign, fabric: WiredFabric) -> str:
    """Return what a fabric has, and how its rails meet its leaves, in words."""
    s = fabric.network.switches
    noun = "switch" if len(s) == 1 else "switches"
    models = listed(part.id for part in design.parts.switches)
    words = f"{len(s):,} {noun} ({models}), {plural(len(fabric.network.endpoints), 'endpoint')}"
    words += f", {plural(design.accelerators, 'GPU')}" if design.accelerators else ""
    words += _rails(design, fabric)
    return f"{words}; one of {fabric.planes} equal planes is drawn" if fabric.planes > 1 else words


def drawing(design: ResolvedDesign, fabric: WiredFabric, *, headed: bool = True) -> str:
    """Return the drawing as SVG, with its name and caption above it if `headed`."""
    canvas, head = _Canvas(), 0.0
    if headed:
        _draw_fabric(canvas, design, fabric, head)
        letters = int((max(canvas.width, _LEAST_WIDTH) - PAD) / LETTER)
        lines = wrap(caption(design, fabric), letters, break_on_hyphens=False)
        canvas, head = _Canvas(), 28.0 + 16 * len(lines)
        canvas.text(PAD, 26, design.spec.name, "h")
        for number, line in enumerate(lines):
            canvas.text(PAD, 46 + 16 * number, line, "s")
    _draw_fabric(canvas, design, fabric, head)
    return canvas.svg(f"{design.spec.name}: fabric")


def _draw_fabric(canvas: _Canvas, design: ResolvedDesign, fabric: WiredFabric, head: float) -> None:
    """Draw a legend and a fabric below its name and caption, which end at `head`."""
    _legend(canvas, fabric, head + 22)
    top, x = head + 40, float(PAD)
    if fabric.dragonflies:
        _draw_groups(canvas, fabric, top)
        return
    below = top + (84 if fabric.interzone else 0)
    spans = []
    for number, wired in enumerate(fabric.trees[: fabric.zones]):
        title = f"zone {number + 1}" if fabric.zones > 1 else ""
        width = _draw_zone(canvas, (x, below), design, fabric, wired, title)
        spans.append((x, width))
        x += width + 2 * PAD
    if fabric.interzone:
        _draw_between(canvas, fabric, top, spans)
