"""storage-below-guidance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.errors import Severity
from ffplan.base.formatting import number
from ffplan.check.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ffplan.base.errors import Finding
    from ffplan.check.examined import Examined


def check(examined: Examined) -> Iterator[Finding]:
    """Find planned storage below the least guidance for as many accelerators."""
    design, found = examined.design, examined.storage
    if found is None or not design.accelerators:
        return
    from ffplan.studies.operate.reliability import profile_of

    tiers = tuple(profile_of(design, examined.catalog.fork()).storage_tiers.values())
    if not tiers:
        return
    least = tiers[0]
    part = design.accelerators / least.accelerators.value
    read, write = least.read.value * part, least.write.value * part
    if found.read_gbyte_s >= read and found.write_gbyte_s >= write:
        return
    where = next(at for at, group in enumerate(design.spec.nodes) if group.role == "storage")
    yield design.document.finding(
        RULE.id,
        ("nodes", where),
        f"the storage reads {number(found.read_gbyte_s, 3)} and writes {number(found.write_gbyte_s, 3)} GB/s; guidance "
        f"for {design.accelerators:,} accelerators is {number(read, 3)} and {number(write, 3)} in the tier "
        f"`{least.label}` ({least.use})",
        "plan more storage servers, or accept it for data that fits into caches; `ffplan storage` has every tier",
        severity=Severity.INFO,
    )


RULE = Rule(
    id="storage-below-guidance",
    title="The planned storage is below the vendor's least guidance for as many accelerators",
    why="NVIDIA's SuperPOD guidance has three tiers of storage; below the least, data that misses caches starves jobs.",
    example="nodes: [..., {role: storage, server: nvme-16x15tb-2x200g, count: 1}]",
    good="nodes: [..., {role: storage, server: nvme-16x15tb-2x200g, count: 32}]",
    fix="Plan more storage servers, or accept it where the data set fits into the nodes' caches.",
    severity=Severity.INFO,
    check=check,
)
