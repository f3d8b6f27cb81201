"""The section of a design file about failures and checkpoints. It is read by who needs it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ffplan.catalog.ownership import PlainEstimate, SecondsEstimate, ShareEstimate
from ffplan.inputs.model import MOST_COUNT, Frozen, Identifier
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
    """What the cluster is expected to lose to failures, and how jobs on it recover."""

    profile: Identifier = "reliability-2026"
    """Catalogue id of the reliability profile."""
    fleet: PlainEstimate | None = None
    """Rates of this fleet over those of the profile's hazards, in place of its own figure [1]."""
    stragglers: ShareEstimate | None = None
    """Rate that slow workers take of a job beyond what its step time has of them, of any size, in place of the
    profile's [1]. Step times are calibrated on published runs, whose own stragglers they have."""
    domain_failures: dict[Identifier, PlainEstimate] = Field(default_factory=dict)
    """Failures a year of one scale-up domain of several nodes that take all of them out, by part, such as
    `switch-tray` and `backplane`, in place of the profile's [1/year]. Sources publish none: without it they are not
    counted."""
    path_repair: SecondsEstimate | None = None
    """From the loss of a link or a leaf switch until it is back, in the mean, where every NIC has another path and a
    job goes on at part of its rate; in place of the profile's [s]."""
    checkpoints: Checkpointing = "asynchronous"
    """`asynchronous`: a job stops for the copy into host memory alone. `synchronous`: it stops until storage has all.
    `in-memory`: as asynchronous, with a copy of every checkpoint in the memory of another node, and some in storage."""
    checkpoint_interval: Duration | None = None
    """Work between two checkpoints; the best for each job if omitted [s]."""
    checkpoints_kept: PositiveEstimate | None = None
    """Checkpoints that storage keeps at a time, in place of the profile's [1]."""
    image_bytes: PositiveEstimate | None = None
    """Bytes that an image of a data set takes in storage, in place of the profile's [byte]."""
    metadata_opens: PositiveEstimate | None = None
    """Files that one metadata server opens a second [1/s]; no source publishes it, and without it the metadata servers
    that a data set needs are not told."""
    restart: Restart = "requeue"
    """`requeue`: the whole job is queued and started again. `reschedule`: lost nodes alone are replaced. `standby`:
    warm nodes stand by."""
    short_of_nodes: Literal["shrink", "wait"] = "shrink"
    """A job that lacks nodes goes on without the replicas that lack one, or waits for repair."""
    spare_nodes: Annotated[int, Field(ge=0, le=MOST_COUNT)] | None = None
    """Nodes bought to stand in for lost ones, priced as spares [1]; those that the ownership buys, and nodes that the
    job leaves, if omitted."""
