"""A dragonfly as a circle of groups, with a bundle of links between every two."""

from __future__ import annotations

from math import cos, pi, sin
from typing import TYPE_CHECKING

import numpy as np

from ffplan.interop.canvas import GAP, PAD, SQUARE, Canvas

if TYPE_CHECKING:
    from ffplan.fabric.wiring.wiring import WiredFabric

MOST_GROUPS = 12
"""Groups drawn one by one."""
ACROSS = 10
"""Routers in a row of a group."""
WIDTH = 150.0


def draw_groups(canvas: Canvas, fabric: WiredFabric, top: float) -> None:
    """Draw one plane of a dragonfly.

    Args:
        canvas: where to draw.
        fabric: a wired dragonfly.
        top: upper edge of the drawing.
    """
    part = fabric.dragonflies[0]
    shape = part.shape
    endpoints = fabric.network.endpoints
    held = np.bincount(fabric.network.switches.pod[endpoints.leaf[endpoints.plane == 0]], minlength=shape.groups)
    shown = min(shape.groups, MOST_GROUPS)
    height = 44.0 + -(-shape.routers // ACROSS) * (SQUARE + GAP)
    inside = shape.routers * (shape.routers - 1) // 2
    join = "links join" if shape.pair_links > 1 else "link joins"
    canvas.text(PAD, top + 6, f"{inside:,} links inside a group; {shape.pair_links} {join} two groups", "s")
    radius_x = max(WIDTH, shown * (WIDTH + 60) / (2 * pi)) if shown > 2 else WIDTH
    radius_y = max(height, shown * (height + 60) / (2 * pi)) if shown > 2 else 0.0
    middle = (PAD + radius_x + WIDTH / 2, top + 34 + radius_y + height / 2)
    turns = [2 * pi * number / shown - (pi / 2 if shown > 2 else 0.0) for number in range(shown)]
    places = [(middle[0] + radius_x * cos(turn), middle[1] + radius_y * sin(turn)) for turn in turns]
    for number, (x, y) in enumerate(places):
        for u, v in places[:number]:
            canvas.items.append(f'<path class="l" stroke-width="1.5" d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}"/>')
    for number, (x, y) in enumerate(places):
        left, upper = x - WIDTH / 2, y - height / 2
        canvas.box(left, upper, WIDTH, height)
        canvas.text(left + 10, upper + 18, f"group {number + 1}")
        canvas.squares(left + 10, upper + 25, shape.routers, "router", ACROSS)
        canvas.text(left + 10, upper + height - 6, f"{int(held[number]):,} endpoints", "s")
    if shown < shape.groups:
        words = f"and {shape.groups - shown} groups more, joined alike"
        canvas.text(PAD, max(y for _, y in places) + height / 2 + 24, words)
