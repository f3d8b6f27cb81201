"""Section of a design file about its training job, imported on demand."""

from __future__ import annotations

from pydantic import Field

from ffplan.design.training import PlanFields
from ffplan.inputs.model import Count, Frozen
from ffplan.inputs.part_ids import ModelId
from ffplan.inputs.workloads import Tokens


class Workload(Frozen):
    """The job that the cluster is bought for."""

    model: ModelId
    """Catalogue id of the model, a transformer."""
    tokens: Tokens | None = None
    """Tokens to train on, required for days, cost and energy of the run [1]."""
    batch: Count | None = None
    """Sequences of a step; about 4 million tokens if omitted [1]."""
    gpus: Count | None = None
    """Accelerators of the job; as many as it can span if omitted [1]."""
    plan: PlanFields | None = Field(default=None)
    """Parallel plan; the fastest is searched if omitted."""
    search: bool = False
    """Search the fastest plan even with `plan`, whose fields are kept."""
