"""An SVG canvas with squares, bundles and text, and the racks of a design drawn on it."""

from __future__ import annotations

from xml.sax.saxutils import escape

from ffplan.base.formatting import plural
from ffplan.base.record import record

SQUARE, GAP, PAD = 9, 3, 14
LETTER = 6.6
"""Mean width of a letter: SVG cannot measure text [px]."""
COLUMNS = 20
"""Squares in a row of a pod."""
COLOURS = {"leaf": "#2b7a78", "spine": "#3d5a98", "core": "#8c4a86", "interzone": "#b5651d", "router": "#2b7a78"}
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}.h{font-weight:600;font-size:15px}.s{fill:#555;font-size:11px}"
    ".p{fill:#fff}.b{fill:#f6f7f9;stroke:#c9ced6}.z{fill:none;stroke:#9aa3b2;stroke-dasharray:4 3}"
    ".l{stroke:#9aa3b2;fill:none}.n{fill:none;stroke:#667}"
    "@media(prefers-color-scheme:dark){text{fill:#eee}.s{fill:#bbb}.p{fill:#16181d}.b{fill:#20242c;stroke:#444b57}"
    ".n{stroke:#aab}.leaf,.router{fill:#4db6ac}.spine{fill:#7c9be0}.core{fill:#c98ac3}.interzone{fill:#e39a4f}}"
)


class _Canvas:
    def __init__(self) -> None:
        self.items: list[str] = []
        self.width = self.height = 0.0

    def reach(self, x: float, y: float) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        look = f' class="{kind}"' if kind else ""
        self.items.append(f'<text x="{x:g}" y="{y:g}"{look} text-anchor="{anchor}">{escape(text)}</text>')
        width = len(text) * (8.2 if kind == "h" else LETTER)
        self.reach(x + (width if anchor == "start" else width / 2), y + 6)

    def box(
        self, x: float, y: float, width: float, height: float, *, under: int | None = None, kind: str = "b"
    ) -> None:
        """Draw a box, below everything from item `under` on where that is given."""
        rect = f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'
        self.items.insert(len(self.items) if under is None else under, rect)
        self.reach(x + width, y + height)

    def squares(self, x: float, y: float, count: int, role: str, columns: int = COLUMNS) -> float:
        """Draw switches in rows; return the height."""
        step = SQUARE + GAP
        path = "".join(
            f"M{x + number % columns * step:g} {y + number // columns * step:g}h{SQUARE}v{SQUARE}h-{SQUARE}z"
            for number in range(count)
        )
        self.items.append(f'<path class="{role}" fill="{COLOURS[role]}" d="{path}"/>')
        rows = -(-count // columns)
        self.reach(x + min(count, columns) * (SQUARE + GAP), y + rows * (SQUARE + GAP))
        return rows * (SQUARE + GAP)

    def nodes(self, x: float, y: float, count: int) -> None:
        """Draw nodes in a row, as many as are worth drawing."""
        step, shape = SQUARE + GAP, f"h{SQUARE}v{SQUARE}h-{SQUARE}z"
        path = "".join(f"M{x + number * step:g} {y:g}{shape}" for number in range(count))
        self.items.append(f'<path class="n" d="{path}"/>')
        self.reach(x + count * (SQUARE + GAP), y + SQUARE)

    def bundle(self, x1: float, y1: float, x2: float, y2: float, links: int, most: int) -> None:
        """Draw links as one line, thicker the more there are."""
        width = 1.5 + 8.5 * (links / max(1, most)) ** 0.5  # square root: thick bundles would hide their switches
        self.items.append(
            f'<path class="l" stroke-width="{width:.1f}" d="M{x1:g} {y1:g}C{x1:g} {(y1 + y2) / 2:g} {x2:g} '
            f'{(y1 + y2) / 2:g} {x2:g} {y2:g}"/>'
        )

    def svg(self, title: str) -> str:
        width, height = self.width + PAD, self.height + PAD
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img"><title>{escape(title)}</title><style>{_STYLE}</style>'
            f'<rect class="p" width="100%" height="100%" fill="#fff"/>{"".join(self.items)}</svg>\n'
        )


_RACK_UNIT, _RACK_WIDTH = 7, 150
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


def rack_drawing(name: str, kinds: tuple[RackKind, ...], *, headed: bool = True) -> str | None:
    """Return the drawing as SVG, with its title if `headed`; None where the design says nothing of racks."""
    if not kinds:
        return None
    canvas = _Canvas()
    head = 44.0 if headed else float(PAD)
    if headed:
        canvas.text(PAD, 26, f"{name}: racks", "h")
    x, tallest = float(PAD), max(kind.height for kind in kinds)
    for kind in kinds:
        top = head + (tallest - kind.height) * _RACK_UNIT
        canvas.box(x, top, _RACK_WIDTH, kind.height * _RACK_UNIT, kind="z")
        for number in range(kind.nodes):
            y = top + (kind.height - (number + 1) * kind.units) * _RACK_UNIT
            canvas.box(x + 6, y + 1, _RACK_WIDTH - 12, kind.units * _RACK_UNIT - 2)
        if kind.units * _RACK_UNIT > 12:
            y = top + (kind.height - kind.units / 2) * _RACK_UNIT + 4
            canvas.text(x + _RACK_WIDTH / 2, y, f"{kind.units} U", "s", "middle")
        foot = head + tallest * _RACK_UNIT + 18
        of = f" of {kind.limit / 1e3:,.0f}" if kind.limit else ""
        canvas.text(x, foot, f"{plural(kind.racks, 'rack')} of {plural(kind.nodes, 'node')}")
        canvas.text(x, foot + 16, kind.server, "s")
        canvas.text(x, foot + 32, f"{kind.watts / 1e3:,.1f}{of} kW at maximum", "s")
        x += max(_RACK_WIDTH, 7 * len(kind.server)) + 3 * PAD
    return canvas.svg(f"{name}: racks")
