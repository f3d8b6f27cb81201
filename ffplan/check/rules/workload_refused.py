"""workload-refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find workloads that cannot run, or that cannot be timed."""
    job = examined.job
    if job is None:
        return
    from ffplan.results.training import TrainReport

    if not isinstance(job, TrainReport):
        yield examined.design.document.finding(
            RULE.id,
            ("workload",),
            f"the workload has no step time: {job}",
            getattr(job, "remedy", "") or "change the plan, the batch or the accelerators; `ffplan train` says more",
            key=True,
        )


RULE = Rule(
    id="workload-refused",
    title="The workload cannot run on the design",
    why="The design is bought for a job that does not fit its memory, or whose plan is not possible.",
    example="workload: {model: llama3-405b, gpus: 8}",
    good="workload: {model: llama3-405b, gpus: 512}",
    fix="Follow the message; `ffplan train --search` lists why plans are refused.",
    check=check,
)
