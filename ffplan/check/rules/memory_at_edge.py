"""memory-at-edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find workloads whose plan may run out of device memory."""
    timed = examined.timed
    if timed is None:
        return
    row = timed.rows[0]
    if row.memory_words is not None:
        yield examined.design.document.finding(
            RULE.id,
            ("workload", "model"),
            f"the plan of `{timed.model}` may run out of device memory: {row.memory_words}",
            "recompute or shard more, take a smaller micro-batch, or measure the plan before you rely on it",
            severity=Severity.WARNING,
        )


RULE = Rule(
    id="memory-at-edge",
    title="The plan of the workload may run out of device memory",
    why="A runtime reserves more than tensors take, and the optimizer has temporaries; a run dies at the sum.",
    example="workload: {model: llama3-8b, batch: 1024, gpus: 64, plan: {tensor: 2, micro_batch: 2}}",
    good="workload: {model: llama3-8b, batch: 1024, gpus: 64, plan: {tensor: 2, micro_batch: 1}}",
    fix="More recomputation or sharding, a smaller micro-batch, or accelerators with more memory.",
    severity=Severity.WARNING,
    check=check,
)
