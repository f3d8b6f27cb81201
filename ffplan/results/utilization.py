"""The contract of `utilization --format json`."""

from __future__ import annotations

from ffplan.base.record import record
from ffplan.results.result import CatalogFile, DesignInfo, Result, ToolInfo


@record
class MeanInterval:
    """A mean over runs with its 95 % confidence interval."""

    mean: float
    """Mean."""
    low: float | None
    """Lower end; null of one run."""
    high: float | None
    """Upper end; null of one run."""


@record
class WaitRow:
    """Waits of jobs of one size."""

    gpus: int
    """Most accelerators of the class; the least are above half of it."""
    jobs: int
    """Jobs that started, of all runs."""
    mean_s: float
    """Mean wait before the first start [s]."""
    median_s: float
    """Median [s]."""
    p90_s: float
    """Ninetieth percentile [s]."""


@record
class PolicyRow:
    """The cluster under one policy."""

    policy: str
    """fifo, backfill or time-sharing."""
    zones: int
    """Zones that gangs keep to; 1 for one pool."""
    utilisation: MeanInterval
    """Accelerators at work over all [1]."""
    occupied: MeanInterval
    """Accelerators held, saving and loading included [1]."""
    fragmentation: MeanInterval
    """Accelerators idle while a job waits [1]."""
    wait_s: MeanInterval | None
    """Mean wait of jobs that came after the warm-up and started, over the runs that have any [s]; null if none has."""
    preemptions_per_day: float
    """Jobs that had to leave [1/day]."""
    zone_cost: MeanInterval | None
    """Utilisation of one pool minus utilisation of zones, on the same jobs [1]; null for one pool."""
    waiting: float
    """Jobs that wait at the end, on average [1]."""
    waits: tuple[WaitRow, ...]
    """Waits by size."""


@record
class UtilizationReport(Result):
    """How jobs use a cluster."""

    schema_version: str
    """Version of this format."""
    tool: ToolInfo
    """Program that wrote it."""
    design: DesignInfo
    """The design."""
    catalog: tuple[CatalogFile, ...]
    """Catalogue files read."""
    headline: tuple[str, ...]
    """The answer in words."""
    jobs: str
    """Catalogue id of the job mix, or the file of the jobs."""
    offered: float
    """Arriving work over the cluster's capacity, on average for a mix [1]."""
    days: float
    """Days simulated, each time."""
    warm_days: float
    """Days at the start that no figure counts."""
    runs: int
    """Times it was simulated."""
    seed: int
    """Seed of the first."""
    save_s: float
    """Time to save a job and leave [s]."""
    load_s: float
    """Time to load it and go on [s]."""
    quantum_s: float
    """Time that a job keeps its nodes at least, under time-sharing [s]."""
    utilization: tuple[PolicyRow, ...]
    """Policies, the requested one first."""
    stopped: bool
    """Whether it was interrupted before its end."""
    assumptions: tuple[str, ...]
    """Assumptions behind the result."""


SCHEMAS = {
    "utilization": (UtilizationReport, "JSON output of `ffplan operate jobs`"),
}
"""Files and outputs of this module, with their titles."""
