"""limit-run-days."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_job
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the days of the workload's run against `limits.run_days`."""
    yield from hold_job(
        examined,
        "run_days",
        lambda found: found.run.days.likely if found.run else None,
        "days",
        what="the run of the workload",
        remedy="raise the limit, or train faster; `ffplan cost` shows the run",
        tokens=True,
    )


RULE = Rule(
    id="limit-run-days",
    title="The run of the workload takes longer than `limits.run_days`",
    why="The design declares by when its tokens must be trained.",
    example="workload: {model: llama3-70b, tokens: 15T}\nlimits: {run_days: 10}",
    good="workload: {model: llama3-70b, tokens: 15T}\nlimits: {run_days: 365}",
    fix="Change what binds the step, or the limit.",
    check=check,
)
