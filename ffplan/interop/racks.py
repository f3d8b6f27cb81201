"""Racks of a design as an SVG drawing: each kind of rack once, with its nodes, their heights and its power."""

from __future__ import annotations

from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.interop.canvas import PAD, Canvas

UNIT, WIDTH = 7, 150
"""Height of a rack unit, and width of a rack, in the drawing."""


@record
class RackKind:
    """A kind of rack."""

    server: str
    """Catalogue id of its nodes."""
    racks: int
    """Racks of the kind [1]."""
    nodes: int
    """Nodes of a rack [1]."""
    units: int
    """Rack units of a node [1]."""
    height: int
    """Rack units of the rack [1]."""
    watts: float
    """Power of the rack at its nodes' maximum [W]."""
    limit: float | None
    """Power that it may draw [W]; None where the design states none."""


def rack_drawing(name: str, kinds: tuple[RackKind, ...]) -> str | None:
    """Return the drawing as SVG; None where the design says nothing of racks.

    Args:
        name: name of the design.
        kinds: its kinds of racks.
    """
    if not kinds:
        return None
    canvas = Canvas()
    canvas.text(PAD, 26, f"{name}: racks", "h")
    x, tallest = float(PAD), max(kind.height for kind in kinds)
    for kind in kinds:
        top = 44.0 + (tallest - kind.height) * UNIT
        canvas.box(x, top, WIDTH, kind.height * UNIT, kind="z")
        for number in range(kind.nodes):
            y = top + (kind.height - (number + 1) * kind.units) * UNIT
            canvas.box(x + 6, y + 1, WIDTH - 12, kind.units * UNIT - 2)
        if kind.units * UNIT > 12:
            y = top + (kind.height - kind.units / 2) * UNIT + 4
            canvas.text(x + WIDTH / 2, y, f"{kind.units} U", "s", "middle")
        foot = 44.0 + tallest * UNIT + 18
        of = f" of {kind.limit / 1e3:,.0f}" if kind.limit else ""
        canvas.text(x, foot, f"{plural(kind.racks, 'rack')} of {plural(kind.nodes, 'node')}")
        canvas.text(x, foot + 16, kind.server, "s")
        canvas.text(x, foot + 32, f"{kind.watts / 1e3:,.1f}{of} kW at maximum", "s")
        x += max(WIDTH, 7 * len(kind.server)) + 3 * PAD
    return canvas.svg(f"{name}: racks")
