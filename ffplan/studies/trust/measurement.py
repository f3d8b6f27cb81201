"""Summaries of errors against what was measured, and the plan of a measurement."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from ffplan.base.formatting import data_size
from ffplan.results.accuracy import AccuracyReport, AccuracyRow, Score
from ffplan.results.design import SCHEMA_VERSION
from ffplan.results.measurement import MeasurePlan, PlannedGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ffplan.measuring.kernels import KernelPlan

BANDS = (
    ("below-16-mib", "messages below 16 MiB", 0.0, 2.0**24),
    ("from-16-mib", "from 16 MiB, below 512 MiB", 2.0**24, 2.0**29),
    ("from-512-mib", "from 512 MiB", 2.0**29, float("inf")),
)
"""Bands of message sizes [byte]."""
QUANTITIES = (
    ("ttft_ms", "time to the first token"),
    ("tpot_ms", "time of a further token"),
    ("e2e_s", "time of a request"),
    ("tokens_s", "output tokens a second"),
    ("seconds", "time of a batch"),
)
"""Measured quantities of serving, by unit."""


_KINDS = (
    ("predicted", "rows not used in a fit"),
    ("fitted", "rows used in a fit"),
    ("assumed", "rows that rest on a setting their source does not state"),
    ("estimated", "rows on an accelerator with the efficiencies of a relative"),
    ("arithmetic", "rows that the source computed"),
)


def place(row: AccuracyRow) -> str:
    """Return the place of a row: case, GPUs and size."""
    size = f", {data_size(row.size_bytes)}" if row.size_bytes else ""
    return f"{row.case}, {row.what}" + (f", {row.gpus:,} GPUs" if row.gpus else "") + size


def _score(name: str, title: str, rows: Iterable[AccuracyRow]) -> Score | None:
    counted = [row for row in rows if row.scored]
    if not counted:
        return None
    worst = max(counted, key=lambda row: abs(row.error))
    return Score(
        name=name,
        title=title,
        n=len(counted),
        mape=sum(abs(row.error) for row in counted) / len(counted),
        median=median(abs(row.error) for row in counted),
        bias=sum(row.error for row in counted) / len(counted),
        max_error=abs(worst.error),
        worst=place(worst),
    )


def _total(rows: list[AccuracyRow]) -> Score | None:
    """Return the summary of all rows, without computed ones unless there are no others."""
    measured = [row for row in rows if row.kind != "arithmetic"]
    if len(measured) in {0, len(rows)}:
        return _score("all", "all rows", rows)
    return _score("all", "all measured rows", measured) or _score("all", "all rows", rows)


def accuracy_report(subject: str, titles: dict[str, str], rows: list[AccuracyRow]) -> AccuracyReport:
    """Return the report over all rows.

    Args:
        subject: the kind of cases replayed.
        titles: name of every source, by id.
    """
    by_source = [_score(name, title, [row for row in rows if row.source == name]) for name, title in titles.items()]
    sized = [row for row in rows if row.size_bytes is not None]
    kinds = [_score(name, title, [row for row in rows if row.kind == name]) for name, title in _KINDS]
    bands = [
        _score(name, title, [row for row in sized if row.size_bytes and low <= row.size_bytes < high])
        for name, title, low, high in BANDS
    ]
    if subject == "serving":
        bands = [_score(name, title, [row for row in rows if row.unit == name]) for name, title in QUANTITIES]
    return AccuracyReport(
        schema_version=SCHEMA_VERSION,
        subject=subject,
        rows=tuple(rows),
        sources=tuple(summary for summary in by_source if summary),
        kinds=tuple(summary for summary in kinds if summary),
        bands=tuple(summary for summary in bands if summary),
        total=_total(rows),
    )


def measure_plan(plan: KernelPlan) -> MeasurePlan:
    """Return a plan as a result."""
    per_kernel = plan.seconds + plan.warm
    groups = tuple(
        PlannedGroup(group=name, kernels=tuple(kernel.words for kernel in kernels), seconds=len(kernels) * per_kernel)
        for name, kernels in plan.kernels.items()
    )
    return MeasurePlan(
        schema_version=SCHEMA_VERSION,
        sizes=plan.name,
        kernels=sum(len(group.kernels) for group in groups),
        soak_s=plan.soak,
        each_s=per_kernel,
        seconds=plan.total,
        groups=groups,
    )
