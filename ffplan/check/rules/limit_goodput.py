"""limit-goodput."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold_job
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the goodput of the workload against `limits.goodput`."""
    yield from hold_job(
        examined,
        "goodput",
        lambda found: float(found.recovery.outcome.goodput) if found.recovery else None,
        "of its time",
        what="the likely goodput of the workload",
        remedy="lower the limit, or change what loses time; `ffplan goodput` names what would help",
        least=True,
    )


RULE = Rule(
    id="limit-goodput",
    title="The workload keeps less of its time than `limits.goodput`",
    why="Failures, checkpoints and restarts cost tokens that are paid for.",
    example="workload: {model: llama3-70b, batch: 1024}\nlimits: {goodput: 99.9 %}",
    fix="Restart faster, plan spares, or change the limit.",
    check=check,
)
