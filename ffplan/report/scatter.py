"""Model against measurement as a picture: SVG, both axes logarithmic, the same bytes for the same rows."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffplan.tables import AccuracyReport, AccuracyRow

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f", "#8b4513", "#6a3d9a")
"""Colours that colour-blind readers tell apart, then some more."""
WIDTH, HEIGHT, SIDE, LEFT, TOP = 860, 560, 460, 70, 40
"""Size of the picture and of its square, and where that begins [px]."""


def points(report: AccuracyReport) -> list[tuple[str, float, float]]:
    """Return source, measured and model's rate [GB/s] of every scored row that is a rate or has a size."""
    found = []
    for row in report.rows:
        pair = _rates(row)
        if row.scored and pair is not None:
            found.append((row.source, *pair))
    return found


def _rates(row: AccuracyRow) -> tuple[float, float] | None:
    if row.unit == "ratio":
        return None
    if row.unit == "time_us":
        return (
            None if row.size_bytes is None else (row.size_bytes / row.measured / 1e3, row.size_bytes / row.model / 1e3)
        )
    nearest = min(max(row.model, row.measured), row.measured_high or row.measured)
    return nearest, row.model


def scatter(report: AccuracyReport) -> str:
    """Return the picture.

    Args:
        report: rows and sources.
    """
    found = points(report)
    if not found:
        return _page(['<text x="20" y="40">no row is a rate</text>'])
    values = [value for _, *pair in found for value in pair]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    high = max(high, low + 1)

    def across(value: float) -> float:
        return LEFT + SIDE * (log10(value) - low) / (high - low)

    def up(value: float) -> float:
        return TOP + SIDE - SIDE * (log10(value) - low) / (high - low)

    parts = _axes(low, high)
    ends = (10.0**low, 10.0**high)
    for factor, dash in ((1.0, ""), (1.25, ' stroke-dasharray="4 4"'), (0.8, ' stroke-dasharray="4 4"')):
        first, last = max(ends[0], ends[0] / factor), min(ends[1], ends[1] / factor)
        parts.append(
            f'<line x1="{across(first):.1f}" y1="{up(first * factor):.1f}" x2="{across(last):.1f}" '
            f'y2="{up(last * factor):.1f}" stroke="#888"{dash}/>'
        )
    names = list(dict.fromkeys(name for name, *_ in found))
    colour = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    for name, measured, model in found:
        parts.append(
            f'<circle cx="{across(measured):.1f}" cy="{up(model):.1f}" r="3.2" fill="{colour[name]}" '
            'fill-opacity="0.7"/>'
        )
    scores = {item.name: item for item in report.sources}
    for number, name in enumerate(names):
        y = TOP + 14 + 22 * number
        label = f"{name}: {100 * scores[name].mape:.1f} % of {scores[name].n}" if name in scores else name
        parts.append(f'<circle cx="{LEFT + SIDE + 22}" cy="{y - 4}" r="5" fill="{colour[name]}"/>')
        parts.append(f'<text x="{LEFT + SIDE + 34}" y="{y}">{escape(label)}</text>')
    return _page(parts)


def _axes(low: int, high: int) -> list[str]:
    bottom = TOP + SIDE
    parts = [f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#333"/>']
    for power in range(low, high + 1):
        at = SIDE * (power - low) / (high - low)
        label = f"{10.0**power:g}"
        parts += [
            f'<line x1="{LEFT + at:.1f}" y1="{TOP}" x2="{LEFT + at:.1f}" y2="{TOP + SIDE}" stroke="#ddd"/>',
            f'<line x1="{LEFT}" y1="{bottom - at:.1f}" x2="{LEFT + SIDE}" y2="{bottom - at:.1f}" stroke="#ddd"/>',
            f'<text x="{LEFT + at:.1f}" y="{TOP + SIDE + 18}" text-anchor="middle">{label}</text>',
            f'<text x="{LEFT - 8}" y="{TOP + SIDE - at + 4:.1f}" text-anchor="end">{label}</text>',
        ]
    middle = TOP + SIDE / 2
    return [
        *parts,
        f'<text x="{LEFT + SIDE / 2:.0f}" y="{TOP + SIDE + 42}" text-anchor="middle">measured, GB/s</text>',
        f'<text x="20" y="{middle:.0f}" text-anchor="middle" transform="rotate(-90 20 {middle:.0f})">'
        "model, GB/s</text>",
        f'<text x="{LEFT}" y="{TOP - 14}" font-weight="bold">Model against measurement; dashed: 25 % off</text>',
    ]


def _page(parts: list[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n{body}\n'
        "</svg>\n"
    )
