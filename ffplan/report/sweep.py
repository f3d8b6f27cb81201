"""A sweep as text, Markdown and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import listed, number, plural
from ffplan.report.document import Block, Body, Document, Grid, Lines, Remarks

if TYPE_CHECKING:
    from ffplan.results.sweep import SweepAxis, SweepReport

MOST_FRONT = 20
"""Points of a front that a text lists; the rest is in JSON."""


def _at(values: dict[str, str]) -> str:
    return ", ".join(f"{path} {value}" for path, value in values.items())


def _values(axis: SweepAxis) -> str:
    """Return the values of an axis in words."""
    ends = axis.first if axis.count == 1 else f"{axis.first} to {axis.last}"
    return f"{plural(axis.count, 'value')}, {ends}"


def _blocks(r: SweepReport) -> list[Block]:
    axes = tuple((axis.path, _values(axis)) for axis in r.axes)
    how = {"all": "every combination", "zip": "values paired", "sample": "a Latin hypercube"}[r.spanned]
    blocks: list[Block] = [
        Remarks((f"{plural(r.points, 'point')} ({how}), of which {r.built:,} can be built.",)),
        Lines("Axes", axes),
    ]
    if r.metrics:
        extremes = tuple((m.path, number(m.least), number(m.mean), number(m.most)) for m in r.metrics)
        blocks.append(Grid("Metrics", extremes, ("metric", "least", "mean", "most")))
        places = tuple((m.path, f"least at {_at(m.least_at)}; most at {_at(m.most_at)}") for m in r.metrics)
        blocks.append(Lines("Where", places))
    if r.unpriced:
        words = listed(f"`{part}` ({plural(points, 'point')})" for part, points in r.unpriced.items())
        blocks.append(Remarks((f"No cost where a part has no price in the design's book: {words}.",)))
    if r.refused:
        refused = tuple((f"{item.points:,}", item.reason, _at(item.example)) for item in r.refused)
        blocks.append(Grid("Cannot be built", refused, ("points", "why", "such as"), style="plain"))
    if r.front:
        names = list(r.directions)
        header = (*(axis.path for axis in r.axes), *(f"{name} ({r.directions[name]})" for name in names), "note")
        rows = tuple(
            (*point.values.values(), *(number(point.metrics[name]) for name in names), "knee" if point.knee else "")
            for point in r.front[:MOST_FRONT]
        )
        blocks.append(Grid(f"Front, {plural(len(r.front), 'point')} that no other beats", rows, header, style="plain"))
        if len(r.front) > MOST_FRONT:
            blocks.append(Remarks((f"{len(r.front) - MOST_FRONT:,} more are in JSON.",)))
    return blocks


def sweep_document(report: SweepReport) -> Document:
    """Return the report as a document."""
    return Document(
        value=report,
        made=lambda _: Body(
            title=f"Sweep of {report.design.name}",
            blocks=_blocks(report),
            footer=f"ffplan {report.tool.version}, design SHA-256 {report.design.sha256}",
        ),
    )
