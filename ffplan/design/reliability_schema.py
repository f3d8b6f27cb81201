"""Section of a design file about failures and checkpoints, imported on demand."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ffplan.catalog.ownership import PlainEstimate, SecondsEstimate, ShareEstimate
from ffplan.inputs.model import MOST_COUNT, Frozen, Identifier
from ffplan.inputs.part_ids import ReliabilityId
from ffplan.inputs.quantities import Duration

Checkpointing = Literal["asynchronous", "synchronous", "in-memory"]
Restart = Literal["requeue", "reschedule", "standby"]


Positive = Annotated[float, Field(gt=0, le=1e9, strict=False)]


class PositiveEstimate(PlainEstimate):
    """A number above 0."""

    value: Positive
    low: Positive | None = None
    high: Positive | None = None


class Reliability(Frozen):
    """Expected failures of the cluster, and recovery of its jobs."""

    profile: ReliabilityId = "reliability-2026"
    """Catalogue id of the reliability profile."""
    fleet: PlainEstimate | None = None
    """Factor of this fleet on the hazards' rates, in place of the profile's [1]."""
    stragglers: ShareEstimate | None = None
    """Loss of a job's rate to slow workers, at any size, beyond their effect on its step time, in place of the
    profile's [1]. Step times are calibrated on published runs and include their stragglers."""
    domain_failures: dict[Identifier, PlainEstimate] = Field(default_factory=dict)
    """Failures a year that remove all nodes of one scale-up domain, by part, such as `switch-tray` and
    `backplane`, in place of the profile's [1/year]. No source publishes rates, so they are not counted if
    omitted."""
    path_repair: SecondsEstimate | None = None
    """Mean time to repair a link or a leaf switch, if every NIC has another path and jobs go on at a reduced
    rate; in place of the profile's [s]."""
    checkpoints: Checkpointing = "asynchronous"
    """`asynchronous`: a job stops only for the copy into host memory. `synchronous`: it stops until storage has all.
    `in-memory`: as asynchronous, with a copy of every checkpoint in the memory of another node, and some in storage."""
    checkpoint_interval: Duration | None = None
    """Work between two checkpoints; each job's optimum if omitted [s]."""
    checkpoints_kept: PositiveEstimate | None = None
    """Checkpoints kept in storage at a time, in place of the profile's [1]."""
    image_bytes: PositiveEstimate | None = None
    """Storage per image of a data set, in place of the profile's [byte]."""
    metadata_opens: PositiveEstimate | None = None
    """Files opened by one metadata server a second [1/s]; no source publishes it, and the metadata servers of a data
    set are not reported if omitted."""
    restart: Restart = "requeue"
    """`requeue`: the whole job is queued and started again. `reschedule`: only lost nodes are replaced. `standby`:
    warm nodes replace lost ones."""
    short_of_nodes: Literal["shrink", "wait"] = "shrink"
    """`shrink`: a job goes on without incomplete replicas. `wait`: it waits for repair."""
    spare_nodes: Annotated[int, Field(ge=0, le=MOST_COUNT)] | None = None
    """Nodes bought to replace lost ones, priced as spares [1]; if omitted, the ownership's spares and the nodes that
    the job leaves idle."""
