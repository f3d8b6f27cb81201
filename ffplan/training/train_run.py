"""A workload on a machine under plans, and the places of its groups."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np

from ffplan.base.record import record
from ffplan.catalog.models import Transformer
from ffplan.training.accelerator_rates import AcceleratorRates
from ffplan.training.axes import ParallelPlans
from ffplan.training.group_collectives import Cluster, GroupPlacement, _place_group, overlap_cost
from ffplan.training.memory_margins import UNKNOWN_MARGINS, MemoryMargins
from ffplan.training.model_flops import _moe_fraction
from ffplan.training.parallel_plan import _strides, layers_of

if TYPE_CHECKING:
    from ffplan.base.array_math import Number


@record
class TrainRun:
    """A workload on a machine under plans."""

    shape: Transformer
    plans: ParallelPlans
    speeds: AcceleratorRates
    system: Cluster
    _: KW_ONLY
    margins: MemoryMargins = UNKNOWN_MARGINS
    """What its runtime takes of device memory beyond tensors."""

    @property
    def hiding(self) -> float:
        """Slowdown of computing under a hidden collective, over the collective's time [1]."""
        return overlap_cost(self.system, self.speeds.overlap)


def placement_of(run: TrainRun, size: Number, inside: Number) -> GroupPlacement:
    """Return the placement of groups of a run; `inside` are the ranks between neighbours [1]."""
    return _place_group(run.system, run.plans.gpus, size, inside)


def inner_stride(plans: ParallelPlans) -> Number:
    """Return the ranks between neighbours of the group over data and context parallelism [1]."""
    apart = _strides(plans)
    both = np.minimum(apart["context"], apart["data"])
    return np.where(np.asarray(plans.context) > 1, both, apart["data"])


def _expert_strides(plans: ParallelPlans) -> tuple[Number, Number]:
    """Return the ranks between neighbours that share a layer's experts, and between those that hold the same ones [1].

    Args:
        plans: the plans: tensor parallelism t, in experts t_e; expert parallelism e.

    Equation:
        t_e and t_e e, counted in the ranks of a stage; over the ranks of data and context where t_e = t

    Source:
        megatron-core 0.14.0, parallel_state.py, the expert grid: tensor ranks of experts, their groups, replicas.
    """
    apart, inside = _strides(plans), inner_stride(plans)
    among, between = plans.expert_tensor, plans.expert_tensor * plans.expert
    # a stage's ranks are numbered past those of the others if the pipeline lies further inside
    among, between = (
        np.where(stride >= apart["pipeline"], stride * plans.pipeline, stride) for stride in (among, between)
    )
    same = np.asarray(plans.expert_tensor) == plans.tensor
    return np.where(same, inside, among), np.where(same, inside * plans.expert, between)


def _pace_fraction(shape: Transformer, plans: ParallelPlans) -> Number:
    """Return the fraction of layers with experts on the slowest stages, which follow the dense layers."""
    full, _ = layers_of(shape.layers, plans)
    return _moe_fraction(shape, plans.pipeline, full)
