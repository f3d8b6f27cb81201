"""limit-allreduce-bandwidth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.check.limits import hold
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Hold the time of the first library against `limits.allreduce_bandwidth`."""
    design, assessment = examined.design, examined.assessment
    first = assessment.communication[0] if assessment.communication else None
    what = f"the allreduce bandwidth of {first.library}" if first else "the allreduce bandwidth"
    remedy = "name a library under `communication`"
    if first:
        remedy = f"relieve what binds it, the {first.limited_by_label}, or lower the limit"
    yield from hold(
        design,
        "allreduce_bandwidth",
        first.algbw_gbyte_s if first else None,
        design.spec.limits.allreduce_bandwidth,
        "GB/s",
        what=what,
        remedy=remedy,
        least=True,
    )


RULE = Rule(
    id="limit-allreduce-bandwidth",
    title="The allreduce falls short of `limits.allreduce_bandwidth`",
    why="The design declares the algorithm bandwidth that its training needs, at its message size over all nodes.",
    example="limits: {allreduce_bandwidth: 8 GB/s}  # HFReduce on fire-flyer-2 reaches 5.6, its bound is 8.1",
    good="limits: {allreduce_bandwidth: 5 GB/s}",
    fix="Relieve the resource that binds, which the finding names, or lower the limit.",
    check=check,
)
