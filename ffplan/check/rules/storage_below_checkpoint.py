"""storage-below-checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import span
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find storage that takes longer to save a checkpoint of the workload than the best interval between two."""
    found = examined.recovery
    if found is None or found.basis.storage is None:
        return
    from ffplan.reliability.checkpoint import optimum

    one = found.outcome
    best, save = float(optimum(one.save_s, one.mtbf_s)), float(one.persist_s)
    if save <= best:
        return
    storage = found.basis.storage
    where = next(
        (("nodes", at) for at, group in enumerate(examined.design.spec.nodes) if group.role == "storage"), ("workload",)
    )
    servers = "the storage" if storage.planned else "the storage that the ownership profile sizes"
    yield examined.design.document.finding(
        RULE.id,
        where,
        f"{servers} saves a checkpoint of the workload in {span(save)}, bound by {one.persist_binds}; every "
        f"{span(best)} would be best",
        f"plan {save / best:.2g} times the storage, or accept fewer checkpoints; `ffplan storage` has the rates",
        severity=Severity.WARNING,
    )


RULE = Rule(
    id="storage-below-checkpoint",
    title="Storage saves checkpoints more slowly than they should follow each other",
    why="A save must end before the next begins: slow storage makes every failure cost more work.",
    example="nodes: [..., {role: storage, server: nvme-16x15tb-2x200g, count: 1}]\nworkload: {model: deepseek-v3}",
    fix="Plan more storage servers, or faster NICs in them.",
    severity=Severity.WARNING,
    check=check,
)
