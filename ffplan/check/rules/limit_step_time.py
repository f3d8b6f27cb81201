"""limit-step-time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold, unknown_job
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the step of the workload against `limits.step_time`."""
    limit = examined.design.spec.limits.step_time
    if limit is None:
        return
    timed = examined.timed
    yield from hold(
        examined.design,
        "step_time",
        timed.rows[0].step_s if timed else None,
        limit,
        "s",
        what="the step of the workload",
        remedy="raise the limit, or change what binds the step; `ffplan train` names it",
        unknown=unknown_job(examined),
    )


RULE = Rule(
    id="limit-step-time",
    title="A step of the workload takes longer than `limits.step_time`",
    why="The design declares the longest step, for the job that it is bought for.",
    example="workload: {model: llama3-70b, batch: 1024}\nlimits: {step_time: 1 s}",
    fix="Change what binds the step, or the limit.",
    check=check,
)
