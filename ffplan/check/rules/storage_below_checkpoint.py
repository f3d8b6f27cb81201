"""storage-below-checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import number, span
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined
    from ffplan.studies.operate.goodput_job import JobRecovery


def check(examined: Examined) -> Iterator[Finding]:
    """Find storage that takes longer to save a checkpoint of the workload than the best interval between two."""
    found = examined.recovery
    if found is None or found.basis.storage is None:
        return
    from ffplan.reliability.checkpoint import optimum

    one = found.outcome
    best, save = float(optimum(one.save_s, one.mtbf_s)), float(one.persist_s)
    yield from _held(examined, found)
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
        _remedy(one.persist_binds, save / best),
        severity=Severity.WARNING,
    )


def _remedy(binds: str, times: float) -> str:
    """Return what would let checkpoints follow each other as fast as they should."""
    from ffplan.reliability.storage import OF_SERVICE

    if binds in OF_SERVICE:
        return (
            "more servers do not help: name a file system whose measured rates are higher (`service.file_system`), or "
            "accept fewer checkpoints; `ffplan storage` has the rates"
        )
    return f"plan {times:.2g} times the storage, or accept fewer checkpoints; `ffplan storage` has the rates"


def _held(examined: Examined, found: JobRecovery) -> Iterator[Finding]:
    """Find storage without room for the checkpoints that are kept."""
    from ffplan.studies.operate.storage_jobs import kept_checkpoints

    storage, wanted = found.basis.storage, kept_checkpoints(found.basis)
    room = storage.usable_bytes / float(found.outcome.checkpoint_bytes) if storage is not None else 0.0
    if storage is None or wanted is None or wanted <= room:
        return
    section = examined.design.reliability
    path = ("reliability", "checkpoints_kept") if section is not None and section.checkpoints_kept else ("workload",)
    yield examined.design.document.finding(
        RULE.id,
        path,
        f"the storage has room for {number(room, 3)} checkpoints of the workload, and {number(wanted)} are kept",
        "plan more storage, or keep fewer: `reliability.checkpoints_kept`",
        severity=Severity.WARNING,
    )


RULE = Rule(
    id="storage-below-checkpoint",
    title="Storage saves checkpoints more slowly than they should follow each other, or cannot hold those kept",
    why="A save must end before the next begins: slow storage makes every failure cost more work.",
    example="nodes: [..., {role: storage, server: nvme-16x15tb-2x200g, count: 1}]\nworkload: {model: deepseek-v3}",
    good="nodes: [..., {role: storage, server: nvme-16x15tb-2x200g, count: 32}]\nworkload: {model: deepseek-v3}",
    fix="Plan more storage servers, or faster NICs in them.",
    severity=Severity.WARNING,
    check=check,
)
