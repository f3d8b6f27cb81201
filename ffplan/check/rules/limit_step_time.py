"""limit-step-time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_job
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the step of the workload against `limits.step_time`."""
    yield from hold_job(
        examined,
        "step_time",
        lambda found: found.timed.rows[0].step_s if found.timed else None,
        "s",
        what="the step of the workload",
        remedy="raise the limit, or change what binds the step; `ffplan train` names it",
    )


RULE = Rule(
    id="limit-step-time",
    title="A step of the workload takes longer than `limits.step_time`",
    why="The design declares the longest step, for the job that it is bought for.",
    example="workload: {model: llama3-70b, batch: 1024}\nlimits: {step_time: 1 s}",
    good="workload: {model: llama3-70b, batch: 1024}\nlimits: {step_time: 60 s}",
    fix="Change what binds the step, or the limit.",
    check=check,
)
