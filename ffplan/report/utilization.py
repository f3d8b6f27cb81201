"""Utilisation as text, Markdown and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.formatting import number, plural, span
from ffplan.report.document import Block, Body, Document, Grid, Lines, Remarks

if TYPE_CHECKING:
    from ffplan.results.utilization import MeanInterval, UtilizationReport


def _part(found: MeanInterval) -> str:
    if found.low is None or found.high is None:
        return f"{100 * found.mean:.2f}"
    half = max(found.high - found.mean, found.mean - found.low)  # one end may be cut at 0 or 100 %
    return f"{100 * found.mean:.2f} ± {100 * half:.2f}"


def _body(r: UtilizationReport) -> Body:
    lines = (
        ("jobs", f"{r.jobs}, {100 * r.offered:.0f} % of what the cluster can do"),
        (
            "simulated",
            f"{number(r.days)} days, {plural(r.runs, 'time')}, {number(r.warm_days)} of each not counted",
        ),
    )
    rows = tuple(
        (
            f"{row.policy}{f', {row.zones} zones' if row.zones > 1 else ''}",
            _part(row.utilisation),
            _part(row.occupied),
            _part(row.fragmentation),
            span(row.wait_s.mean),
            number(row.preemptions_per_day, 3),
        )
        for row in r.utilization
    )
    header = ("policy", "at work %", "held %", "idle %", "mean wait", "leave/day")
    note = "Idle: accelerators that are free while a job waits."
    first = r.utilization[0]
    waits = tuple(
        (f"{row.gpus:,}", f"{row.jobs:,}", span(row.mean_s), span(row.median_s), span(row.p90_s)) for row in first.waits
    )
    blocks: list[Block] = [Remarks(r.headline), Lines("Jobs", lines), Grid("Use", rows, header), Remarks((note,))]
    if waits:
        blocks.append(Grid(f"Waits by size, {first.policy}", waits, ("accelerators", "jobs", "mean", "median", "P90")))
    blocks.append(Lines("Assumptions", tuple(("", text) for text in r.assumptions)))
    return Body(
        title=f"Use of {r.design.name}",
        blocks=blocks,
        footer=f"ffplan {r.tool.version}, design SHA-256 {r.design.sha256}",
    )


def utilization_document(report: UtilizationReport) -> Document:
    """Return the report as a document."""
    return Document(value=report, made=_body)
