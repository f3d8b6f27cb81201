"""Model over measurement by message size as a picture: SVG, the same bytes for the same rows."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log2
from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size

if TYPE_CHECKING:
    from ffplan.results.accuracy import AccuracyReport

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f", "#8b4513", "#6a3d9a")
"""Colours that colour-blind readers tell apart, then some more."""
WIDTH, HEIGHT, ACROSS, DOWN, LEFT, TOP = 980, 500, 640, 380, 70, 40
"""Size of the picture and of its field, and where that begins [px]."""
MOST = 0.5
"""Error at the edge of the field [1]; larger ones lie on it."""


def points(report: AccuracyReport) -> list[tuple[str, float, float]]:
    """Return source, message size [byte] and error [1] of every scored row with a size."""
    return [(row.source, row.size_bytes, row.error) for row in report.rows if row.scored and row.size_bytes]


def scatter(report: AccuracyReport) -> str:
    """Return the picture: a point for each row, error of the model over size of the message.

    Args:
        report: rows and sources.
    """
    found = points(report)
    if not found:
        return _page(['<text x="20" y="40">no row has a size</text>'])
    low, high = floor(log2(min(size for _, size, _ in found))), ceil(log2(max(size for _, size, _ in found)))
    high = max(high, low + 1)
    parts = _axes(low, high)
    names = list(dict.fromkeys(name for name, *_ in found))
    colour = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    for name, size, error in found:
        x = LEFT + ACROSS * (log2(size) - low) / (high - low)
        parts.append(f'<circle cx="{x:.1f}" cy="{_up(error):.1f}" r="3.5" fill="{colour[name]}" fill-opacity="0.65"/>')
    scores = {item.name: item for item in report.sources}
    for number, name in enumerate(names):
        y = TOP + 14 + 24 * number
        parts.append(f'<circle cx="{LEFT + ACROSS + 22}" cy="{y - 4}" r="5" fill="{colour[name]}"/>')
        label = f"{name}: {100 * scores[name].mape:.1f} % of {scores[name].n}"
        parts.append(f'<text x="{LEFT + ACROSS + 34}" y="{y}">{escape(label)}</text>')
    return _page(parts)


def _up(error: float) -> float:
    return TOP + DOWN / 2 - DOWN / 2 * min(max(error, -MOST), MOST) / MOST


def _axes(low: int, high: int) -> list[str]:
    bottom, right = TOP + DOWN, LEFT + ACROSS
    parts = []
    for percent in range(-50, 51, 10):
        y, shade = _up(percent / 100), "#888" if percent == 0 else "#ddd"
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{shade}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{percent:+d} %</text>')
    step = max(1, ceil((high - low) / 8))
    for power in range(low, high + 1, step):
        x = LEFT + ACROSS * (power - low) / (high - low)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#eee"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{data_size(2.0**power)}</text>')
    return [
        *parts,
        f'<rect x="{LEFT}" y="{TOP}" width="{ACROSS}" height="{DOWN}" fill="none" stroke="#333"/>',
        f'<text x="{LEFT + ACROSS / 2:.0f}" y="{bottom + 42}" text-anchor="middle">message</text>',
        f'<text x="{LEFT}" y="{TOP - 14}" font-weight="bold">Model over measured time or rate, less one; '
        "legend: MAPE of rows</text>",
    ]


def _page(parts: list[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n{body}\n'
        "</svg>\n"
    )
