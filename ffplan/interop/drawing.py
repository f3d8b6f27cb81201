"""The fabric as an SVG drawing: every switch a square, links as bundles with their number.

One plane is drawn, since planes are equal. Zones are drawn in a row, with their pods inside; where a zone has many
equal pods, a few are drawn and the rest are counted. Groups of a dragonfly form a circle. Links are drawn as bundles,
since single links of a thousand switches cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.fabric.wiring.network import LEAF, ROLES, SPINE
from ffplan.interop.canvas import COLOURS, COLUMNS, GAP, PAD, SQUARE, Canvas
from ffplan.interop.dragonfly_drawing import draw_groups

if TYPE_CHECKING:
    from ffplan.design.resolved import ResolvedDesign
    from ffplan.fabric.wiring.wiring import WiredFabric, WiredTree

MOST_PODS = 5
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


def _pods(fabric: WiredFabric, wired: WiredTree) -> list[_Pod]:
    """Return the pods of a tree; a two-tier tree is one."""
    s, k, tree = fabric.network.switches, fabric.network.links, wired.tree
    first, last = wired.first_switch, wired.first_switch + tree.leaf + tree.spine
    pods = int(s.pod[first:last].max()) + 1
    own = np.arange(first, last)
    leaf, spine = own[s.role[own] == LEAF], own[s.role[own] == SPINE]
    ends = np.bincount(fabric.network.endpoints.leaf, minlength=len(s))
    lower = np.bincount(k.a[k.tier == 1], minlength=len(s))
    upper = np.bincount(k.a[k.tier == 2], minlength=len(s))
    columns = {
        "leaves": np.bincount(s.pod[leaf], minlength=pods),
        "spines": np.bincount(s.pod[spine], minlength=pods),
        "endpoints": np.bincount(s.pod[leaf], weights=ends[leaf], minlength=pods),
        "down": np.bincount(s.pod[leaf], weights=lower[leaf], minlength=pods),
        "up": np.bincount(s.pod[spine], weights=upper[spine], minlength=pods),
    }
    return [_Pod(**{name: int(column[pod]) for name, column in columns.items()}) for pod in range(pods)]


def _shown(pods: list[_Pod]) -> list[tuple[_Pod, str]]:
    """Return the pods to draw, with their names."""
    names = [f"pod {number + 1}" if len(pods) > 1 else "" for number in range(len(pods))]
    if len(pods) <= MOST_PODS + 1:
        return list(zip(pods, names, strict=True))
    kept = [*range(MOST_PODS - 1), len(pods) - 1]
    return [(pods[number], names[number]) for number in kept]


def _pod_width(pod: _Pod) -> float:
    return min(COLUMNS, max(pod.leaves, pod.spines)) * (SQUARE + GAP) - GAP + 2 * PAD


def _draw_pod(canvas: Canvas, x: float, y: float, pod: _Pod, name: str, most: int) -> float:
    """Draw a pod; return its height."""
    width = max(_pod_width(pod), 150)
    spine_rows, leaf_rows = -(-pod.spines // COLUMNS), -(-pod.leaves // COLUMNS)
    height = (spine_rows + leaf_rows) * (SQUARE + GAP) + (96 if pod.spines else 52)
    canvas.box(x, y, width, height)
    at = y + 18
    if name:
        canvas.text(x + PAD, at, name)
    at += 8
    if pod.spines:
        at += canvas.squares(x + PAD, at, pod.spines, "spine")
        canvas.bundle(x + width / 2, at, x + width / 2, at + 36, pod.down, most)
        canvas.text(x + width / 2 + 12, at + 22, f"{pod.down:,} links", "s")
        at += 38
    at += canvas.squares(x + PAD, at, pod.leaves, "leaf")
    canvas.text(x + PAD, at + 12, f"{pod.endpoints:,} endpoints", "s")
    return height


def _draw_zone(
    canvas: Canvas, x: float, y: float, fabric: WiredFabric, wired: WiredTree, title: str
) -> tuple[float, float]:
    """Draw a zone; return its width and the position of its top."""
    pods = _pods(fabric, wired)
    shown = _shown(pods)
    most = max(pod.down for pod in pods)
    core = wired.tree.core
    top = y + (26 if title else 0)
    if title:
        canvas.text(x, y + 14, title, "h")
    left = [x]
    for pod, _ in shown:
        left.append(left[-1] + max(_pod_width(pod), 150) + PAD)
    columns = max(COLUMNS, int((left[-1] - x - PAD) // (SQUARE + GAP)))
    at = cores_end = top
    if core:
        canvas.text(x, at + 8, f"{core:,} core switches", "s")
        at += 16 + canvas.squares(x, at + 16, core, "core", columns)
        cores_end = at
    base = at + (64 if core else 0)
    for number, (pod, name) in enumerate(shown):
        if core:
            middle = left[number] + max(_pod_width(pod), 150) / 2
            canvas.bundle(middle, base, middle, cores_end + 2, pod.up, most)
            canvas.text(middle + 12, base - 26, f"{pod.up:,} links", "s")
        _draw_pod(canvas, left[number], base, pod, name, most)
    if len(shown) < len(pods):
        canvas.text(left[-1], base + 40, f"and {len(pods) - len(shown)} pods more,")
        canvas.text(left[-1], base + 56, "wired alike")
    return left[-1] - x, top


def drawing(design: ResolvedDesign, fabric: WiredFabric) -> str:
    """Return the drawing as SVG.

    Args:
        design: the design.
        fabric: its fabric.
    """
    canvas = Canvas()
    trees = fabric.trees[: fabric.zones]
    canvas.text(PAD, 26, design.spec.name, "h")
    s = fabric.network.switches
    noun = "switch" if len(s) == 1 else "switches"
    words = f"{len(s):,} {noun} ({design.switch.id}), {plural(len(fabric.network.endpoints), 'endpoint')}"
    if fabric.planes > 1:
        words += f"; one of {fabric.planes} equal planes is drawn"
    canvas.text(PAD, 46, words, "s")
    x, y = float(PAD), 66.0
    for role, colour in COLOURS.items():
        if (s.role == ROLES.index(role)).any():
            canvas.items.append(f'<rect x="{x:g}" y="{y - 9:g}" width="{SQUARE}" height="{SQUARE}" fill="{colour}"/>')
            canvas.text(x + 14, y, role)
            x += 30 + 8 * len(role)
    if fabric.dragonflies:
        draw_groups(canvas, fabric, 84.0)
        return canvas.svg(f"{design.spec.name}: fabric")
    top = 100.0 if fabric.interzone else 84.0
    if fabric.interzone:
        canvas.squares(PAD, top, fabric.interzone, "interzone")
        canvas.text(
            PAD + fabric.interzone * (SQUARE + GAP) + 8, top + 9, f"{fabric.interzone} inter-zone switches", "s"
        )
        top += 80
    x = float(PAD)
    for number, wired in enumerate(trees):
        title = f"zone {number + 1}" if len(trees) > 1 else ""
        width, zone_top = _draw_zone(canvas, x, top, fabric, wired, title)
        if fabric.interzone:
            links = len(wired.trunk_links)
            canvas.bundle(PAD + 10, 112, x + 80, zone_top, links, 4 * links)
            canvas.text(x + 92, zone_top - 24, f"{links:,} links to leaves", "s")
        x += width + 2 * PAD
    return canvas.svg(f"{design.spec.name}: fabric")
