"""Failures and storage in an assessment, in short; `goodput` and `storage` have the details."""

from __future__ import annotations

from ffplan.base.record import record


@record
class ReliabilitySummary:
    """Failures expected in a job on all accelerators."""

    profile: str
    """Catalogue id of the reliability profile."""
    gpus: int
    """Accelerators of the job."""
    mtbf_hours: float
    """Mean time between interruptions, likely [h]."""
    mtbf_hours_low: float
    """With the rates of the worse of the fleets known [h]."""
    mtbf_hours_high: float
    """With the better rates [h]."""
    beside: str | None
    """Catalogue id of another reliability profile, of another fleet; null if the first names none."""
    beside_mtbf_hours: float | None
    """Mean time between interruptions by that one [h]; null as above."""
    interruptions_per_day: float
    """Likely [1/day]."""
    largest: tuple[str, ...]
    """Kinds of failure behind most of them, the largest first."""
    nodes_in_repair: float
    """Nodes in repair at any time, on average [1]."""
    spares: int
    """Spare nodes [1]."""
    spares_for_99: int
    """Spares with which no node is lacking 99 % of the time [1]."""


@record
class StorageSummary:
    """Storage of a design, as `ffplan operate storage` has it."""

    planned: bool
    """Whether the design plans it; otherwise the ownership profile sizes it."""
    servers: int
    """Storage servers."""
    raw_bytes: float
    """Capacity of all drives [byte]."""
    usable_bytes: float
    """Capacity for data, after copies [byte]."""
    read_gbyte_s: float
    """Read rate expected of all servers together [GB/s]."""
    write_gbyte_s: float
    """Write rate, of data and not of its copies [GB/s]."""
    read_per_accelerator: float
    """Read rate over all accelerators [GB/s]."""
    write_per_accelerator: float
    """Write rate over all accelerators [GB/s]."""
    read_binds: str
    """Bottleneck of reading."""
    write_binds: str
    """Bottleneck of writing."""


SCHEMAS: dict[str, tuple[type, str]] = {}
"""Files and outputs of this module: none."""
