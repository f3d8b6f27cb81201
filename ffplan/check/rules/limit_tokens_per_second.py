"""limit-tokens-per-second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_job
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the rate of the workload against `limits.tokens_per_second`."""
    yield from hold_job(
        examined,
        "tokens_per_second",
        lambda found: found.timed.rows[0].tokens_s if found.timed else None,
        "tokens/s",
        what="the rate of the workload",
        remedy="lower the limit, or change what binds the step; `ffplan train` names it",
        least=True,
    )


RULE = Rule(
    id="limit-tokens-per-second",
    title="The workload trains fewer tokens a second than `limits.tokens_per_second`",
    why="The design declares the least rate, for the job that it is bought for.",
    example="workload: {model: llama3-70b, batch: 1024}\nlimits: {tokens_per_second: 1e9}",
    good="workload: {model: llama3-70b, batch: 1024}\nlimits: {tokens_per_second: 1e5}",
    fix="Change what binds the step, or the limit.",
    check=check,
)
